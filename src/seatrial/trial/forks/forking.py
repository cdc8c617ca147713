"""What a trial begins with: the base of its task, or the recorded state that it is forked from."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import msgspec

from seatrial.agents.process import AgentProcess, Request
from seatrial.environment.ground import Ground
from seatrial.environment.state.base import prove_untouched
from seatrial.environment.world import World
from seatrial.errors import AgentFault, EnvironmentFault
from seatrial.gateway.attend import Observation
from seatrial.gateway.gateway import Gateway
from seatrial.journal.entries import State
from seatrial.journal.events import CheckpointTaken, Event
from seatrial.journal.objects import ObjectStore
from seatrial.journal.run import ForkOrigin
from seatrial.spec.task import Budget, Task
from seatrial.trial.attempt import Attempt
from seatrial.trial.forks.point import Call, ForkPoint, read_fork_point
from seatrial.trial.forks.restore import difference, refuse_other_base

# The agent's answer while its recorded past is told again; no budget counts that time.
REPLAY_SECONDS = 60.0


@dataclass
class Beginning:
    """What one attempt begins with.

    Attributes:
        delta: the state, as a difference from the base.
        listing: object that lists the whole state.
        goal_version: in force.
        budget: what is left of the task's.
        point: of a fork; null for a trial of its own.
        forced: calls that are carried out in place of what the agent asks for first, in order.
    """

    delta: State
    listing: str
    goal_version: int
    budget: Budget
    origin: ForkOrigin | None = None
    point: ForkPoint | None = None
    forced: deque[dict[str, Any]] = field(default_factory=deque)

    @property
    def forget(self) -> bool:
        """Whether the agent is to know nothing of what was before it."""
        return self.origin is not None and self.origin.memory == "none"

    @property
    def replayed(self) -> dict[int, Call]:
        """Actions that the agent is told of again, by step."""
        is_replay = self.origin is not None and self.origin.memory == "replay"
        return self.point.calls if self.point is not None and is_replay else {}

    @property
    def kept(self) -> CheckpointTaken | None:
        """The checkpoint that the agent is given; null where it is given none."""
        is_kept = self.origin is not None and self.origin.memory == "checkpoint"
        return self.point.checkpoint if self.point is not None and is_kept else None

    @property
    def past(self) -> list[Event]:
        """What the original's journal says up to here; empty for a trial of its own."""
        return [] if self.point is None else self.point.before

    def prove(self, world: World) -> str:
        """Prove that a new world is in this state and nothing else, and return the fingerprint.

        Raises:
            EnvironmentFault: it is not; it must not be used.
        """
        return world.prove_reset() if self.point is None else prove_state(world, self.point.fingerprint)

    def recall(self, gateway: Gateway, spec: Task) -> None:
        """Let a gateway know what its original's journal says: answers by key, and approvals."""
        revoking = {p.id: str(p.change["revoke"]) for p in spec.perturbation if "revoke" in p.change}
        gateway.recall(self.past, revoking)

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
        return Beginning({}, ground.base.listing, 1, budget)
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
    return Beginning(
        difference(ground.base.state, point.state),
        objects.put(msgspec.json.encode(point.entries())),
        point.goal_version,
        remaining(point, budget),
        origin,
        point,
        forced,
    )


def remaining(point: ForkPoint, budget: Budget) -> Budget:
    """What a trial that began with a budget has left at a point; an amount is 0 where it is overdrawn.

    Of a fork the budget it began with stands in its first line.
    """
    begun_with = point.journal.started.conditions.get("fork", {}).get("budget")
    if begun_with is not None:
        budget = msgspec.convert(begun_with, Budget)
    used = {
        "actions": point.step, "seconds": point.elapsed_us / 1e6, "tokens": point.tokens,
        "money": point.money, "human_requests": point.human_requests,
    }  # fmt: skip
    left = {
        name: max(0, getattr(budget, name) - amount)
        for name, amount in used.items()
        if getattr(budget, name) is not None
    }
    return msgspec.structs.replace(budget, **left)


def replay(agent: AgentProcess, calls: dict[int, Call], objects: ObjectStore) -> None:
    """Tell an agent its recorded past again, action by action; its next request stays to be taken.

    An agent whose choices follow from what it is shown has then the memory it had. Nothing is carried out.

    Raises:
        AgentFault: it does not ask for what is recorded, or breaks.
    """
    for step in sorted(calls):
        call = calls[step]
        request = _next_act(agent, step)
        asked = (request.params.get("tool"), request.params.get("arguments"))
        recorded = call.requested.forced or {
            "tool": call.requested.tool, "arguments": call.requested.arguments,
        }  # fmt: skip
        expected = (recorded["tool"], recorded["arguments"])
        if asked != expected:
            raise AgentFault(
                f"the agent did not repeat its recorded action {step}: it asked for {asked!r:.200} in place "
                f"of {expected!r:.200}. Fork it with --memory none."
            )
        assert call.finished is not None
        finished = call.finished
        text = objects.get(finished.observation).decode("utf-8", "surrogatepass")
        shown = Observation(text=text, outcome=finished.outcome, exit_code=finished.exit_code)
        agent.answer(request, msgspec.to_builtins(shown))


def _next_act(agent: AgentProcess, step: int) -> Request:
    while True:
        request = agent.next_request(REPLAY_SECONDS)
        if request is None:
            said = agent.problems() or "it said nothing"
            raise AgentFault(f"the agent ended or fell silent before its recorded action {step}: {said}")
        if request.method == "crashed":
            agent.answer(request, {})
            raise AgentFault(f"the agent crashed: {str(request.params.get('traceback', ''))[-2000:]}")
        if request.method == "act":
            return request
        agent.answer(request, {})


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
