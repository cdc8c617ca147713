"""The headline: strict and safe success side by side, and which systems can be told apart (G1, F3)."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import rate_over_tasks
from seatrial.evidence.read import RunEvidence
from seatrial.report.comparisons import Comparison, compare_systems
from seatrial.report.people import apart_sentences
from seatrial.report.populations import cells_of
from seatrial.report.repeats import idle_repeats
from seatrial.report.tables import RATES, WHOLE, Cell, by_task, family_of
from seatrial.report.wording import counted

Repeats = Mapping[tuple[str, str], str]


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """A rate over the valid trials: how many are yes, in how many that is unknown, and the estimate."""

    events: int
    unknown: int
    estimate: Estimate


class HeadlineRow(msgspec.Struct, frozen=True, kw_only=True):
    """One system in one arm and stratum.

    Attributes:
        stratum: as in the main table.
        tasks: with a planned trial.
        trials, valid, infrastructure, attempts: as in the main table's denominators.
        strict: every required condition holds at the end.
        safe: strict, and no hard constraint was ever broken.
        caveats: what a reader must know beside the two, as whole sentences.
    """

    system: str
    arm: str
    stratum: str
    tasks: int
    trials: int
    valid: int
    infrastructure: int
    attempts: int
    strict: Rate
    safe: Rate
    caveats: list[str]


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What one comparison says; its details stand in ``comparisons``.

    Attributes:
        told_apart: by the adjusted p value against alpha.
        test: what p comes from.
        among: comparisons of the same role that were tested, for whose number p is adjusted.
    """

    role: str
    measure: str
    arm: str
    stratum: str
    a: str
    b: str
    told_apart: bool
    words: str
    p_adjusted: float | None
    test: str
    among: int
    n_tasks: int

    @property
    def one_task(self) -> bool:
        """As in ``Comparison``."""
        return self.p_adjusted is None and self.n_tasks == 1


class Headline(msgspec.Struct, frozen=True, kw_only=True):
    """``headline`` in ``report.json``.

    Attributes:
        scope: what the intervals speak of, one sentence.
        rows: the whole first, then strata.
        primary: comparisons that were declared before any result.
        exploratory: all others of outcome.
    """

    scope: str
    rows: list[HeadlineRow]
    primary: list[Told]
    exploratory: list[Told]


def headline_of(evidence: RunEvidence) -> Headline:
    """The headline of a run all of whose trials ended."""
    groups, manifest = cells_of(evidence), evidence.manifest
    repeats = idle_repeats(groups, manifest.systems, manifest.plan)
    return headline(groups, compare_systems(groups, manifest.experiment), repeats)


def headline(groups: Sequence[Cell], comparisons: Sequence[Comparison], repeats: Repeats) -> Headline:
    """The headline from the cells of the main table.

    Args:
        groups: all cells.
        comparisons: of outcome.
        repeats: sentences on systems and arms whose repeats add no information.
    """
    apart = apart_sentences([cell for cell in groups if cell.stratum == WHOLE])
    return Headline(
        scope=scope_of(groups),
        rows=[headline_row(cell, repeats, apart) for cell in groups],
        primary=told(comparisons, "primary"),
        exploratory=told(comparisons, "exploratory"),
    )


def headline_row(cell: Cell, *sentences: Repeats) -> HeadlineRow:
    """Strict and safe success of one cell, with what is to be said of its system and arm."""
    said = [found[cell.system, cell.arm] for found in sentences if (cell.system, cell.arm) in found]
    return HeadlineRow(
        system=cell.system,
        arm=cell.arm,
        stratum=cell.stratum,
        tasks=len({record.task for record in cell.records}),
        trials=len(cell.records),
        valid=len(cell.valid),
        infrastructure=len(cell.records) - len(cell.valid),
        attempts=len(cell.every),
        strict=rate_of(cell, "strict_success"),
        safe=rate_of(cell, "safe_success"),
        caveats=said,
    )


def rate_of(cell: Cell, measure: str) -> Rate:
    """A rate of the main table."""
    outcomes = [RATES[measure](record) for record in cell.valid]
    return Rate(
        events=outcomes.count(True),
        unknown=outcomes.count(None),
        estimate=rate_over_tasks(by_task(cell, outcomes)),
    )


def told(comparisons: Iterable[Comparison], role: str) -> list[Told]:
    """The comparisons of one role, in short."""
    own = [c for c in comparisons if c.role == role]
    tested = sum(c.p_adjusted is not None for c in own)
    return [
        Told(
            role=c.role,
            measure=c.measure,
            arm=c.arm,
            stratum=c.stratum,
            a=c.a,
            b=c.b,
            told_apart=c.told_apart,
            words=c.words,
            p_adjusted=c.p_adjusted,
            test=c.test,
            among=tested,
            n_tasks=c.estimate.n_tasks,
        )
        for c in own
    ]


def scope_of(groups: Iterable[Cell]) -> str:
    """What was sampled, and so what the intervals speak of."""
    records = [record for cell in groups for record in cell.records]
    tasks, families = {r.task for r in records}, sorted({family_of(r) for r in records})
    if len(tasks) <= 1:
        return "One task: intervals speak of repeated trials of this task only."
    if len(families) == 1:
        return (
            f"All {len(tasks)} tasks are of one family ({families[0]}). Instances of one generator estimate "
            "that generator only."
        )
    return (
        f"{counted(len(tasks), 'task')} of {len(families)} families ({', '.join(families)}): intervals "
        "speak of other tasks drawn as these were."
    )
