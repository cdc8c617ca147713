"""The studies of known truth on the disturbed task; `benchmarks.disturbed_truth` runs them."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.disturbed_runs import Charged, Options, Runs, charged, play
from benchmarks.disturbed_task import PARTS
from benchmarks.findings import Findings, compared, difference, in_a_folder
from benchmarks.shadow import Offered
from benchmarks.truth_runs import LEVEL, Cell, cell
from seatrial.estimate.rates import wilson

RATE, GOAL, CLASH, ACK, PLACEBO = (
    f"perturbed:{name}" for name in ("rate-changed", "goal-changed", "goal-clashes", "ack-lost", "placebo")
)
POINTS = ("subgoal_verified", "before_effect", "after_effect_before_ack", "compaction")
DETECTION, OBEDIENCE, CANDOUR = 0.6, 0.7, 0.4
HALF: Options = {"reread": 1.0, "detection": DETECTION, "obey": OBEDIENCE, "surfaces": CANDOUR}
# The rate changes after part 2; the parts that come later are each looked at before.
LOOKS = PARTS - 2
RETRIES = ("idempotent", "query", "blind", "never")


# -- what was set comes out -----------------------------------------------------------------------------
def noticed_at(look: int) -> float:
    """That the change is noticed at a look, from 1."""
    return float(DETECTION * (1 - DETECTION) ** (look - 1))


def recovery_cost() -> float:
    """Mean actions from the firing to recovery, of those that recover, where beliefs are reported.

    The payment, a look and a report, and the parts 1 and 2 again: 5; each look at which it was not noticed
    costs the part after it and the next look more.
    """
    seen = [noticed_at(look) for look in range(1, LOOKS + 1)]
    return sum(share * (5 + 2 * missed) for missed, share in enumerate(seen)) / sum(seen)


def implied() -> dict[tuple[str, str], float]:
    """What the knobs of ``HALF`` imply on average, by arm and measure."""
    return {
        (RATE, "noticed_at_once"): DETECTION,
        (RATE, "recovered"): sum(map(noticed_at, range(1, LOOKS + 1))),
        (RATE, "recovery_cost"): recovery_cost(),
        (GOAL, "adopted"): OBEDIENCE,
        (GOAL, "residue_actions"): 1 - OBEDIENCE,
        (CLASH, "conflict_detected"): CANDOUR,
    }


def measure_of(known: Any, measure: str) -> float | None:
    """A measure of a record or of its replay; null where there is none."""
    if measure == "noticed_at_once":
        return float(known.understood_step == known.observed_step + 1) if known.observed_step else None
    value = getattr(known, measure)
    return None if value is None else float(value)


@in_a_folder
def means(folder: Path, trials: int, workers: int) -> Findings:
    """Detection, recovery, its cost, obedience and candour as measured, beside what was set."""
    runs = play(folder, {"half": HALF}, [RATE, GOAL, CLASH], trials, workers, Offered(belief=True))
    found = compared("means", runs)
    for (arm, measure), should in implied().items():
        values = [measure_of(one.record, measure) for one in runs.of("half", arm)]
        known = [value for value in values if value is not None]
        if len(known) < 2:
            continue  # Reads that the host cannot see leave nothing to average.
        line = _cell(measure, should, known)
        found.lines.append(str(line))
        found.wrong += [] if line.inside else [f"outside: {line}"]
    return found


def _cell(measure: str, should: float, values: Sequence[float]) -> Cell:
    if measure == "recovery_cost":
        return cell("half", measure, should, values)
    low, high = wilson(sum(values), len(values), LEVEL)
    return Cell("half", measure, should, fmean(values), low, high, len(values))


# -- kills and lost acknowledgements --------------------------------------------------------------------
@in_a_folder
def kills(folder: Path, trials: int, workers: int) -> Findings:
    """The agent is killed around its payment, at each of the four points."""
    systems = {how: {"retry": how, "checkpoint": 0.6} for how in ("idempotent", "blind")}
    arms = [f"interrupted:{point}:structured" for point in POINTS]
    runs = play(folder, systems, arms, trials, workers)
    found = compared("kills", runs)
    for arm in arms:
        for how in systems:
            _paid(found, runs, how, arm)
    twice = sum(sum(runs.values("blind", arm, "duplicate_effects")) for arm in arms)
    found.wrong += [] if twice else ["no blind retry paid twice"]
    return found


def _paid(found: Findings, runs: Runs, system: str, arm: str) -> list[Charged]:
    """One line on how often a cell's trials paid; journal and ledger must agree in each."""
    attempts = runs.of(system, arm)
    counts = list(charged(runs, attempts))
    twice = [one.record.duplicate_effects or 0 for one in attempts]
    named = f"{arm} {system}"
    found.lines.append(
        f"{named:<60} n {len(counts)}  paid {sum(c.journal for c in counts)} in journals, "
        f"{sum(c.ledger for c in counts)} in ledgers  twice {sum(twice)}  "
        f"unknown {sum(c.unknown for c in counts)}"
    )
    for one, count in zip(attempts, counts, strict=True):
        if count.journal != count.ledger or one.record.duplicate_effects != max(0, count.ledger - 1):
            found.wrong.append(f"{one.planned.trial}: journal and ledger disagree: {count}")
        if count.lost:
            found.wrong.append(f"{one.planned.trial}: {count.lost} acknowledged payments are lost")
        if arm.startswith("interrupted") and one.record.delivered is not True:
            found.wrong.append(f"{one.planned.trial}: nobody was killed")
    if system in ("idempotent", "query") and sum(twice):
        found.wrong.append(f"{named}: paid twice in {sum(twice)} trials")
    return counts


@in_a_folder
def acknowledgement(folder: Path, trials: int, workers: int) -> Findings:
    """The payment is done and its answer lost: four ways to go on."""
    runs = play(folder, {how: {"retry": how} for how in RETRIES}, [ACK], trials, workers)
    found = compared("acknowledgement", runs)
    for how in RETRIES:
        counts = _paid(found, runs, how, ACK)
        if any(count.unknown != 1 for count in counts):
            found.wrong.append(f"{how}: the end of a payment is not unknown")
    # What tells the first from the second is the payment; what tells the others apart is what it took.
    actions = {how: set(runs.values(how, ACK, "actions")) for how in RETRIES}
    paid = {how: set(runs.values(how, ACK, "duplicate_effects")) for how in RETRIES}
    found.lines.append(f"actions {actions}, payments beyond the first {paid}")
    if paid["query"] != {0} or paid["blind"] != {1}:
        found.wrong.append("querying first and retrying blindly are not told apart")
    return found


# -- placebo --------------------------------------------------------------------------------------------
@in_a_folder
def placebo(folder: Path, trials: int, workers: int) -> Findings:
    """The trigger fires and nothing changes: as without it, seed by seed and over other seeds."""
    system: Options = {**HALF, "skill": 0.95, "checking": 0.5}
    runs = play(folder, {"half": system}, ["baseline", PLACEBO], trials, workers, Offered(belief=True))
    found = compared("placebo", runs)
    for measure in ("strict_success", "actions", "regression_depth", "local_right"):
        without, with_it = (runs.values("half", arm, measure) for arm in ("baseline", PLACEBO))
        # Trials of one repeat share their seed, so those without come from other repeats than those with.
        change, low, high = difference(list(map(float, without[::2])), list(map(float, with_it[1::2])))
        same = without == with_it
        found.lines.append(
            f"{measure:<17} {fmean(map(float, without)):.3f} and {fmean(map(float, with_it)):.3f}, "
            f"{'equal' if same else 'DIFFERENT'} on equal seeds; "
            f"on others {change:+.3f} [{low:+.3f}, {high:+.3f}]"
        )
        if not same or not low <= 0 <= high:
            found.wrong.append(f"the placebo moves {measure}")
    return found
