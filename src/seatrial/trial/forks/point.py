"""The moment after a step of a recorded trial: everything a fork begins with, and what cannot be copied."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import msgspec

from seatrial.errors import UsageError
from seatrial.gateway.recalling import counted_back
from seatrial.journal.entries import Entry, State, fold
from seatrial.journal.events import (
    INFRASTRUCTURE,
    ActionFinished,
    ActionRequested,
    AgentKilled,
    AgentStarted,
    CheckpointTaken,
    ContextCompacted,
    EffectRecorded,
    Event,
    GoalChanged,
    HumanIntervened,
    ModelCalled,
    PerturbationArmed,
    PerturbationFired,
    TrialEnded,
)
from seatrial.journal.objects import ObjectStore
from seatrial.journal.reader import Journal, base_state, changes_of, read_journal
from seatrial.journal.run import RunFolder
from seatrial.records.arms import INTERRUPTED, read_arm
from seatrial.spec.changes import Alteration, change_of
from seatrial.spec.task import Task

# Tools that ask a person.
ASKING = ("ask_human", "request_approval")


@dataclass(frozen=True)
class Call:
    """One recorded action: what was asked for, and how it ended; ``finished`` is null where nobody knows."""

    requested: ActionRequested
    finished: ActionFinished | None


@dataclass
class ForkPoint:
    """What stands after a step, up to the request of the next one.

    Attributes:
        journal: of the original.
        step: 0 is the proven reset.
        fingerprint: of the state, as the journal has it.
        parent: where the original itself began, when it is a fork.
        goal_version: in force.
        calls: the actions so far, by step.
        upcoming: the action that came next; null when the step was the last.
        before: every event of this journal up to here.
        counted_us: of the trial clock, what a budget of seconds counts; ``waited_us`` is the rest.
        tokens, money: spent on the model calls that led to the steps so far.
        human_requests: people were asked so often.
        lost: what cannot be copied, in words.
    """

    journal: Journal
    step: int
    state: State
    fingerprint: str
    parent: "ForkPoint | None" = None
    goal_version: int = 1
    calls: dict[int, Call] = field(default_factory=dict)
    upcoming: ActionRequested | None = None
    before: list[Event] = field(default_factory=list)
    counted_us: int = 0
    waited_us: int = 0
    tokens: int = 0
    money: float = 0.0
    human_requests: int = 0
    lost: list[str] = field(default_factory=list)

    @property
    def where(self) -> str:
        """TRIAL@STEP."""
        return f"{self.journal.started.trial}@{self.step}"

    @property
    def origin(self) -> dict[str, Any]:
        """``conditions.fork`` of the original's first line; empty where that is no fork."""
        found: dict[str, Any] = self.journal.started.conditions.get("fork") or {}
        return found

    @property
    def checkpoint(self) -> CheckpointTaken | None:
        """The last state that the agent had persisted by then; null without one.

        Of an agent that began with a checkpoint itself and has taken none since, it is that one.
        """
        taken = [event for event in self.before if isinstance(event, CheckpointTaken)]
        if not taken and self.parent is not None and self.origin["memory"] == "checkpoint":
            kept, steps = self.parent.checkpoint, self.parent.step
            return None if kept is None else msgspec.structs.replace(kept, step=kept.step - steps)
        return taken[-1] if taken else None

    @property
    def steps(self) -> int:
        """How many there were, those before the original began included."""
        return self.step + (0 if self.parent is None else self.parent.steps)

    @cached_property
    def past(self) -> list[Event]:
        """Every event up to here from the beginning of the first original on.

        Their steps are counted back from here: 0 is the last one, -1 the one before.
        """
        earlier = [] if self.parent is None else self.parent.past
        return counted_back([*earlier, *self.before], self.step)

    def entries(self) -> list[Entry]:
        """The whole state as a listing has it: sorted by path."""
        return [self.state[path] for path in sorted(self.state)]


def read_fork_point(run: RunFolder, trial: str, attempt: int, step: int) -> ForkPoint:
    """Read a journal up to a step.

    Raises:
        UsageError: as ``fork_point``; or the attempt has no journal, or ran without a sandbox.
        JournalError: the journal is damaged.
    """
    journal = forkable_journal(run, trial, attempt)
    return fork_point(journal, run.objects, step, began_at(run, journal))


def began_at(run: RunFolder, journal: Journal) -> ForkPoint | None:
    """Where the trial of a journal began, when it is a fork.

    Raises:
        UsageError, JournalError: as ``read_fork_point``.
    """
    origin = journal.started.conditions.get("fork")
    return origin and read_fork_point(run, origin["trial"], origin["attempt"], origin["step"])


def forkable_journal(run: RunFolder, trial: str, attempt: int) -> Journal:
    """The journal of an attempt whose states can be stood in again.

    Raises:
        UsageError: there is none, the attempt never got a world, or had no sandbox.
        JournalError: it is damaged.
    """
    ended, path = run.ended(trial, attempt), run.journal_path(trial, attempt)
    if not path.exists():
        raise UsageError(f"{trial!r}: attempt {attempt} has no journal, so it has no states to fork.")
    journal = read_journal(path, ended.digest if ended else None)
    if not journal.started.base:
        raise UsageError(f"{trial!r}: attempt {attempt} never got a world. Choose another trial.")
    if journal.started.conditions.get("sandboxed") is False:
        raise UsageError(
            f"{trial!r}: ran without a sandbox, so nothing proves what its states were. Run it in one."
        )
    return journal


def steps_of(journal: Journal) -> int:
    """The last step."""
    return max((e.step for e in journal.events if isinstance(e, ActionRequested)), default=0)


def fork_point(
    journal: Journal, objects: ObjectStore, step: int, parent: ForkPoint | None = None
) -> ForkPoint:
    """Fold a journal up to a step.

    Args:
        parent: where its trial began, when it is a fork.

    Raises:
        UsageError: there is no such step, its action never finished, or a part of its state is no longer in
            the run.
    """
    started = journal.started
    where, last = f"{started.trial}@{step}", steps_of(journal)
    if not 0 <= step <= last:
        raise UsageError(f"{where}: {started.trial!r} has no step {step}. Its steps are 0 to {last}.")
    point = ForkPoint(journal, step, base_state(journal, objects), started.fingerprint, parent)
    for event in journal.events:
        if isinstance(event, ActionRequested) and event.step > step:
            point.upcoming = event
            break
        _take(point, event, objects)
    called = point.calls.get(step)
    if called is not None and called.finished is None:
        raise UsageError(
            f"{where}: nobody knows how action {step} ended, so the state after it is unknown. Fork at "
            f"{started.trial}@{step - 1}."
        )
    _refuse_missing(point, objects, where)
    point.lost = [*_processes(point), *_interruption(point), *_takeover(point), *_context(point)]
    return point


def _take(point: ForkPoint, event: Event, objects: ObjectStore) -> None:
    """Take in one more event."""
    point.before.append(event)
    point.goal_version = max(point.goal_version, event.goal_version)
    if isinstance(event, ActionRequested):
        point.calls[event.step] = Call(event, None)
    elif isinstance(event, ActionFinished):
        point.calls[event.step] = Call(point.calls[event.step].requested, event)
        point.waited_us += (event.cost.queue_us or 0) + (event.cost.approval_us or 0)
        point.counted_us = event.elapsed - point.waited_us
    elif isinstance(event, ModelCalled) and event.step <= point.step:
        point.tokens += (event.input_tokens or 0) + (event.output_tokens or 0)
        point.money += event.money or 0.0
    elif isinstance(event, GoalChanged):
        point.goal_version = event.to
    elif isinstance(event, HumanIntervened):
        # Answers come while the request for them is under way; a repair or a takeover unasked follows it.
        call = point.calls.get(event.step)
        asked = call is not None and call.finished is None and call.requested.tool in ASKING
        point.human_requests += asked
        if event.decision == "gave_back":
            point.counted_us = event.elapsed - point.waited_us
    if isinstance(event, ActionFinished | EffectRecorded):
        fold(point.state, changes_of(event, objects))
        point.fingerprint = event.post


def _refuse_missing(point: ForkPoint, objects: ObjectStore, where: str) -> None:
    missing = [
        entry.path
        for entry in point.entries()
        if entry.kind == "file" and entry.digest is not None and not objects.has(entry.digest)
    ]
    if missing:
        raise UsageError(
            f"{where}: the contents of {len(missing)} paths are not in the run, first {missing[0]}. Restore "
            "objects/ from a copy of the run."
        )


def _processes(point: ForkPoint) -> list[str]:
    """No process survives a fork."""
    done = [call.finished for call in point.calls.values() if call.finished is not None]
    alive = done[-1].notes.get("alive", 0) if done else 0
    if alive:
        return [f"{alive} background processes were running"]
    ever = any(e.notes.get("alive") for e in point.journal.events if isinstance(e, ActionFinished))
    ends = [event.details for event in point.journal.events if isinstance(event, TrialEnded)]
    if done and not ever and any(end.get("processes_lost") for end in ends):
        return ["background processes may have been running: the journal does not say since when"]
    return []


def _interruption(point: ForkPoint) -> list[str]:
    """One that the original's arm had in store is not in store for a fork."""
    interrupts = read_arm(point.journal.started.arm).kind == INTERRUPTED
    if interrupts and not any(isinstance(event, AgentKilled) for event in point.before):
        return ["the agent had not been interrupted yet"]
    return []


def _takeover(point: ForkPoint) -> list[str]:
    """What a person is in the middle of doing is theirs."""
    said = [event.decision for event in point.before if isinstance(event, HumanIntervened)]
    acting = said.count("took_over") > said.count("gave_back")
    return ["a person was acting in the agent's place"] if acting else []


def still_armed(point: ForkPoint, spec: Task) -> list[str]:
    """Perturbations that wait for their triggers here, by id: armed, and not fired as often as they may."""
    times = {p.id: change.times for p in spec.perturbation if isinstance(change := change_of(p), Alteration)}
    fired = Counter(event.perturbation for event in point.past if isinstance(event, PerturbationFired))
    return [
        event.perturbation
        for event in point.before
        if isinstance(event, PerturbationArmed)
        and "while_down" not in event.trigger
        and fired[event.perturbation] < times.get(event.perturbation, 1)
    ]


def _context(point: ForkPoint) -> list[str]:
    """A compacted context is part of the agent's memory, which begins anew; a script is no context."""
    events = point.past if point.origin.get("memory") != "none" else point.before
    compacted = any(isinstance(event, ContextCompacted) for event in events)
    scripted = any(isinstance(event, AgentStarted) and event.agent == "scripted" for event in events)
    if compacted and not scripted and point.checkpoint is None:
        return ["the agent's context had been compacted"]
    return []


def memory_of(
    point: ForkPoint, same_seed: bool = False, other_agent: bool = False
) -> Literal["checkpoint", "replay", "none"]:
    """What the agent that goes on can be given of the memory of the one before.

    A script's memory follows from what it is shown. That of other agents does only where the seed is the same
    and no model is asked; then a checkpoint is given before the past is told again.
    """
    if other_agent:
        return "none"
    shown = whole_past(point)
    if shown == []:
        return "replay"  # of nothing: there is nothing to remember yet
    agents = [event.agent for event in point.before if isinstance(event, AgentStarted)]
    if shown and agents[0] == "scripted":
        return "replay"
    if point.checkpoint is not None:
        return "checkpoint"
    return "replay" if shown and same_seed and agents[0] in ("simulated", "python") else "none"


def whole_past(point: ForkPoint) -> list[ForkPoint] | None:
    """The originals through which the agent lived, the first one first; null where it is not all known.

    An empty list: it was shown nothing but its instruction. One process must have lived from the beginning
    on, and each action must have ended.
    """
    acted = [call for call in point.calls.values() if call.requested.forced != {}]
    agents = [event for event in point.before if isinstance(event, AgentStarted)]
    killed = any(isinstance(event, AgentKilled) for event in point.before)
    memory = point.origin.get("memory", "none")
    earlier: list[ForkPoint] | None = []
    if memory == "replay" and point.parent is not None:
        earlier = whole_past(point.parent)
    elif memory == "checkpoint":
        earlier = None
    if earlier is None or killed or any(call.finished is None for call in acted):
        return None
    if not acted:
        return earlier
    return [*earlier, point] if len(agents) == 1 else None


def ended_by_then(point: ForkPoint) -> str | None:
    """Why the original ended with this step; null where it went on, or was only broken off."""
    ends = [event.stop_reason for event in point.journal.events if isinstance(event, TrialEnded)]
    if point.upcoming is not None or not ends or ends[-1] in INFRASTRUCTURE | {"agent_fault", "safety_stop"}:
        return None
    return ends[-1]


def next_call(point: ForkPoint) -> list[dict[str, Any]]:
    """The action that came next, as the calls to be carried out first.

    Raises:
        UsageError: there was none.
    """
    if point.upcoming is None:
        raise UsageError(
            f"{point.where}: is the last step, so no action came next that "
            "another could be compared with. Choose an earlier one."
        )
    return [{"tool": point.upcoming.tool, "arguments": point.upcoming.arguments}]
