"""Plans and configurations of simulated agents, without files."""

from typing import Any

KNOBS = {
    "checking": 0.0, "attempts": 3, "drift": 0.0, "forget": 0.0, "shortcut": 0.0, "give_up": 0.0,
    "premature": 0.0, "repeat": 0.0, "idle": 0.0, "detection": 0.0, "reread": 0.0, "refresh": 1.0,
    "recover": 1.0, "retry": "never", "checkpoint": 0.0, "memory": False, "obey": 0.0, "tempted": 0.0,
}  # fmt: skip
ACTIONS = ("do", "wrong", "drift", "shortcut", "look", "query")


def action(what: str) -> dict[str, Any]:
    """A shell command that says what it is."""
    return {"tool": "shell", "arguments": {"command": what}}


def step(name: str, skill: float = 1.0, without: tuple[str, ...] = ("query",), **more: Any) -> dict[str, Any]:
    """One step, its actions named for what they are."""
    actions = {key: None if key in without else action(f"{key} {name}") for key in ACTIONS}
    return {
        "subgoal": name, "skill": skill, "shortcut_passes": False, **actions, "query_done": f"{name} is done",
        "key": False, "goals": [], "depends": [], **more,
    }  # fmt: skip


def reaction(name: str = "changed", **more: Any) -> dict[str, Any]:
    """How an agent answers a perturbation that shows its own name."""
    return {
        "perturbation": name, "temptation": None, "shown": name, "look": action("look around"), "repair": [],
        "steps": [], "after": {}, **more,
    }  # fmt: skip


def config(steps: list[dict[str, Any]] | None = None, skill: float = 1.0, **more: Any) -> dict[str, Any]:
    """Knobs, reactions, notices and facts over the given steps, or over four plain ones."""
    reacting: dict[str, Any] = {"reactions": [], "goal_notices": [], "facts": {}}
    return {**KNOBS, **reacting, **more, "steps": steps or [step(name, skill) for name in "abcd"]}
