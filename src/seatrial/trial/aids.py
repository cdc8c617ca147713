"""What an attempt's agent has beside the world: memory, checkpoints, compactions, and who may kill it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from seatrial.gateway.attend import Attendant, Handler
from seatrial.gateway.disturbing.injector import Injector
from seatrial.gateway.memory import Memory
from seatrial.gateway.meter import Meter
from seatrial.gateway.recalling import Past
from seatrial.journal.writer import JournalWriter
from seatrial.spec.interrupting import (
    GOLD_FILE,
    checkpoints_offered,
    compaction_strategy,
    interruption_arm,
)
from seatrial.trial.attempt import Attempt
from seatrial.trial.constraining import Constraining, constraining
from seatrial.trial.keeping.checkpoints import Checkpoints
from seatrial.trial.keeping.compaction import Compactions
from seatrial.trial.keeping.interruption import Killer, interrupting


@dataclass
class Aids:
    """Everything of this kind that one attempt has; null where its arm or its experiment has none.

    Attributes:
        offered: of the optional tools, those that are offered because of it.
        watched: subgoals that must be judged while the trial runs.
        down: called when the agent has been killed and no process is there yet.
        untold: what an agent that goes on has still to be told, each once.
    """

    memory: Memory
    compactions: Compactions
    checkpoints: Checkpoints | None
    killer: Killer | None
    offered: Collection[str]
    watched: Collection[str]
    conditions: dict[str, Any]
    constraining: Constraining
    down: list[Callable[[], None]] = field(default_factory=list)
    untold: Callable[[], list[str]] = list

    def handlers(self) -> dict[str, Handler]:
        """Of the tools that are offered."""
        known = {**self.memory.handlers(), "history": self.compactions.history}
        return {name: handler for name, handler in known.items() if name in self.offered}

    def attendants(self) -> list[Attendant]:
        """In their order; only those that look at what was shown in the end come after them."""
        return [self.memory, self.compactions, *([] if self.killer is None else [self.killer])]

    def recall(self, past: Past) -> None:
        """Know what was before, for a trial that goes on from another one's state."""
        self.memory.restore(past)
        self.compactions.recall(past)
        self.constraining.recall(past)

    def disturbed_by(self, injector: Injector) -> None:
        """Let an injector know of checkpoints, compactions and kills."""
        self.untold = injector.take_notices
        self.compactions.listeners.insert(0, injector.compacted)
        if self.checkpoints is not None:
            self.checkpoints.listeners.append(injector.checkpoint_taken)
        self.down.append(lambda: self._tell_of_death(injector))

    def _tell_of_death(self, injector: Injector) -> None:
        if self.killer is not None and self.killer.killed is not None:
            injector.agent_down(self.killer.killed.step, self.killer.killed.acknowledged)

    def verified(self, subgoal: str, step: int) -> None:
        """A watched subgoal was verified for the first time."""
        self.compactions.verified(subgoal, step)
        if self.killer is not None:
            self.killer.verified(subgoal, step)


def aids_of(attempt: Attempt, journal: JournalWriter, meter: Meter) -> Aids:
    """What an attempt's arm and experiment give its agent."""
    experiment, arm, spec = attempt.manifest.experiment, attempt.arm, attempt.spec
    objects, compaction = attempt.run.objects, attempt.compaction
    # An interruption that a fork's original still had in store is lost to it.
    parts = interruption_arm(attempt.planned.arm)
    options, strategy = attempt.interruption, compaction_strategy(spec, compaction, arm)
    form = checkpoints_offered(spec, experiment.get("arms") or [], arm)
    memory = Memory(journal, objects)
    gold = objects.get(attempt.task.files[GOLD_FILE][0]).decode() if strategy == "gold" else ""
    compactions = Compactions(journal, objects, meter, strategy, compaction, gold, memory)
    killer = None if parts is None else Killer(interrupting(parts, options, attempt.planned.seed), journal)
    if killer is not None:
        compactions.listeners.append(killer.compacted)
    watched = set[str]()
    if killer is not None and killer.plan.point == "subgoal_verified":
        watched |= {s.id for s in spec.subgoal} if options.subgoal is None else {options.subgoal}
    if strategy is not None and compaction is not None and compaction.at_subgoal is not None:
        watched.add(compaction.at_subgoal)
    offered = {"remember", "recall"} if experiment.get("memory") else set()
    if strategy is not None and compaction is not None and compaction.lookups:
        offered.add("history")
    within = constraining(attempt, journal, meter)
    offered |= set(within.offered)
    conditions: dict[str, Any] = {
        **within.conditions,
        "memory": bool(experiment.get("memory")),
        "checkpoints": None if form is None else {"memory": form, "bytes": options.state_bytes},
        "interruption": None if killer is None else killer.conditions(),
        "compaction": strategy and {"strategy": strategy, **_plain(compaction)},
    }
    checkpoints = None if form is None else Checkpoints(journal, objects, form, options.state_bytes)
    return Aids(memory, compactions, checkpoints, killer, offered, watched, conditions, within)


def _plain(compaction: Any) -> dict[str, Any]:
    names = ("every_tokens", "at_subgoal", "state_bytes", "lookups")
    return {name: getattr(compaction, name) for name in names}
