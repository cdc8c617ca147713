"""The studies of known truth on the disturbed task; `benchmarks.disturbed_truth` runs them."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import wraps
from itertools import islice
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from scipy.special import stdtrit

from benchmarks.disturbed_replay import DisturbedTruth, disturbed_truth
from benchmarks.disturbed_runs import Charged, Options, Runs, charged, config_of, play
from benchmarks.disturbed_task import PARTS, write_disturbed
from benchmarks.shadow import Offered
from benchmarks.truth_runs import LEVEL, Cell, cell
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.means import mean_over_tasks
from seatrial.estimate.rates import rate_of_trials, wilson
from seatrial.spec.loading import load_task

RATE, GOAL, ACK, PLACEBO = (
    f"perturbed:{name}" for name in ("rate-changed", "goal-changed", "ack-lost", "placebo")
)
POINTS = ("subgoal_verified", "before_effect", "after_effect_before_ack", "compaction")
DETECTION, OBEDIENCE = 0.6, 0.7
HALF: Options = {"reread": 1.0, "detection": DETECTION, "obey": OBEDIENCE}
BOTH = Offered(belief=True, memory=True)
# The rate changes after part 2; the parts that come later are each looked at before.
LOOKS = PARTS - 2
BATCHES, BATCH = 300, 40
COVERED = 0.95
# Intervals for shares of few trials cannot hit their level exactly.
COVERAGE_MARGIN = 0.02
RETRIES = ("idempotent", "query", "blind", "never")


@dataclass
class Findings:
    """What one study found.

    Attributes:
        lines: its figures.
        wrong: what is not as it should be, in words.
    """

    what: str
    lines: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


Study = Callable[[int, int], Findings]


def _in_a_folder(study: Callable[[Path, int, int], Findings]) -> Study:
    @wraps(study)
    def inside(trials: int, workers: int) -> Findings:
        with tempfile.TemporaryDirectory() as folder:
            return study(Path(folder), trials, workers)

    return inside


def _found(what: str, runs: Runs) -> Findings:
    compared = f"{len(runs.truths)} trials, {len(runs.wrong)} differences from their replay"
    return Findings(what, [compared], [f"differs: {text}" for text in runs.wrong])


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
    }


def _measure(known: Any, measure: str) -> float | None:
    """A measure of a record or of its replay; null where there is none."""
    if measure == "noticed_at_once":
        return float(known.understood_step == known.observed_step + 1) if known.observed_step else None
    if measure == "adopted":
        return float(known.adoption_step is not None)
    value = getattr(known, measure)
    return None if value is None else float(value)


@_in_a_folder
def means(folder: Path, trials: int, workers: int) -> Findings:
    """Detection, recovery, its cost and obedience as measured, beside what was set."""
    runs = play(folder, {"half": HALF}, [RATE, GOAL], trials, workers, Offered(belief=True))
    found = _found("means", runs)
    for (arm, measure), should in implied().items():
        values = [_measure(one.record, measure) for one in runs.of("half", arm)]
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


def coverage(trials: int, workers: int) -> Findings:
    """How often the intervals of the project's estimators cover what was set, over replayed runs.

    Args:
        trials, workers: of no use here: nothing is run.
    """
    found = Findings("coverage", [f"{BATCHES} replayed runs of {BATCH} trials, {COVERED:.0%} intervals"])
    with tempfile.TemporaryDirectory() as name:
        config = config_of(load_task(write_disturbed(Path(name) / "small")), HALF)
    replayed: dict[str, list[DisturbedTruth]] = {
        arm: [disturbed_truth(config, seed, arm, Offered(belief=True)) for seed in range(BATCHES * BATCH)]
        for arm in (RATE, GOAL)
    }
    for (arm, measure), should in implied().items():
        values = iter(replayed[arm])
        batches = [[_measure(one, measure) for one in islice(values, BATCH)] for _ in range(BATCHES)]
        covers = sum(_covers(_estimate(measure, [v for v in b if v is not None]), should) for b in batches)
        low, high = wilson(covers, BATCHES, LEVEL)
        text = f"{measure:<17} set {should:.4f}  covered {covers / BATCHES:.3f} [{low:.3f}, {high:.3f}]"
        found.lines.append(text)
        if high < COVERED - COVERAGE_MARGIN or low > COVERED + COVERAGE_MARGIN:
            found.wrong.append(f"does not cover at its level: {text}")
    return found


def _estimate(measure: str, values: Sequence[float]) -> Estimate:
    if measure == "recovery_cost":
        return mean_over_tasks({"small": values}, "actions", COVERED)
    return rate_of_trials([bool(value) for value in values], COVERED)


def _covers(estimate: Estimate, value: float) -> bool:
    return estimate.low is not None and estimate.high is not None and estimate.low <= value <= estimate.high


# -- kills and lost acknowledgements --------------------------------------------------------------------
@_in_a_folder
def kills(folder: Path, trials: int, workers: int) -> Findings:
    """The agent is killed around its payment, at each of the four points."""
    systems = {how: {"retry": how, "checkpoint": 0.6} for how in ("idempotent", "blind")}
    arms = [f"interrupted:{point}:structured" for point in POINTS]
    runs = play(folder, systems, arms, trials, workers)
    found = _found("kills", runs)
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
    twice = [one.record.duplicate_effects for one in attempts]
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


@_in_a_folder
def acknowledgement(folder: Path, trials: int, workers: int) -> Findings:
    """The payment is done and its answer lost: four ways to go on."""
    runs = play(folder, {how: {"retry": how} for how in RETRIES}, [ACK], trials, workers)
    found = _found("acknowledgement", runs)
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
@_in_a_folder
def placebo(folder: Path, trials: int, workers: int) -> Findings:
    """The trigger fires and nothing changes: as without it, seed by seed and over other seeds."""
    system: Options = {**HALF, "skill": 0.95, "checking": 0.5}
    runs = play(folder, {"half": system}, ["baseline", PLACEBO], trials, workers, Offered(belief=True))
    found = _found("placebo", runs)
    for measure in ("strict_success", "actions", "regression_depth", "local_right"):
        without, with_it = (runs.values("half", arm, measure) for arm in ("baseline", PLACEBO))
        # Trials of one repeat share their seed; those of the next are other ones.
        unlike = [float(b) - float(a) for a, b in zip(without, [*with_it[1:], with_it[0]], strict=True)]
        low, high = _interval(unlike)
        same = without == with_it
        found.lines.append(
            f"{measure:<17} {fmean(map(float, without)):.3f} and {fmean(map(float, with_it)):.3f}, "
            f"{'equal' if same else 'DIFFERENT'} on equal seeds; "
            f"on others {fmean(unlike):+.3f} [{low:+.3f}, {high:+.3f}]"
        )
        if not same or not low <= 0 <= high:
            found.wrong.append(f"the placebo moves {measure}")
    return found


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Student's t interval of a mean; a point where nothing varies."""
    mean, n = fmean(values), len(values)
    half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * stdev(values) / n**0.5 if n > 1 else 0.0
    return mean - half, mean + half


# -- ablation -------------------------------------------------------------------------------------------
STRUCTURED, NONE = (f"interrupted:after_effect_before_ack:{form}" for form in ("structured", "none"))
ABLATION_ARMS = ("baseline", RATE, GOAL, STRUCTURED, NONE)
WHOLE: Options = {
    "skill": 0.95, "checking": 0.5, "reread": 1.0, "detection": 0.8, "obey": OBEDIENCE, "checkpoint": 1.0,
    "memory": True, "retry": "idempotent",
}  # fmt: skip
SYSTEMS: dict[str, Options] = {
    "whole": WHOLE,
    "no-reread": {**WHOLE, "reread": 0.0},
    "no-memory": {**WHOLE, "memory": False},
    "no-checkpoint": {**WHOLE, "checkpoint": 0.0},
    "neither": {**WHOLE, "memory": False, "checkpoint": 0.0},
}
ABLATION_MEASURES = (
    "strict_success", "detected", "recovered", "adopted", "residue_actions", "redone_actions",
    "repeated_effects", "duplicate_effects", "local_right",
)  # fmt: skip
# What is switched off, in which of two systems, and which measures that moves in which arm, up or down.
ABLATIONS: tuple[tuple[str, str, str, dict[str, dict[str, int]]], ...] = (
    ("re-reading", "whole", "no-reread", {RATE: {"strict_success": -1, "detected": -1, "recovered": -1}}),
    ("memory", "whole", "no-memory", {NONE: {"redone_actions": 1}}),
    ("checkpoints", "no-memory", "neither", {STRUCTURED: {"redone_actions": 1}}),
    # Memory stands in for what no checkpoint holds.
    ("checkpoints beside memory", "whole", "no-checkpoint", {}),
)


@_in_a_folder
def ablation(folder: Path, trials: int, workers: int) -> Findings:
    """Habits switched off, compared trial by trial under the same luck."""
    runs = play(folder, SYSTEMS, ABLATION_ARMS, trials, workers, BOTH)
    found = _found("ablation", runs)
    for what, before, after, moved in ABLATIONS:
        for arm in ABLATION_ARMS:
            for measure in ABLATION_MEASURES:
                expected = moved.get(arm, {}).get(measure, 0)
                _compare(
                    found,
                    f"without {what}: {arm} {measure}",
                    expected,
                    _changes(runs, before, after, arm, measure),
                )
    return found


def _changes(runs: Runs, before: str, after: str, arm: str, measure: str) -> list[float]:
    pairs = zip(runs.values(before, arm, measure), runs.values(after, arm, measure), strict=True)
    return [float(b) - float(a) for a, b in pairs if a is not None and b is not None]


def _compare(found: Findings, what: str, expected: int, changes: Sequence[float]) -> None:
    if not changes:
        return
    low, high = _interval(changes)
    moved = any(changes)
    if moved or expected:
        found.lines.append(f"{what:<86} {fmean(changes):+.3f} [{low:+.3f}, {high:+.3f}] n {len(changes)}")
    if moved and not expected:
        found.wrong.append(f"{what} moved, and should not: {fmean(changes):+.3f}")
    elif expected and not (low > 0 if expected > 0 else high < 0):
        found.wrong.append(
            f"{what} should move {'up' if expected > 0 else 'down'}: [{low:+.3f}, {high:+.3f}]"
        )


def all_studies(kill_trials: int) -> Iterator[tuple[Study, int | None]]:
    """Every study with the number of trials of a cell; null where the caller says."""
    yield from ((study, None) for study in (means, coverage, ablation, acknowledgement, placebo))
    yield kills, kill_trials
