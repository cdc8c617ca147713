"""A request as the journal can keep it: whatever an agent sends, every JSON reader can read it back.

JSON from an agent may hold half surrogate pairs, numbers no reader takes and endless nesting. Kept as it
is, such a request could not be written down, and the agent could end any trial as a fault of the harness.
"""

import math
import re
from typing import Any

DEPTH = 64
_LOW, _HIGH = -(1 << 63), 1 << 64
_HALF = re.compile("[\ud800-\udfff]")


def readable(text: str) -> str:
    """The text with half surrogate pairs replaced, so that it can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _HALF.sub("\N{REPLACEMENT CHARACTER}", text)
    return text


def plain(value: object) -> tuple[Any, str | None]:
    """A decoded JSON value made fit for the journal.

    Returns:
        The value, and in words for the agent what had to be replaced in it; null when nothing had.
    """
    problems: list[str] = []
    kept = _plain(value, 0, problems)
    return kept, f"the arguments hold {problems[0]}" if problems else None


def _plain(value: object, depth: int, problems: list[str]) -> Any:
    if isinstance(value, str):
        kept = readable(value)
        if kept != value:
            problems.append("text with half of a surrogate pair")
        return kept
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if _LOW <= value < _HIGH else _replaced("a number beyond 64 bits", problems)
    if isinstance(value, float):
        return value if math.isfinite(value) else _replaced("a number that is not finite", problems)
    if depth >= DEPTH:
        return _replaced(f"values nested more than {DEPTH} deep", problems)
    if isinstance(value, dict):
        return {
            _plain(str(name), depth, problems): _plain(item, depth + 1, problems)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_plain(item, depth + 1, problems) for item in value]
    return _replaced(f"a {type(value).__name__}", problems)


def _replaced(what: str, problems: list[str]) -> str:
    problems.append(what)
    return f"[left out: {what}]"
