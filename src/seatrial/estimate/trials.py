"""Trials sorted by task, the shape every estimator takes, and what is said about them in words."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

# Task to the outcomes of its valid trials; null is unknown. Yes-or-no outcomes are values too (1 and 0).
Outcomes = Mapping[str, Sequence[bool | None]]
Values = Mapping[str, Sequence[float | None]]

T = TypeVar("T")

ONE_TASK = "this task only"


def measured(values: Mapping[str, Sequence[T]]) -> dict[str, Sequence[T]]:
    """The tasks that have a trial, by name, so that no result depends on the order they came in."""
    return {task: values[task] for task in sorted(values) if len(values[task])}


def count_trials(values: Mapping[str, Sequence[object]]) -> int:
    """Trials of all tasks, unknown ones included."""
    return sum(len(trials) for trials in values.values())


def count_unknown(values: Mapping[str, Sequence[object]]) -> int:
    """Trials whose value is null."""
    return sum(value is None for trials in values.values() for value in trials)


def refuse_what_is_no_number(values: Values, where: str) -> None:
    """Refuse NaN and infinities, which would pass through any sum without a word.

    Raises:
        ValueError: naming the first such value and its task.
    """
    for task, trials in values.items():
        for value in trials:
            if value is not None and not math.isfinite(value):
                raise ValueError(
                    f"{where}: {value} in a trial of {task}. Give a finite number, or null where unknown."
                )


def all_known(values: Values, where: str) -> dict[str, list[float]]:
    """The tasks that have a trial, all of whose values must be known.

    Raises:
        ValueError: a value is null or no finite number, or there is no trial at all.
    """
    refuse_what_is_no_number(values, where)
    found = {
        task: sorted(float(value) for value in trials if value is not None)
        for task, trials in measured(values).items()
    }
    if unknown := count_unknown(values):
        raise ValueError(f"{where}: {unknown} values are unknown. Bound them both ways first.")
    if not found:
        raise ValueError(f"{where}: no trial.")
    return found


def all_yes_or_no(*systems: Values) -> bool:
    """Whether there are known values and all are bools, so that a null can be bounded by no and yes."""
    known = [v for values in systems for trials in values.values() for v in trials if v is not None]
    return bool(known) and all(isinstance(value, bool) for value in known)


def completed(values: Values, as_what: bool) -> dict[str, list[bool]]:
    """Yes-or-no outcomes with every unknown one taken as ``as_what``."""
    return {task: [as_what if v is None else bool(v) for v in trials] for task, trials in values.items()}


def family_of(task: str) -> str | None:
    """The family of a task named ``family/name``; null for any other name."""
    family, slash, _ = task.partition("/")
    return family if slash else None


def scope_notes(values: Mapping[str, Sequence[object]]) -> list[str]:
    """Which tasks have no valid trial, and whether all come from one generator."""
    tasks = list(measured(values))
    notes = [f"No valid trial of {task}." for task in values if not len(values[task])]
    families = {family_of(task) for task in tasks}
    if len(tasks) > 1 and len(families) == 1 and None not in families:
        notes.append(f"All tasks are of one family ({families.pop()}): it speaks of that generator only.")
    return notes
