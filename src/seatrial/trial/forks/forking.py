"""What a trial begins with: the base of its task, or the recorded state that it is forked from."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import msgspec

from seatrial.environment.ground import Ground
from seatrial.environment.state.base import prove_untouched
from seatrial.environment.world import World
from seatrial.errors import EnvironmentFault
from seatrial.gateway.recalling import Past, past_of
from seatrial.journal.entries import State
from seatrial.journal.events import CheckpointTaken
from seatrial.journal.objects import ObjectStore
from seatrial.journal.run import ForkOrigin
from seatrial.spec.task import Budget
from seatrial.trial.attempt import Attempt
from seatrial.trial.forks.point import ForkPoint, read_fork_point, whole_past
from seatrial.trial.forks.restore import difference, refuse_other_base
from seatrial.trial.forks.retelling import Told, told_before


@dataclass
class Beginning:
    """What one attempt begins with.

    Attributes:
        delta: the state, as a difference from the base.
        listing: object that lists the whole state.
        goal_version: in force.
        budget: what is left of the task's.
        told: goal version and budget that the agent is told of at first: of a past that is told again, those
            it was told of then.
        point: of a fork; null for a trial of its own.
        past: all that was before; empty for a trial of its own.
        replayed: actions that the agent is told of again.
        forced: calls that are carried out in place of what the agent asks for first, in order.
    """

    delta: State
    listing: str
    goal_version: int
    budget: Budget
    told: tuple[int, Budget]
    origin: ForkOrigin | None = None
    point: ForkPoint | None = None
    past: Past = field(default_factory=Past)
    replayed: list[Told] = field(default_factory=list)
    forced: deque[dict[str, Any]] = field(default_factory=deque)

    @property
    def forget(self) -> bool:
        """Whether the agent is to know nothing of what was before it."""
        return self.origin is not None and self.origin.memory == "none"

    @property
    def kept(self) -> CheckpointTaken | None:
        """The checkpoint that the agent is given; null where it is given none."""
        is_kept = self.origin is not None and self.origin.memory == "checkpoint"
        return self.point.checkpoint if self.point is not None and is_kept else None

    def prove(self, world: World) -> str:
        """Prove that a new world is in this state and nothing else, and return the fingerprint.

        Raises:
            EnvironmentFault: it is not; it must not be used.
        """
        return world.prove_reset() if self.point is None else prove_state(world, self.point.fingerprint)

    def conditions(self) -> dict[str, Any]:
        """For the first line of the journal; empty for a trial of its own."""
        if self.origin is None or self.point is None:
            return {}
        kept = self.kept
        plain: dict[str, Any] = msgspec.to_builtins(self.origin)
        return {
            "fork": {
                **plain,
                "memory": self.origin.memory,
                "armed": self.origin.armed,
                "causal": self.origin.causal,
                "checkpoint_step": None if kept is None else kept.step,
                "goal_version": self.goal_version,
                "budget": msgspec.to_builtins(self.budget),
            }
        }


def prove_state(world: World, fingerprint: str) -> str:
    """Prove that a new world is in a recorded state and nothing else, by events and by a full scan.

    Args:
        fingerprint: that the state must have; it is returned.

    Raises:
        EnvironmentFault: it is not; it must not be used.
    """
    prove_untouched(world.ground.base)
    changes, found = world.settle().changes, world.tracker.fingerprint()
    if changes or found != fingerprint:
        told = [entry.path for entry in changes][:5] or found
        raise EnvironmentFault(f"the fork is not in the state it is to begin in: {told}.")
    if not world.audit():
        raise EnvironmentFault("a full scan of the fork does not give the fingerprint it begins with.")
    return found


def beginning_of(attempt: Attempt, ground: Ground) -> Beginning:
    """What an attempt begins with, read from its original's journal where it is a fork.

    Raises:
        UsageError, JournalError: the original's journal is damaged, or no longer says the same.
        EnvironmentFault: the base of today is not the one the original ran on.
    """
    origin, budget = attempt.planned.fork, attempt.spec.budget
    if origin is None:
        return Beginning({}, ground.base.listing, 1, budget, (1, budget))
    objects = attempt.run.objects
    point = read_fork_point(attempt.run, origin.trial, origin.attempt, origin.step)
    refuse_other_base(point.journal, ground.base)
    if point.fingerprint != origin.fingerprint:
        raise EnvironmentFault(
            f"{point.journal.path}: step {origin.step} has another fingerprint than when it was forked."
        )
    forced = deque[dict[str, Any]]()
    if origin.forced is not None:
        forced.extend(msgspec.json.decode(objects.get(origin.forced)))
    left = remaining(point, budget)
    begins = Beginning(
        difference(ground.base.state, point.state),
        objects.put(msgspec.json.encode(point.entries())),
        point.goal_version,
        left,
        (point.goal_version, left),
        origin,
        point,
        past_of(point.past, point.steps, objects),
        forced=forced,
    )
    if origin.memory == "replay" and (lived := whole_past(point)):
        begins.replayed = told_before(point, objects, attempt.goals)
        begins.told = lived[0].origin.get("goal_version", 1), begun_with(lived[0], budget)
    return begins


def begun_with(point: ForkPoint, budget: Budget) -> Budget:
    """The budget that a trial began with: its task's, or of a fork what its first line says."""
    own = point.origin.get("budget")
    return budget if own is None else msgspec.convert(own, Budget)


def remaining(point: ForkPoint, budget: Budget) -> Budget:
    """What a trial of a task with this budget has left at a point; an amount is 0 where it is overdrawn."""
    budget = begun_with(point, budget)
    used = {
        "actions": point.step, "seconds": point.counted_us / 1e6, "tokens": point.tokens,
        "money": point.money, "human_requests": point.human_requests,
    }  # fmt: skip
    left = {
        name: max(0, getattr(budget, name) - amount)
        for name, amount in used.items()
        if getattr(budget, name) is not None
    }
    return msgspec.structs.replace(budget, **left)


def persisted(kept: CheckpointTaken, objects: ObjectStore) -> tuple[dict[str, Any], bytes | None, str]:
    """What a new process is given of a checkpoint.

    Returns:
        ``resumed`` for its first observation, its state (null for prose), and the prose.
    """
    data, form = objects.get(kept.state), kept.memory
    if form == "structured":
        return {"memory": form}, data, ""
    prose = data.decode("utf-8", "replace")
    return {"memory": form, "text": prose}, None, prose
