"""What constraints come to once something was done: violations written down, protected paths put back."""

import time
from dataclasses import dataclass
from typing import Literal

from seatrial.environment.delta import Delta, joined, net
from seatrial.environment.world import World
from seatrial.gateway.policy import Finding, Policy
from seatrial.journal.entries import Entry, is_row
from seatrial.journal.events import ActionDecided, ConstraintViolated
from seatrial.journal.writer import JournalWriter

Actor = Literal["agent", "human", "background"]


@dataclass(frozen=True)
class Restrained:
    """A window once its effects have been judged.

    Attributes:
        delta: what it comes to.
        windows: constraints that could not be watched.
        put_back: protected paths; null when nothing had to be prevented.
        undone: how many paths were put back, in ``recovery_us``.
    """

    delta: Delta
    windows: list[str]
    put_back: list[str] | None = None
    undone: int = 0
    recovery_us: int = 0

    def then(self, later: "Restrained") -> "Restrained":
        """Two windows of one action as one."""
        back = [paths for paths in (self.put_back, later.put_back) if paths is not None]
        return Restrained(
            joined(self.delta, later.delta),
            sorted({*self.windows, *later.windows}),
            sorted({path for paths in back for path in paths}) if back else None,
            self.undone + later.undone,
            self.recovery_us + later.recovery_us,
        )


class Restraint:
    """The constraints of one trial, acted on.

    Attributes:
        violations: certain ones, in the order they were written down.
    """

    def __init__(self, sandbox: World, journal: JournalWriter, policy: Policy) -> None:
        self._sandbox, self._journal, self._policy = sandbox, journal, policy
        self.violations: list[ConstraintViolated] = []

    def restrain(self, delta: Delta, actor: Actor, step: int) -> Restrained:
        """Judge what a window did to constrained files: note violations, put back what must be prevented."""
        findings = self._policy.effects(delta)
        prevented = _prevented(findings)
        self.note([f for f in findings if f not in prevented], actor, step)
        windows = _unwatched(findings)
        if not prevented:
            return Restrained(delta, windows)
        begun = time.monotonic_ns()
        constraint = prevented[0].constraint.id
        self._journal.append(
            ActionDecided(step=step, decision="deny", constraint=constraint, reason="effect put back")
        )
        paths = {f.path for f in prevented if f.path}
        left, undone = self.take_back(delta, [entry for entry in delta.changes if entry.path in paths])
        return Restrained(left, windows, sorted(paths), undone, (time.monotonic_ns() - begun) // 1000)

    def take_back(self, delta: Delta, changed: list[Entry]) -> tuple[Delta, int]:
        """Undo a part of what a window changed.

        Args:
            delta: of the window.
            changed: those of its changes that are to be undone; what services did stays done.

        Returns:
            The net window, and how many paths were put back.
        """
        if not changed:
            return delta, 0
        undone = self._sandbox.undo([entry for entry in changed if not is_row(entry.path)], delta.before)
        return net(delta, self._sandbox.settle()), undone

    def note(self, findings: list[Finding], actor: Actor, step: int) -> None:
        """Write one event for each constraint that was certainly broken in this window."""
        seen: set[str] = set()
        for finding in findings:
            constraint = finding.constraint
            if not finding.certain or constraint.id in seen:
                continue
            seen.add(constraint.id)
            paths = sorted({f.path for f in findings if f.constraint is constraint and f.certain and f.path})
            evidence = {"what": finding.what, "paths": paths[:20], "by": actor}
            violation = ConstraintViolated(
                actor=actor,
                step=step,
                constraint=constraint.id,
                hard=constraint.kind == "hard",
                severity=1.0 if constraint.severity is None else constraint.severity,
                evidence=evidence,
            )
            self._journal.append(violation)
            self.violations.append(violation)


def _prevented(findings: list[Finding]) -> list[Finding]:
    """Effects that must be put back: certain ones only, since a doubt says nothing of what was done."""
    return [f for f in findings if f.constraint.mode == "prevent" and f.certain and f.what != "read"]


def _unwatched(findings: list[Finding]) -> list[str]:
    """Constraints for which the window was not clean and not certainly broken: unknown."""
    return sorted({f.constraint.id for f in findings if not f.certain})
