"""Means of measured quantities over trials. Tasks are the sampling unit."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from seatrial.estimate.estimate import Estimate


def mean_over_tasks(values: Mapping[str, Sequence[float | None]], quantity: str) -> Estimate:
    """Mean of the tasks' own means, every task counting once; no interval in this release.

    Args:
        values: task to the values of its valid trials; null is unknown, and one such makes the mean null.
        quantity: what the value counts, for example "actions" or "seconds".
    """
    measured = {task: trials for task, trials in values.items() if trials}
    n_trials = sum(len(trials) for trials in measured.values())
    unknown = sum(value is None for trials in measured.values() for value in trials)
    notes = [f"No valid trial of {task}." for task in values if not values[task]]
    if unknown:
        notes.append(f"Unknown in {unknown} of {n_trials} trials.")
    known = [[value for value in trials if value is not None] for trials in measured.values()]
    return Estimate(
        value=None if unknown or not measured else fmean(fmean(trials) for trials in known),
        method="mean" if len(measured) == 1 else "mean of task means",
        unit=f"{quantity} per trial",
        n_tasks=len(measured),
        n_trials=n_trials,
        notes=notes,
    )
