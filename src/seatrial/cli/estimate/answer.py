"""What an estimate says: numbers with all that belongs to them; and their denominators."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from seatrial.cli.estimate.drawing import Drawing
from seatrial.estimate.estimate import Estimate
from seatrial.report.tables import Cell
from seatrial.report.unit_costs import finite

SHARE = "share"
POINTS = "points"
UNBOUNDED = "unbounded"


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """How many trials stand behind a number.

    Attributes:
        trials: with an ended attempt.
        infrastructure: of these, without a valid attempt; in no rate.
        valid: the rest.
        unknown: of the valid, where this measure is unknown.
        events: of the valid, where a yes-or-no measure is yes; null for quantities.
        censored: of the valid, cut off by a limit.
        censored_events: of these, where the measure is yes all the same (verified timeouts); null likewise.
        censoring_unknown: of the valid, where nobody says whether a limit cut it off.
    """

    trials: int
    infrastructure: int
    valid: int
    unknown: int
    events: int | None
    censored: int
    censored_events: int | None
    censoring_unknown: int


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One number.

    Attributes:
        system: whose, with the arm where there are several; two names for a comparison.
        quantity: what it is, in words.
        counts: unit of the value; "share" is printed in per cent, "points" is a difference of shares.
        estimate: the number itself.
        beside: the same quantity by other intervals.
        denominators: of its trials.
        shown: how the value must be printed where the number alone would mislead, such as "> 960".
        columns: further columns of the table, by heading.
        facts: what else the method found, for JSON.
        told: sentences below the tables.
    """

    system: str
    quantity: str
    counts: str = ""
    estimate: Estimate
    beside: list[Estimate] = []
    denominators: Counted | None = None
    shown: str | None = None
    columns: dict[str, str] = {}
    facts: dict[str, Any] = {}
    told: list[str] = []


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """All lines of one command.

    Attributes:
        title: what was asked, in words.
        lines: the numbers.
        limits: what holds for all of them.
        settings: what they depend on beside the trials.
        drawing: what ``--plot`` shows; values with their intervals if null.
    """

    title: str
    lines: list[Line]
    limits: list[str] = []
    settings: dict[str, Any] = {}
    drawing: Drawing | None = None


def counts_of(cell: Cell, values: Iterable[object], yes_no: bool) -> Counted:
    """The denominators of one number.

    Args:
        cell: its trials.
        values: one of every valid trial.
        yes_no: whether they are outcomes.
    """
    every = [None if value is None else value is True for value in values]
    found = Counter(every)
    cut = [record.censored for record in cell.valid]
    cut_yes = sum(value is True and was is True for value, was in zip(every, cut, strict=True))
    return Counted(
        trials=len(cell.records),
        infrastructure=len(cell.records) - len(cell.valid),
        valid=len(cell.valid),
        unknown=found[None],
        events=found[True] if yes_no else None,
        censored=cut.count(True),
        censored_events=cut_yes if yes_no else None,
        censoring_unknown=cut.count(None),
    )


def name_of(cell: Cell, cells: Sequence[Cell]) -> str:
    """A system's name, with its arm where there are several arms."""
    return cell.system if len({c.arm for c in cells}) == 1 else f"{cell.system}, {cell.arm}"


def plain(value: Any) -> Any:
    """Plain data without infinities and NaN, which JSON does not know: they become words."""
    if isinstance(value, float) and not math.isfinite(value):
        return "undefined" if math.isnan(value) else UNBOUNDED if value > 0 else f"{UNBOUNDED} below"
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, Estimate):
        return msgspec.to_builtins(finite(value))
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    return value


def intervals(answer: Answer) -> Drawing:
    """The plain drawing: value and interval of every line that counts what the first one does."""
    alike = [line for line in answer.lines if line.counts == answer.lines[0].counts]
    several = len({line.quantity for line in alike}) > 1
    return Drawing(
        look="intervals",
        rows=[
            {
                "series": line.system,
                "x": line.estimate.value,
                "low": line.estimate.low,
                "high": line.estimate.high,
                "y": f"{line.system}: {line.quantity}" if several else line.system,
            }
            for line in alike
        ],
        x=answer.title,
        y="",
    )
