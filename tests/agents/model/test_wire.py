"""What endpoints send is read whatever its depth, its numbers and the form of its content."""

import json
from typing import Any

import pytest

from seatrial.agents.model.stream import gather
from seatrial.agents.model.wire import LEFT_OUT, LEVELS, is_content, read_json, text_of


def nested(levels: int) -> str:
    return '{"a":[' * (levels // 2) + '"]}"' + "]}" * (levels // 2)


def test_what_is_not_too_deep_is_read_as_it_is() -> None:
    for text in (nested(LEVELS), json.dumps(["[{" * 500, [1] * 500, "\\", '"'])):
        assert read_json(text) == read_json(text.encode("utf-16")) == json.loads(text)


@pytest.mark.parametrize("levels", [LEVELS + 2, 900, 200_000])
def test_what_is_too_deep_is_left_out_and_said(levels: int) -> None:
    value = read_json(f'{{"before": 1, "deep": {nested(levels)}, "after": "}}]"}}')
    assert (value["before"], value["after"]) == (1, "}]")
    inner: Any = value["deep"]
    for _ in range((LEVELS - 1) // 2):
        (inner,) = inner["a"]
    assert inner == {"a": json.loads(LEFT_OUT)}


@pytest.mark.parametrize("text", ["", "[" * 900, nested(900)[:-1], "NaN", "[Infinity]", '{"a" 1}', "\xff"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_json(text.encode("latin-1"))


def test_numbers_no_reader_takes_become_a_note() -> None:
    whole, large, small = read_json(f"[{'9' * 5000}, -1e999, 12]")
    assert "too long" in whole and "too large" in large and small == 12


def test_content_is_text_nothing_or_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]
    assert [text_of(content) for content in ("a", None, [], parts)] == ["a", None, "", "ab"]
    assert all(is_content(content) for content in ("a", None, [], parts))
    assert not any(is_content(content) for content in (5, {}, ["a"], [{"text": "a"}], [{"type": "text"}]))


def test_a_stream_may_tell_its_content_in_parts() -> None:
    chunks = [{"choices": [{"delta": {"content": [{"type": "text", "text": text}]}}]} for text in "ab"]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    assert gather(body.encode())["choices"][0]["message"]["content"] == "ab"
