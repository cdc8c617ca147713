"""Streams: what a server may send in pieces comes out as the answer it would have sent whole."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.agents.model.stream import gather, tell
from tests.agents.model_server import USAGE, completion, tool

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.none() | TEXT.filter(bool), st.lists(st.tuples(TEXT, st.dictionaries(TEXT, TEXT)), max_size=3))
def test_telling_and_gathering_give_the_same_answer(
    content: str | None, calls: list[tuple[str, dict[str, str]]]
) -> None:
    message: dict[str, Any] = {"content": content}
    if calls:
        message["tool_calls"] = [{**tool(name, **{}), "id": f"c{n}"} for n, (name, _) in enumerate(calls)]
        for call, (_, arguments) in zip(message["tool_calls"], calls, strict=True):
            call["function"]["arguments"] = json.dumps(arguments)
    answer = completion(message)
    answer["choices"][0]["finish_reason"] = "stop"
    assert gather(tell(answer)) == answer


def lines(*chunks: Any) -> bytes:
    return "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks).encode()


def test_comments_other_choices_and_late_usage() -> None:
    body = b": keep-alive\n\nevent: x\n" + lines(
        {"choices": [{"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "other"}}]},
        {"choices": [{"delta": {"content": "b"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": USAGE},
    )
    answer = gather(body)
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": "ab"}
    assert answer["usage"] == USAGE


@pytest.mark.parametrize(
    "body",
    [b"", b"data: {", lines([1]), lines({"choices": [{"delta": {"content": "a"}}]}),
     lines({"choices": [{"delta": {"tool_calls": [{"index": 4, "function": {}}]}}]}),
     lines({"choices": [{"delta": {"tool_calls": ["x"]}}]})],
)  # fmt: skip
def test_what_is_no_stream_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        gather(body)
