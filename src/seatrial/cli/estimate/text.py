"""An answer as text: one table of numbers, one of denominators, then whatever has to be said in words."""

import math
from collections.abc import Sequence

from rich.cells import cell_len

from seatrial.cli.estimate.answer import POINTS, SHARE, UNBOUNDED, Answer, Counted, Line
from seatrial.cli.visible import visible
from seatrial.estimate.estimate import Estimate
from seatrial.report.unit_costs import finite

PERCENTILE = ", percentile"
CONSERVATIVE = "; conservative: counts run noise twice"
COUNTS = {
    "trials": "trials", "infrastructure": "infrastructure", "valid": "valid", "events": "yes",
    "unknown": "unknown", "censored": "censored", "censored_events": "of them yes",
    "censoring_unknown": "censoring unknown",
}  # fmt: skip


def as_text(answer: Answer, source: str, level: float, mixed: Sequence[str] = ()) -> list[str]:
    """The answer as lines of text.

    A sentence about all numbers stands by itself; one about some has a number, which their rows name.
    """
    sayings, marks = _sayings(answer.lines)
    text = [f"{answer.title} ({source})", ""]
    if answer.lines:
        text += [*aligned(_numbers(answer.lines, level, marks)), ""]
    text += [*counted, ""] if (counted := _denominators(answer.lines)) else []
    text += sayings
    text += [f"{line.system}: {told}" for line in answer.lines for told in line.told]
    text += [f"mixed: {line}" for line in mixed]
    return text + [f"limit: {line}" for line in answer.limits]


def _numbers(lines: Sequence[Line], level: float, marks: Sequence[str]) -> list[list[str]]:
    """The rows of the first table; intervals beside the first come below it, without a name.

    Values that are no shares have their unit in a column. Where one quantity has several intervals, another
    column says what each is by.
    """
    extra = list(dict.fromkeys(name for line in lines for name in line.columns))
    units = any(_unit(line) for line in lines)
    several = any(line.beside for line in lines)
    head = [
        "system", "quantity", "value", *(["unit"] if units else []), f"{100 * level:g} % interval",
        *(["by"] if several else []), "tasks", "trials", *extra,
    ]  # fmt: skip
    rows = [[*head, "see"] if any(marks) else head]
    places = iter(marks)
    for line in lines:
        for place, estimate in enumerate((line.estimate, *line.beside)):
            first = place == 0
            named = [line.system, line.quantity] if first else ["", "  or"]
            row = [
                *named, value_words(line) if first else number_words(estimate.value, line.counts),
                *([_unit(line)] if units else []), interval_words(estimate, line.counts),
                *([_way(estimate)] if several else []), str(estimate.n_tasks), str(estimate.n_trials),
                *(line.columns.get(name, "") if first else "" for name in extra),
            ]  # fmt: skip
            mark = next(places)
            rows.append([*row, mark] if any(marks) else row)
    return rows


def _unit(line: Line) -> str:
    """What the value counts; nothing for shares and points, which are printed with theirs."""
    return "" if line.counts in (SHARE, POINTS) else line.counts


def _way(estimate: Estimate) -> str:
    """How an interval was made, in the few words that tell it from the others beside it."""
    words = estimate.method.removesuffix(CONSERVATIVE).removesuffix(PERCENTILE)
    words = words.split(" (")[0]
    return f"{words} (conservative)" if estimate.method.endswith(CONSERVATIVE) else words


def _sayings(lines: Sequence[Line]) -> tuple[list[str], list[str]]:
    """Methods and notes, each once; and for each row of the table the numbers of those it has alone."""
    said: dict[str, list[int]] = {}
    estimates = [estimate for line in lines for estimate in (line.estimate, *line.beside)]
    for row, estimate in enumerate(estimates):
        for sentence in _sentences(estimate):
            said.setdefault(sentence, []).append(row)
    text: list[str] = []
    marks: list[list[str]] = [[] for _ in estimates]
    number = 0
    for sentence, rows in said.items():
        if len(set(rows)) == len(estimates):
            text.insert(0 if number == 0 else len(text) - number, sentence)
            continue
        number += 1
        text.append(f"[{number}] {sentence}")
        for row in dict.fromkeys(rows):
            marks[row].append(str(number))
    return text, [" ".join(own) for own in marks]


def _sentences(estimate: Estimate) -> list[str]:
    return [f"method: {estimate.method}; sampling unit: {estimate.unit}", *finite(estimate).notes]


def _denominators(lines: Sequence[Line]) -> list[str]:
    """The second table; lines with the same counts share a row."""
    found: dict[tuple[str, Counted], list[str]] = {}
    for line in lines:
        if line.denominators is not None:
            found.setdefault((line.system, line.denominators), []).append(line.quantity)
    if not found:
        return []
    several = len({system for system, _ in found}) < len(found)
    rows = [["trials behind them", *(["quantity"] if several else []), *COUNTS.values()]]
    for (system, counted), quantities in found.items():
        more = f" and {len(quantities) - 1} more" if len(quantities) > 1 else ""
        counts = [getattr(counted, name) for name in COUNTS]
        words = ["" if count is None else str(count) for count in counts]
        rows.append([system, *([quantities[0] + more] if several else []), *words])
    return aligned(rows)


def value_words(line: Line) -> str:
    """The value as printed."""
    return line.shown if line.shown is not None else number_words(line.estimate.value, line.counts)


def interval_words(estimate: Estimate, counts: str) -> str:
    """The interval as printed, or that there is none."""
    if estimate.low is None or estimate.high is None:
        return "no interval"
    return f"[{number_words(estimate.low, counts)}, {number_words(estimate.high, counts)}]"


def number_words(value: float | None, counts: str = "") -> str:
    """Four significant digits, per cent for shares, points for their differences; null is unknown."""
    if value is None:
        return "unknown"
    if math.isinf(value):
        return UNBOUNDED
    if counts == SHARE:
        return f"{100 * value:.1f} %"
    if counts == POINTS:
        return f"{100 * value:+.1f} points"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table in columns, two spaces apart, never folded, so that it can be searched and cut."""
    widths = [max(cell_len(visible(row[column])) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell + " " * (width - cell_len(visible(cell))) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
