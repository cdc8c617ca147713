"""SQLite's values as JSON and back, without loss."""

import math
from typing import Any

# A value that JSON has no form for is a table with one of these keys.
_BYTES, _TEXT, _REAL = "$blob", "$text", "$real"


def to_text(raw: bytes) -> str:
    """Text as SQLite holds it; bytes that are not UTF-8 as half surrogates, which ``to_json`` knows."""
    return raw.decode("utf-8", "surrogateescape")


def to_json(value: Any) -> Any:
    """A value of a column as JSON: blobs, broken text and infinities become ``{"$blob": hex}`` and so on."""
    if isinstance(value, bytes):
        return {_BYTES: value.hex()}
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return {_TEXT: value.encode("utf-8", "surrogateescape").hex()}
    if isinstance(value, float) and not math.isfinite(value):
        return {_REAL: str(value)}
    return value


def from_json(value: Any) -> tuple[str, Any]:
    """The inverse of ``to_json``: an expression with one place for a value, and the value.

    Raises:
        ValueError: a list or another table.
    """
    if isinstance(value, dict) and len(value) == 1:
        ((kind, text),) = value.items()
        if kind == _BYTES:
            return "?", bytes.fromhex(text)
        if kind == _TEXT:
            return "CAST(? AS TEXT)", bytes.fromhex(text)
        if kind == _REAL:
            return "?", float(text)
    if isinstance(value, dict | list):
        raise ValueError(f"{str(value)[:80]} is no value of a column")
    return "?", value
