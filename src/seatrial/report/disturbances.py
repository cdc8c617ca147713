"""What each disturbance did to each system, beside its own baseline (D1–D7, D14, E9).

Every denominator is shown: planned, valid, delivered, detected, recovered. A trial in which the trigger never
fired was not disturbed; it stays in the drop as planned, and a second drop is over delivered trials alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from seatrial.estimate.amplification import Amplification, Recovered, recovery_amplification
from seatrial.estimate.chain import ChainLink, condition_chain
from seatrial.estimate.detection_latency import Latency, Wait, notice_latency
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.means import mean_over_tasks
from seatrial.estimate.paired_drop import Drop, paired_drop
from seatrial.records.arms import BASELINE, PERTURBED, read_arm
from seatrial.records.trial import TrialRecord
from seatrial.report.comparisons import own_results
from seatrial.report.tables import QUANTITIES, WHOLE, Cell
from seatrial.report.unit_costs import finite

if TYPE_CHECKING:
    from numpy.random import Generator

T = TypeVar("T")

PLACEBO, COSMETIC = "placebo", "cosmetic"
CHAIN = ("visible", "observed", "understood", "repaired", "finished")
BREAKS = (*CHAIN, "none", "unknown")
# Enough for curves that are read by eye and shown to two digits.
DRAWS = 500
PARTS = ("detect_actions", "locate_actions", "restore_actions", "redo_actions")
EFFECTS = ("wrong_actions_after", "polluted_products", "polluted_left", "rollback_paths", "kept_work",
           "undone_work", "residue_actions", "conflict_detected", "belief_missing", "belief_outdated",
           "belief_wrong", "stale_plan_items", "goal_version_errors", "unlearnt_outcomes",
           "queried_first", "retried_blindly", "duplicate_effects")  # fmt: skip


# Costs that a journal meters beside actions, as the main table has them.
UNITS = {name: QUANTITIES[name] for name in ("elapsed_seconds", "output_tokens", "money")}


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """How many trials there are at each point; each is one of the one before.

    Attributes:
        planned: trials with an ended attempt.
        valid: of these, not ended for reasons of infrastructure.
        delivered: of the valid, those whose disturbance came about.
        detected, unknown_detected: of the delivered, seen and where nobody can say; null for a placebo, where
            there is nothing to see.
        recovered, unknown_recovered, fully_recovered, unknown_fully: likewise; null where nothing is to be
            recovered from: a placebo, a cosmetic disturbance.
    """

    planned: int
    valid: int
    delivered: int
    detected: int | None
    unknown_detected: int | None
    recovered: int | None
    unknown_recovered: int | None
    fully_recovered: int | None
    unknown_fully: int | None


class Mean(msgspec.Struct, frozen=True, kw_only=True):
    """Mean of one column over delivered trials in which it is known.

    Attributes:
        known: trials it is over.
        of: delivered trials.
    """

    measure: str
    estimate: Estimate
    known: int
    of: int


class DisturbedArm(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``disturbances`` in ``report.json``: one system under one perturbation.

    Attributes:
        strength: as declared; null for a placebo.
        drop: safe success as planned, whether delivered or not; null without a baseline.
        drop_delivered: the same over delivered trials only, where that is another set.
        latency: from firing to detection; null for a placebo and where nothing was delivered.
        adoption: from a change of goal to the first action that only the new goal asks for; null for others.
        amplification: in actions; null where nothing is to be recovered from and where nothing was delivered.
        extra: cost beyond the baseline partner's in other units than actions, over recovered trials.
        costs: the cost of recovery over recovered trials, and its four parts over those of them in which all
            four are known: these add up to ``recovery_cost`` in each trial.
        effects: what was done on the disturbed world, over delivered trials.
        chain: the mechanism chain, each link on its own denominator.
        broke_at: delivered trials by the link at which the chain broke; ``none`` and ``unknown`` too.
    """

    system: str
    arm: str
    perturbation: str
    kind: str | None
    strength: str | None
    scenario: str | None
    delivery: Delivery
    drop: Drop | None
    drop_delivered: Drop | None
    latency: Latency | None
    adoption: Latency | None
    amplification: Amplification | None
    extra: list[Mean]
    costs: list[Mean]
    effects: list[Mean]
    chain: list[ChainLink]
    broke_at: dict[str, int]


class StrengthLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``strengths``: the drop over all perturbations of one kind and strength of one system.

    Attributes:
        strength: null for placebos.
    """

    system: str
    kind: str
    strength: str | None
    arms: list[str]
    drop: Drop


def disturbed_arms(groups: Iterable[Cell], seed: int) -> list[DisturbedArm]:
    """Every system under every perturbation it met, in the order of the main table.

    Args:
        groups: the cells of the main table.
        seed: of the experiment, for sampled signs and bootstrap draws.
    """
    whole = [cell for cell in groups if cell.stratum == WHOLE]
    baselines = baselines_of(whole)
    found = []
    for cell in whole:
        if read_arm(cell.arm).kind == PERTURBED:
            found.append(disturbed_arm(cell, baselines.get(cell.system), generator(seed)))
    return found


def baselines_of(whole: Iterable[Cell]) -> dict[str, Cell]:
    """Each system's own baseline; trials in which a person acted have none, and are in no pair."""
    return {cell.system: cell for cell in own_results(whole) if cell.arm == BASELINE}


def generator(seed: int) -> "Generator":
    """Source of randomness for one line, so that no line depends on which others there are."""
    # Loaded by this command only, since numpy slows every start.
    import numpy as np

    return np.random.default_rng(seed)


def disturbed_arm(cell: Cell, baseline: Cell | None, rng: "Generator") -> DisturbedArm:
    """One system under one perturbation."""
    some = next((r for r in cell.records if r.perturbation is not None), cell.records[0])
    delivered = [record for record in cell.valid if record.delivered]
    real = bool(delivered) and some.perturbation_kind != PLACEBO
    harmful = real and some.strength != COSMETIC
    recovered = [record for record in delivered if record.recovered]
    goal = real and any(record.adopted is not None for record in delivered)
    return DisturbedArm(
        system=cell.system,
        arm=cell.arm,
        perturbation=some.perturbation or read_arm(cell.arm).subject,
        kind=some.perturbation_kind,
        strength=strength_of(some),
        scenario=some.scenario,
        delivery=delivery(cell, delivered, some),
        drop=drop_from(baseline, cell.valid, rng),
        drop_delivered=drop_from(baseline, delivered, rng) if 0 < len(delivered) < len(cell.valid) else None,
        latency=latency_of(waits(delivered, detection), rng) if real else None,
        adoption=latency_of(waits(delivered, adoption), rng) if goal else None,
        amplification=amplified(delivered, baseline) if harmful else None,
        extra=extra_costs(recovered, baseline) if harmful else [],
        costs=recovery_costs(recovered) if harmful else [],
        effects=means(delivered, EFFECTS),
        chain=condition_chain(by_task(delivered, links), CHAIN, ("understood",)) if harmful else [],
        broke_at=broken_links(delivered) if harmful else {},
    )


def strength_of(record: TrialRecord) -> str | None:
    """The strength of a trial's perturbation; null for a placebo, which changes nothing."""
    return None if record.perturbation_kind == PLACEBO else record.strength


def delivery(cell: Cell, delivered: Sequence[TrialRecord], some: TrialRecord) -> Delivery:
    """The denominators of one arm.

    Args:
        some: a trial of it that says what its disturbance is.
    """
    visible = some.perturbation_kind != PLACEBO
    harmful = visible and some.strength != COSMETIC

    def count(column: str, value: bool | None, applies: bool) -> int | None:
        return sum(getattr(record, column) is value for record in delivered) if applies else None

    return Delivery(
        planned=len(cell.records),
        valid=len(cell.valid),
        delivered=len(delivered),
        detected=count("detected", True, visible),
        unknown_detected=count("detected", None, visible),
        recovered=count("recovered", True, harmful),
        unknown_recovered=count("recovered", None, harmful),
        fully_recovered=count("full_recovery", True, harmful),
        unknown_fully=count("full_recovery", None, harmful),
    )


def by_task(records: Iterable[TrialRecord], of: Callable[[TrialRecord], T]) -> dict[str, list[T]]:
    """One value a trial, sorted to their tasks."""
    found: dict[str, list[T]] = {}
    for record in records:
        found.setdefault(record.task, []).append(of(record))
    return found


def drop_from(baseline: Cell | None, records: Sequence[TrialRecord], rng: "Generator") -> Drop | None:
    """Safe success of the baseline against that of some disturbed trials, on the tasks of the latter."""
    if baseline is None:
        return None
    after = by_task(records, lambda record: record.safe_success)
    before = by_task((r for r in baseline.valid if r.task in after), lambda record: record.safe_success)
    return paired_drop(before, after, rng)


def latency_of(found: Mapping[str, Sequence[Wait]], rng: "Generator") -> Latency:
    """A latency as JSON can hold it: an unbounded end of the median is null, with a note."""
    latency = notice_latency(found, rng, draws=DRAWS)
    return msgspec.structs.replace(latency, median=finite(latency.median))


def detection(record: TrialRecord) -> tuple[bool | None, int | None]:
    """Whether and when a disturbance was detected."""
    return record.detected, record.observed_step


def adoption(record: TrialRecord) -> tuple[bool | None, int | None]:
    """Whether and when a new goal was adopted."""
    return record.adopted, record.adoption_step


def waits(
    records: Iterable[TrialRecord], of: Callable[[TrialRecord], tuple[bool | None, int | None]]
) -> dict[str, list[Wait]]:
    """How long each trial took from the firing, or how long it was watched in vain."""

    def wait(record: TrialRecord) -> Wait:
        noticed, step = of(record)
        until = step if noticed and step is not None else record.actions
        return Wait(noticed=noticed, at=float(max(0, (until or 0) - (record.fired_step or 0))))

    return by_task(records, wait)


def amplified(delivered: Sequence[TrialRecord], baseline: Cell | None) -> Amplification:
    """Extra actions against the partner of the same task and repeat."""
    partners = {(r.task, r.repeat): r.actions for r in (baseline.valid if baseline is not None else ())}

    def pair(record: TrialRecord) -> Recovered:
        base = partners.get((record.task, record.repeat))
        known = base is not None and record.actions is not None
        extra = float((record.actions or 0) - (base or 0)) if known else None
        return Recovered(recovered=record.recovered, extra=extra, oracle=record.oracle_cost)

    return recovery_amplification(by_task(delivered, pair), "actions")


def extra_costs(recovered: Sequence[TrialRecord], baseline: Cell | None) -> list[Mean]:
    """What recovered trials cost beyond their partners of the same task and repeat, unit by unit."""
    partners = {(r.task, r.repeat): r for r in (baseline.valid if baseline is not None else ())}
    pairs = [(r, partners[(r.task, r.repeat)]) for r in recovered if (r.task, r.repeat) in partners]
    found = []
    for name, (of, unit) in UNITS.items():
        values: dict[str, list[float]] = {}
        for record, partner in pairs:
            spent, base = of(record), of(partner)
            if spent is not None and base is not None:
                values.setdefault(record.task, []).append(spent - base)
        if values:
            known = sum(map(len, values.values()))
            found.append(
                Mean(measure=name, estimate=mean_over_tasks(values, unit), known=known, of=len(recovered))
            )
    return found


def recovery_costs(recovered: Sequence[TrialRecord]) -> list[Mean]:
    """The cost of recovery, and its parts over the trials in which all are known, so that they add up."""
    whole = [record for record in recovered if all(getattr(record, part) is not None for part in PARTS)]
    parts = [msgspec.structs.replace(mean, of=len(recovered)) for mean in means(whole, PARTS)]
    return [*parts, *means(recovered, ("recovery_cost",))]


def means(records: Sequence[TrialRecord], names: Iterable[str]) -> list[Mean]:
    """Mean of columns over the trials in which they are known; columns known nowhere are left out."""
    found = []
    for name in names:
        known = [record for record in records if getattr(record, name) is not None]
        if known:
            values = by_task(known, column(name))
            estimate = mean_over_tasks(values, name, limits=(0.0, float("inf")))
            found.append(Mean(measure=name, estimate=estimate, known=len(known), of=len(records)))
    return found


def column(name: str) -> Callable[[TrialRecord], float]:
    """Reads a column that is known."""
    return lambda record: float(getattr(record, name))


def links(record: TrialRecord) -> list[bool | None]:
    """The mechanism chain of one trial: held up to where it broke, unknown where that is unknown."""
    held = record.chain_held or []
    values: list[bool | None] = []
    for link in CHAIN:
        if link in held:
            values.append(True)
        else:
            values.append(False if record.chain_broke_at == link else None)
    return values


def broken_links(records: Iterable[TrialRecord]) -> dict[str, int]:
    """Trials by where their chain broke, in the order of the chain."""
    counts: dict[str, int] = dict.fromkeys(BREAKS, 0)
    for record in records:
        counts[record.chain_broke_at or "unknown"] += 1
    return counts


def strength_lines(groups: Iterable[Cell], seed: int) -> list[StrengthLine]:
    """The drop by kind and strength, over all perturbations that share both; placebos stand by themselves."""
    whole = [cell for cell in groups if cell.stratum == WHOLE]
    baselines = baselines_of(whole)
    pooled: dict[tuple[str, str, str | None], list[Cell]] = {}
    for cell in whole:
        some = next((record for record in cell.records if record.perturbation_kind is not None), None)
        if read_arm(cell.arm).kind == PERTURBED and some is not None:
            key = (cell.system, str(some.perturbation_kind), strength_of(some))
            pooled.setdefault(key, []).append(cell)
    found = []
    for (system, kind, strength), cells in pooled.items():
        records = [record for cell in cells for record in cell.valid]
        drop = drop_from(baselines.get(system), records, generator(seed))
        if drop is not None:
            arms = [cell.arm for cell in cells]
            found.append(StrengthLine(system=system, kind=kind, strength=strength, arms=arms, drop=drop))
    return found


def flat_arm(arm: DisturbedArm) -> Mapping[str, object]:
    """One arm as a line of CSV."""
    delivery: dict[str, object] = msgspec.to_builtins(arm.delivery)
    line: dict[str, object] = {
        name: getattr(arm, name) for name in ("system", "arm", "perturbation", "kind", "strength", "scenario")
    } | delivery
    named = {
        "before": arm.drop and arm.drop.before,
        "after": arm.drop and arm.drop.after,
        "drop": arm.drop and arm.drop.drop,
        "miss_rate": arm.latency and arm.latency.miss_rate,
        "median_latency": arm.latency and arm.latency.median,
        "amplification": arm.amplification and arm.amplification.ratio,
        "recovery_rate": arm.amplification and arm.amplification.recovery_rate,
    }
    for name, estimate in named.items():
        for part in ("value", "low", "high"):
            line[f"{name}_{part}" if part != "value" else name] = estimate and getattr(estimate, part)
    # A placebo has no chain, nor has a cosmetic one: cells are empty, and the columns are those of all arms.
    return line | {f"broke_at_{link}": arm.broke_at.get(link) for link in BREAKS}
