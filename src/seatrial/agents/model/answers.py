"""What an exchange was: an answer, a model's mistake, or a fault of the endpoint (its class)."""

import json
from dataclasses import dataclass, field
from typing import Any

from seatrial.agents.model.secret import REDACTED, Secret
from seatrial.agents.model.stream import gather, told_in_pieces
from seatrial.agents.model.upstream import Exchange
from seatrial.agents.model.wire import is_content, read_json, text_of
from seatrial.journal.events import CallClass

# How servers of this protocol say that a conversation is too long.
TOO_LONG = {"context_length_exceeded", "exceed_context_size_error"}
USABLE: frozenset[CallClass] = frozenset({"ok", "bad_tool_call"})
# Of what is no answer this much is kept.
KEPT_BYTES = 64 << 10
SHOWN_CHARACTERS = 300


@dataclass(frozen=True)
class Usage:
    """Tokens as the endpoint counts them; null where it does not say."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None


@dataclass(frozen=True)
class Answer:
    """One exchange, understood. Nothing in it holds the key.

    Attributes:
        body: the decoded answer, its content as text; null when it was no JSON object.
        kept: what the record keeps, as the endpoint said it; null when nothing came back.
    """

    call_class: CallClass
    body: dict[str, Any] | None = None
    kept: bytes | None = None
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    problem: str = ""


def understand(exchange: Exchange, secret: Secret) -> Answer:
    """Class, body and usage of an exchange."""
    whole = exchange.end == "whole"
    body, kept, unreadable = _decoded(exchange, secret) if whole else (None, None, "")
    if kept is None:
        kept = _remains(exchange, secret)
    call_class, problem = _classified(exchange, body, unreadable)
    plain = body if isinstance(body, dict) else None
    if plain is not None and call_class in USABLE:
        plain = _with_text(plain)
    model = plain.get("model") if plain else None
    said = f": {_excerpt(plain, kept)}" if call_class not in USABLE and kept else ""
    return Answer(
        call_class, plain, kept, _usage(plain), model if isinstance(model, str) else None,
        secret.text(problem + said),
    )  # fmt: skip


def _decoded(exchange: Exchange, secret: Secret) -> tuple[Any, bytes | None, str]:
    """The answer's JSON without the key, as a value and as bytes; or in words why there is none."""
    try:
        value = secret.value(gather(exchange.body) if _is_stream(exchange) else read_json(exchange.body))
        return value, json.dumps(value, allow_nan=False).encode(), ""
    except (ValueError, AttributeError, TypeError) as fault:
        return None, None, f"the answer is no JSON ({type(fault).__name__})"


def _is_stream(exchange: Exchange) -> bool:
    return exchange.content_type.startswith("text/event-stream")


def _remains(exchange: Exchange, secret: Secret) -> bytes | None:
    """What is kept of a body that was not understood; null when there is none."""
    body = exchange.body[:KEPT_BYTES]
    if _is_stream(exchange) and any(secret.text(told) != told for told in told_in_pieces(body)):
        # The key stands in pieces, one to a chunk, which cannot be taken out one by one.
        return REDACTED.encode()
    return secret.bytes(body, exchange.end == "whole" and len(body) == len(exchange.body)) or None


def _with_text(body: dict[str, Any]) -> dict[str, Any]:
    """A chat completion with its content as text, for agents that know no other."""
    first, *others = body["choices"]
    message = {**first["message"], "content": text_of(first["message"].get("content"))}
    return {**body, "choices": [{**first, "message": message}, *others]}


def _classified(exchange: Exchange, body: Any, unreadable: str) -> tuple[CallClass, str]:
    status = exchange.status
    if status is None or (exchange.end != "whole" and status == 200):
        return exchange.end if exchange.end != "whole" else "unreachable", exchange.problem
    if status == 429:
        return "rate_limited", "HTTP 429"
    if status >= 500:
        return "server_error", f"HTTP {status}"
    if status != 200:
        return ("context_exceeded" if _says_too_long(body) else "refused"), f"HTTP {status}"
    if unreadable:
        return "not_json", unreadable
    if problem := _problem_with_shape(body):
        return "malformed", problem
    for call in body["choices"][0]["message"].get("tool_calls") or []:
        if not holds_object(call["function"]["arguments"]):
            return "bad_tool_call", "the arguments of a tool call are no JSON object"
    return "ok", ""


def _says_too_long(body: Any) -> bool:
    error = body.get("error") if isinstance(body, dict) else None
    return isinstance(error, dict) and any(
        isinstance(error.get(key), str) and error[key] in TOO_LONG for key in ("code", "type")
    )


def _problem_with_shape(body: Any) -> str | None:
    """Why an answer is no chat completion; null when it is one."""
    choices = body.get("choices") if isinstance(body, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        return "the answer has no choices[0].message"
    if not is_content(message.get("content")):
        return "the content of the answer is neither text nor a list of typed parts"
    calls = message.get("tool_calls")
    if not isinstance(calls, list | None):
        return "tool_calls is no list"
    for call in calls or []:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            return "a tool call names no function"
        if "arguments" not in function:
            return "a tool call has no arguments"
    return None


def holds_object(arguments: Any) -> bool:
    """Whether arguments, as text or already decoded, are a JSON object."""
    if isinstance(arguments, str):
        try:
            # Some servers send nothing for a call without arguments.
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            return False
    return isinstance(arguments, dict)


def _usage(body: dict[str, Any] | None) -> Usage:
    usage = body.get("usage") if body else None
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    spent = _count(usage.get("prompt_tokens"))
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    if cached is not None and (spent is None or cached > spent):
        cached = None
    return Usage(spent, _count(usage.get("completion_tokens")), cached)


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return value if is_count else None


def _excerpt(body: dict[str, Any] | None, kept: bytes | None) -> str:
    """What the endpoint said, on one line."""
    error = body.get("error") if body else None
    said = error.get("message") if isinstance(error, dict) else None
    text = said if isinstance(said, str) else (kept or b"").decode()
    return " ".join(text.split())[:SHOWN_CHARACTERS]
