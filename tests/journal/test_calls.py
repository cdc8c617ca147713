"""Requests in the object store: read back as they were."""

from pathlib import Path

import msgspec
import pytest

from seatrial.journal.calls import BLOCK, keep_request, read_request
from seatrial.journal.events import ModelCalled
from seatrial.journal.objects import ObjectStore

MESSAGES = [{"role": "system", "content": "a"}, {"role": "user", "content": "ü \U0001f6a2"}]
TOOLS = [{"type": "function", "function": {"name": "shell", "parameters": {"required": []}}}]


@pytest.mark.parametrize(
    "body",
    [{"model": "m", "messages": MESSAGES, "tools": TOOLS, "seed": 5}, {"model": "m", "messages": []},
     {"model": "m", "messages": MESSAGES, "tools": None}],
)  # fmt: skip
def test_a_request_is_read_back_as_it_was(tmp_path: Path, body: dict[str, object]) -> None:
    objects = ObjectStore(tmp_path)
    digest = keep_request(objects, body)
    assert read_request(objects, digest) == body


@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 2])
def test_conversations_of_every_length_come_back(tmp_path: Path, count: int) -> None:
    objects = ObjectStore(tmp_path)
    body = {"messages": [{"role": "user", "content": str(number)} for number in range(count)]}
    assert read_request(objects, keep_request(objects, body)) == body


def test_a_long_conversation_takes_the_room_of_its_messages(tmp_path: Path) -> None:
    objects = ObjectStore(tmp_path)
    messages = [{"role": "user", "content": "word " * 100 + str(number)} for number in range(400)]
    for count in range(1, 401):
        keep_request(objects, {"messages": messages[:count]})
    kept = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    once = sum(len(msgspec.json.encode(message)) for message in messages)
    assert kept < 4 * once


def test_a_call_is_tolerated_by_name() -> None:
    call = ModelCalled(number=1, step=1, attempt=1, asked="m", call_class="ok", latency_us=1, request="r")
    line = msgspec.json.decode(msgspec.json.encode(call))
    assert (line["kind"], line["call_class"]) == ("model.called", "ok")
