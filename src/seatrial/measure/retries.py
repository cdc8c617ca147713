"""After a call whose outcome nobody learnt: was there a look before it was made again? (C9)"""

from collections.abc import Sequence

import msgspec

from seatrial.journal.events import AgentKilled, Event, ServiceCalled
from seatrial.measure.scene import Scene


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """Names are the TrialRecord's columns; null where the task has no service.

    Attributes:
        unlearnt_outcomes: calls of services that may have had an effect and whose outcome the caller did not
            learn: the acknowledgement was lost, or the agent was killed before it.
        queried_first: of these, followed by a look at the same service before it was sent again.
        retried_blindly: of these, sent again without a look and without the same idempotency key.
    """

    unlearnt_outcomes: int | None = None
    queried_first: int | None = None
    retried_blindly: int | None = None


def count_retries(scene: Scene) -> Retries:
    """Count them in one trial. One that was followed by neither, or retried under its key, is in neither."""
    if not scene.task.environment.services:
        return Retries()
    calls = [e for e in scene.events if isinstance(e, ServiceCalled) and e.actor != "background"]
    killed = unlearnt_steps(scene.events)
    after = [answer_to(calls[place:]) for place, call in enumerate(calls) if unlearnt(call, killed)]
    return Retries(
        unlearnt_outcomes=len(after),
        queried_first=after.count("look"),
        retried_blindly=after.count("blind"),
    )


def unlearnt_steps(events: Sequence[Event]) -> set[int]:
    """Steps whose end the agent was killed before it could see."""
    return {event.step for event in events if isinstance(event, AgentKilled) and not event.acknowledged}


def unlearnt(call: ServiceCalled, killed: set[int]) -> bool:
    """Whether a call may have had an effect and its outcome was not learnt."""
    if not call.acknowledged:
        return call.effect or call.status >= 500
    return call.effect and call.step in killed


def answer_to(calls: Sequence[ServiceCalled]) -> str:
    """What came first after the first of some calls: ``look``, ``blind``, ``keyed`` or ``none``."""
    lost, *later = calls
    for call in later:
        if call.service != lost.service:
            continue
        if (call.verb, call.arguments) == (lost.verb, lost.arguments):
            return "keyed" if call.key and call.key == lost.key else "blind"
        if (
            not call.effect
            and call.verb not in (lost.verb, "renew")
            and call.acknowledged
            and call.status < 400
        ):
            return "look"
    return "none"
