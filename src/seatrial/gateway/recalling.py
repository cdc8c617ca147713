"""What journals say of a trial so far, as those at the door take it in who go on from its state."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from seatrial.gateway.attend import Asked
from seatrial.journal.entries import Entry
from seatrial.journal.events import ActionDecided, ActionFinished, ActionRequested, Event, ServiceCalled
from seatrial.journal.objects import ObjectStore
from seatrial.journal.reader import changes_of

# Tools that end or tell something at the gateway itself: nothing is executed for them.
SPOKEN = ("finish", "give_up", "report_belief")
# Of journals that do not say how it was decided on requests by HTTP.
BY_STATUS = {403: "deny", 400: "unasked", 404: "unasked", 405: "unasked", 429: "unasked"}


@dataclass(frozen=True)
class PastAct:
    """One action that has ended.

    Attributes:
        human: a person acted in the agent's place.
        executed: it was carried out; otherwise it was refused, answered by somebody else or said.
        changes: what it changed, whole.
        requests: by HTTP, since the action before had ended.
        calls: tool and arguments of those that its own commands sent and that were judged.
    """

    asked: Asked
    finished: ActionFinished
    human: bool
    executed: bool
    changes: list[Entry]
    requests: list[ServiceCalled]
    calls: list[tuple[str, dict[str, Any]]]

    @property
    def counts(self) -> bool:
        """Whether something was asked for that is not done already and can be done."""
        return not self.finished.notes.keys() & {"malformed", "repeats"}


@dataclass(frozen=True)
class Past:
    """All that was before a trial goes on.

    Attributes:
        events: in order, their steps counted back: 0 is the last one before.
        steps: how many there were.
        acts: what the events come to.
        objects: what the events only name; null where there are none.
    """

    events: list[Event] = field(default_factory=list)
    steps: int = 0
    acts: list[PastAct] = field(default_factory=list)
    objects: ObjectStore | None = None

    def shown(self, act: PastAct) -> str:
        """The text that one of the acts was answered with."""
        assert self.objects is not None, "an act comes with its objects"
        return self.objects.get(act.finished.observation).decode("utf-8", "surrogatepass")


def counted_back(events: Iterable[Event], step: int) -> list[Event]:
    """Copies of events whose steps are counted back from one: 0 is that step, -1 the one before."""
    return [
        msgspec.structs.replace(event, step=event.step - step) if hasattr(event, "step") else event
        for event in events
    ]


def past_of(events: Iterable[Event], steps: int, objects: ObjectStore) -> Past:
    """The past that some events tell.

    Args:
        objects: holds what the events only name.
    """
    whole = [_whole(event, objects) for event in events]
    return Past(whole, steps, _acts(whole, objects), objects)


def decision_on(call: ServiceCalled) -> str:
    """``allow``, ``deny`` or ``unasked`` of a request by HTTP; of a journal that does not say, by status."""
    if call.decision is not None:
        return call.decision
    return BY_STATUS.get(call.status, "allow")


def _whole(event: Event, objects: ObjectStore) -> Event:
    """With its arguments, where only their object is named."""
    if isinstance(event, ServiceCalled) and event.arguments.keys() == {"$object"}:
        arguments = msgspec.json.decode(objects.get(event.arguments["$object"]))
        return msgspec.structs.replace(event, arguments=arguments)
    return event


def _acts(events: Iterable[Event], objects: ObjectStore) -> list[PastAct]:
    acts: list[PastAct] = []
    requested: ActionRequested | None = None
    allowed = False
    requests: list[ServiceCalled] = []
    for event in events:
        if isinstance(event, ActionRequested):
            requested, allowed = event, False
        elif isinstance(event, ActionDecided):
            allowed = allowed or event.decision == "allow"
        elif isinstance(event, ServiceCalled) and event.via == "http":
            requests.append(event)
        elif isinstance(event, ActionFinished) and requested is not None:
            asked = Asked(event.step, requested.tool, requested.arguments, requested.key or None)
            own = (call for call in requests if call.actor != "background" and decision_on(call) != "unasked")
            acts.append(
                PastAct(
                    asked, event, requested.actor == "human",
                    allowed and asked.tool not in SPOKEN and "killed" not in event.notes,
                    changes_of(event, objects), requests,
                    [(f"{call.service}.{call.verb}", call.arguments) for call in own],
                )
            )  # fmt: skip
            requested, requests = None, []
    return acts
