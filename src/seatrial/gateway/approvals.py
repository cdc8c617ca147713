"""Live permissions: which calls have one, who used it up, which were taken back."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seatrial.gateway.attend import Asked, Idle
from seatrial.gateway.deeds import CallPattern
from seatrial.gateway.recalling import Past, decision_on
from seatrial.journal.events import (
    ActionDecided,
    ActionFinished,
    ActionRequested,
    ConstraintViolated,
    HumanIntervened,
    PerturbationFired,
    ServiceCalled,
)
from seatrial.spec.task import Approval


@dataclass
class Grant:
    """One permission that was given.

    Attributes:
        arguments: exactly these; null for all that the approval fits.
        used: a ``once`` grant has been used, by the call with ``key`` if that had one.
        held: a call under way has it, so that no other can.
    """

    approval: Approval
    arguments: dict[str, Any] | None
    used: bool = False
    key: str | None = None
    revoked: bool = False
    held: bool = False


class Approvals:
    """The approvals of one trial.

    A grant is for one tool and for exactly the arguments that were asked for. ``once`` is used up by the call
    that runs under it; the same call again under the same idempotency key is the same act and needs no
    second one. Calls may come from several threads.
    """

    def __init__(self, declared: Sequence[Approval]) -> None:
        self._declared = {approval.id: approval for approval in declared}
        self._fits = {a.id: CallPattern({"tool": a.tool, "where": a.where}) for a in self._declared.values()}
        self._grants = [Grant(a, None) for a in declared if a.granted_by == "task"]
        self._lacking: dict[str, None] = {}
        self._holding = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._declared)

    def needed(self, tool: str, arguments: dict[str, Any]) -> Approval | None:
        """The approval that a call can be given; null when the task has none for it."""
        found = (self._declared[name] for name, fits in self._fits.items() if fits.matches(tool, arguments))
        return next(found, None)

    def grant(self, approval: str, arguments: dict[str, Any]) -> None:
        """Give a permission for one tool with exactly these arguments.

        Raises:
            KeyError: the task has no such approval.
        """
        self._grants.append(Grant(self._declared[approval], _given(arguments)))
        self._lacking.pop(approval, None)

    def revoke(self, approval: str) -> bool:
        """Take back every live grant of an approval; a new one can be asked for. False when none was live."""
        live = [g for g in self._grants if g.approval.id == approval and not g.revoked and not g.used]
        for grant in live:
            grant.revoked = True
        return bool(live)

    def hold(self, tool: str, arguments: dict[str, Any], key: str | None = None) -> list[Grant]:
        """What a call has, one grant of each approval; those for once are its own until ``release``."""
        with self._holding:
            found: dict[str, Grant] = {}
            for grant in self._covering(tool, arguments, key):
                found.setdefault(grant.approval.id, grant)
            for grant in found.values():
                grant.held = grant.approval.scope == "once" and not grant.used
            return list(found.values())

    def use(self, held: Iterable[Grant], key: str | None = None) -> None:
        """A call has run: what it had for once is used up."""
        for grant in held:
            if grant.approval.scope == "once":
                grant.used, grant.key = True, key

    def release(self, held: Iterable[Grant]) -> None:
        """A call is over: what it has not used up is there again."""
        for grant in held:
            grant.held = False

    def refused(self, approval: str) -> None:
        """Asked for and not given, or a call was made without it: as it stands, the way is blocked."""
        self._lacking[approval] = None

    def recall(self, past: Past, revoking: Mapping[str, str], needing: Mapping[str, str]) -> None:
        """Become what journals say they were, for a trial that goes on from another one's state.

        Args:
            revoking: perturbations of the task that take an approval back, with that approval.
            needing: constraints that prevent what has no approval, with that approval.
        """
        requests: dict[int, ActionRequested] = {}
        for event in past.events:
            if isinstance(event, ActionRequested):
                requests[event.step] = event
            elif isinstance(event, HumanIntervened) and event.tier == "approval" and event.approval:
                asked_for = requests[event.step].arguments.get("arguments") or {}
                if event.decision in ("approved", "edited"):
                    self.grant(event.approval, asked_for if event.arguments is None else event.arguments)
                else:
                    self.refused(event.approval)
            elif isinstance(event, ActionFinished) and event.notes.get("approvals"):
                request = requests[event.step]
                self._used(request.tool, request.arguments, request.key or None)
            elif isinstance(event, ServiceCalled) and event.via == "http" and decision_on(event) == "allow":
                self._used(f"{event.service}.{event.verb}", event.arguments, event.key or None)
            elif isinstance(event, ActionDecided | ConstraintViolated):
                if (needed := needing.get(event.constraint or "")) is not None:
                    self.refused(needed)
            elif isinstance(event, PerturbationFired) and event.perturbation in revoking:
                self.revoke(revoking[event.perturbation])

    def _used(self, tool: str, arguments: dict[str, Any], key: str | None) -> None:
        held = self.hold(tool, arguments, key)
        self.use(held, key)
        self.release(held)

    @property
    def lacking(self) -> list[str]:
        """Approvals that were refused or lacked since they were last granted, in order."""
        return list(self._lacking)

    def _covering(self, tool: str, arguments: dict[str, Any], key: str | None) -> list[Grant]:
        given = _given(arguments)
        found = [grant for grant in self._grants if self._covers(grant, tool, given, key)]
        return sorted(found, key=lambda grant: not grant.used)  # a repeat uses up nothing new

    def _covers(self, grant: Grant, tool: str, given: dict[str, Any], key: str | None) -> bool:
        if grant.revoked or grant.held or (grant.used and (key is None or grant.key != key)):
            return False
        if grant.arguments is not None:
            return grant.approval.tool == tool and _same(grant.arguments, given)
        return self._fits[grant.approval.id].matches(tool, given)


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    """An argument that is null was not given."""
    return {name: value for name, value in arguments.items() if value is not None}


def _same(first: object, second: object) -> bool:
    """Equal as JSON: ``True`` is not ``1``, at any depth; 5 and 5.0 are one number."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_same(first[name], second[name]) for name in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_same, first, second))
    return isinstance(first, bool) == isinstance(second, bool) and first == second


class PermissionBlock(Idle):
    """Tells an agent that gave up from one that was not allowed to go on.

    It was not allowed when, at the end, an approval it had asked for or acted without is still refused, or
    when the last thing it tried was denied, by a constraint or by a person.
    """

    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals
        self._denied = False

    def recall(self, past: Past) -> None:
        """Know how it went before, for a trial that goes on from another one's state."""
        for act in past.acts:
            self.committed(act.asked, act.finished)

    def committed(self, asked: Asked, finished: ActionFinished) -> None:
        """See ``Attendant``."""
        if asked.tool not in ("give_up", "report_belief"):
            self._denied = finished.outcome == "denied"

    @property
    def blocked(self) -> bool:
        """Whether giving up now is for want of a permission."""
        return self._denied or bool(self._approvals.lacking)
