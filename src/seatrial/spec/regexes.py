"""Regular expressions of users' files. They are matched against agents' texts, so none may take for ever."""

import re
import warnings
from typing import NoReturn

from seatrial.spec.faults import Source, shown

REMEDY = "Correct the expression"
_REPEATS = "*+"
_BOUNDED = re.compile(r"\{\d*(,?)(\d*)\}")


class RegexError(ValueError):
    """The text is no regular expression, or one whose search may take time beyond all bounds."""


def compile_regex(text: str) -> re.Pattern[str]:
    """Compile an expression that is safe to search in an agent's text.

    A group that is repeated without bound and itself repeats something without bound, such as ``(a+)+``, can
    be matched in exponentially many ways; whoever writes the text could stop the harness with it.

    Raises:
        RegexError: says what is wrong.
    """
    try:
        with warnings.catch_warnings():
            # What a later Python would read otherwise is refused, not left to the version that reads it.
            warnings.simplefilter("error", FutureWarning)
            pattern = re.compile(text)
    except (re.error, RecursionError, OverflowError, FutureWarning) as fault:
        raise RegexError(f"is no regular expression: {fault}") from fault
    if (group := _nested_repeat(text)) is not None:
        raise RegexError(
            f"is no regular expression that ends in time: {group!r} repeats a repetition; "
            "write it with one of the two bounded, such as {1,9}"
        )
    return pattern


def check_regex(source: Source, place: str, text: str) -> re.Pattern[str]:
    """Compile an expression of a file.

    Raises:
        SpecError: names the place.
    """
    try:
        return compile_regex(text)
    except RegexError as fault:
        _refuse(source, place, text, fault)


def _refuse(source: Source, place: str, text: str, fault: RegexError) -> NoReturn:
    raise source.fault(place, f"{shown(text)} {fault}", REMEDY) from fault


def _nested_repeat(text: str) -> str | None:
    """The first group under an unbounded repetition that holds another one; the text has been compiled."""
    groups: list[tuple[int, bool]] = []
    at, repeats = 0, False
    while at < len(text):
        start, kind = at, text[at]
        at = _past(text, at)
        if kind == "(":
            groups.append((start, repeats))
            repeats = False
            continue
        if kind == ")":
            # In a comment of an expression a bracket may stand alone.
            start, outer = groups.pop() if groups else (start, repeats)
            inner = repeats
        else:
            outer, inner = repeats, False
        unbounded, at = _quantifier(text, at)
        if unbounded and inner:
            return text[start:at]
        repeats = outer or inner or unbounded
    return None


def _past(text: str, at: int) -> int:
    """Where the piece of an expression ends that begins here: a character, an escape or a whole class."""
    if text[at] == "\\":
        return at + 2
    if text[at] != "[":
        return at + 1
    at += 2 if text.startswith("[^", at) else 1
    first = at
    # A bracket in first place is a member.
    while at < len(text) and (text[at] != "]" or at == first):
        at += 2 if text[at] == "\\" else 1
    return at + 1


def _quantifier(text: str, at: int) -> tuple[bool, int]:
    """Whether an unbounded repetition stands here, and where it ends with its ``?`` or ``+``."""
    if at < len(text) and text[at] in _REPEATS:
        unbounded, at = True, at + 1
    elif (found := _BOUNDED.match(text, at)) is not None:
        unbounded, at = bool(found[1]) and not found[2], found.end()
    else:
        return False, at + (at < len(text) and text[at] == "?")
    # A possessive repetition gives nothing back, so it cannot be matched in several ways.
    if at < len(text) and text[at] == "+":
        return False, at + 1
    return unbounded, at + (at < len(text) and text[at] == "?")
