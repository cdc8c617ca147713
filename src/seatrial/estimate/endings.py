"""How long trials were watched and how each ended, as tables a curve over time or budget is read from.

The axis is any that only grows during a trial: seconds, tokens, actions, money. A trial whose budget ran out
is censored there: it says the event came later, if ever, and nothing more. One that ended otherwise (gave up,
broke a hard constraint, failed for good) has ended by that cause, and can no longer succeed.

Everything at one place of the axis happens at once: all causes meet the same trials at risk, among which are
those censored there. So no result hangs on the order of ties.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import Counts, Floats
from seatrial.estimate.clustered import Weigh
from seatrial.estimate.resample import over_tasks
from seatrial.estimate.trials import measured

DRAWS = 2_000
SUCCESS = "success"
# The cause of a trial that has ended while nobody can say whether it succeeded.
UNKNOWN = "unknown"
# A share counts as reached although rounding left it this much short.
SLACK = 1e-12


class Ending(msgspec.Struct, frozen=True):
    """The end of one trial.

    Attributes:
        at: where on the axis it ended or was last watched, finite and at least 0.
        cause: what ended it; null where it was censored, that is, still running; "unknown" where it has
            ended and nobody can say whether it succeeded, which is then taken both ways.
    """

    at: float
    cause: str | None


Endings = Mapping[str, Sequence[Ending]]


def unknown_ends(endings: Endings) -> int:
    """Trials that have ended by nobody knows what."""
    return sum(end.cause == UNKNOWN for ends in endings.values() for end in ends)


def settled(endings: Endings, succeeded: bool) -> Endings:
    """The same endings with every unknown cause taken as success, or as an end without it."""
    cause = SUCCESS if succeeded else "no success"
    return {
        task: [Ending(end.at, cause) if end.cause == UNKNOWN else end for end in ends]
        for task, ends in endings.items()
    }


class LifeTable(NamedTuple):
    """Counts by task (rows, by name) and by the distinct places of events (columns, rising).

    ``at_risk`` are trials not ended before the place, ``events`` the endings there by cause; all of shape
    (tasks, places). ``share`` is what one trial of each task counts, ``trials`` how many there are.
    """

    tasks: list[str]
    places: Floats
    at_risk: Floats
    events: dict[str, Floats]
    share: Floats
    trials: Counts
    watched_until: float
    censored: int

    @property
    def equal_shares(self) -> bool:
        """Whether every trial counts alike, as the analytic variances take for granted."""
        return bool(np.ptp(self.share) <= SLACK * self.share.max()) if len(self.share) else True

    def of(self, cause: str | None) -> Floats:
        """Endings by one cause (zeros where there is none), or by any cause for null."""
        if cause is not None:
            return self.events.get(cause, np.zeros(self.at_risk.shape))
        return np.asarray(sum(self.events.values(), np.zeros(self.at_risk.shape)))

    def known_at(self, place: float, left: float) -> bool:
        """Whether a curve is known there: somebody was watched so far, or none is left unended."""
        return place <= self.watched_until or left <= SLACK


def life_table(endings: Endings, where: str, weigh: Weigh = "tasks") -> LifeTable:
    """The table of all trials.

    Args:
        endings: task to the end of every valid trial; tasks without any are left out.
        where: who asks, for the error.
        weigh: what counts once each: a task, or a trial.

    Raises:
        ValueError: a place is negative, NaN or infinite, or ``weigh`` is neither. There may be no trial; see
            ``LifeTable.tasks``.
    """
    if weigh not in ("tasks", "trials"):
        raise ValueError(f"{where}: weigh {weigh!r}; give tasks or trials")
    known = {task: sorted(ends, key=lambda end: end.at) for task, ends in measured(endings).items()}
    for task, ends in known.items():
        if bad := [end.at for end in ends if not 0 <= end.at < math.inf]:
            raise ValueError(
                f"{where}: a trial of {task} ended at {bad[0]}. Give a finite number of at least 0; a trial "
                "that was not watched to its end is censored where it was last seen."
            )
    places = np.unique([end.at for ends in known.values() for end in ends if end.cause is not None])
    causes = sorted({end.cause for ends in known.values() for end in ends if end.cause is not None})
    shape = (len(known), len(places))
    at_risk, events = np.zeros(shape), {cause: np.zeros(shape) for cause in causes}
    for row, ends in enumerate(known.values()):
        last_seen = np.array([end.at for end in ends])
        at_risk[row] = len(ends) - np.searchsorted(last_seen, places, side="left")
        for end in ends:
            if end.cause is not None:
                events[end.cause][row, np.searchsorted(places, end.at)] += 1
    trials = np.array([len(ends) for ends in known.values()], int)
    return LifeTable(
        tasks=list(known),
        places=np.asarray(places, float),
        at_risk=at_risk,
        events=events,
        share=1 / trials if weigh == "tasks" else np.ones(len(trials)),
        trials=trials,
        watched_until=max((end.at for ends in known.values() for end in ends), default=0.0),
        censored=sum(end.cause is None for ends in known.values() for end in ends),
    )


def survival_curves(table: LifeTable, weights: Floats, cause: str | None = None) -> Floats:
    """Product-limit estimate ∏ (1 − d/n) after each place, shape (rows of weights, places).

    A row whose trials were watched less far than others keeps its last value from there on.

    Args:
        table: the trials.
        weights: how often each task counts, shape (rows, tasks).
        cause: the endings counted as events, the others as censored; any for null.
    """
    scaled = weights * table.share
    at_risk, events = scaled @ table.at_risk, scaled @ table.of(cause)
    hazard = np.divide(events, at_risk, out=np.zeros_like(events), where=at_risk > 0)
    return np.asarray(np.cumprod(1 - np.minimum(hazard, 1), axis=1), float)


def incidence_curves(table: LifeTable, weights: Floats, cause: str) -> Floats:
    """Aalen and Johansen's Σ S(t−)·d_cause/n up to each place, shape (rows of weights, places)."""
    scaled = weights * table.share
    at_risk, events = scaled @ table.at_risk, scaled @ table.of(cause)
    left = survival_curves(table, weights)
    before = np.concatenate([np.ones((len(left), 1)), left[:, :-1]], axis=1)[:, : left.shape[1]]
    jumps = before * np.divide(events, at_risk, out=np.zeros_like(events), where=at_risk > 0)
    return np.asarray(np.cumsum(jumps, axis=1), float)


def one_sample(table: LifeTable) -> Floats:
    """Weights that count every task once, shape (1, tasks)."""
    return np.ones((1, len(table.tasks)))


def drawn(table: LifeTable, rng: np.random.Generator, draws: int, of: Callable[[Floats], Floats]) -> Floats:
    """What ``of`` says of each bootstrap sample of tasks, shape (draws, …).

    Args:
        table: the trials, of at least one task.
        rng: source of all randomness.
        draws: samples, at least 1.
        of: takes weights of shape (rows, tasks) and gives one entry a row.

    Raises:
        ValueError: no draw.
    """
    return over_tasks(len(table.tasks), rng, draws, of, len(table.places))


def value_at(curves: Floats, places: Floats, at: float, start: float) -> Floats:
    """Each step curve's value at one place; ``start`` before its first step. Shape (rows,)."""
    step = int(np.searchsorted(places, at, side="right")) - 1
    return curves[:, step] if step >= 0 else np.full(len(curves), start)


def first_reaching(rising: Floats, places: Floats, share: float) -> Floats:
    """First place where each rising curve is at least ``share``, else infinity; shape (rows,)."""
    reached = rising >= share - SLACK
    if not reached.shape[1]:
        return np.full(len(rising), np.inf)
    return np.where(reached.any(axis=1), places[reached.argmax(axis=1)], np.inf)
