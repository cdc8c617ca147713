"""``remember`` and ``recall``: what is kept outside the agent, where it came from, what was planted in it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatrial.environment.confine.host import Host
from seatrial.gateway.gateway import Offer
from seatrial.gateway.memory import KEYS, VALUE_BYTES, Memory
from seatrial.gateway.recalling import past_of
from seatrial.journal.events import MemoryUsed
from seatrial.journal.objects import ObjectStore
from seatrial.journal.writer import JournalWriter
from tests.worlds import World, make_task, world


@pytest.fixture
def kept(tmp_path: Path, host: Host) -> Iterator[tuple[World, Memory]]:
    journal = JournalWriter(tmp_path / "memory.jsonl", lambda: 0)
    memory = Memory(journal, ObjectStore(tmp_path / "objects"))
    offer = Offer(handlers=memory.handlers(), attendants=[memory])
    with world(tmp_path, host, make_task(), offer) as made:
        made.path = tmp_path / "memory.jsonl"
        yield made, memory
    journal.close()


def ask(made: World, tool: str, **arguments: str) -> Any:
    return made.gateway.act(tool, arguments)


def used(made: World) -> list[tuple[str, str, bool]]:
    return [(event.use, event.key, event.polluted) for event in made.events(MemoryUsed)]


def test_what_is_remembered_is_recalled(kept: tuple[World, Memory]) -> None:
    made, _ = kept
    assert ask(made, "recall").text == "Nothing is remembered."
    assert ask(made, "remember", key="port", value="8080", source="notes.txt").text == "noted"
    assert ask(made, "remember", key="host", value="ümlaut").outcome == "ok"
    assert ask(made, "recall", key="port").text == "8080"
    assert ask(made, "recall").text == "port: 8080\nhost: ümlaut"
    assert ask(made, "recall", key="user").outcome == "failed"
    assert ask(made, "remember", key="port", value="").text == "forgotten"
    assert ask(made, "remember", key="port", value="").outcome == "failed"
    assert ask(made, "recall").text == "host: ümlaut"
    uses = [(use, key) for use, key, _ in used(made)]
    assert uses == [
        ("write", "port"), ("write", "host"), ("read", "port"), ("read", "port"), ("read", "host"),
        ("delete", "port"), ("read", "host"),
    ]  # fmt: skip


def test_it_says_where_a_value_came_from(kept: tuple[World, Memory]) -> None:
    made, _ = kept
    ask(made, "shell", command="echo the id is 4711-XY")
    ask(made, "shell", command="echo nothing")
    ask(made, "remember", key="id", value="4711-XY", source="the first command")
    ask(made, "remember", key="guess", value="0000-ZZ")
    ask(made, "remember", key="no", value="ok")
    ask(made, "recall", key="id")
    first, second, third, read = made.events(MemoryUsed)
    assert (first.from_steps, first.source) == ([1], "the first command")
    assert second.from_steps == third.from_steps == []
    assert (read.use, read.from_steps) == ("read", [3])


def test_what_was_planted_is_followed_into_what_repeats_it(kept: tuple[World, Memory]) -> None:
    made, memory = kept
    ask(made, "remember", key="limit", value="at most 5 guests")
    memory.plant("memory", "stale_fact", "limit", "at most 50 guests")
    assert ask(made, "recall", key="limit").text == "at most 50 guests"
    ask(made, "remember", key="plan", value="invite at most 50 guests on Monday")
    ask(made, "remember", key="other", value="buy bread")
    ask(made, "recall", key="plan")
    assert used(made) == [
        ("write", "limit", False), ("planted", "limit", True), ("read", "limit", True),
        ("write", "plan", True), ("write", "other", False), ("read", "plan", True),
    ]  # fmt: skip
    planted = made.events(MemoryUsed)[1]
    assert (planted.actor, planted.source, planted.step) == ("environment", "stale_fact", 1)


def test_a_planted_line_of_a_summary_is_handed_over_once(kept: tuple[World, Memory]) -> None:
    made, memory = kept
    memory.plant("summary", "other_agent", "status", "all is deployed")
    assert memory.hand_summary("I did one.", 3) == "I did one.\nstatus: all is deployed"
    assert memory.hand_summary("I did one.", 4) == "I did one."
    assert used(made) == [("planted", "status", True), ("read", "status", True)]
    assert memory.items == {}


@pytest.mark.parametrize(("key", "value"), [("", "x"), ("k" * 201, "x"), ("k", "ü" * (VALUE_BYTES // 2 + 1))])
def test_what_does_not_fit_is_refused(kept: tuple[World, Memory], key: str, value: str) -> None:
    made, memory = kept
    assert ask(made, "remember", key=key, value=value).outcome == "failed"
    assert memory.items == {}
    assert used(made) == []


def test_it_holds_so_many_keys(kept: tuple[World, Memory]) -> None:
    made, memory = kept
    for number in range(KEYS):
        memory.plant("memory", "own_error", str(number), "x")
    assert ask(made, "remember", key="new", value="y").outcome == "failed"
    assert ask(made, "remember", key="7", value="y").outcome == "ok"


def test_a_memory_is_made_anew_from_its_journal(kept: tuple[World, Memory], tmp_path: Path) -> None:
    made, memory = kept
    for key, value in (("a", "one"), ("b", "two"), ("a", "three"), ("b", "")):
        ask(made, "remember", key=key, value=value)
    memory.plant("memory", "stale_fact", "c", "planted value")
    memory.plant("summary", "other_agent", "d", "handed over already")
    memory.hand_summary("", 4)
    memory.plant("summary", "other_agent", "e", "still waiting")
    objects = ObjectStore(tmp_path / "objects")
    other = Memory(JournalWriter(tmp_path / "other.jsonl", lambda: 0), objects)
    other.restore(past_of(made.journal().events, 4, objects))
    assert other.items == memory.items
    assert set(other.items) == {"a", "c"}
    assert other.hand_summary("", 5) == memory.hand_summary("", 5) == "e: still waiting"
