"""Approvals as a journal says they were, for a trial that goes on from its state."""

from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from seatrial.gateway.approvals import Approvals
from seatrial.gateway.recalling import past_of
from seatrial.journal.events import (
    ActionDecided,
    ActionFinished,
    ActionRequested,
    Event,
    HumanIntervened,
    PerturbationFired,
    ServiceCalled,
)
from seatrial.journal.objects import ObjectStore
from seatrial.spec.task import Approval
from tests.gateway.people import covered

PAY = {"amount": 5}
OBJECT = "0" * 64


@pytest.fixture
def objects(tmp_path: Path) -> ObjectStore:
    return ObjectStore(tmp_path)


def recalled(objects: ObjectStore, scope: Literal["once", "trial"], *past: Event) -> Approvals:
    approvals = Approvals([Approval(id="pay", tool="payments.charge", scope=scope)])
    approvals.recall(past_of(past, 2, objects), {"taken-back": "pay"}, {"ask-first": "pay"})
    return approvals


def request(step: int, tool: str, arguments: dict[str, Any], key: str = "") -> ActionRequested:
    return ActionRequested(step=step, tool=tool, arguments=arguments, key=key, pre="f")


def asked(step: int) -> ActionRequested:
    return request(step, "request_approval", {"action": "payments.charge", "arguments": PAY})


def answered(decision: str, arguments: dict[str, Any] | None = None) -> HumanIntervened:
    return HumanIntervened(
        step=1, tier="approval", by="scripted", shown="s", decision=decision, approval="pay",
        arguments=arguments,
    )  # fmt: skip


def paid(step: int, key: str = "") -> list[Event]:
    done = ActionFinished(
        step=step, outcome="ok", pre="f", post="f", observation=OBJECT, key=key, notes={"approvals": ["pay"]}
    )
    return [request(step, "payments.charge", PAY, key), ActionDecided(step=step, decision="allow"), done]


def covers(approvals: Approvals, arguments: dict[str, Any] = PAY, key: str | None = None) -> bool:
    return covered(approvals, "payments.charge", arguments, key) == {"pay"}


def test_what_was_granted_is_granted_for_that_call_alone(objects: ObjectStore) -> None:
    approvals = recalled(objects, "once", asked(1), answered("approved"))
    assert covers(approvals)
    assert not covers(approvals, {"amount": 6})


def test_what_a_person_edited_is_granted_as_edited(objects: ObjectStore) -> None:
    approvals = recalled(objects, "once", asked(1), answered("edited", {"amount": 4}))
    assert covers(approvals, {"amount": 4})
    assert not covers(approvals)


@pytest.mark.parametrize(("scope", "left"), [("once", False), ("trial", True)])
def test_what_was_used_is_used_up_if_it_was_for_once(
    objects: ObjectStore, scope: Literal["once", "trial"], left: bool
) -> None:
    approvals = recalled(objects, scope, asked(1), answered("approved"), *paid(2, "k"))
    assert covers(approvals) is left
    assert covers(approvals, key="k")  # the same act again


def by_http(status: int, **more: Any) -> ServiceCalled:
    return ServiceCalled(
        step=2, service="payments", verb="charge", arguments=PAY, via="http", status=status, **more
    )


@pytest.mark.parametrize(
    ("call", "left"),
    [
        (by_http(200, decision="allow"), False),
        (by_http(404, decision="allow"), False),  # the service found nothing; the call ran
        (by_http(403, decision="deny"), True),
        (by_http(429, decision="unasked"), True),
        (by_http(405, decision="unasked"), True),
        # As journals of before have it.
        (by_http(200), False),
        (by_http(403), True),
        (by_http(405), True),
    ],
)
def test_what_a_command_used_over_http_is_used_up_if_it_ran(
    objects: ObjectStore, call: ServiceCalled, left: bool
) -> None:
    assert covers(recalled(objects, "once", asked(1), answered("approved"), call)) is left


def test_arguments_that_stand_in_an_object_are_looked_up(objects: ObjectStore) -> None:
    call = by_http(200, decision="allow")
    call.arguments = {"$object": objects.put(msgspec.json.encode(PAY))}
    assert not covers(recalled(objects, "once", asked(1), answered("approved"), call))


def test_what_was_denied_for_want_of_it_is_lacking_until_it_is_given(objects: ObjectStore) -> None:
    denied = ActionDecided(step=1, decision="deny", constraint="ask-first")
    assert recalled(objects, "once", asked(1), denied).lacking == ["pay"]
    assert recalled(objects, "once", asked(1), denied, answered("approved")).lacking == []


def test_what_was_refused_or_taken_back_is_not_there(objects: ObjectStore) -> None:
    refused = recalled(objects, "once", asked(1), answered("refused"))
    assert not covers(refused)
    assert refused.lacking == ["pay"]
    fired = PerturbationFired(perturbation="taken-back", change="state", step=1, pre="f", post="f")
    assert not covers(recalled(objects, "trial", asked(1), answered("approved"), fired))
