"""Answers by key, of this trial and of the one it goes on from."""

from pathlib import Path

import pytest

from seatrial.gateway.answers import Answers
from seatrial.gateway.attend import Asked, Window
from seatrial.gateway.recalling import Past, past_of
from seatrial.journal.events import ActionDecided, ActionFinished, ActionRequested, Event, Outcome
from seatrial.journal.objects import ObjectStore


@pytest.fixture
def objects(tmp_path: Path) -> ObjectStore:
    return ObjectStore(tmp_path)


def asked(command: str, key: str | None, step: int = 4) -> Asked:
    return Asked(step, "shell", {"command": command}, key)


def past(objects: ObjectStore, outcome: Outcome, **notes: bool) -> Past:
    events: list[Event] = [
        ActionRequested(step=0, tool="shell", arguments={"command": "a"}, key="k", pre="f"),
        ActionDecided(step=0, decision="allow"),
        ActionFinished(
            step=0, outcome=outcome, exit_code=0, pre="f", post="f", observation=objects.put(b"first"),
            key="k", notes={**notes},
        ),
    ]  # fmt: skip
    return past_of(events, 1, objects)


def test_a_repeated_key_has_the_first_answer(objects: ObjectStore) -> None:
    answers = Answers(objects)
    assert answers.again(asked("a", "k")) is None
    answers.keep(asked("a", "k"), Window("ok", "first", 0), objects.put(b"first"))
    window = answers.again(asked("a", "k", 9))
    assert window is not None
    assert (window.outcome, window.text, window.notes) == ("ok", "first", {"repeats": 4})
    assert answers.again(asked("a", None)) is None


def test_a_key_given_to_another_request_is_malformed(objects: ObjectStore) -> None:
    answers = Answers(objects)
    answers.keep(asked("a", "k"), Window("ok", "first", 0), objects.put(b"first"))
    window = answers.again(asked("b", "k"))
    assert window is not None
    assert window.notes == {"malformed": True}


def test_answers_from_before_a_fork_are_known(objects: ObjectStore) -> None:
    answers = Answers(objects)
    answers.recall(past(objects, "ok"))
    window = answers.again(asked("a", "k"))
    assert window is not None
    assert (window.outcome, window.text, window.exit_code) == ("ok", "first", 0)
    assert window.notes == {"repeats": 0}


@pytest.mark.parametrize(("outcome", "notes"), [("unknown", {}), ("failed", {"killed": True})])
def test_what_nobody_knows_is_asked_of_the_world_again(
    objects: ObjectStore, outcome: Outcome, notes: dict[str, bool]
) -> None:
    answers = Answers(objects)
    answers.recall(past(objects, outcome, **notes))
    answers.keep(asked("a", "k"), Window(outcome, "", notes=dict(notes)), objects.put(b""))
    assert answers.again(asked("a", "k")) is None
