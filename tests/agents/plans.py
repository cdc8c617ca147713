"""Plans and configurations of simulated agents, without files."""

from typing import Any

KNOBS = {
    "checking": 0.0, "attempts": 3, "drift": 0.0, "forget": 0.0, "shortcut": 0.0, "give_up": 0.0,
    "premature": 0.0, "repeat": 0.0, "idle": 0.0,
}  # fmt: skip
ACTIONS = ("do", "wrong", "drift", "shortcut", "look")


def step(name: str, skill: float = 1.0, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """One step, its actions named for what they are."""
    actions = {
        key: None if key in without else {"tool": "shell", "arguments": {"command": f"{key} {name}"}}
        for key in ACTIONS
    }
    return {"subgoal": name, "skill": skill, "shortcut_passes": False, **actions}


def config(steps: list[dict[str, Any]] | None = None, skill: float = 1.0, **knobs: Any) -> dict[str, Any]:
    """Knobs over the given steps, or over four plain ones."""
    return {**KNOBS, **knobs, "steps": steps or [step(name, skill) for name in "abcd"]}
