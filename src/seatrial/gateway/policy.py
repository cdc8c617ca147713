"""A task's constraints, judged at action time: calls before they run, files from what was seen of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seatrial.environment.guard import Guard, Rule, Sighting
from seatrial.environment.sandbox import Delta
from seatrial.environment.world import World
from seatrial.journal.entries import State
from seatrial.spec.conditions import Condition, compile_condition
from seatrial.spec.patterns import compile_pattern
from seatrial.spec.task import Constraint, Task


@dataclass(frozen=True)
class Finding:
    """One constraint touched by one action. ``certain`` is false where the window could not be watched."""

    constraint: Constraint
    certain: bool
    path: str | None = None
    what: str = ""


class Policy:
    """The constraints of a task on one live sandbox."""

    def __init__(self, task: Task, sandbox: World) -> None:
        self._constraints = {constraint.id: constraint for constraint in task.constraint}
        rules = [rule for constraint in task.constraint for rule in _rules(constraint)]
        self._guard = Guard(rules, sandbox) if rules else None
        self._calls = {c.id: [_CallPattern(call) for call in c.forbid.call] for c in task.constraint}

    def calls(self, tool: str, arguments: dict[str, Any]) -> list[Finding]:
        """Every constraint that forbids this call."""
        return [
            Finding(constraint, True, what=f"call {tool}")
            for constraint in self._constraints.values()
            if any(pattern.matches(tool, arguments) for pattern in self._calls[constraint.id])
        ]

    def effects(self, delta: Delta) -> list[Finding]:
        """What a window did to constrained paths, one finding a constraint and path."""
        if self._guard is None:
            return []
        return [self._finding(sighting) for sighting in self._guard.inspect(delta)]

    def _finding(self, sighting: Sighting) -> Finding:
        constraint = self._constraints[sighting.constraint]
        return Finding(constraint, sighting.certain, sighting.path, sighting.what)

    def would_write(self, path: str) -> Constraint | None:
        """The constraint with ``mode = "prevent"`` that forbids a file tool to write a state path."""
        for constraint in self._constraints.values():
            if constraint.mode == "prevent" and _any_match(constraint.forbid.write)(path):
                return constraint
        return None


class _CallPattern:
    """``{ tool = …, where = { argument = condition } }``, compiled; an argument not given matches nothing."""

    def __init__(self, call: dict[str, Any]) -> None:
        self._tool = call.get("tool")
        self._where: dict[str, Condition] = {
            name: compile_condition(value) for name, value in call.get("where", {}).items()
        }

    def matches(self, tool: str, arguments: dict[str, Any]) -> bool:
        if self._tool not in (None, tool):
            return False
        return all(name in arguments and c.matches(arguments[name]) for name, c in self._where.items())


def _any_match(patterns: list[str]) -> Callable[[str], bool]:
    compiled = [compile_pattern(text) for text in patterns]
    return lambda path: any(pattern.matches(path) for pattern in compiled)


def _any_below(patterns: list[str]) -> Callable[[str], bool]:
    compiled = [compile_pattern(text) for text in patterns]
    return lambda folder: any(pattern.could_match_below(folder) for pattern in compiled)


def _rules(constraint: Constraint) -> list[Rule]:
    rules = []
    if constraint.forbid.write:
        patterns = constraint.forbid.write
        rules.append(Rule(constraint.id, _any_match(patterns), _any_below(patterns), "write"))
    if constraint.forbid.read:
        patterns = constraint.forbid.read
        rules.append(Rule(constraint.id, _any_match(patterns), _any_below(patterns), "read"))
    return rules


def masked_paths(task: Task, state: State) -> list[str]:
    """Paths whose reading is prevented: they are hidden from the start, folders with all below them."""
    hidden = _any_match([p for c in task.constraint if c.mode == "prevent" for p in c.forbid.read])
    found: list[str] = []
    for path in sorted(state):
        if hidden(path) and not any(path.startswith(f"{above}/") for above in found):
            found.append(path)
    return found
