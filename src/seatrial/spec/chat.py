"""Options of ``chat`` agents: which endpoint and model, how it is asked, what a failed call is worth."""

import re
from datetime import date
from typing import Any
from urllib.parse import urlsplit

import msgspec

from seatrial.spec.faults import Source, check_range, shown
from seatrial.spec.reading import convert
from seatrial.spec.task import Strict

# Changed with every change of what the harness of chat agents says or does: it is part of the experiment id.
HARNESS = "chat@2"
SYSTEM_PROMPT = (
    "You work on a Linux machine through the tools you are given. Each tool call is carried out and its "
    "result is shown to you. Look before you change things, check what you did, and call finish when the "
    "work is done, or give_up when it cannot be done."
)
# The harness and the proxy set these themselves.
RESERVED = frozenset(
    {"model", "messages", "tools", "stream", "stream_options", "n", "seed", "temperature",
     "max_tokens"}
)  # fmt: skip
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
DAY = 86_400.0


class Price(Strict, frozen=True, kw_only=True):
    """A named, dated price list, in ``currency`` per million tokens.

    ``cached`` is the price of input tokens that the endpoint reports as cached; without it they cost the same
    as others.
    """

    name: str
    date: str
    currency: str
    input: float
    output: float
    cached: float | None = None

    def of(self, input_tokens: int | None, output_tokens: int | None, cached: int | None) -> float | None:
        """What a call cost; null when a count that the price needs is unknown."""
        if input_tokens is None or output_tokens is None:
            return None
        if self.cached is None:
            return (input_tokens * self.input + output_tokens * self.output) / 1e6
        if cached is None:
            return None
        fresh = input_tokens - cached
        return (fresh * self.input + cached * self.cached + output_tokens * self.output) / 1e6


class Retries(Strict, frozen=True, kw_only=True):
    """How often one request is sent again after a call of each class, 0 to 20. See ``journal.events``."""

    rate_limited: int = 5
    server_error: int = 3
    unreachable: int = 2
    timeout: int = 1
    endless: int = 0
    not_json: int = 1
    malformed: int = 1
    refused: int = 0


class Backoff(Strict, frozen=True, kw_only=True):
    """Seconds to wait before sending again: ``first``, then ``factor`` times as long, never over ``longest``.

    Where the endpoint says how long to wait, that is waited instead, up to ``longest``.
    """

    first: float = 1.0
    factor: float = 2.0
    longest: float = 60.0


class ChatOptions(Strict, frozen=True, kw_only=True):
    """Everything that may stand in the ``options`` of a ``chat`` system.

    Args:
        endpoint: base URL of an OpenAI-compatible server, such as ``http://127.0.0.1:8080/v1``.
        model: as the endpoint names it.
        api_key_env: NAME of the environment variable that holds the key; null sends none.
        temperature: sent when given.
        max_tokens: bound on one answer, sent when given.
        pass_seed: send the trial's seed, modulo 2**31.
        system_prompt: the first message.
        context_tokens: above this many tokens, as the endpoint counts them, the older half of the
            conversation is left out; null never leaves out anything until the endpoint refuses the length.
        checkpoint_every: where an interruption may come, its state is persisted after every so many actions.
        nudges: answers in a row that call no tool before the agent gives up.
        timeout: seconds for one call.
        total_seconds: seconds for one request with all its calls and waits.
        retries: per class of failed call.
        backoff: waits between calls.
        price: for the money spent; null leaves it unknown.
        extra: further keys of the request body, sent as they are.
    """

    endpoint: str
    model: str
    api_key_env: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    pass_seed: bool = False
    system_prompt: str = SYSTEM_PROMPT
    context_tokens: int | None = None
    checkpoint_every: int = 1
    nudges: int = 2
    timeout: float = 300.0
    total_seconds: float = 1800.0
    retries: Retries = Retries()
    backoff: Backoff = Backoff()
    price: Price | None = None
    extra: dict[str, Any] = {}


def chat_options(source: Source, place: str, plain: dict[str, Any]) -> ChatOptions:
    """The options of a chat system, checked.

    Args:
        source: the experiment file.
        place: where they stand, such as ``system[0].options``.
        plain: as read.

    Raises:
        SpecError: an unknown or missing key, a wrong type or a value out of range, with its key path.
    """
    part = source.within(place)
    options = convert(part, plain, ChatOptions)
    _check_endpoint(part, options.endpoint)
    for key in ("model", "system_prompt"):
        if not getattr(options, key).strip():
            raise part.fault(key, f"{shown(getattr(options, key))} is empty", "Write some text")
    variable = options.api_key_env
    if variable is not None and not VARIABLE.fullmatch(variable):
        # The value is not shown: someone may have written the key itself here.
        raise part.fault(
            "api_key_env", "the value is no name of an environment variable",
            "Write the variable's name, such as OPENAI_API_KEY, never the key itself",
        )  # fmt: skip
    _check_numbers(part, options)
    _check_price(part, options.price)
    for key in options.extra:
        if key in RESERVED:
            raise part.fault(f"extra.{key}", f"{shown(key)} is set elsewhere", "Remove it from extra")
    return options


def frozen_options(plain: dict[str, Any]) -> dict[str, Any]:
    """Checked options with every default written out: what a default is may change with a release."""
    resolved: dict[str, Any] = msgspec.to_builtins(msgspec.convert(plain, ChatOptions))
    return resolved


def _check_endpoint(source: Source, endpoint: str) -> None:
    remedy = "Write a base URL such as http://127.0.0.1:8080/v1"
    try:
        parts = urlsplit(endpoint)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or not endpoint.isascii() or not endpoint.isprintable() or " " in endpoint:
        raise source.fault("endpoint", f"{shown(endpoint)} is no http or https URL", remedy)
    if parts.username is not None or parts.password is not None:
        raise source.fault(
            "endpoint", "the URL holds a name or password, which would stand in every record",
            "Put the key in an environment variable and name that in api_key_env",
        )  # fmt: skip
    if parts.query or parts.fragment:
        raise source.fault("endpoint", f"{shown(endpoint)} holds more than a path", remedy)


def _check_numbers(source: Source, options: ChatOptions) -> None:
    check_range(source, "temperature", options.temperature, 0, 10)
    check_range(source, "max_tokens", options.max_tokens, 1, 10**9)
    check_range(source, "context_tokens", options.context_tokens, 1, 10**9)
    check_range(source, "nudges", options.nudges, 0, 100)
    check_range(source, "checkpoint_every", options.checkpoint_every, 1, 1000)
    check_range(source, "timeout", options.timeout, 0.01, DAY, "seconds")
    check_range(source, "total_seconds", options.total_seconds, 0.01, DAY, "seconds")
    for field in msgspec.structs.fields(Retries):
        check_range(source, f"retries.{field.name}", getattr(options.retries, field.name), 0, 20)
    check_range(source, "backoff.first", options.backoff.first, 0, DAY, "seconds")
    check_range(source, "backoff.factor", options.backoff.factor, 1, 100)
    check_range(source, "backoff.longest", options.backoff.longest, 0, DAY, "seconds")


def _check_price(source: Source, price: Price | None) -> None:
    if price is None:
        return
    for key in ("name", "currency"):
        if not getattr(price, key).strip():
            raise source.fault(f"price.{key}", f"{shown(getattr(price, key))} is empty", "Name it")
    try:
        date.fromisoformat(price.date)
    except ValueError:
        raise source.fault(
            "price.date", f"{shown(price.date)} is no date", 'Write one such as "2026-11-30"'
        ) from None
    for key in ("input", "output", "cached"):
        check_range(source, f"price.{key}", getattr(price, key), 0, 1e9)
