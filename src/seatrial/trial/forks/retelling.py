"""An agent's recorded past, told to it again: what it asked for, and what it was shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from seatrial.agents.process import AgentProcess, Request
from seatrial.errors import AgentFault
from seatrial.gateway.attend import Observation
from seatrial.gateway.disturbing.notices import Goals, notices_told
from seatrial.journal.events import ActionFinished, ActionRequested, HumanIntervened
from seatrial.journal.objects import ObjectStore
from seatrial.trial.forks.point import ForkPoint, whole_past

# The agent's answer while its recorded past is told again; no budget counts that time.
REPLAY_SECONDS = 60.0


@dataclass
class Told:
    """One action of the agent's own.

    Attributes:
        step: counted back from the fork.
        asked: tool and arguments that it asked for, whatever was carried out.
        shown: what it was answered, with notices and what a person did meanwhile.
    """

    step: int
    asked: tuple[Any, Any]
    shown: Observation


def told_before(point: ForkPoint, objects: ObjectStore, goals: Goals) -> list[Told]:
    """Everything that the agent asked for and was shown up to a point, from its own beginning on.

    Args:
        goals: the task's goal versions, each with its instruction.
    """
    lived = whole_past(point)
    assert lived is not None, "a fork is planned with what can be had of the memory"
    steps = sum(each.step for each in lived if each is not point) + point.step
    notices, _ = notices_told(point.past, goals, objects)
    told: list[Told] = []
    asked: tuple[Any, Any] | None = None
    for event in point.past:
        if isinstance(event, ActionRequested):
            own = event.actor != "human" and event.forced != {} and event.step > -steps
            asked = _asked(event) if own else None
        elif isinstance(event, ActionFinished) and asked is not None:
            text = objects.get(event.observation).decode("utf-8", "surrogatepass")
            for notice in notices.get(event.step, ()):
                text = notice.around(text)
            shown = Observation(text=text, outcome=event.outcome, exit_code=event.exit_code)
            told.append(Told(event.step, asked, shown))
        elif isinstance(event, HumanIntervened) and event.decision == "gave_back" and told:
            _give_back(told[-1], objects.get(event.shown).decode("utf-8", "surrogatepass"))
    return told


def _asked(event: ActionRequested) -> tuple[Any, Any]:
    recorded = event.forced or {"tool": event.tool, "arguments": event.arguments}
    return recorded["tool"], recorded["arguments"]


def _give_back(told: Told, said: str) -> None:
    """A person acted before the agent was answered."""
    before = told.shown.text
    text = f"{before.rstrip()}\n{said}" if before.strip() else said
    told.shown = msgspec.structs.replace(told.shown, text=text)


def retell(agent: AgentProcess, past: Sequence[Told]) -> None:
    """Tell an agent its recorded past again, action by action; its next request stays to be taken.

    An agent whose choices follow from what it is shown has then the memory it had. Nothing is carried out.

    Raises:
        AgentFault: it does not ask for what is recorded, or breaks.
    """
    for number, told in enumerate(past, 1):
        request = _next_act(agent, number)
        asked = (request.params.get("tool"), request.params.get("arguments"))
        if asked != told.asked:
            raise AgentFault(
                f"the agent did not repeat its recorded action {number}: it asked for {asked!r:.200} in "
                f"place of {told.asked!r:.200}. Fork it with --memory none."
            )
        agent.answer(request, msgspec.to_builtins(told.shown))


def _next_act(agent: AgentProcess, number: int) -> Request:
    while True:
        request = agent.next_request(REPLAY_SECONDS)
        if request is None:
            said = agent.problems() or "it said nothing"
            raise AgentFault(f"the agent ended or fell silent before its recorded action {number}: {said}")
        if request.method == "crashed":
            agent.answer(request, {})
            raise AgentFault(f"the agent crashed: {str(request.params.get('traceback', ''))[-2000:]}")
        if request.method == "act":
            return request
        agent.answer(request, {})
