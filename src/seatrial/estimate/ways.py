"""The ways unknown values may have come out: every one where they are few, else those that spread tasks most.

All failed and all succeeded are two ways of many, and not always the ones that stretch an interval most:
where tasks already differ, one more task at the far end adds spread and can move the end beyond both.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations_with_replacement, product
from statistics import fmean
from typing import Generic, NamedTuple, TypeVar

import msgspec

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.trials import Values, count_unknown, measured

# So many take about a second with the slowest of what is computed for each.
MOST_WAYS = 500
Trials = tuple[float, ...]
Ends = tuple[float, float]
YES_NO: Ends = (False, True)

T = TypeVar("T")


class Ways(NamedTuple, Generic[T]):
    """Ways to complete a table.

    Attributes:
        found: of each way one choice a task, in the order of the tasks.
        every: whether these are all there are.
    """

    found: list[list[T]]
    every: bool

    @property
    def note(self) -> list[str]:
        """What must be said where not every way was tried."""
        if self.every:
            return []
        return [
            f"Unknown outcomes of too many unlike tasks to try every way: the ends are those of the "
            f"{len(self.found)} ways that spread the tasks most, and may lie a little further out."
        ]


def fillings(trials: Sequence[float | None], ends: Ends) -> list[Trials]:
    """One task's trials with 0, 1, … all of the unknown ones at the upper end and the others at the lower.

    For what is convex or concave in each unknown value, as means and t intervals' ends are, values between
    the ends need not be tried.
    """
    known = tuple(sorted(value for value in trials if value is not None))
    unknown = len(trials) - len(known)
    return [known + (ends[0],) * (unknown - high) + (ends[1],) * high for high in range(unknown + 1)]


def task_ways(
    choices: Sequence[Sequence[T]],
    value: Callable[[T], float],
    groups: Sequence[str] | None = None,
    most: int = MOST_WAYS,
) -> Ways[T]:
    """Ways to choose one for each task, tasks of equal choices being interchangeable.

    Where there are more than ``most``, the corners of the widest spread: from all tasks at their least value
    to all at their greatest, those that can reach highest rising first. Each of these has the greatest sum of
    squares that its own mean allows (the slopes (high² − low²)/(high − low) of the tasks fall along the way),
    so that a way between two neighbours is off by part of one task.

    Args:
        choices: of each task, hashable.
        value: what a choice gives its task.
        groups: of each task; only tasks of one group are interchangeable.
        most: at least 1.
    """
    kinds: dict[tuple[object, ...], list[int]] = {}
    for task, own in enumerate(choices):
        kinds.setdefault((groups[task] if groups else "", *own), []).append(task)
    members = list(kinds.values())
    number = math.prod(math.comb(len(tasks) + len(choices[tasks[0]]) - 1, len(tasks)) for tasks in members)
    if number <= most:
        spread = [combinations_with_replacement(choices[tasks[0]], len(tasks)) for tasks in members]
        order = [task for tasks in members for task in tasks]
        found = []
        for way in product(*spread):
            picked = dict(zip(order, (one for group in way for one in group), strict=True))
            found.append([picked[task] for task in range(len(choices))])
        return Ways(found, True)
    lows, highs = [min(own, key=value) for own in choices], [max(own, key=value) for own in choices]
    rising = sorted(
        (task for task, own in enumerate(choices) if len(own) > 1),
        key=lambda task: -(value(lows[task]) + value(highs[task])),
    )
    now = list(lows)
    found = [list(now)]
    for task in rising:
        now[task] = highs[task]
        found.append(list(now))
    return Ways(found, False)


def over_ways(
    values: Values,
    ends: Ends,
    statistic: Callable[[Values], Estimate],
    groups: Mapping[str, str] | None = None,
) -> Estimate:
    """An estimate that covers every way unknown values may have come out; the plain one where none is.

    Args:
        values: task to the values of its trials; null is unknown.
        ends: least and greatest value that an unknown one may have.
        statistic: the estimate of values that are all known.
        groups: task to what makes it unlike others beside its values, for example its stratum.

    Returns:
        Value null where one is unknown; without interval where no way has one.
    """
    known = measured(values)
    unknown = count_unknown(known)
    if not unknown:
        return statistic(values)
    choices = [fillings(trials, ends) for trials in known.values()]
    ways = task_ways(choices, fmean, [groups[task] for task in known] if groups else None)
    empty: dict[str, Trials] = {task: () for task in values if task not in known}
    estimates = [statistic({**dict(zip(known, way, strict=True)), **empty}) for way in ways.found]
    said = [*bounds_note([one.value for one in estimates], unknown), *ways.note]
    return covering(estimates, said)


def covering(estimates: Sequence[Estimate], said: Sequence[str]) -> Estimate:
    """One estimate for several ways: ends that cover all of theirs, and a value only if they agree on it.

    Args:
        estimates: of every way, at least one; method, unit and counts are the first one's. A way without an
            interval, since nothing varies in it, counts with its value alone where others have one.
        said: notes of its own.
    """
    told = [one for one in estimates if one.low is not None and one.high is not None]
    mute = [one for one in estimates if one not in told]
    # What each way says of its own numbers is not true of the others; what all say is.
    notes = [note for note in estimates[0].notes if all(note in one.notes for one in estimates)]
    low = high = None
    if told:
        points = [one.value for one in mute if one.value is not None]
        low = min([one.low for one in told if one.low is not None] + points)
        high = max([one.high for one in told if one.high is not None] + points)
        if mute:
            notes.append(
                f"In {len(mute)} of {len(estimates)} ways nothing varies: they add their value alone."
            )
    return msgspec.structs.replace(
        estimates[0],
        value=estimates[0].value if len({one.value for one in estimates}) == 1 else None,
        low=low,
        high=high,
        notes=list(dict.fromkeys([*notes, *said])),
    )


def bounds_note(values: Sequence[float | None], unknown: int) -> list[str]:
    """The range a value may take, in words; nothing where a way has none."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return []
    what = "outcome" if unknown == 1 else "outcomes"
    return [f"Between {min(known):.3g} and {max(known):.3g}: {unknown} unknown {what}."]
