"""The proxy alone: real sockets on both sides, a real journal, every class of answer."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from seatrial.agents.chat_agent import Connection
from seatrial.agents.model import upstream
from seatrial.agents.model.proxy import ModelProxy
from seatrial.agents.model.recorder import CallRecorder
from seatrial.agents.model.secret import Secret
from seatrial.errors import JournalError
from seatrial.gateway.meter import Meter
from seatrial.journal.calls import read_request
from seatrial.journal.events import ModelCalled
from seatrial.journal.objects import ObjectStore
from seatrial.journal.reader import read_journal
from seatrial.journal.writer import JournalWriter
from seatrial.spec.chat import Backoff, ChatOptions, Retries
from seatrial.spec.task import Budget
from tests.agents.model_server import (
    USAGE,
    Play,
    breaks_off,
    completion,
    fails,
    hangs_up,
    huge,
    model_server,
    never_begins,
    never_ends,
    nobody_listens,
    page,
    raw_tool,
    says,
    sends,
    streams,
    tool,
    wait_a_moment,
)
from tests.waiting import PATIENCE, until

NO_RETRIES = Retries(**dict.fromkeys(Retries.__struct_fields__, 0))
MESSAGES = [{"role": "user", "content": "go on"}]


class Door:
    """A proxy with what stands behind it."""

    def __init__(self, folder: Path, options: ChatOptions, budget: Budget, key: str | None) -> None:
        self.meter, self.objects = Meter(budget), ObjectStore(folder / "objects")
        self.path = folder / "journal.jsonl"
        self.journal = JournalWriter(self.path, self.meter.now_us)
        recorder = CallRecorder(self.journal, self.objects, self.meter, lambda: 7)
        self.proxy = ModelProxy(str(folder / "s"), options, Secret(key), recorder)

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """One request of an agent."""
        connection = Connection(self.proxy.socket_path)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def ask(self, **more: Any) -> tuple[int, bytes]:
        """One request for an answer."""
        return self.send("POST", "/v1/chat/completions", {"model": "small", "messages": MESSAGES, **more})

    @property
    def calls(self) -> list[ModelCalled]:
        """What was written down."""
        return [event for event in read_journal(self.path).events if isinstance(event, ModelCalled)]


@contextmanager
def door(
    folder: Path, endpoint: str, budget: Budget | None = None, key: str | None = None, **options: Any
) -> Iterator[Door]:
    chosen = {
        "retries": NO_RETRIES,
        "backoff": Backoff(first=0.01, longest=0.05),
        "timeout": PATIENCE,
        **options,
    }
    opened = Door(folder, ChatOptions(endpoint=endpoint, model="small", **chosen), budget or Budget(), key)
    try:
        yield opened
    finally:
        opened.proxy.close()
        opened.journal.close()


CLASSES: dict[str, tuple[Play, str, int | None]] = {
    "429": (fails(429), "rate_limited", 429),
    "500": (fails(500), "server_error", 500),
    "503 with a page": (page(503), "server_error", 503),
    "401": (fails(401), "refused", 401),
    "redirect": (fails(302, Location="http://127.0.0.1:1/"), "refused", 302),
    "a page": (page(), "not_json", 200),
    "nothing": (lambda handler: handler.reply(200, b""), "not_json", 200),
    "a list": (sends([1, 2]), "malformed", 200),
    "no choices": (sends({"choices": []}), "malformed", 200),
    "an error with 200": (sends({"error": {"message": "no"}}), "malformed", 200),
    "a nameless tool": (says({"id": "1", "function": {"arguments": "{}"}}, usage=None), "malformed", 200),
    "a number as content": (sends(completion({"content": 5}, usage=None)), "malformed", 200),
    "parts without a type": (sends(completion({"content": [{"text": "a"}]}, usage=None)), "malformed", 200),
    "no number": (page(text='{"choices": [{"message": {"content": "a"}}], "x": NaN}'), "not_json", 200),
    "brackets without end": (page(text="[" * 100_000), "not_json", 200),
    "silence": (never_begins, "timeout", None),
    "no end": (never_ends, "endless", 200),
    "broken off": (breaks_off, "unreachable", 200),
    "hung up": (hangs_up, "unreachable", None),
    "broken stream": (streams({"choices": [{"delta": {"content": "a"}}]}, end=False), "not_json", 200),
}


@pytest.mark.parametrize("name", CLASSES)
def test_what_is_no_answer_is_classed_and_ends_the_trial(tmp_path: Path, name: str) -> None:
    play, call_class, status = CLASSES[name]
    # An answer without end must have begun by then.
    timeout = {"timeout": 0.5, "endless": 3.0}.get(call_class, PATIENCE)
    with model_server(play) as server, door(tmp_path, server.endpoint, timeout=timeout) as opened:
        assert opened.ask()[0] == 403
        (call,) = opened.calls
        assert (call.call_class, call.status, call.step) == (call_class, status, 7)
        assert (call.input_tokens, call.output_tokens, call.money) == (None, None, None)
        ending = opened.proxy.ending
        assert ending is not None
        assert ending.kind == "fault"
        assert server.endpoint in ending.problem
        assert call_class in ending.problem
        # Nothing more is sent.
        assert opened.ask()[0] == 403
        assert len(server.requests) == 1


def test_an_endpoint_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    with nobody_listens() as endpoint, door(tmp_path, endpoint, retries=Retries(unreachable=1)) as opened:
        assert opened.ask()[0] == 403
        assert [(call.call_class, call.status, call.attempt) for call in opened.calls] == [
            ("unreachable", None, 1), ("unreachable", None, 2),
        ]  # fmt: skip
        assert opened.calls[1].wait_us >= 10_000
        assert opened.proxy.ending is not None
        assert opened.proxy.ending.problem.endswith(" at call 2 of the same request")


def test_a_failure_without_words_is_told_by_its_cause() -> None:
    bare = ConnectionError()
    assert upstream.worded(bare) == "ConnectionError: the connection broke, and nothing says why"
    bare.__cause__ = OSError("reset by peer")
    assert upstream.worded(bare) == "ConnectionError: reset by peer"
    assert upstream.worded(ValueError("x")) == "ValueError: x"


def test_an_answer_beyond_the_bound_is_endless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "ANSWER_BYTES", 1 << 20)
    with model_server(huge(2 << 20)) as server, door(tmp_path, server.endpoint) as opened:
        assert opened.ask()[0] == 403
        (call,) = opened.calls
        assert call.call_class == "endless"
        assert call.response is not None
        assert len(opened.objects.get(call.response)) == 64 << 10


def test_a_large_answer_within_the_bound_is_kept_whole(tmp_path: Path) -> None:
    with model_server(huge(2 << 20)) as server, door(tmp_path, server.endpoint) as opened:
        status, answer = opened.ask()
        assert status == 200
        assert len(json.loads(answer)["choices"][0]["message"]["content"]) == 2 << 20
        assert opened.calls[0].call_class == "ok"


def test_each_class_has_retries_of_its_own(tmp_path: Path) -> None:
    plays = [fails(429), fails(500), fails(429), says(content="hello")]
    retries = Retries(rate_limited=2, server_error=1)
    with model_server(*plays) as server, door(tmp_path, server.endpoint, retries=retries) as opened:
        assert opened.ask()[0] == 200
        assert [call.call_class for call in opened.calls] == [
            "rate_limited", "server_error", "rate_limited", "ok",
        ]  # fmt: skip
        assert [call.attempt for call in opened.calls] == [1, 2, 3, 4]
        assert len({call.request for call in opened.calls}) == 1
        assert opened.proxy.ending is None


def test_no_retry_goes_beyond_the_total_time(tmp_path: Path) -> None:
    options = {"retries": Retries(server_error=20), "total_seconds": 1.0, "backoff": Backoff(first=30.0)}
    with model_server(fails(500)) as server, door(tmp_path, server.endpoint, **options) as opened:
        assert opened.ask()[0] == 403
        assert len(server.requests) == 1
        assert opened.proxy.ending is not None
        assert "no other call fits into 1 seconds" in opened.proxy.ending.problem


def chunk(delta: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": "s",
        "model": "small-1",
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
        **more,
    }


def part(arguments: str, **head: Any) -> dict[str, Any]:
    return {"index": 0, **head, "function": {"arguments": arguments, **({"name": "shell"} if head else {})}}


def test_a_stream_is_gathered_recorded_and_told_again(tmp_path: Path) -> None:
    key = "sk-split-over-chunks"
    chunks = [
        chunk({"role": "assistant", "content": "I have sk-split"}),
        chunk({"content": "-over-chunks."}),
        chunk({"tool_calls": [part('{"comm', id="c9")]}),
        chunk({"tool_calls": [part('and": "ls"}')]}),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {"choices": [], "usage": USAGE},
    ]
    with model_server(streams(*chunks)) as server, door(tmp_path, server.endpoint, key=key) as opened:
        status, told = opened.ask(stream=True)
        assert status == 200
        assert server.bodies[0]["stream_options"] == {"include_usage": True}
        (call,) = opened.calls
        assert (call.call_class, call.streamed, call.answered) == ("ok", True, "small-1")
        assert (call.input_tokens, call.output_tokens, call.cached_tokens) == (100, 10, 40)
        assert call.response is not None
        kept = json.loads(opened.objects.get(call.response))["choices"][0]["message"]
        assert kept["content"] == "I have [redacted]."
        assert kept["tool_calls"][0]["function"] == {"name": "shell", "arguments": '{"command": "ls"}'}
    lines = told.decode().split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    first = json.loads(lines[0].removeprefix("data: "))
    assert first["object"] == "chat.completion.chunk"
    assert first["choices"][0]["delta"]["tool_calls"][0] == {**kept["tool_calls"][0], "index": 0}
    assert json.loads(lines[-3].removeprefix("data: "))["usage"] == USAGE


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"model": "large"}, "there is no model 'large'"),
        ({"n": 2}, "leave n out"),
        ({"messages": "x"}, "no messages"),
    ],
)
def test_what_was_not_declared_is_not_sent(tmp_path: Path, more: dict[str, Any], problem: str) -> None:
    with model_server(says()) as server, door(tmp_path, server.endpoint) as opened:
        status, answer = opened.ask(**more)
        assert status == 400
        assert problem in json.loads(answer)["error"]["message"]
        assert opened.send("POST", "/v1/chat/completions", "text")[0] == 400
        assert (server.requests, opened.calls, opened.proxy.ending) == ([], [], None)


def test_it_names_the_one_model_there_is(tmp_path: Path) -> None:
    with model_server(says()) as server, door(tmp_path, server.endpoint) as opened:
        status, answer = opened.send("GET", "/v1/models")
        assert status == 200
        assert [model["id"] for model in json.loads(answer)["data"]] == ["small"]
        assert opened.send("GET", "/metrics")[0] == 404


def test_requests_at_the_same_time_are_sent_one_after_the_other(tmp_path: Path) -> None:
    slow = wait_a_moment(says(content="a"), 0.1)
    with model_server(slow) as server, door(tmp_path, server.endpoint) as opened:
        threads = [threading.Thread(target=opened.ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [call.number for call in opened.calls] == [1, 2, 3, 4]
        assert opened.meter.tokens == 440


def test_the_end_of_the_trial_cuts_a_call_off_and_it_is_written_down(tmp_path: Path) -> None:
    with model_server(never_ends) as server, door(tmp_path, server.endpoint) as opened:
        asking = threading.Thread(target=lambda: _ignoring(opened.ask))
        asking.start()
        until(lambda: server.requests)
        opened.proxy.close()
        asking.join(PATIENCE)
        (call,) = opened.calls
        assert (call.call_class, call.input_tokens) == ("cut_off", None)
        assert read_request(opened.objects, call.request)["model"]


def _ignoring(ask: Any) -> None:
    with suppress(OSError, http.client.HTTPException):
        ask()


def test_a_call_that_cannot_be_written_down_ends_the_trial(tmp_path: Path) -> None:
    with model_server(says()) as server, door(tmp_path, server.endpoint) as opened:
        opened.journal._broken = True  # as after a full disk
        assert opened.ask()[0] == 403
        with pytest.raises(JournalError, match="failed write"):
            _ = opened.proxy.ending


@pytest.mark.parametrize(
    ("budget", "play", "kind"),
    [
        (Budget(tokens=110), says(), "budget"),
        (Budget(tokens=0), says(), "budget"),
        (Budget(tokens=1000), says(usage=None), "fault"),
        (Budget(tokens=1000), breaks_off, "fault"),
        (Budget(money=1.0), says(), "fault"),  # without a price nobody knows
        (Budget(tokens=1000), says(), None),
        (Budget(tokens=1000), says(raw_tool("shell", "{")), None),
    ],
)
def test_budgets_are_counted_and_never_guessed(
    tmp_path: Path, budget: Budget, play: Play, kind: str | None
) -> None:
    with model_server(play) as server, door(tmp_path, server.endpoint, budget) as opened:
        status, _ = opened.ask()
        ending = opened.proxy.ending
        assert (ending.kind if ending else None) == kind
        assert status == (200 if kind is None else 403)
        assert len(opened.calls) == (0 if budget.tokens == 0 else 1)


def test_a_request_turned_away_costs_nothing_of_a_budget(tmp_path: Path) -> None:
    plays = [fails(429), fails(500), says()]
    retries = Retries()
    with (
        model_server(*plays) as server,
        door(tmp_path, server.endpoint, Budget(tokens=200), retries=retries) as opened,
    ):
        assert opened.ask()[0] == 200
        assert opened.meter.tokens == 110


def test_the_request_is_kept_once_however_often_it_is_repeated(tmp_path: Path) -> None:
    with model_server(says(tool("shell", command="ls"))) as server, door(tmp_path, server.endpoint) as opened:
        messages = [{"role": "user", "content": "word " * 2000 + str(n)} for n in range(20)]
        for n in range(1, 21):
            opened.ask(messages=messages[:n])
        kept = sum(path.stat().st_size for path in (tmp_path / "objects").rglob("*") if path.is_file())
        assert kept < 25 * 10_010
        body = read_request(opened.objects, opened.calls[-1].request)
        assert body == server.bodies[-1] == {"model": "small", "messages": messages}


def test_unusual_answers_pass(tmp_path: Path) -> None:
    half = b'{"choices": [{"message": {"content": "half \\ud800 pair"}}], "model": 7}'
    with (
        model_server(
            lambda handler: handler.reply(200, half), sends(completion({"tool_calls": None}))
        ) as server,
        door(tmp_path, server.endpoint) as opened,
    ):
        status, answer = opened.ask()
        assert status == 200
        assert json.loads(answer)["choices"][0]["message"]["content"] == "half \N{REPLACEMENT CHARACTER} pair"
        assert opened.ask()[0] == 200
        assert [call.answered for call in opened.calls] == [None, "small-1"]
