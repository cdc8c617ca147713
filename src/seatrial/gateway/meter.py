"""The trial clock and the budgets. The clock runs while the agent thinks or a tool works, never for us."""

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

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
    """One turn of the agent in µs: its own and its model's time, and waiting. Together its whole length."""

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
    """

    budget: Budget
    clock_us: int = 0
    actions: int = 0
    tokens: int = 0
    money: float = 0.0
    human_requests: int = 0
    _handed_over: int | None = None
    _queue_us: int = 0
    _waiting_since: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def agent_acts(self) -> Turn:
        """The agent's turn has ended: returns its length and adds it to the clock; nothing between turns."""
        with self._lock:
            self._take_wait()
            spent, queue = self._turn_us(), self._queue_us
            self.clock_us += spent
            self._handed_over, self._queue_us = None, 0
        queue = min(queue, spent)
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

    def wait_begins(self) -> None:
        """From now on the turn is waiting before a failed model call is sent again."""
        with self._lock:
            self._waiting_since = time.monotonic_ns()

    def wait_ends(self) -> int:
        """The waiting is over: returns its length in µs, 0 when the turn ended before it."""
        with self._lock:
            return self._take_wait()

    def _take_wait(self) -> int:
        if self._waiting_since is None:
            return 0
        waited = (time.monotonic_ns() - self._waiting_since) // 1000
        self._queue_us += waited
        self._waiting_since = None
        return waited

    def model_called(self, tokens: int, money: float) -> None:
        """Add what one model call used."""
        with self._lock:
            self.tokens += tokens
            self.money += money

    def seconds_left(self) -> float | None:
        """Seconds left on the trial clock, from when the agent's turn began; null without a bound."""
        if self.budget.seconds is None:
            return None
        return self.budget.seconds - self.clock_us / 1e6

    def exhausted(self) -> tuple[str, StopReason, float, float] | None:
        """The first budget that is used up: resource, stop reason, limit, used."""
        used: dict[str, float] = {
            "actions": self.actions,
            "seconds": self.clock_us / 1e6,
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
        used: dict[str, float] = {"tokens": self.tokens, "money": self.money}
        for resource, amount in used.items():
            limit = getattr(self.budget, resource)
            if limit is not None and amount >= limit:
                return resource, _REASONS[resource], float(limit), float(amount)
        return None
