"""What the harness itself can say of a trial so far, as a table for the agent whose history is taken away."""

import json
from dataclasses import dataclass
from typing import Any

from seatrial.gateway.attend import Asked
from seatrial.journal.events import ActionFinished, Outcome
from seatrial.journal.objects import ObjectStore

SHORT = 200
# Where what does not fit is left out first, the oldest of it first.
SHRUNK = ("files", "failed", "effects", "remembered")

# Notes of an action that say which row of a service's ledger it wrote, or found there.
LEDGER = ("ledger", "repeats")


@dataclass(frozen=True)
class _Step:
    tool: str
    arguments: str
    outcome: Outcome
    observation: str


class StateTable:
    """Goal version, changed files with their last step, effects, failures, remembered items."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._steps: dict[int, _Step] = {}
        self._files: dict[str, int] = {}
        self._effects: list[dict[str, Any]] = []
        self._failed: list[int] = []

    def add(self, asked: Asked, finished: ActionFinished) -> None:
        """Take in a step."""
        short = json.dumps(asked.arguments, ensure_ascii=False)[:SHORT]
        self._steps[asked.step] = _Step(asked.tool, short, finished.outcome, finished.observation)
        for entry in finished.changes:
            if entry.kind != "dir" and not entry.path.startswith("services/"):
                self._files.pop(entry.path, None)  # so that the last changed stand last
                self._files[entry.path] = asked.step
        if "." in asked.tool:
            effect: dict[str, Any] = {
                "step": asked.step,
                "call": asked.tool,
                "arguments": short,
                "outcome": finished.outcome,
            }
            if asked.key:
                effect["key"] = asked.key
            effect |= {str(name): finished.notes[name] for name in LEDGER if name in finished.notes}
            self._effects.append(effect)
        if finished.outcome != "ok":
            self._failed.append(asked.step)

    def text(self, goal_version: int, remembered: dict[str, str], limit: int) -> str:
        """The table as JSON within so many bytes; ``left_out`` counts what had no room."""
        table: dict[str, Any] = {
            "goal_version": goal_version,
            "files": [{"path": path, "step": step} for path, step in self._files.items()],
            "effects": list(self._effects),
            "failed": [self._failure(step) for step in self._failed],
            "remembered": [{"key": key, "value": value} for key, value in remembered.items()],
        }
        sizes = {name: [_size(item) + 2 for item in table[name]] for name in SHRUNK}
        left_out = 0
        room = limit - _size({**table, **{name: [] for name in SHRUNK}, "left_out": 10**9})
        for name in SHRUNK:
            while sizes[name] and sum(map(sum, sizes.values())) > room:
                sizes[name].pop(0)
                table[name].pop(0)
                left_out += 1
        return json.dumps({**table, "left_out": left_out}, ensure_ascii=False)

    def step(self, number: float) -> str | None:
        """What a step did and showed; null when there is none of that number."""
        step = self._steps.get(int(number)) if number == int(number) else None
        if step is None:
            return None
        text = self._objects.get(step.observation).decode("utf-8", "replace")
        return f"[step {int(number)}: {step.tool} {step.arguments}: {step.outcome}]\n{text}"

    def _failure(self, number: int) -> dict[str, Any]:
        step = self._steps[number]
        text = self._objects.get(step.observation).decode("utf-8", "replace").strip()
        reason = text.splitlines()[-1][:SHORT] if text else ""
        return {"step": number, "call": step.tool, "arguments": step.arguments, "reason": reason}


def _size(item: object) -> int:
    return len(json.dumps(item, ensure_ascii=False).encode())
