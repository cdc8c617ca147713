"""The trial clock and the budgets. The clock runs while the agent thinks or a tool works, never for us."""

import time
from dataclasses import dataclass, field

from seatrial.journal.events import StopReason
from seatrial.spec.task import Budget

_REASONS: dict[str, StopReason] = {
    "actions": "budget_actions",
    "seconds": "budget_seconds",
    "tokens": "budget_tokens",
    "money": "budget_money",
    "human_requests": "budget_human",
}


@dataclass
class Meter:
    """What was spent so far, in raw units.

    Attributes:
        clock_us: trial clock in microseconds.
        actions: requests that took a step.
    """

    budget: Budget
    clock_us: int = 0
    actions: int = 0
    tokens: int = 0
    money: float = 0.0
    human_requests: int = 0
    _handed_over: int = field(default_factory=time.monotonic_ns)

    def agent_acts(self) -> int:
        """The agent's turn has ended: returns its length in µs and adds it to the clock."""
        spent = max(0, (time.monotonic_ns() - self._handed_over) // 1000)
        self.clock_us += spent
        return spent

    def agent_thinks(self) -> None:
        """The agent's turn begins now."""
        self._handed_over = time.monotonic_ns()

    def tool_worked(self, microseconds: int) -> None:
        """Add a tool's time to the clock."""
        self.clock_us += microseconds

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
