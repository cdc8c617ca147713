"""Streamed answers (server-sent events): gathered into one answer, and told again as a stream."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from seatrial.agents.model.wire import is_content, read_json, text_of

DONE = "[DONE]"


def gather(body: bytes) -> Any:
    """One ``chat.completion`` from the chunks of a stream.

    Raises:
        ValueError: a chunk is no JSON object, or the stream does not end as one should.
    """
    answer: dict[str, Any] = {"object": "chat.completion", "choices": []}
    message: dict[str, Any] = {"role": "assistant", "content": None}
    finish: Any = None
    ended = False
    for data in _data_lines(body):
        if data == DONE:
            ended = True
            break
        chunk = read_json(data)
        if not isinstance(chunk, dict):
            raise ValueError("a chunk of the stream is no JSON object")
        if "error" in chunk:
            return chunk
        answer |= {key: chunk[key] for key in ("id", "model", "created") if key in chunk}
        if chunk.get("usage"):
            answer["usage"] = chunk["usage"]
        for choice in chunk.get("choices") or []:
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                finish = choice.get("finish_reason") or finish
                _add(message, choice.get("delta"))
    if not ended and finish is None:
        raise ValueError("the stream broke off")
    answer["choices"] = [{"index": 0, "message": message, "finish_reason": finish}]
    return answer


def _data_lines(body: bytes) -> list[str]:
    lines = body.decode("utf-8", "replace").splitlines()
    return [line[5:].strip() for line in lines if line.startswith("data:")]


def told_in_pieces(body: bytes) -> list[str]:
    """What the chunks of a stream say, be it whole or not: strings of one place in the chunks, joined."""
    told = defaultdict[str, list[str]](list)
    for data in _data_lines(body):
        try:
            chunk = read_json(data)
        except ValueError:
            continue
        for place, text in _strings(chunk):
            told[place].append(text)
    return ["".join(texts) for texts in told.values()]


def _strings(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Every string in a value, and the names that lead to it."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _strings(item, f"{place}.{name}")
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, place)


def _add(message: dict[str, Any], delta: Any) -> None:
    if not isinstance(delta, dict):
        return
    if is_content(content := delta.get("content")) and content is not None:
        message["content"] = (message["content"] or "") + (text_of(content) or "")
    for part in delta.get("tool_calls") or []:
        calls = message.setdefault("tool_calls", [])
        index = part.get("index", len(calls)) if isinstance(part, dict) else None
        if not isinstance(index, int) or not 0 <= index <= len(calls):
            raise ValueError("the stream holds a tool call out of order")
        if index == len(calls):
            calls.append({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        function = part.get("function") or {}
        calls[index]["id"] = part.get("id") or calls[index]["id"]
        for key in ("name", "arguments"):
            piece = function.get(key) if isinstance(function, dict) else None
            calls[index]["function"][key] += piece if isinstance(piece, str) else ""


def tell(answer: dict[str, Any]) -> bytes:
    """A whole answer as a stream of one chunk, its usage and the end mark."""
    head: dict[str, Any] = {key: answer[key] for key in ("id", "model", "created") if key in answer}
    head["object"] = "chat.completion.chunk"
    choice = answer["choices"][0]
    delta = dict(choice["message"])
    if isinstance(delta.get("tool_calls"), list):
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(delta["tool_calls"])]
    chunks: list[Any] = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}]
    chunks.append(
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice.get("finish_reason")}]}
    )
    if "usage" in answer:
        chunks.append({**head, "choices": [], "usage": answer["usage"]})
    lines = [json.dumps(chunk) for chunk in chunks]
    return "".join(f"data: {line}\n\n" for line in [*lines, DONE]).encode()
