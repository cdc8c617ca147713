"""Systems compared pair by pair on the same tasks; the preregistered comparison apart from others (F3)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.mcnemar import McNemar
from seatrial.estimate.multiplicity import benjamini_hochberg, holm
from seatrial.records.trial import TrialRecord
from seatrial.report.tables import QUANTITIES, RATES, WHOLE, Cell, by_task

if TYPE_CHECKING:
    from numpy.random import Generator

# Outcomes that any two systems are compared on, where the experiment has just two.
EXPLORED = ("safe_success", "strict_success", "partial_progress")
ALPHA = 0.05
UNDECIDED = "cannot be told apart yet"
Role = Literal["primary", "exploratory"]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``comparisons`` in ``report.json``.

    Attributes:
        role: primary if the experiment declared it before any result existed.
        a, b: systems; ``estimate`` is the measure of a minus that of b, the mean over tasks.
        verdict: "A higher", "B higher" or "cannot be told apart yet", by the adjusted p value. Higher is a
            larger value, not a better one.
        words: the verdict with the systems' names.
        p, test: what decides, before the adjustment.
        p_adjusted: Holm's among primary comparisons, Benjamini and Hochberg's among exploratory ones; null
            where nothing can be tested.
        p_permutation: of random signs, as a check.
        wins, losses, ties: tasks on which a is higher, lower, the same.
        effect: mean of the task differences over their standard deviation.
        mcnemar: only with one yes-or-no trial of each system per task.
    """

    role: Role
    measure: str
    arm: str
    stratum: str = WHOLE
    a: str
    b: str
    alpha: float
    estimate: Estimate
    verdict: str = UNDECIDED
    words: str = UNDECIDED
    p: float | None = None
    p_adjusted: float | None = None
    test: str = "none"
    p_permutation: float | None = None
    wins: int = 0
    losses: int = 0
    ties: int = 0
    effect: float | None = None
    mcnemar: McNemar | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What the experiment declared to compare."""

    measure: str | None
    systems: list[str]
    alpha: float
    seed: int


def read_plan(experiment: Mapping[str, Any]) -> Plan:
    """The declared primary comparison; no systems where none is declared."""
    primary = experiment.get("primary") or {}
    return Plan(
        measure=primary.get("measure"),
        systems=list(primary.get("compare") or []),
        alpha=primary.get("alpha") or ALPHA,
        seed=experiment.get("seed") or 0,
    )


def compare_systems(groups: Iterable[Cell], experiment: Mapping[str, Any]) -> list[Comparison]:
    """All comparisons of a report, over all tasks of each arm.

    The declared pair or pairs on the declared measure are primary; where there are just two systems they are
    also explored on success and progress. More than two systems without a declaration are not compared: so
    many comparisons would find a difference by chance.

    Args:
        groups: the cells of the main table.
        experiment: the experiment as frozen in the manifest.
    """
    # Loaded by this command only, since numpy slows every start.
    import numpy as np

    plan = read_plan(experiment)
    whole = [cell for cell in groups if cell.stratum == WHOLE]
    rng = np.random.default_rng(plan.seed)
    primary: list[Comparison] = []
    explored: list[Comparison] = []
    for arm in dict.fromkeys(cell.arm for cell in whole):
        cells = {cell.system: cell for cell in whole if cell.arm == arm}
        declared = [name for name in plan.systems if name in cells]
        for a, b in combinations(declared, 2) if plan.measure else ():
            primary.append(compare(cells[a], cells[b], str(plan.measure), ("primary", plan.alpha), rng))
        if len(cells) == 2:
            a, b = declared if len(declared) == 2 else cells
            measures = [m for m in EXPLORED if not (declared and m == plan.measure)]
            explored += [compare(cells[a], cells[b], m, ("exploratory", plan.alpha), rng) for m in measures]
    return [*adjusted(primary), *adjusted(explored)]


def compare(a: Cell, b: Cell, measure: str, role: tuple[Role, float], rng: "Generator") -> Comparison:
    """One comparison, before its p value is adjusted.

    Args:
        a, b: cells of one arm.
        measure: a column of the trial record, or a line of the main table.
        role: and the level of the test.
        rng: source of sampled signs.
    """
    # Loaded by this command only, since numpy slows every start.
    from seatrial.estimate.paired import paired_difference

    refused = Estimate(value=None, method="none", unit="tasks, paired", n_tasks=0, n_trials=0)
    made = Comparison(
        role=role[0], measure=measure, arm=a.arm, a=a.system, b=b.system, alpha=role[1], estimate=refused
    )
    try:
        sides, names = (values(a, measure), values(b, measure)), (a.system, b.system)
        found = paired_difference(*sides, rng, alpha=role[1], names=names)
    except (TypeError, ValueError) as fault:
        return msgspec.structs.replace(made, estimate=msgspec.structs.replace(refused, notes=[str(fault)]))
    return msgspec.structs.replace(
        made,
        estimate=found.difference,
        verdict=found.verdict,
        words=in_words(found.verdict, a.system, b.system),
        p=found.p,
        test=found.test,
        p_permutation=found.p_permutation,
        wins=found.wins,
        losses=found.losses,
        ties=found.ties,
        effect=found.effect,
        mcnemar=found.mcnemar,
    )


def values(cell: Cell, measure: str) -> dict[str, list[Any]]:
    """A measure of the valid trials by task.

    Raises:
        TypeError: the measure is no number.
    """
    read = RATES.get(measure) or (QUANTITIES[measure][0] if measure in QUANTITIES else None)
    found = [read(r) if read else column(r, measure) for r in cell.valid]
    return by_task(cell, found)


def column(record: TrialRecord, name: str) -> float | bool | None:
    """A column of the record that holds a number or yes or no."""
    value = getattr(record, name)
    if value is not None and not isinstance(value, bool | int | float):
        raise TypeError(f"{name} is no number, so systems cannot be compared on it.")
    return value


def in_words(verdict: str, a: str, b: str) -> str:
    """A verdict with the systems' names."""
    return {"A higher": f"{a} higher", "B higher": f"{b} higher"}.get(verdict, UNDECIDED)


def adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same, all of one role, with p values adjusted for their number and verdicts that follow those."""
    tested = [c.p for c in comparisons if c.p is not None]
    adjust = holm if comparisons and comparisons[0].role == "primary" else benjamini_hochberg
    p_values = iter(adjust(tested))
    found = []
    for comparison in comparisons:
        p = None if comparison.p is None else next(p_values)
        verdict = comparison.verdict if p is not None and p < comparison.alpha else UNDECIDED
        words = in_words(verdict, comparison.a, comparison.b)
        found.append(msgspec.structs.replace(comparison, p_adjusted=p, verdict=verdict, words=words))
    return found


def flat_comparison(comparison: Comparison) -> dict[str, Any]:
    """A comparison for CSV: estimate and McNemar's table side by side with the rest, notes as one text."""
    plain: dict[str, Any] = msgspec.to_builtins(comparison)
    estimate, table = plain.pop("estimate"), plain.pop("mcnemar")
    estimate["notes"] = " ".join(estimate["notes"])
    columns = [f"mcnemar_{name}" for name in McNemar.__struct_fields__]
    return {
        **plain,
        **estimate,
        **dict(zip(columns, (table or dict.fromkeys(columns)).values(), strict=True)),
    }
