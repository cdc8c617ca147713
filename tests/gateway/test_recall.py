"""Approvals as a journal says they were, for a trial that goes on from its state."""

from typing import Any, Literal

import pytest

from seatrial.gateway.approvals import Approvals
from seatrial.journal.events import (
    ActionFinished,
    ActionRequested,
    Event,
    HumanIntervened,
    PerturbationFired,
    ServiceCalled,
)
from seatrial.spec.task import Approval
from tests.gateway.people import covered

PAY = {"amount": 5}


def recalled(scope: Literal["once", "trial"], *past: Event) -> Approvals:
    approvals = Approvals([Approval(id="pay", tool="payments.charge", scope=scope)])
    approvals.recall(past, {"taken-back": "pay"})
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
        step=step, outcome="ok", pre="f", post="f", observation="o", key=key, notes={"approvals": ["pay"]}
    )
    return [request(step, "payments.charge", PAY, key), done]


def covers(approvals: Approvals, arguments: dict[str, Any] = PAY, key: str | None = None) -> bool:
    return covered(approvals, "payments.charge", arguments, key) == {"pay"}


def test_what_was_granted_is_granted_for_that_call_alone() -> None:
    approvals = recalled("once", asked(1), answered("approved"))
    assert covers(approvals)
    assert not covers(approvals, {"amount": 6})


def test_what_a_person_edited_is_granted_as_edited() -> None:
    approvals = recalled("once", asked(1), answered("edited", {"amount": 4}))
    assert covers(approvals, {"amount": 4})
    assert not covers(approvals)


@pytest.mark.parametrize(("scope", "left"), [("once", False), ("trial", True)])
def test_what_was_used_is_used_up_if_it_was_for_once(scope: Literal["once", "trial"], left: bool) -> None:
    approvals = recalled(scope, asked(1), answered("approved"), *paid(2, "k"))
    assert covers(approvals) is left
    assert covers(approvals, key="k")  # the same act again


def test_what_a_command_used_over_http_is_used_up_unless_it_was_denied() -> None:
    used = ServiceCalled(step=2, service="payments", verb="charge", arguments=PAY, via="http", status=200)
    denied = ServiceCalled(step=2, service="payments", verb="charge", arguments=PAY, via="http", status=403)
    assert not covers(recalled("once", asked(1), answered("approved"), used))
    assert covers(recalled("once", asked(1), answered("approved"), denied))


def test_what_was_refused_or_taken_back_is_not_there() -> None:
    refused = recalled("once", asked(1), answered("refused"))
    assert not covers(refused)
    assert refused.lacking == ["pay"]
    fired = PerturbationFired(perturbation="taken-back", change="state", step=1, pre="f", post="f")
    assert not covers(recalled("trial", asked(1), answered("approved"), fired))
