"""What a run tells whoever watches it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from seatrial.schedule.spending import Spent
from seatrial.trial.job import TrialDone


@dataclass(frozen=True)
class Running:
    """One attempt under way.

    Attributes:
        steps: requested so far.
        seconds: since its process was started.
        judge_only: it ended before and is only judged.
    """

    trial: str
    attempt: int
    steps: int
    seconds: float
    judge_only: bool = False


@dataclass(frozen=True)
class RunProgress:
    """A run at one moment.

    Attributes:
        total: trials of the plan.
        done: those with a counted attempt.
        running: attempts under way.
        spent: by all attempts of the run, those under way included.
        infrastructure_ends: attempts of the run that ended so.
        seconds_left: an estimate; null until an attempt has ended.
    """

    total: int
    done: int
    running: Sequence[Running] = ()
    spent: Spent = field(default_factory=Spent)
    infrastructure_ends: int = 0
    seconds_left: float | None = None


class Watcher(Protocol):
    """Told of every attempt as it begins, moves and ends."""

    def began(self, trial: str, attempt: int) -> None:
        """An attempt's process was started."""

    def moved(self, progress: RunProgress) -> None:
        """How the run stands now; several times a second."""

    def ended(self, done: TrialDone) -> None:
        """An attempt ended; an infrastructure end may be followed by another attempt."""

    def holding(self, reason: str, running: int) -> None:
        """From now on nothing is started; ``running`` attempts are still under way."""


class Silent:
    """Watches without a word."""

    def began(self, trial: str, attempt: int) -> None:
        """Says nothing."""

    def moved(self, progress: RunProgress) -> None:
        """Says nothing."""

    def ended(self, done: TrialDone) -> None:
        """Says nothing."""

    def holding(self, reason: str, running: int) -> None:
        """Says nothing."""


def seconds_left(
    durations: Sequence[float], waiting: int, running: Sequence[Running], at_once: int
) -> float | None:
    """How long the rest should take: the mean of what ended, times what is left, over those at once.

    Args:
        durations: of attempts that ended, in seconds by a clock that never goes back.
        waiting: trials not begun.
        running: attempts under way.
        at_once: how many run at once.
    """
    if not durations:
        return None
    mean = sum(durations) / len(durations)
    rest = waiting * mean + sum(max(0.0, mean - attempt.seconds) for attempt in running)
    return rest / at_once
