"""Watching a comparison as trials come in: continue, stop, or insufficient, at the error stated."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from seatrial.estimate.boundaries import Look, Shape, spending_boundaries
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.student import t_as_z, z_as_t

State = Literal["continue", "stop", "insufficient"]
# A mean over fewer tasks is too far from normal even for t.
FEWEST_TASKS = 10


class Watch(msgspec.Struct, frozen=True, kw_only=True):
    """How a group-sequential comparison stands at its latest look.

    Attributes:
        state: "stop" where a boundary was crossed; "continue" before full information; "insufficient" where
            full information crossed none: the difference cannot be told, which is not that there is none.
        look: number of the latest look, from 1.
        z: of every look, difference over standard error, turned from t with tasks − 1 degrees of freedom into
            the z of the same tail (Jennison and Turnbull's significance level approach).
        boundaries: of the looks so far.
        difference: the latest, with the repeated confidence interval d ± b·error, b the boundary as a t. It
            holds at its level at all looks together, however often one looks.
        notes: as whole sentences.
    """

    state: State
    look: int
    z: list[float]
    boundaries: list[Look]
    difference: Estimate
    notes: list[str]


class Interim(msgspec.Struct, frozen=True, kw_only=True):
    """What one look saw.

    Attributes:
        information: share of the planned information, in (0, 1]; tasks so far over tasks planned.
        difference: estimate of the paired difference.
        error: its standard error, above 0; null where nothing varied yet.
        n_tasks, n_trials: how many of each it rests on; two tasks at least.
    """

    information: float
    difference: float
    error: float | None
    n_tasks: int
    n_trials: int


def watch(
    looks: Sequence[Interim], alpha: float = 0.05, shape: Shape = "obrien-fleming", sides: Literal[1, 2] = 2
) -> Watch:
    """Judge the latest of all looks so far.

    A look over fewer than 10 tasks, or where nothing varied, spends its share of the error and stops nothing.

    Args:
        looks: every look that was taken, in order: one left out would hide error already spent.
        alpha: error of all looks together, in (0, 1).
        shape: of the spending function.
        sides: 2, or 1 if only a positive difference counts.

    Raises:
        ValueError: no look, fewer than two tasks, information that does not rise within (0, 1], or an error
            not above 0.
    """
    boundaries = spending_boundaries([look.information for look in looks], alpha, shape, sides)
    if few := [look.n_tasks for look in looks if look.n_tasks < 2]:
        raise ValueError(f"watch: a look over {few[0]} tasks shows no spread between tasks")
    if bad := [look.error for look in looks if look.error is not None and not look.error > 0]:
        raise ValueError(f"watch: standard error {bad[0]}; give one above 0, or null where nothing varied")
    z, crossed, notes = [], [], []
    for number, (look, bound) in enumerate(zip(looks, boundaries, strict=True), 1):
        score = 0.0 if look.error is None else t_as_z(look.difference / look.error, look.n_tasks - 1)
        z.append(score)
        if look.error is None or look.n_tasks < FEWEST_TASKS:
            why = "nothing varied" if look.error is None else f"{look.n_tasks} tasks are too few"
            notes.append(f"Look {number} decides nothing: {why}.")
        elif (abs(score) if sides == 2 else score) >= bound.z:
            crossed.append(number)
    last, bound = looks[-1], boundaries[-1]
    state: State = "stop" if crossed else "continue" if last.information < 1 else "insufficient"
    if crossed and crossed[0] < len(looks):
        notes.append(f"Look {crossed[0]} had crossed already; later looks do not undo it.")
    if state == "insufficient":
        notes.append(
            "All planned information is in and no boundary was crossed: it cannot be told apart yet."
        )
    half = None if last.error is None else z_as_t(bound.z, last.n_tasks - 1) * last.error
    return Watch(
        state=state,
        look=len(looks),
        z=z,
        boundaries=boundaries,
        difference=Estimate(
            value=last.difference,
            low=None if half is None else last.difference - half,
            high=None if half is None or sides == 1 else last.difference + half,
            level=1 - alpha,
            method=f"repeated confidence interval, {shape} spending, {sides}-sided",
            unit="tasks, paired",
            n_tasks=last.n_tasks,
            n_trials=last.n_trials,
            notes=notes,
        ),
        notes=notes,
    )
