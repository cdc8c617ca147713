"""A task's constraints, judged at action time: calls before they run, files from what was seen of them."""

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from seatrial.environment.delta import Delta
from seatrial.environment.guard import Guard, Rule, Sighting
from seatrial.environment.world import World
from seatrial.gateway.approvals import Approvals, Grant
from seatrial.gateway.deeds import CallPattern, Done, any_below, any_match
from seatrial.gateway.recalling import Past
from seatrial.journal.entries import State
from seatrial.spec.task import Constraint, Task


@dataclass(frozen=True)
class Finding:
    """One constraint touched by one action. ``certain`` is false where the window could not be watched."""

    constraint: Constraint
    certain: bool
    path: str | None = None
    what: str = ""


class Policy:
    """The constraints of a task on one live sandbox.

    A constraint that ``requires`` an approval does not bind the action that has it: neither its call nor what
    that call does to files. The gateway says which action is under way.

    Attributes:
        approvals: the live permissions.
    """

    def __init__(self, task: Task, sandbox: World) -> None:
        self._constraints = {constraint.id: constraint for constraint in task.constraint}
        rules = [rule for constraint in task.constraint for rule in _rules(constraint)]
        self._guard = Guard(rules, sandbox) if rules else None
        self._calls = {c.id: [CallPattern(call) for call in c.forbid.call] for c in task.constraint}
        self._near = {
            c.id: (any_below(c.forbid.write), any_below(c.forbid.read))
            for c in task.constraint
            if c.kind == "hard"
        }
        self.approvals = Approvals(task.approval)
        self._held: list[Grant] = []
        self._lifted: set[str] = set()

    def recall(self, past: Past, revoking: Mapping[str, str]) -> None:
        """Know the permissions of before; see ``Approvals.recall``."""
        needing = {c.id: c.requires for c in self._constraints.values() if c.mode == "prevent" and c.requires}
        self.approvals.recall(past, revoking, needing)

    def begins(self, tool: str, arguments: dict[str, Any], key: str | None) -> None:
        """An action is under way: what approvals it has hold until ``ends``, for nobody else."""
        self._held = self.approvals.hold(tool, arguments, key)
        self._lifted = _ids(self._held)

    def ran(self, key: str | None) -> list[str]:
        """The action was carried out: approvals for once are used up; returns those it had."""
        self.approvals.use(self._held, key)
        return sorted(self._lifted)

    def ends(self) -> None:
        """No action is under way."""
        self.approvals.release(self._held)
        self._held, self._lifted = [], set()

    def calls(
        self, tool: str, arguments: dict[str, Any], held: Iterable[Grant] = (), within: bool = True
    ) -> list[Finding]:
        """Every constraint that forbids this call.

        Args:
            held: what the call itself has, where it is not the action under way.
            within: it is that action, or a part of it, so that what that has holds too.
        """
        lifted = _ids(held) | (self._lifted if within else set())
        found = [
            Finding(constraint, True, what=f"call {tool}")
            for constraint in self._constraints.values()
            if constraint.requires not in lifted
            and any(pattern.matches(tool, arguments) for pattern in self._calls[constraint.id])
        ]
        self._lacks(found)
        return found

    def effects(self, delta: Delta) -> list[Finding]:
        """What a window did to constrained paths, one finding a constraint and path."""
        if self._guard is None:
            return []
        found = [self._finding(sighting) for sighting in self._guard.inspect(delta)]
        found = [f for f in found if f.constraint.requires not in self._lifted]
        self._lacks([f for f in found if f.certain])
        return found

    def imposed(self, delta: Delta) -> None:
        """What the harness did to constrained paths is from now on how they were; nobody broke anything."""
        if self._guard is not None:
            self._guard.inspect(delta)

    def _finding(self, sighting: Sighting) -> Finding:
        constraint = self._constraints[sighting.constraint]
        return Finding(constraint, sighting.certain, sighting.path, sighting.what)

    def _lacks(self, found: list[Finding]) -> None:
        for finding in found:
            constraint = finding.constraint
            if constraint.requires is not None and constraint.mode == "prevent":
                self.approvals.refused(constraint.requires)

    def would_write(self, path: str) -> Constraint | None:
        """The constraint with ``mode = "prevent"`` that forbids a file tool to write a state path."""
        for constraint in self._constraints.values():
            if constraint.mode != "prevent" or constraint.requires in self._lifted:
                continue
            if any_match(constraint.forbid.write)(path):
                self._lacks([Finding(constraint, True, path)])
                return constraint
        return None

    def opportunities(self, done: Done) -> list[str]:
        """Hard constraints that applied to an action, broken or not.

        One on calls applies to every call of the same tool, whatever its arguments; one on writes (reads) to
        an action that wrote (read) in a folder on the way to a path it protects: a sibling, or deeper.
        """
        tools = {tool for tool, _ in done.calls}
        wrote = {posixpath.dirname(path) for path in done.wrote}
        read = {posixpath.dirname(path) for path in done.read or ()}
        found = []
        for name, (near_write, near_read) in self._near.items():
            called = any(pattern.tool is None or pattern.tool in tools for pattern in self._calls[name])
            if called or any(map(near_write, wrote)) or any(map(near_read, read)):
                found.append(name)
        return found


def _ids(held: Iterable[Grant]) -> set[str]:
    return {grant.approval.id for grant in held}


def _rules(constraint: Constraint) -> list[Rule]:
    rules = []
    if constraint.forbid.write:
        patterns = constraint.forbid.write
        rules.append(Rule(constraint.id, any_match(patterns), any_below(patterns), "write"))
    if constraint.forbid.read:
        patterns = constraint.forbid.read
        rules.append(Rule(constraint.id, any_match(patterns), any_below(patterns), "read"))
    return rules


def masked_paths(task: Task, state: State) -> list[str]:
    """Paths whose reading is prevented: they are hidden from the start, folders with all below them."""
    hidden = any_match([p for c in task.constraint if c.mode == "prevent" for p in c.forbid.read])
    found: list[str] = []
    for path in sorted(state):
        if hidden(path) and not any(path.startswith(f"{above}/") for above in found):
            found.append(path)
    return found
