"""How far a horizon hangs on choices nobody can settle: ridge, weights, threshold, one family.

All variants are fitted at once. They carry no interval: set beside the horizon's own interval, they say
whether a choice moves the result by more than chance does.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import Floats
from seatrial.estimate.hierarchy import family_index
from seatrial.estimate.horizon_draws import (
    HorizonData,
    HorizonOptions,
    Weighting,
    crossings,
    horizon_data,
    horizon_text,
    refuse_options,
    trial_weights,
)
from seatrial.estimate.logistic import fit_logistic
from seatrial.estimate.trials import Values, all_known, family_of

RIDGES = (0.0, 1e-5, 1e-3, 1e-2, 0.1)
WEIGHTINGS: tuple[Weighting, ...] = ("invsqrt", "equal_task", "none")


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """The horizons under one choice that differs from the stated ones.

    Attributes:
        choice: what was changed: "ridge", "weighting", "threshold" or "without family".
        setting: to what.
        horizons: minutes, one a chance; an extrapolation outside the range. Null where there is none.
        shown: each as it should be printed.
        ratios: each over the stated choices' horizon; null where either has none.
        n_tasks: tasks the variant rests on.
    """

    choice: str
    setting: str
    horizons: list[float | None]
    shown: list[str]
    ratios: list[float | None]
    n_tasks: int


def horizon_sensitivity(
    scores: Values,
    minutes: Mapping[str, float],
    options: HorizonOptions | None = None,
    threshold: float = 1.0,
    thresholds: Sequence[float] = (),
    ridges: Sequence[float] = RIDGES,
) -> list[Variant]:
    """Horizons under other ridges, weightings and thresholds, and without each family in turn.

    Args:
        scores: task to the score of every valid trial; yes-or-no outcomes are scores 1 and 0.
        minutes: human minutes of every task with a trial.
        options: the stated choices; draws and human times play no part.
        threshold: a score of at least this is a success.
        thresholds: other thresholds to try.
        ridges: ridges to try.

    Returns:
        The stated choices first (ratios of 1), then the variants in the order of the first sentence.

    Raises:
        ValueError: an unknown or infinite score, no trial, bad minutes, or an option out of range.
    """
    asked = options or HorizonOptions()
    refuse_options(asked)
    known = all_known(scores, "horizon_sensitivity")
    if bad := [cut for cut in (threshold, *thresholds) if not math.isfinite(cut)]:
        raise ValueError(f"horizon_sensitivity: threshold {bad[0]}; give finite scores")
    data = horizon_data(_cut(known, threshold), minutes, asked.families)
    stated = ("stated", f"ridge {asked.ridge:g}, {asked.weighting}, threshold {threshold:g}")
    rows: list[tuple[tuple[str, str], HorizonData, Floats, float]] = []

    def add(name: tuple[str, str], own: HorizonData, weighting: Weighting, ridge: float) -> None:
        rows.append((name, own, trial_weights(own, weighting), ridge))

    add(stated, data, asked.weighting, asked.ridge)
    for ridge in ridges:
        add(("ridge", f"{ridge:g}"), data, asked.weighting, ridge)
    for weighting in WEIGHTINGS:
        add(("weighting", weighting), data, weighting, asked.ridge)
    for cut in thresholds:
        own = horizon_data(_cut(known, cut), minutes, asked.families)
        add(("threshold", f"{cut:g}"), own, asked.weighting, asked.ridge)
    for name, number in _family_names(data, asked.families).items():
        add(("without family", name), _without(data, number), asked.weighting, asked.ridge)
    return _variants(rows, asked.chances)


def _cut(scores: Mapping[str, Sequence[float]], threshold: float) -> dict[str, list[bool]]:
    return {task: [score >= threshold for score in trials] for task, trials in scores.items()}


def _family_names(data: HorizonData, families: Mapping[str, str] | None) -> dict[str, int]:
    """Families by name, none where leaving one out leaves nothing."""
    own = families or {}
    index = family_index(data.tasks, families)
    names = {own.get(t, family_of(t) or t): int(index[place]) for place, t in enumerate(data.tasks)}
    return dict(sorted(names.items())) if len(names) > 1 else {}


def _without(data: HorizonData, family: int) -> HorizonData:
    """The same trials but for one family's, whose tasks then count none."""
    left = data.family != family
    return HorizonData(
        [task for task, stays in zip(data.tasks, left, strict=True) if stays],
        data.minutes[left],
        np.unique(data.family[left], return_inverse=True)[1],
        data.trials[left],
        data.successes[left],
    )


def _variants(
    rows: Sequence[tuple[tuple[str, str], HorizonData, Floats, float]], chances: Sequence[float]
) -> list[Variant]:
    """Fit all rows, those of one ridge together, and set them beside the first."""
    tasks = {task: place for place, task in enumerate(rows[0][1].tasks)}
    shortest, longest = rows[0][1].range
    weights, successes = np.zeros((2, len(rows), len(tasks)))
    for row, (_, data, weight, _) in enumerate(rows):
        places = [tasks[task] for task in data.tasks]
        weights[row, places], successes[row, places] = weight * data.trials, weight * data.successes
    found = np.full((len(rows), len(chances)), np.nan)
    log_minutes = np.log2(rows[0][1].minutes)
    fits_at_all = np.array([not data.one_class for _, data, _, _ in rows])
    ridges = np.array([ridge for _, _, _, ridge in rows])
    for ridge in np.unique(ridges):
        chosen = np.flatnonzero(fits_at_all & (ridges == ridge))
        if len(chosen):
            fits = fit_logistic(weights[chosen], successes[chosen], log_minutes, float(ridge))
            found[chosen] = crossings(fits, chances, shortest, longest)
    for row, (_, data, _, _) in enumerate(rows):
        if data.one_class:
            found[row] = np.inf if data.successes.any() else 0.0
    return [
        Variant(
            choice=name[0],
            setting=name[1],
            horizons=[float(at) if math.isfinite(at) and at > 0 else None for at in found[row]],
            shown=[horizon_text(float(at), shortest, longest) for at in found[row]],
            ratios=[_ratio(float(at), float(base)) for at, base in zip(found[row], found[0], strict=True)],
            n_tasks=len(data.tasks),
        )
        for row, (name, data, _, _) in enumerate(rows)
    ]


def _ratio(at: float, base: float) -> float | None:
    """One over the other where both are numbers above 0."""
    return at / base if 0 < at < math.inf and 0 < base < math.inf else None
