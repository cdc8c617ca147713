"""How an agent is told that its goal has changed, or what another party reports."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from seatrial.journal.events import (
    ActionFinished,
    ActionRequested,
    AgentKilled,
    AgentResumed,
    CheckpointTaken,
    ContextCompacted,
    Event,
    GoalChanged,
    PerturbationFired,
)
from seatrial.journal.objects import ObjectStore
from seatrial.spec.task import Goal

# A task's goal versions, each with its instruction.
Goals = Mapping[int, tuple[Goal, str]]
NEW, OLD = "[New instruction]", "[Instruction]"


@dataclass(frozen=True)
class Notice:
    """What is added to an answer, above and below it; empty texts add nothing."""

    above: str
    below: str

    @property
    def text(self) -> str:
        """All that is added, as it is recorded."""
        return "\n\n".join(part for part in (self.above, self.below) if part)

    def around(self, answer: str) -> str:
        """An answer with the notice."""
        return "\n\n".join(part for part in (self.above, answer.rstrip("\n"), self.below) if part)


def goal_notice(goal: Goal, instruction: str, before: str) -> Notice:
    """The notice of a goal version.

    With ``prominent = "new"`` the new instruction stands below the answer under a heading. With ``"old"`` the
    earlier instruction is repeated whole above the answer under a heading, and the new one stands at the very
    end without any.

    Args:
        before: instruction of the version that held.
    """
    new, old = instruction.strip("\n"), before.strip("\n")
    if goal.prominent == "old":
        return Notice(f"{OLD}\n{old}", new)
    return Notice("", f"{NEW}\n{new}")


def report_notice(name: str, value: str) -> Notice:
    """What another party says, as it reaches the agent with an answer."""
    return Notice("", f"[report: {name}]\n{value}")


def notices_told(
    events: Iterable[Event], goals: Goals, objects: ObjectStore
) -> tuple[dict[int, list[Notice]], list[Notice]]:
    """Which notices each answer of a journal carried.

    Returns:
        Those of each step's answer, by step, and those that no answer has carried yet.
    """
    told: dict[int, list[Notice]] = {}
    waiting: list[Notice] = []
    answered: int | None = None
    for event in events:
        if isinstance(event, ActionRequested | CheckpointTaken | ContextCompacted | AgentKilled):
            # What comes from here on is told with the next answer.
            if answered is not None:
                told[answered], waiting = waiting, []
            answered = None
        if isinstance(event, ActionFinished):
            answered = event.step
        elif isinstance(event, AgentResumed):
            waiting = []  # a new process is told at once
        elif (notice := _notice_of(event, goals, objects)) is not None:
            waiting.append(notice)
    if answered is not None:
        told[answered], waiting = waiting, []
    return told, waiting


def _notice_of(event: Event, goals: Goals, objects: ObjectStore) -> Notice | None:
    if isinstance(event, GoalChanged):
        return goal_notice(*goals[event.to], goals[event.was][1])
    if isinstance(event, PerturbationFired) and event.change != "goal" and "notice" in event.visible:
        return Notice("", objects.get(event.visible["notice"]).decode())
    return None
