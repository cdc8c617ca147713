"""JSON as others write it: names used twice in one object are refused, and every fault has its line."""

import json
from collections.abc import Iterator
from typing import Any

from seatrial.errors import SpecError
from seatrial.importers.request import Piece
from seatrial.importers.rows import Row
from seatrial.spec.faults import shown


class _UsedTwice(ValueError):
    """A name that stands twice in one object; readers would silently keep the last."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _UsedTwice(next(name for name in names if names.count(name) > 1))
    return found


# A decoder of one's own is several times faster than one made anew for each line.
_decode = json.JSONDecoder(object_pairs_hook=_object).decode


def read_object(piece: Piece, expects: str) -> dict[str, Any]:
    """A file that holds one JSON object.

    Args:
        piece: the file.
        expects: what should be given in its place, for the remedy.

    Raises:
        SpecError: it is not JSON, not an object, or names something twice.
    """
    found = _parsed(piece, text_of(piece, expects), 1, expects)
    if not isinstance(found, dict):
        raise SpecError(piece.name, "", f"holds {_kind(found)}, no object", f"Give {expects}")
    return found


def read_lines(piece: Piece, expects: str) -> Iterator[Row]:
    """A file of one JSON object a line; empty lines are passed over.

    Raises:
        SpecError: as for ``read_object``; names the line.
    """
    for number, line in enumerate(text_of(piece, expects).split("\n"), 1):
        if line and not line.isspace():
            found = _parsed(piece, line, number, expects)
            if not isinstance(found, dict):
                raise SpecError(
                    piece.name, f"line {number}", f"holds {_kind(found)}, no object", f"Give {expects}"
                )
            yield Row(piece.name, f"line {number}", found)


def text_of(piece: Piece, expects: str) -> str:
    """The file's text.

    Raises:
        SpecError: it is empty or not UTF-8.
    """
    try:
        text = piece.data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = piece.data.count(b"\n", 0, fault.start) + 1
        problem = f"byte {fault.start} (0x{piece.data[fault.start]:02x}) is not UTF-8"
        raise SpecError(piece.name, f"line {line}", problem, f"Give {expects}") from fault
    if not text.strip():
        raise SpecError(piece.name, "", "is empty", f"Give {expects}")
    return text


def _parsed(piece: Piece, text: str, first_line: int, expects: str) -> Any:
    try:
        return _decode(text)
    except _UsedTwice as fault:
        raise SpecError(
            piece.name, f"line {first_line}" if first_line > 1 else "",
            f"{shown(str(fault))} stands twice in one object", "Remove one of the two",
        ) from None  # fmt: skip
    except json.JSONDecodeError as fault:
        place = f"line {first_line + fault.lineno - 1}, column {fault.colno}"
        found = text.splitlines()[fault.lineno - 1 :][:1]
        raise SpecError(
            piece.name, place, f"not JSON: {fault.msg} in {shown(''.join(found))}", f"Give {expects}"
        ) from None
    except (RecursionError, ValueError) as fault:
        # ValueError: a whole number of thousands of digits.
        raise SpecError(
            piece.name, f"line {first_line}", f"not readable: {shown(str(fault))}", f"Give {expects}"
        ) from None


def _kind(value: Any) -> str:
    words = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return words.get(type(value), "a number")
