"""The reference with one thing wrong: a step dropped, or one argument of a step altered."""

import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from seatrial.journal.events import ActionFinished, ActionRequested, Event
from seatrial.spec.scripts import STEERING

Step = dict[str, Any]
SHOWN = 40


@dataclass(frozen=True)
class Mutant:
    """A script that must be rejected.

    Attributes:
        name: short and unique, ``3-drop`` or ``3-command``: the step counts from 1.
        change: in words.
        steps: the whole script.
    """

    name: str
    change: str
    steps: list[Step]


def mutants(script: str, changing: Collection[int]) -> list[Mutant]:
    """Every mutant of a reference.

    Args:
        script: TOML of the reference.
        changing: positions (from 0) of the steps that change the state, see ``changing_steps``. Others are
            left alone: a look more or less does not make a product wrong.
    """
    steps: list[Step] = tomllib.loads(script)["step"]
    return [mutant for index in sorted(changing) for mutant in _of_step(steps, index)]


def _of_step(steps: list[Step], index: int) -> Iterator[Mutant]:
    step = steps[index]
    place = f"step {index + 1} ({step['tool']})"
    yield Mutant(f"{index + 1}-drop", f"{place} dropped", steps[:index] + steps[index + 1 :])
    for name, value in step.items():
        if name in STEERING:
            continue
        other = altered(value)
        if other != value:
            change = f"{place}: {name} {difference(value, other)}"
            changed = {**step, name: other}
            yield Mutant(f"{index + 1}-{name}", change, [*steps[:index], changed, *steps[index + 1 :]])


def altered(value: Any) -> Any:
    """The value with one small thing different; the same every time.

    A text gets another letter or digit in its middle, a number one more, a truth value its opposite; a list
    or table has its first element altered. An empty text becomes ``x``.
    """
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return _altered_text(value)
    if isinstance(value, list) and value:
        return [altered(value[0]), *value[1:]]
    if isinstance(value, dict) and value:
        first = next(iter(value))
        return {**value, first: altered(value[first])}
    return value


def _altered_text(text: str) -> str:
    middle = len(text) // 2
    places = sorted(range(len(text)), key=lambda place: (abs(place - middle), place))
    for place in places:
        if text[place].isascii() and text[place].isalnum():
            return text[:place] + _next(text[place]) + text[place + 1 :]
    return f"{text}x"


def _next(character: str) -> str:
    if character.isdigit():
        return str((int(character) + 1) % 10)
    first = "a" if character.islower() else "A"
    return chr(ord(first) + (ord(character) - ord(first) + 1) % 26)


def difference(before: Any, after: Any) -> str:
    """The two values where they differ, cut to a readable length."""
    if not isinstance(before, str) or not isinstance(after, str):
        return f"{before!r} became {after!r}"
    place = next(
        i for i, pair in enumerate(zip(before + "\0", after + "\0", strict=False)) if len(set(pair)) > 1
    )
    start = max(0, place - SHOWN // 2)
    return f"{before[start : start + SHOWN]!r} became {after[start : start + SHOWN]!r}"


def changing_steps(script: str, events: Sequence[Event]) -> list[int]:
    """Positions of a script's steps that changed the state when it was played.

    Requests are matched with steps in order, so that a step which was asked for again while it waited
    counts once.

    Args:
        script: TOML of the script.
        events: journal of a trial that played it.
    """
    steps: list[Step] = tomllib.loads(script)["step"]
    changed = {
        event.step
        for event in events
        if isinstance(event, ActionFinished) and (event.changes or event.changes_object)
    }
    requests = [event for event in events if isinstance(event, ActionRequested)]
    found, next_request = [], 0
    for index, step in enumerate(steps):
        arguments = {name: value for name, value in step.items() if name not in STEERING}
        for place in range(next_request, len(requests)):
            if (requests[place].tool, requests[place].arguments) == (step["tool"], arguments):
                next_request = place + 1
                if requests[place].step in changed:
                    found.append(index)
                break
    return found
