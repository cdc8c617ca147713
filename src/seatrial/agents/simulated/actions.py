"""From something to be played to the action that is asked for."""

import json
import re
from typing import Any, NamedTuple

from .state import State, Task, write_state

_FACT = re.compile(r"\{\{(\w+)\}\}")
MEMORY_KEY = "progress"
# What changes something, so that it matters whether it was done when its end is not known.
ACTING = ("do", "wrong", "drift", "shortcut", "repair", "tempted")


class Move(NamedTuple):
    """One action and why it is taken.

    ``kind`` is ``do``, ``wrong``, ``drift``, ``shortcut``, ``look``, ``query``, ``repair``, ``tempted``,
    ``belief``, ``remember``, ``recall``, ``finish``, ``give_up`` or ``surface``; ``subgoal`` is empty for
    what belongs to no step.
    """

    kind: str
    subgoal: str
    action: dict[str, Any]


def played(kind: str, number: int = -1, part: int = 0) -> Task:
    """A task of the agenda that is an action: its kind, and the step or reaction it belongs to.

    The last item counts how often it was asked for before.
    """
    return ["play", kind, number, part, 0]


def move_of(config: dict[str, Any], seed: int, state: State, play: Task) -> Move:
    """The move that a ``play`` task stands for, by what the agent believes now."""
    _, kind, number, part, _ = play
    if kind in ("repair", "tempted"):
        return Move(kind, "", _filled(config["reactions"][number]["steps"][part], state.facts))
    if kind == "look again":
        return Move("look", "", _filled(config["reactions"][number]["look"], state.facts))
    if kind == "surface":
        reason = config["goal_notices"][number]["says"]
        return Move("surface", "", {"tool": "give_up", "arguments": {"reason": reason}})
    if number >= 0:
        step = config["steps"][number]
        action = _filled(step[kind], state.facts)
        if kind == "do" and step["key"] and config["retry"] == "idempotent":
            action = {**action, "key": f"{seed}:{step['subgoal']}"}
        return Move(kind, step["subgoal"], action)
    return Move(kind, "", {"tool": _TOOLS.get(kind, kind), "arguments": _talk(kind, state)})


_TOOLS = {"belief": "report_belief"}


def _talk(kind: str, state: State) -> dict[str, Any]:
    """Arguments of what acts on nothing."""
    if kind == "belief":
        return {"facts": dict(state.facts), "goal_version": state.goal}
    if kind == "remember":
        return {"key": MEMORY_KEY, "value": write_state(state)}
    if kind == "recall":
        return {"key": MEMORY_KEY}
    return {"summary": "done"} if kind == "finish" else {"reason": "I see no way on"}


def _filled(value: Any, facts: dict[str, Any]) -> Any:
    """A copy with ``{{NAME}}`` replaced by the value of that fact; other braces stay."""
    if isinstance(value, dict):
        return {key: _filled(inner, facts) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, facts) for inner in value]
    if not isinstance(value, str) or "{{" not in value:
        return value
    return _FACT.sub(lambda found: _worded(facts[found[1]]) if found[1] in facts else found[0], value)


def _worded(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
