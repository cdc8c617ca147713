"""One row of somebody else's table, read with care: every fault names file, row, column, value and remedy."""

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from seatrial.errors import SpecError
from seatrial.spec.faults import choose, shown

_MOST = 2**63 - 1
_WHOLE = re.compile(r"[+-]?[0-9]{1,40}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)


def number_in(text: str) -> int | float | str:
    """The number that a text writes, NaN and infinities included; the text itself when it writes none.

    ``int`` and ``float`` alone would also take ``1_0``, which no table means.
    """
    bare = text.strip()
    if _WHOLE.fullmatch(bare):
        return int(bare)
    return float(bare) if _NUMBER.fullmatch(bare) else text


@dataclass(frozen=True)
class Row:
    """Values by column.

    Attributes:
        file: the file as messages show it.
        place: which row: ``line 12``, ``results[3]``; empty where the file is the row.
    """

    file: str
    place: str
    values: Mapping[str, Any]

    def fault(self, column: str, problem: str, remedy: str) -> SpecError:
        """An error at one cell, ready to be raised."""
        where = f"{self.place}, column {column}" if self.place else f"column {column}"
        return SpecError(self.file, where, problem, remedy)

    def get(self, column: str) -> Any:
        """The value as it is; null when absent."""
        return self.values.get(column)

    def text(self, column: str) -> str:
        """A text that must be there; whole numbers count as text, as ids are often written so.

        Raises:
            SpecError: absent, empty, or something else.
        """
        found = self.maybe_text(column)
        if found is None:
            raise self.fault(column, "there is no value", "Every row needs one")
        return found

    def maybe_text(self, column: str) -> str | None:
        """A text; null when absent.

        Raises:
            SpecError: empty, or something else.
        """
        value = self.get(column)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str) or not value.strip():
            raise self.fault(column, f"{shown(value)} is no name", "Write a text that is not empty")
        return value

    def number(self, column: str, low: float | None = None) -> float | None:
        """A finite number; null when absent.

        Args:
            column: its name.
            low: the least value allowed.

        Raises:
            SpecError: NaN, infinite, no number, or below ``low``.
        """
        value = self.get(column)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fault(column, f"{shown(value)} is no number", "Write a number, or null where unknown")
        if isinstance(value, int) and abs(value) > _MOST:
            raise self.fault(column, f"{shown(value)} has more than 64 bits", "Write a smaller number")
        if not math.isfinite(value):
            raise self.fault(
                column, f"{value} is no usable number", "Write a finite one, or null where unknown"
            )
        if low is not None and value < low:
            raise self.fault(column, f"{shown(value)} is below {low:g}", f"Write a number of {low:g} or more")
        return float(value)

    def parsed(self, column: str) -> "Row":
        """One cell of this row with its text read as a number; what is no number stays as it is."""
        value = self.get(column)
        if not isinstance(value, str):
            return self
        return Row(self.file, self.place, {column: number_in(value)})

    def whole(self, column: str, low: int = 0) -> int | None:
        """A whole number of 64 bits; null when absent.

        Raises:
            SpecError: it has a fraction, is too large, or is below ``low``.
        """
        value = self.number(column, low)
        if value is None:
            return None
        if not value.is_integer() or value > _MOST:
            raise self.fault(column, f"{shown(self.get(column))} is no whole number of 64 bits", "Write one")
        return int(self.get(column))

    def flag(self, column: str) -> bool | None:
        """True or false, also written 1 and 0; null when absent.

        Raises:
            SpecError: anything else.
        """
        value = self.get(column)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float) and value in (0, 1):
            return bool(value)
        raise self.fault(column, f"{shown(value)} is not true or false", "Write true, false, 1, 0 or null")

    def moment(self, column: str) -> datetime | None:
        """An RFC 3339 time; null when absent.

        Raises:
            SpecError: anything else, or no time zone.
        """
        value = self.maybe_text(column)
        if value is None:
            return None
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            raise self.fault(column, f"{shown(value)} is no time", "Write it as RFC 3339") from None
        if found.tzinfo is None:
            raise self.fault(column, f"{shown(value)} has no time zone", "Add one, such as Z")
        return found

    def microseconds(self, start: str, end: str) -> int | None:
        """From one column's moment to another's; null unless both are there.

        Raises:
            SpecError: the end lies before the start.
        """
        begun, ended = self.moment(start), self.moment(end)
        if begun is None or ended is None:
            return None
        spent = round((ended - begun).total_seconds() * 1e6)
        if spent < 0:
            problem = f"{shown(self.get(end))} lies before {start} ({shown(self.get(start))})"
            raise self.fault(end, problem, "Correct one of them, or make it null")
        return spent

    def require(self, columns: Collection[str], expects: str) -> None:
        """Refuse a row that lacks columns, as those of another format do.

        Raises:
            SpecError: names the first one missing and what was there instead.
        """
        for column in columns:
            if column not in self.values:
                there = ", ".join(map(str, list(self.values)[:8])) or "nothing"
                raise self.fault(column, f"the column is missing (there are: {there})", f"Give {expects}")

    def one_of(self, column: str, known: Collection[str]) -> str | None:
        """One of the known words; null when absent.

        Raises:
            SpecError: another word.
        """
        value = self.maybe_text(column)
        if value is not None and value not in known:
            raise self.fault(column, f"unknown value {shown(value)}", choose(value, known, "one of these"))
        return value
