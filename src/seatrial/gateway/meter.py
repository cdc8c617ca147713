"""The trial clock and the budgets. The clock runs while the agent thinks or a tool works, never for us.

A budget of seconds counts the clock without what is not the system's doing: failed model calls and the
waiting after them. Of a call under way nobody knows yet which it is, so it counts when it is over.
"""

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from seatrial.journal.events import StopReason
from seatrial.spec.task import Budget

_REASONS: dict[str, StopReason] = {
    "actions": "budget_actions",
    "seconds": "budget_seconds",
    "tokens": "budget_tokens",
    "money": "budget_money",
    "human_requests": "budget_human",
}


class Turn(NamedTuple):
    """One turn of the agent in µs: its own time with its model's answers, and failed calls with the waiting
    after them. Together its whole length.
    """

    model_us: int
    queue_us: int


@dataclass
class Meter:
    """What was spent so far, in raw units. Model calls are added from the proxy's thread.

    Attributes:
        clock_us: trial clock in microseconds, without the turn under way.
        actions: requests that took a step.
        tokens: input and output of all model calls.
        money: by the price list of the system.
        queued_us: the part of the clock that no budget counts, without the turn under way.
        call_tokens: input and output of the last model call; null before any, or when it did not say.
    """

    budget: Budget
    clock_us: int = 0
    actions: int = 0
    tokens: int = 0
    money: float = 0.0
    human_requests: int = 0
    queued_us: int = 0
    call_tokens: int | None = None
    _handed_over: int | None = None
    _queue_us: int = 0
    _under_way: tuple[Literal["call", "wait"], int] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def agent_acts(self) -> Turn:
        """The agent's turn has ended: returns its length and adds it to the clock; nothing between turns."""
        with self._lock:
            # A call that the end of the turn cuts off might still have been answered.
            self._take("wait")
            spent = self._turn_us()
            queue = min(self._queue_us, spent)
            self.clock_us += spent
            self.queued_us += queue
            self._handed_over, self._queue_us = None, 0
        return Turn(spent - queue, queue)

    def agent_thinks(self) -> None:
        """The agent's turn begins now."""
        self._handed_over = time.monotonic_ns()

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """What the harness does in here, in the middle of a turn, is left out of the turn and the clock."""
        begun = time.monotonic_ns()
        try:
            yield
        finally:
            with self._lock:
                if self._handed_over is not None:
                    self._handed_over += time.monotonic_ns() - begun

    def now_us(self) -> int:
        """The trial clock with the turn under way."""
        with self._lock:
            return self.clock_us + self._turn_us()

    def _turn_us(self) -> int:
        begun = self._handed_over
        return 0 if begun is None else max(0, (time.monotonic_ns() - begun) // 1000)

    def tool_worked(self, microseconds: int) -> None:
        """Add a tool's time to the clock."""
        self.clock_us += microseconds

    def person_waited(self, microseconds: int) -> None:
        """Add what was waited for a person: on the clock, and in no budget."""
        self.clock_us += microseconds
        self.queued_us += microseconds

    def call_begins(self) -> None:
        """From now on the turn awaits a model's answer."""
        with self._lock:
            self._under_way = ("call", time.monotonic_ns())

    def call_ends(self, failed: bool) -> None:
        """The call is over: the system's own time, or queue where the endpoint ``failed``."""
        with self._lock:
            if failed:
                self._take("call")
            self._under_way = None

    def wait_begins(self) -> None:
        """From now on the turn is waiting before a failed model call is sent again."""
        with self._lock:
            self._under_way = ("wait", time.monotonic_ns())

    def wait_ends(self) -> int:
        """The waiting is over: returns its length in µs, 0 when the turn ended before it."""
        with self._lock:
            return self._take("wait")

    def _take(self, kind: Literal["call", "wait"]) -> int:
        """End what is under way, if it is of a kind; its time is queue."""
        if self._under_way is None:
            return 0
        what, since = self._under_way
        self._under_way = None
        if what != kind:
            return 0
        waited = (time.monotonic_ns() - since) // 1000
        self._queue_us += waited
        return waited

    def model_called(self, tokens: int, money: float) -> None:
        """Add what one model call used."""
        with self._lock:
            self.tokens += tokens
            self.call_tokens = tokens or None
            self.money += money

    def seconds_used(self) -> float:
        """What a budget of seconds counts by now, the turn under way included."""
        with self._lock:
            turn = 0
            if self._handed_over is not None:
                now = time.monotonic_ns()
                open_us = 0 if self._under_way is None else (now - self._under_way[1]) // 1000
                turn = max(0, (now - self._handed_over) // 1000 - self._queue_us - open_us)
            return (self.clock_us - self.queued_us + turn) / 1e6

    def seconds_left(self) -> float | None:
        """Seconds that a budget leaves, below 0 when it is overdrawn; null without a bound."""
        return None if self.budget.seconds is None else self.budget.seconds - self.seconds_used()

    def exhausted(self) -> tuple[str, StopReason, float, float] | None:
        """The first budget that is used up: resource, stop reason, limit, used."""
        used: dict[str, float] = {
            "actions": self.actions,
            "seconds": self.seconds_used(),
            "tokens": self.tokens,
            "money": self.money,
        }
        for resource, amount in used.items():
            limit = getattr(self.budget, resource)
            # Nothing spent is within every budget, one of zero included.
            if limit is not None and amount > 0 and amount >= limit:
                return resource, _REASONS[resource], float(limit), float(amount)
        return None

    def no_call_left(self) -> tuple[str, StopReason, float, float] | None:
        """What forbids another model call, as in ``exhausted``; a budget of zero allows none."""
        used: dict[str, float] = {
            "seconds": self.seconds_used(), "tokens": self.tokens, "money": self.money,
        }  # fmt: skip
        for resource, amount in used.items():
            limit = getattr(self.budget, resource)
            if limit is not None and amount >= limit:
                return resource, _REASONS[resource], float(limit), float(amount)
        return None
