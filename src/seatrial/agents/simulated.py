"""A simulated agent: standard library only, one file, run in a sandbox like any Python agent.

It plays a task's plan with set faults. Every decision is drawn from the trial's seed by the name of the
decision and not by its turn: changing one knob leaves all other draws alone, and two systems with one seed
meet the same luck. Nothing it is shown changes what it does, so ``moves`` says beforehand all it will do.
"""

import hashlib
from collections.abc import Generator, Iterator
from functools import partial
from typing import Any, NamedTuple, Protocol

_FRACTION_BITS = 53
_FRACTIONS = 1 << _FRACTION_BITS


class Draw(Protocol):
    """A number in [0, 1) for a decision's name."""

    def __call__(self, *decision: str | int) -> float: ...


class Move(NamedTuple):
    """One action and why it is taken.

    ``kind`` is ``do``, ``wrong``, ``drift``, ``shortcut``, ``look``, ``finish`` or ``give_up``; ``subgoal``
    is empty for the last two.
    """

    kind: str
    subgoal: str
    action: dict[str, Any]


Step = dict[str, Any]
Moves = Generator[Move, None, None]
Tries = Generator[Move, None, bool]


def uniform(seed: int, *decision: str | int) -> float:
    """A number in [0, 1) that seed and decision determine; independent for different decisions."""
    name = "\0".join(map(str, (seed, *decision))).encode()
    digest = hashlib.blake2b(name, digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> (64 - _FRACTION_BITS)) / _FRACTIONS


def moves(config: dict[str, Any], seed: int) -> Moves:
    """All that the agent does, in order, its last word included.

    Args:
        config: the knobs, and ``steps``: subgoal, skill and actions of each; see ``spec.simulated``.
        seed: of the trial.
    """
    draw = partial(uniform, seed)
    standing: list[Step] = []
    forgotten = False
    for step in config["steps"]:
        name = step["subgoal"]
        if draw("give up", name) < config["give_up"]:
            yield Move("give_up", "", {"tool": "give_up", "arguments": {"reason": "I see no way on"}})
            return
        if draw("premature", name) < config["premature"]:
            break
        forgotten = forgotten or draw("forget", name) < config["forget"]
        tempted = forgotten or draw("shortcut", name) < config["shortcut"]
        if tempted and step["shortcut"] is not None:
            yield Move("shortcut", name, step["shortcut"])
            stands = bool(step["shortcut_passes"])
        else:
            stands = yield from _work(config, step, draw, "in turn")
        yield from _drift(config, name, standing, draw)
        if stands:
            standing.append(step)
        if step["look"] is not None and draw("idle", name) < config["idle"]:
            yield Move("look", name, step["look"])
            yield Move("look", name, step["look"])
    yield Move("finish", "", {"tool": "finish", "arguments": {"summary": "done"}})


def _work(config: dict[str, Any], step: Step, draw: Draw, occasion: str) -> Tries:
    """Try a step until it is right, its fault goes unnoticed or no try is left; returns whether it is right.

    A try that fails where the plan has no ``wrong`` leaves the step out.
    """
    name = step["subgoal"]
    for attempt in range(1, config["attempts"] + 1):
        right = draw("skill", name, occasion, attempt) < step["skill"]
        kind = "do" if right else "wrong"
        if step[kind] is not None:
            yield Move(kind, name, step[kind])
            if draw("repeat", name, occasion, attempt) < config["repeat"]:
                yield Move(kind, name, step[kind])
        if right:
            return True
        noticed = draw("notice", name, occasion, attempt) < config["checking"]
        if not noticed or attempt == config["attempts"]:
            return False
        if step["look"] is not None:
            yield Move("look", name, step["look"])
    return False


def _drift(config: dict[str, Any], now: str, standing: list[Step], draw: Draw) -> Moves:
    """Perhaps break one earlier step that stands; if that is noticed, do it again."""
    breakable = [step for step in standing if step["drift"] is not None]
    if not breakable or draw("drift", now) >= config["drift"]:
        return
    # The largest of independent draws falls on each alike, and mostly stays when another step comes or goes.
    broken = max(breakable, key=lambda step: draw("drift onto", now, step["subgoal"]))
    yield Move("drift", broken["subgoal"], broken["drift"])
    if draw("notice drift", now) < config["checking"]:
        if broken["look"] is not None:
            yield Move("look", broken["subgoal"], broken["look"])
        if (yield from _work(config, broken, draw, f"after {now}")):
            return
    standing.remove(broken)


class SimulatedAgent:
    """Plays its moves one by one."""

    def __init__(self, config: dict[str, Any], seed: int) -> None:
        self._moves: Iterator[Move] = moves(config, seed)

    def act(self, observation: dict[str, Any]) -> dict[str, Any]:
        """The next action, whatever is shown."""
        return next(self._moves).action
