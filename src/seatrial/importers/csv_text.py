"""CSV with a line of column names; an empty cell is null, everything else is text until it is parsed."""

import csv
import io
from collections.abc import Collection, Iterator

from seatrial.errors import SpecError
from seatrial.importers.json_text import text_of
from seatrial.importers.request import Piece
from seatrial.importers.rows import Row
from seatrial.spec.faults import shown

# What else tables are divided by, for a remedy that names it.
OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def read_csv(
    piece: Piece, expects: str, required: Collection[str] = (), separator: str = ","
) -> Iterator[Row]:
    """Rows of a CSV file, each placed by the line it begins on.

    Args:
        piece: the file.
        expects: what should be given in its place, for the remedy.
        required: columns that must be there.
        separator: one character between two cells.

    Raises:
        SpecError: empty, not UTF-8, a column is missing or there twice, or a row has another number of cells.
    """
    reader = csv.reader(io.StringIO(text_of(piece, expects), newline=""), delimiter=separator, strict=True)
    line = 1
    try:
        names = next(reader)
        _check_names(piece, names, required, expects)
        line = reader.line_num + 1
        empty = True
        for cells in reader:
            if cells:
                if len(cells) != len(names):
                    problem = f"has {len(cells)} cells, but there are {len(names)} columns"
                    raise SpecError(
                        piece.name, f"line {line}", problem, f"Quote cells that hold {shown(separator)}"
                    )
                empty = False
                values = {name: cell if cell else None for name, cell in zip(names, cells, strict=True)}
                yield Row(piece.name, f"line {line}", values)
            line = reader.line_num + 1
    except csv.Error as fault:
        raise SpecError(piece.name, f"line {line}", f"not CSV: {fault}", f"Give {expects}") from fault
    if empty:
        raise SpecError(piece.name, "", "has no row below its column names", f"Give {expects}")


def _check_names(piece: Piece, names: list[str], required: Collection[str], expects: str) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise SpecError(
                piece.name, "line 1", f"column {shown(name)} is there twice", "Rename one of them"
            )
    for name in required:
        if name not in names:
            there = shown(", ".join(names))
            raise SpecError(
                piece.name, "line 1", f"the column {name} is missing (there are: {there})",
                "Divide the cells by commas" if divided_by(names) else f"Give {expects}",
            )  # fmt: skip


def divided_by(names: Collection[str]) -> str | None:
    """The separator that a table seems to have, where it was read as one column; null otherwise."""
    (only, *others) = names
    return None if others else next((mark for mark in OTHER_SEPARATORS if mark in only), None)
