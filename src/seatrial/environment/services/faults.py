"""Faults that a service shows on purpose, armed by whoever disturbs the trial."""

import fnmatch
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from seatrial.environment.services.call import Call
from seatrial.spec.conditions import compile_condition
from seatrial.spec.services import VERBS

Kind = Literal[
    "lost_ack",  # done, but the caller is told of a time-out
    "delay",  # done, and answered late
    "rate_limit",  # refused with 429, nothing done
    "transient",  # refused with 503, nothing done
    "partial",  # a reading verb shows the first half only, with 206
    "expired_credential",  # refused with 401 until the service's ``renew`` is called
    "partly",  # the first row of the effect is written, then it fails with 500
]
KINDS: tuple[str, ...] = get_args(Kind)
# Texts up to this length are names and addresses, which an answer that is cut off still holds.
_SHORT_TEXT = 40
_READING_ONLY, _WRITING_ONLY = {"partial"}, {"partly"}


@dataclass
class Armed:
    """A fault that waits for its calls.

    Attributes:
        fault: what happens.
        verb: glob over verbs of the service, or ``*``.
        left: how many calls it still meets.
        fired: how many it has met.
        seconds: of ``delay``; for ``rate_limit`` what the caller is told to wait.
    """

    fault: Kind
    service: str
    verb: str
    left: int
    where: Callable[[Mapping[str, Any]], bool]
    seconds: float = 5.0
    fired: int = 0

    def meets(self, call: Call) -> bool:
        """Whether it happens to a call."""
        if self.left <= 0 or call.service != self.service or call.verb == "renew":
            return False
        writes = VERBS[call.service][call.verb].writes
        if self.fault in (_READING_ONLY if writes else _WRITING_ONLY):
            return False
        return fnmatch.fnmatchcase(call.verb, self.verb) and self.where(call.arguments)

    def take(self) -> "Armed":
        """It happens to a call now."""
        self.left -= 1
        self.fired += 1
        return self


def arm(
    fault: Kind, service: str, verb: str = "*", times: int = 1, where: Mapping[str, Any] | None = None,
    seconds: float = 5.0,
) -> Armed:  # fmt: skip
    """A fault ready to happen.

    Args:
        fault: its kind.
        service: where.
        verb: glob over its verbs; ``partial`` meets reading verbs only, ``partly`` writing ones only.
        times: how many matching calls it meets.
        where: conditions on arguments as in a constraint's ``where``; all must hold.
        seconds: for ``delay`` and ``rate_limit``.

    Raises:
        ValueError: no such fault or service.
        ConditionError: a condition means nothing.
    """
    if fault not in KINDS or service not in VERBS:
        raise ValueError(f"there is no fault {fault!r} of a service {service!r}.")
    conditions = {name: compile_condition(value) for name, value in (where or {}).items()}

    def holds(arguments: Mapping[str, Any]) -> bool:
        return all(name in arguments and c.matches(arguments[name]) for name, c in conditions.items())

    return Armed(fault, service, verb, times, holds, seconds)


def first_half(body: Any) -> Any:
    """An answer cut off in the middle: half of every list and of every long text at its top."""
    if isinstance(body, list):
        return body[: len(body) // 2]
    if isinstance(body, dict):
        return {name: _half(value) for name, value in body.items()}
    return body


def _half(value: Any) -> Any:
    long = isinstance(value, list) or (isinstance(value, str) and len(value) > _SHORT_TEXT)
    return value[: len(value) // 2] if long else value
