"""Do two systems end alike over the whole axis? The log-rank test, of trials and of tasks."""

import math

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import Floats
from seatrial.estimate.endings import SUCCESS, UNKNOWN, Endings, LifeTable, life_table, unknown_ends
from seatrial.estimate.student import t_two_sided
from seatrial.estimate.trials import scope_notes


class LogRank(msgspec.Struct, frozen=True, kw_only=True):
    """Two systems' events against what they would be if both had the same hazard at every place.

    Attributes:
        chi2: the test of trials, one degree of freedom; null where nothing can be tested.
        p_trials: its p value: trials are taken as independent, so trust it with one trial a task only.
        t_tasks, p_tasks: the same score with its spread over tasks (Lee, Wei and Amato 1992) against t of
            n_tasks − 1 degrees; the one to use with repeated trials. Null where tasks show no spread.
        observed, expected: events of the first and the second system.
        n_tasks, n_trials: of both together.
        notes: what a reader must know, as whole sentences.
    """

    chi2: float | None
    p_trials: float | None
    t_tasks: float | None
    p_tasks: float | None
    observed: tuple[int, int]
    expected: tuple[float, float]
    n_tasks: int
    n_trials: int
    notes: list[str] = []


def log_rank(first: Endings, second: Endings, cause: str | None = SUCCESS) -> LogRank:
    """Compare the hazards of two systems (Mantel 1966), tied events by their hypergeometric variance.

    Args:
        first, second: task to the end of every valid trial. Tasks of one name are one cluster.
        cause: the endings that count as events, the others as censored; any ending for null.

    Returns:
        Nulls, with the reason, where there is no event or one system has no trial.

    Raises:
        ValueError: a place is negative, NaN or infinite.
    """
    pooled = {
        (task, side): ends for side, system in enumerate((first, second)) for task, ends in system.items()
    }
    table = life_table({f"{side}{task}": ends for (task, side), ends in pooled.items()}, "log_rank", "trials")
    if cause is not None:
        table = table._replace(events={cause: table.of(cause)})
    of_first = np.array([name[0] == "0" for name in table.tasks], bool)
    clusters = sorted({name[1:] for name in table.tasks})
    at_risk, events = table.at_risk.sum(axis=0), table.of(cause).sum(axis=0)
    mine, observed = table.at_risk[of_first].sum(axis=0), table.of(cause)[of_first].sum()
    share = np.divide(mine, at_risk, out=np.zeros_like(mine), where=at_risk > 0)
    expected = float((share * events).sum())
    # With one at risk there is nothing to divide between the systems.
    tied = np.divide(at_risk - events, at_risk - 1, out=np.zeros_like(events), where=at_risk > 1)
    variance = float((events * share * (1 - share) * tied).sum())
    total = int(events.sum())
    score = float(observed) - expected
    chi2 = score**2 / variance if variance > 0 else None
    t = _task_score(_scores(table, of_first, share, cause), table, clusters) if chi2 is not None else None
    return LogRank(
        chi2=chi2,
        # P(χ²₁ > x) is the two-sided normal tail of √x.
        p_trials=None if chi2 is None else math.erfc(math.sqrt(chi2 / 2)),
        t_tasks=t,
        p_tasks=None if t is None else t_two_sided(t, len(clusters) - 1),
        observed=(int(observed), total - int(observed)),
        expected=(expected, total - expected),
        n_tasks=len(clusters),
        n_trials=int(table.trials.sum()),
        notes=[
            *_reasons(total, variance, of_first, t),
            *_unknown_notes(first, second, cause),
            *scope_notes({**first, **second}),
        ],
    )


def _scores(table: LifeTable, of_first: np.ndarray, share: Floats, cause: str | None) -> Floats:
    """Each task's part of observed − expected less what its time at risk made likely; shape (rows,).

    Σ over its events of (g − ḡ) less Σ over places of its trials at risk · (g − ḡ)·d/n, where g is 1 for the
    first system and ḡ its share of those at risk. The parts sum to observed − expected.
    """
    at_risk, events = table.at_risk.sum(axis=0), table.of(cause).sum(axis=0)
    hazard = np.divide(events, at_risk, out=np.zeros_like(events), where=at_risk > 0)
    apart = of_first[:, None] - share
    return np.asarray((apart * (table.of(cause) - table.at_risk * hazard)).sum(axis=1), float)


def _task_score(scores: Floats, table: LifeTable, clusters: list[str]) -> float | None:
    """The score over its standard error with tasks as the sampling unit; null where they show none."""
    places = {task: place for place, task in enumerate(clusters)}
    by_task = np.zeros(len(clusters))
    np.add.at(by_task, [places[name[1:]] for name in table.tasks], scores)
    tasks = len(clusters)
    if tasks < 2:
        return None
    error = math.sqrt(tasks / (tasks - 1) * float((by_task**2).sum()))
    return float(by_task.sum()) / error if error > 0 else None


def _unknown_notes(first: Endings, second: Endings, cause: str | None) -> list[str]:
    """How many endings might be events and are not counted as such."""
    unknown = unknown_ends(first) + unknown_ends(second)
    if not unknown or cause in (None, UNKNOWN):
        return []
    return [f"{unknown} endings of unknown cause count as censored: the test may turn either way with them."]


def _reasons(events: int, variance: float, of_first: np.ndarray, t: float | None) -> list[str]:
    """Why something is null."""
    if not of_first.any() or of_first.all():
        return ["No test: one system has no valid trial."]
    if not events:
        return ["No test: no event in either system."]
    if variance == 0:
        return ["No test: the systems are never at risk together where an event falls."]
    return [] if t is not None else ["No test over tasks: one task, or none differs from what is expected."]
