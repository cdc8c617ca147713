"""What an injector works on: the perturbations of one trial, and the hands it has in it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from seatrial.environment.world import World
from seatrial.gateway.deeds import CallPattern
from seatrial.gateway.meter import Meter
from seatrial.journal.events import (
    ActionFinished,
    CheckpointTaken,
    ContextCompacted,
    Event,
    PerturbationArmed,
    PerturbationFired,
    SubgoalJudged,
)
from seatrial.journal.objects import ObjectStore
from seatrial.journal.writer import JournalWriter
from seatrial.spec.changes import Alteration, Change, Fault, FaultName, change_of
from seatrial.spec.services import VERBS
from seatrial.spec.task import Goal, Perturbation
from seatrial.spec.triggers import BEFORE, Trigger, trigger_of


class ServiceFault(Protocol):
    """A fault that waits at a service for its calls: how many it has met, and how many it still will."""

    fired: int
    left: int


class ServiceHands(Protocol):
    """What a disturbance does to the services of a trial."""

    names: tuple[str, ...]

    def arm(
        self, fault: FaultName, service: str, verb: str = "*", times: int = 1,
        where: Mapping[str, Any] | None = None, seconds: float = 5.0,
    ) -> ServiceFault:  # fmt: skip
        """Let a fault happen to the next calls that match."""

    def set_rows(self, service: str, tables: Mapping[str, Sequence[dict[str, Any]]]) -> list[str]:
        """Change rows from outside; ValueError for rows that cannot be."""


class ApprovalHands(Protocol):
    """What a disturbance does to permissions."""

    def revoke(self, approval: str) -> bool:
        """Take back what is live; false when nothing was."""


class MemoryHands(Protocol):
    """What a disturbance does to channels kept outside the agent's process."""

    def plant(self, channel: Literal["memory", "summary"], source: str, key: str, value: str) -> None:
        """Pollute a channel and write that down."""


@dataclass
class Hands:
    """What an injector needs of a trial.

    Attributes:
        file: bytes and mode of a file of the task.
        goals: the task's goal versions, each with its instruction.
        verified: subgoals that passed for the first time at the commit under way.
        services, approvals, memory: null where the trial has none.
    """

    journal: JournalWriter
    objects: ObjectStore
    world: World
    meter: Meter
    file: Callable[[str], tuple[bytes, int]]
    goals: Mapping[int, tuple[Goal, str]] = field(default_factory=dict)
    verified: Callable[[], Collection[str]] = tuple
    services: ServiceHands | None = None
    approvals: ApprovalHands | None = None
    memory: MemoryHands | None = None


@dataclass
class Armed:
    """One perturbation of a trial.

    Attributes:
        left: firings still to come.
        firings: so far; ``at_services`` of these by faults that waited there.
        altering: its trigger has been met, and the actions that follow are altered.
        faults: that wait at services for it, with the firings of each that have been written down.
        while_down: it fires when the agent is down, whatever its trigger.
    """

    spec: Perturbation
    while_down: bool = False
    firings: int = 0
    at_services: int = 0
    altering: bool = False
    faults: list[tuple[str, ServiceFault]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.change: Change | None = change_of(self.spec)
        self.trigger: Trigger = trigger_of(self.spec.when)
        self._calls = CallPattern(self.trigger.call)
        self.left = self.change.times if isinstance(self.change, Alteration) else 1

    def recall(self, past: Iterable[Event]) -> None:
        """Become what journals say it was, from the line on that armed it; as it is if none did."""
        is_armed = False
        for event in past:
            if isinstance(event, PerturbationArmed) and event.perturbation == self.spec.id:
                is_armed = True
            elif is_armed and isinstance(event, PerturbationFired) and event.perturbation == self.spec.id:
                self.firings += 1
                self.left -= 1
            elif is_armed and self.alteration is not None and self._began_by(event):
                self.altering = True

    def _began_by(self, event: Event) -> bool:
        """Whether actions were altered from an event on."""
        if isinstance(event, SubgoalJudged):
            return event.subgoal == self.trigger.subgoal and event.verdict == "pass"
        if isinstance(event, ActionFinished):
            return isinstance(self.change, Fault) and self.met_by_reads(event.reads)
        if isinstance(event, CheckpointTaken):
            return self.trigger.kind == "checkpoint"
        return isinstance(event, ContextCompacted) and self.trigger.kind == "compaction"

    @property
    def alteration(self) -> Alteration | None:
        """The change where it alters actions one by one."""
        return self.change if isinstance(self.change, Alteration) else None

    def met_by_call(self, tool: str, arguments: dict[str, Any]) -> bool:
        """Whether a call that has not run yet meets the trigger."""
        if self.while_down or self.trigger.kind not in BEFORE or not self._calls.matches(tool, arguments):
            return False
        return self.trigger.kind == "action" or writes_a_service(tool)

    def met_by_reads(self, reads: Collection[str] | None) -> bool:
        """Whether files read in a window meet the trigger; reads that were not seen do not."""
        pattern = None if self.while_down else self.trigger.pattern
        return pattern is not None and any(map(pattern.matches, reads or ()))


def writes_a_service(tool: str) -> bool:
    """Whether a tool is a verb of a service that may write."""
    service, _, name = tool.partition(".")
    verb = VERBS.get(service, {}).get(name)
    return verb is not None and verb.writes
