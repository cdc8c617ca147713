"""Systems compared pair by pair on the same tasks; the preregistered comparison apart from others (F3)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.mcnemar import McNemar
from seatrial.estimate.means import ANYTHING
from seatrial.estimate.multiplicity import ADJUSTED_AWAY, benjamini_hochberg, holm
from seatrial.records.arms import BASELINE
from seatrial.records.people import stands_apart
from seatrial.records.trial import TrialRecord
from seatrial.report.tables import GROUP, QUANTITIES, RATES, WHOLE, Cell, limits_of

if TYPE_CHECKING:
    from numpy.random import Generator

# Outcomes that any two systems are compared on, where the experiment has just two.
EXPLORED = ("safe_success", "strict_success", "partial_progress")
# How a system worked: compared at a fixed quality only, whoever asks (F22).
PROCESS = ("actions", "idle_actions", "wasted_unread", "wasted_undone")
QUALITY = "safe success in both"
ALPHA = 0.05
UNDECIDED = "cannot be told apart yet"
TOLD_APART = "can be told apart"
Role = Literal["primary", "exploratory", "process"]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``comparisons`` in ``report.json``.

    Attributes:
        role: primary if the experiment declared it before any result existed; process for how systems
            worked, which is compared at a fixed quality only.
        stratum: as in the main table.
        quality: which trials were compared; null for all valid ones.
        a, b: systems; ``estimate`` is the measure of a minus that of b, the mean over tasks.
        verdict: "A higher", "B higher" or "cannot be told apart yet", by the adjusted p value. Higher is a
            larger value, not a better one.
        words: the verdict in words: "can be told apart: A higher", or that they cannot yet.
        p, test: what decides, before the adjustment.
        p_adjusted: Holm's among primary comparisons, Benjamini and Hochberg's among those of another role;
            null where nothing can be tested.
        p_permutation: of random signs, as a check.
        wins, losses, ties: tasks on which a is higher, lower, the same.
        effect: mean of the task differences over their standard deviation.
        mcnemar: only with one yes-or-no trial of each system per task.
    """

    role: Role
    measure: str
    arm: str
    stratum: str = WHOLE
    quality: str | None = None
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

    @property
    def told_apart(self) -> bool:
        """Whether the verdict says which is higher."""
        return self.verdict != UNDECIDED

    @property
    def one_task(self) -> bool:
        """Whether it could not be tested and rests on one task, so that no test could be made."""
        return self.p is None and self.estimate.n_tasks == 1


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
    """All comparisons of outcome in a report, arm by arm.

    The declared pair or pairs on the declared measure are primary: on the baseline where the experiment has
    one, so that arms added later change neither the primary comparison nor its adjustment. In other arms the
    same is explored. Where there are just two systems they are also explored on success and progress, and on
    safe success within each horizon group. More than two systems without a declaration are not compared: so
    many comparisons would find a difference by chance.

    Args:
        groups: the cells of the main table.
        experiment: the experiment as frozen in the manifest.
    """
    # Loaded by this command only, since numpy slows every start.
    import numpy as np

    plan = read_plan(experiment)
    every = list(groups)
    whole = [cell for cell in every if cell.stratum == WHOLE]
    with_baseline = BASELINE in (experiment.get("arms") or {cell.arm for cell in whole})
    rng = np.random.default_rng(plan.seed)
    primary: list[Comparison] = []
    explored: list[Comparison] = []
    for a, b in declared_pairs(whole, plan) if plan.measure else ():
        quality = QUALITY if plan.measure in PROCESS else None
        if a.arm == BASELINE or not with_baseline:
            primary.append(compare(a, b, str(plan.measure), ("primary", plan.alpha), rng, quality))
        else:
            explored.append(compare(a, b, str(plan.measure), ("exploratory", plan.alpha), rng, quality))
    for a, b in only_pairs(whole, plan):
        declared = {a.system, b.system} <= set(plan.systems)
        measures = [m for m in EXPLORED if not (declared and m == plan.measure)]
        explored += [compare(a, b, m, ("exploratory", plan.alpha), rng) for m in measures]
    for stratum in dict.fromkeys(cell.stratum for cell in every if cell.stratum.startswith(GROUP)):
        within = [cell for cell in every if cell.stratum == stratum]
        for a, b in only_pairs(within, plan):
            explored.append(compare(a, b, EXPLORED[0], ("exploratory", plan.alpha), rng))
    return [*adjusted(primary), *adjusted(explored)]


def declared_pairs(cells: Iterable[Cell], plan: Plan) -> list[tuple[Cell, Cell]]:
    """The pairs of systems that the experiment declared, in each arm."""
    found = []
    for by_system in by_arm(cells):
        declared = [by_system[name] for name in plan.systems if name in by_system]
        found += list(combinations(declared, 2))
    return found


def only_pairs(cells: Iterable[Cell], plan: Plan) -> list[tuple[Cell, Cell]]:
    """The pair of each arm that has just two systems, in the declared order if there is one."""
    found = []
    for by_system in by_arm(cells):
        if len(by_system) == 2:
            order = [name for name in plan.systems if name in by_system]
            a, b = order if len(order) == 2 else by_system
            found.append((by_system[a], by_system[b]))
    return found


def by_arm(cells: Iterable[Cell]) -> list[dict[str, Cell]]:
    """Cells of one stratum by system, arm by arm; what a person had a part in is compared with nothing."""
    found: dict[str, dict[str, Cell]] = {}
    for cell in own_results(cells):
        found.setdefault(cell.arm, {})[cell.system] = cell
    return list(found.values())


def own_results(cells: Iterable[Cell]) -> list[Cell]:
    """The cells of what systems did by themselves."""
    return [cell for cell in cells if not stands_apart(cell.system)]


def compare(
    a: Cell,
    b: Cell,
    measure: str,
    role: tuple[Role, float],
    rng: "Generator",
    quality: str | None = None,
) -> Comparison:
    """One comparison, before its p value is adjusted.

    Args:
        a, b: cells of one arm and stratum.
        measure: a column of the trial record, or a line of the main table.
        role: and the level of the test.
        rng: source of sampled signs.
        quality: if given, only trials that ended in safe success are compared, and this says so.
    """
    # Loaded by this command only, since numpy slows every start.
    from seatrial.estimate.paired import paired_difference

    refused = Estimate(value=None, method="none", unit="tasks, paired", n_tasks=0, n_trials=0)
    made = Comparison(
        role=role[0], measure=measure, arm=a.arm, stratum=a.stratum, quality=quality, a=a.system, b=b.system,
        alpha=role[1], estimate=refused,
    )  # fmt: skip
    try:
        sides = [values(cell, measure, quality is not None) for cell in (a, b)]
        name_lost_tasks((a, b), (sides[0], sides[1]))
        names = (a.system, b.system)
        found = paired_difference(
            sides[0], sides[1], rng, alpha=role[1], names=names, limits=_limits_of(measure)
        )
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


def values(cell: Cell, measure: str, solved: bool = False) -> dict[str, list[Any]]:
    """A measure of the valid trials by task; with ``solved`` only of those that ended in safe success.

    Raises:
        TypeError: the measure is no number.
    """
    read = RATES.get(measure) or (QUANTITIES[measure][0] if measure in QUANTITIES else None)
    found: dict[str, list[Any]] = {record.task: [] for record in cell.records}
    for record in cell.valid:
        if not solved or record.safe_success is True:
            found[record.task].append(read(record) if read else column(record, measure))
    return found


def name_lost_tasks(
    pair: tuple[Cell, Cell], sides: tuple[dict[str, list[Any]], dict[str, list[Any]]]
) -> None:
    """Give a side the tasks that only people's part in its trials took from it, without values.

    The comparison then leaves such a task out by name, where it would refuse two systems on other tasks.

    Args:
        pair: the two cells.
        sides: the values of each by task; added to.
    """
    for cell, own, other in zip(pair, sides, reversed(sides), strict=True):
        own.update({r.task: [] for r in cell.with_people if r.task in other and r.task not in own})


def _limits_of(measure: str) -> tuple[float, float]:
    """Least and greatest value of a line of the main table; a column beside it may hold anything."""
    return limits_of(QUANTITIES[measure][1]) if measure in QUANTITIES else ANYTHING


def column(record: TrialRecord, name: str) -> float | bool | None:
    """A column of the record that holds a number or yes or no."""
    value = getattr(record, name)
    if value is not None and not isinstance(value, bool | int | float):
        raise TypeError(f"{name} is no number, so systems cannot be compared on it.")
    return value


def in_words(verdict: str, a: str, b: str) -> str:
    """A verdict with the systems' names."""
    higher = {"A higher": a, "B higher": b}.get(verdict)
    return UNDECIDED if higher is None else f"{TOLD_APART}: {higher} higher"


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
        estimate = comparison.estimate
        if verdict != comparison.verdict:
            estimate = msgspec.structs.replace(estimate, notes=[*estimate.notes, ADJUSTED_AWAY])
        found.append(
            msgspec.structs.replace(comparison, p_adjusted=p, verdict=verdict, words=words, estimate=estimate)
        )
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
