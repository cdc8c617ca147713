"""How faults in input files are worded: where they are, the value shown, the nearest thing that was meant."""

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from seatrial.errors import SpecError

# Ids and names become parts of file names and key paths, so they stay plain and short.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}")
NAME_RULE = "Use up to 48 letters, digits, '.', '_' and '-', beginning with a letter or digit"
SHOWN_CHARACTERS = 60


@dataclass(frozen=True)
class Source:
    """One input file, named as the user named it, or the part of it below ``prefix``."""

    file: str
    prefix: str = ""

    def within(self, place: str) -> "Source":
        """The part at a place: what is said of it names its place in the whole file."""
        return Source(self.file, f"{self.prefix}.{place}" if self.prefix else place)

    def fault(self, place: str, problem: str, remedy: str) -> SpecError:
        """An error in this file, ready to be raised."""
        whole = ".".join(part for part in (self.prefix, place) if part)
        return SpecError(self.file, whole, problem, remedy)


def shown(value: object) -> str:
    """A value as a message shows it: on one line, cut when it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    text = text if text.isprintable() else ascii(text)[1:-1]
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def nearest(word: object, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, or null when none is near."""
    found = difflib.get_close_matches(str(word), list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def choose(word: object, known: Iterable[str], what: str) -> str:
    """A remedy that offers the nearest known word, or all of them.

    Args:
        word: what was written.
        known: what is allowed here.
        what: the kind of thing, for the sentence: ``a subgoal``.
    """
    names = sorted(known)
    near = nearest(word, names)
    if near is not None:
        return f"Did you mean {shown(near)}?"
    if not names:
        return f"There is no such thing here yet: declare {what} first"
    return f"Name {what}: {', '.join(names)}"


def ended(remedy: str) -> str:
    """A remedy as the last sentence of a message, with its full stop unless it asks."""
    return remedy if remedy.endswith("?") else f"{remedy}."


def check_name(source: Source, place: str, name: str) -> None:
    """Refuse an id or name that could not be part of a file name.

    Raises:
        SpecError: it holds other characters, or is too long.
    """
    if not NAME.fullmatch(name):
        raise source.fault(place, f"{shown(name)} cannot be a name", NAME_RULE)


def check_unique(source: Source, place: str, names: list[str]) -> None:
    """Refuse a second use of a name.

    Args:
        source: the file.
        place: key path with ``{}`` where the index goes, such as ``subgoal[{}].id``.
        names: in the file's order.

    Raises:
        SpecError: names the later of the two places.
    """
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in first:
            raise source.fault(
                place.format(index),
                f"{shown(name)} is used before, at {place.format(first[name])}",
                "Give each its own name",
            )
        first[name] = index


def check_range(
    source: Source, place: str, value: float | None, low: float, high: float, unit: str = ""
) -> None:
    """Refuse a number outside ``low..high`` (both allowed); null is not checked.

    Raises:
        SpecError: shows the value and the range.
    """
    if value is not None and not low <= value <= high:
        unit = f" {unit}" if unit else ""
        bounds = f"from {_number(low)} to {_number(high)}{unit}"
        raise source.fault(place, f"{_number(value)} is out of range", f"Write a number {bounds}")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)
