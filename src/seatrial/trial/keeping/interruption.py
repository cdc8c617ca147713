"""Kills the agent at its point: once in a trial, on an occasion drawn by the seed."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from seatrial.gateway.attend import Asked, Idle, Window
from seatrial.journal.digest import digest_value
from seatrial.journal.events import ActionDecided, ActionFinished, AgentKilled
from seatrial.journal.writer import JournalWriter
from seatrial.spec.experiment import Interruption
from seatrial.spec.interrupting import Form, InterruptionArm, Point

# Tools that can write. Of services only the verb tells, and a service's look-up repeated is harmless.
WRITING = ("shell", "write_file", "edit_file", "*.*")


@dataclass(frozen=True)
class Interrupting:
    """When this trial's agent is killed; part of the trial's conditions.

    Attributes:
        occasion: of the point, from 1.
        occasions: how many it was drawn from.
    """

    point: Point
    memory: Form
    occasion: int
    occasions: int
    tool: str | None
    subgoal: str | None
    state_bytes: int
    while_down: str | None


def interrupting(arm: InterruptionArm, options: Interruption, seed: int) -> Interrupting:
    """What an arm comes to under a trial's seed: the same for every system, point and form."""
    occasion = 1 + int(digest_value(["interruption", seed])[:13], 16) % options.occasions
    return Interrupting(arm.point, arm.form, occasion, **asdict_of(options))


def asdict_of(options: Interruption) -> dict[str, Any]:
    """The options as keyword arguments."""
    return {name: getattr(options, name) for name in options.__struct_fields__}


class Killer(Idle):
    """Kills at the point. List it last: what others refuse never comes to an effect, and their triggers
    have been pulled when it strikes after one.

    Args:
        plan: when.
        journal: where the kill is written, at once.

    Attributes:
        kill: ends the agent's process and all it started; set by whoever started it.
        killed: the event, once it has struck.
        since_ns: when that was, on the monotonic clock.
    """

    def __init__(self, plan: Interrupting, journal: JournalWriter) -> None:
        self.plan, self._journal = plan, journal
        self.kill: Callable[[], None] = lambda: None
        self.killed: AgentKilled | None = None
        self.since_ns = 0
        self._seen = 0
        self._awaits_request = False

    def conditions(self) -> dict[str, Any]:
        """For the first line of the journal."""
        return asdict(self.plan)

    def admit(self, asked: Asked) -> Window | None:
        """``before_effect``: decided and not executed. It certainly did not happen."""
        if self.plan.point != "before_effect" or not self._counts(asked) or not self._is_due():
            return None
        self._journal.append(ActionDecided(step=asked.step, decision="allow"))
        self._strike(asked.step, acknowledged=False)
        return Window("failed", "", notes={"killed": self.plan.point})

    def committed(self, asked: Asked, finished: ActionFinished) -> None:
        """``after_effect_before_ack``: executed and written down, never shown."""
        if self.plan.point != "after_effect_before_ack" or finished.notes.get("repeats"):
            return
        executed = finished.outcome != "denied" and not finished.notes.get("malformed")
        if executed and self._counts(asked) and self._is_due():
            self._strike(asked.step, acknowledged=False)

    def verified(self, subgoal: str, step: int) -> None:
        """``subgoal_verified``: the answer is still shown; the agent dies at its next request."""
        if self.plan.point == "subgoal_verified" and self.plan.subgoal in (None, subgoal) and self._is_due():
            self._awaits_request = True

    def requests(self, method: str, step: int) -> None:
        """The agent asks for something after an answer. A checkpoint that comes first is taken before."""
        if self._awaits_request and method in ("act", "checkpoint"):
            self._awaits_request = False
            self._strike(step, acknowledged=True)

    def compacted(self, step: int) -> None:
        """``compaction``: the context has just been made shorter."""
        if self.plan.point == "compaction" and self._is_due():
            self._strike(step, acknowledged=True)

    def _counts(self, asked: Asked) -> bool:
        globs = WRITING if self.plan.tool is None else (self.plan.tool,)
        return any(fnmatchcase(asked.tool, glob) for glob in globs)

    def _is_due(self) -> bool:
        """Count an occasion; whether it is the one."""
        self._seen += 1
        return self._seen == self.plan.occasion and self.killed is None

    def _strike(self, step: int, acknowledged: bool) -> None:
        self.kill()
        self.since_ns = time.monotonic_ns()
        self.killed = AgentKilled(
            point=self.plan.point, step=step, occasion=self.plan.occasion, acknowledged=acknowledged
        )
        self._journal.append(self.killed)
