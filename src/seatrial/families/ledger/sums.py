"""Tables of sums: the first from entries, each further one from the one before, in Python and in SQL."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

Key = tuple[str, str]
Sums = dict[Key, int]


@dataclass(frozen=True)
class Operation:
    """How one table of sums is made from another with the same parties and periods.

    Attributes:
        words: the rule; ``{party}`` and ``{period}`` stand for the columns' names.
        compute: the same in Python.
        sql: the same as an expression, with ``{party}``, ``{period}`` and ``{total}``.
    """

    words: str
    compute: Callable[[Sums], Sums]
    sql: str


def first_sums(entries: Iterable[tuple[str, str, int]]) -> Sums:
    """Amounts by party and period."""
    found: Sums = {}
    for party, period, amount in entries:
        found[party, period] = found.get((party, period), 0) + amount
    return dict(sorted(found.items()))


def _running(sums: Sums) -> Sums:
    return {key: sum(v for k, v in sums.items() if k[0] == key[0] and k[1] <= key[1]) for key in sums}


def _change(sums: Sums) -> Sums:
    found, last = {}, dict[str, int]()
    for (party, period), total in sorted(sums.items()):
        found[party, period] = total - last.get(party, 0)
        last[party] = total
    return found


def _above(sums: Sums) -> Sums:
    return {key: total - min(v for k, v in sums.items() if k[1] == key[1]) for key, total in sums.items()}


def _gap(sums: Sums) -> Sums:
    return {key: max(v for k, v in sums.items() if k[1] == key[1]) - total for key, total in sums.items()}


def _spread(sums: Sums) -> Sums:
    return {key: total - min(v for k, v in sums.items() if k[0] == key[0]) for key, total in sums.items()}


OPERATIONS = {
    "running": Operation(
        "the running total: of the same {party}, this and all earlier {period}s together", _running,
        "SUM({total}) OVER (PARTITION BY {party} ORDER BY {period})",
    ),
    "change": Operation(
        "the change: the {total} less that of the same {party} in its {period} before; its first as it is",
        _change, "{total} - LAG({total}, 1, 0) OVER (PARTITION BY {party} ORDER BY {period})",
    ),
    "above": Operation(
        "what it is above the smallest {total} of the same {period}", _above,
        "{total} - MIN({total}) OVER (PARTITION BY {period})",
    ),
    "gap": Operation(
        "what it is below the largest {total} of the same {period}", _gap,
        "MAX({total}) OVER (PARTITION BY {period}) - {total}",
    ),
    "spread": Operation(
        "what it is above the smallest {total} of the same {party}", _spread,
        "{total} - MIN({total}) OVER (PARTITION BY {party})",
    ),
}  # fmt: skip


def opposed(before: str, after: str) -> bool:
    """Whether the second would undo the first, or do nothing more."""
    return before == after or {before, after} in ({"running", "change"}, {"above", "gap"})
