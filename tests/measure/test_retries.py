"""After an outcome that nobody learnt: looked first, retried blindly, retried under the key (C9)."""

import pytest

from seatrial.journal.events import AgentKilled, ServiceCalled
from seatrial.spec.task import Environment
from tests.measure.disturbances import BASE, make
from tests.measure.story import Story, table

TASK = make(environment=Environment(services=["payments", "mail"]))
CHARGE = {"account": "a", "amount": 5, "reference": "r"}


def call(story: Story, verb: str, arguments=None, service: str = "payments", **more) -> Story:
    known = {"status": 200, "effect": verb == "charge", **more}
    line = ServiceCalled(step=story.step + 1, service=service, verb=verb, arguments=arguments or {}, **known)
    return story.act(tool=f"{service}.{verb}", arguments=arguments or {}, during=[line])


def lost(**more) -> Story:
    return call(Story(BASE), "charge", CHARGE, status=504, acknowledged=False, **more)


def counts(story: Story):
    found = story.finish().end().record(TASK, table(TASK, {}))
    return found.unlearnt_outcomes, found.queried_first, found.retried_blindly


def test_a_look_first():
    story = call(call(lost(), "list", {"reference": "r"}), "charge", CHARGE)
    assert counts(story) == (1, 1, 0)


def test_a_blind_retry_which_may_itself_stay_unlearnt():
    assert counts(call(lost(), "charge", CHARGE)) == (1, 0, 1)
    again = call(lost(), "charge", CHARGE, status=504, acknowledged=False)
    assert counts(call(again, "list", {"reference": "r"})) == (2, 1, 1)


def test_a_retry_under_the_same_key_is_no_blind_one():
    assert counts(call(lost(key="k"), "charge", CHARGE, key="k", effect=False, repeats=1)) == (1, 0, 0)
    assert counts(call(lost(key="k"), "charge", CHARGE, key="other")) == (1, 0, 1)


@pytest.mark.parametrize(
    ("verb", "more"),
    [
        ("list", {"service": "mail"}),
        ("renew", {}),
        ("list", {"status": 503}),
        ("list", {"acknowledged": False, "status": 200}),
    ],
)
def test_what_is_no_look(verb: str, more):
    assert counts(call(call(lost(), verb, **more), "charge", CHARGE))[1:] == (0, 1)


def test_another_charge_is_no_retry():
    assert counts(call(lost(), "charge", CHARGE | {"amount": 6})) == (1, 0, 0)


def test_a_kill_before_the_answer_leaves_it_unlearnt_too():
    story = call(Story(BASE), "charge", CHARGE)
    story.add(AgentKilled(point="after_effect_before_ack", step=1, acknowledged=False))
    assert counts(call(story, "charge", CHARGE)) == (1, 0, 1)


def test_what_is_acknowledged_needs_no_look_and_without_services_there_is_nothing_to_count():
    assert counts(call(call(Story(BASE), "charge", CHARGE), "charge", CHARGE)) == (0, 0, 0)
    task = make()
    assert Story(BASE).finish().end().record(task, table(task, {})).unlearnt_outcomes is None
