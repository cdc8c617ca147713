"""What a change at one recorded state does: forks with it against forks without, in pairs of one seed.

Everything here speaks of that one state. What holds of a trial or a task needs states drawn at random.
"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

import msgspec

from seatrial.estimate.clustered import negligible
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.mcnemar import newcombe_paired
from seatrial.estimate.rates import wilson
from seatrial.estimate.student import t_quantile

UNIT = "fork of this state"
THIS_STATE = "This state only: it says nothing of other steps, trials or tasks."
STATES = "state drawn at random"
NO_SPREAD = "No interval: one pair, or all differ by the same."

YesNo = bool | None
Value = float | None


def rate_of_forks(outcomes: Sequence[YesNo], level: float = 0.95) -> Estimate:
    """How often forks of one state come out well, with Wilson's interval.

    Unknown outcomes are taken both ways, and the value is then null.

    Args:
        outcomes: one a fork; null is unknown.
        level: confidence level, in (0, 1).
    """
    n, unknown = len(outcomes), sum(outcome is None for outcome in outcomes)
    if not n:
        return _nothing("Wilson", 0, level, "No fork has ended that says anything.")
    yes = sum(outcome is True for outcome in outcomes)
    notes = [THIS_STATE, *([f"{unknown} outcomes are unknown, taken both ways."] if unknown else [])]
    return Estimate(
        value=None if unknown else yes / n, low=wilson(yes, n, level)[0],
        high=wilson(yes + unknown, n, level)[1], level=level, method="Wilson", unit=UNIT, n_tasks=1,
        n_trials=n, notes=notes,
    )  # fmt: skip


def outcome_effect(pairs: Sequence[tuple[YesNo, YesNo]], level: float = 0.95) -> Estimate:
    """Rate with the change minus rate without it, with Newcombe's interval for pairs (1998, method 10).

    Args:
        pairs: outcome with the change and without it, of forks with one seed; null is unknown, and is taken
            both ways: the interval then covers both, and the value is null.
        level: confidence level, in (0, 1).
    """
    method, unknown = "Newcombe's method 10 on pairs", sum(None in pair for pair in pairs)
    if not pairs:
        return _nothing(method, 0, level, "No pair of forks has ended that says anything.")
    best = [(one is not False, other is True) for one, other in pairs]
    worst = [(one is True, other is not False) for one, other in pairs]
    low, high = _newcombe(worst, level)[0], _newcombe(best, level)[1]
    value = fmean(one - other for one, other in best)
    said = [f"{unknown} pairs hold an unknown outcome, taken both ways."] if unknown else []
    return Estimate(
        value=None if unknown else value, low=low, high=high, level=level, method=method, unit=UNIT,
        n_tasks=1, n_trials=2 * len(pairs), notes=[THIS_STATE, *said],
    )  # fmt: skip


def _newcombe(pairs: Sequence[tuple[bool, bool]], level: float) -> tuple[float, float]:
    counts = [pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))]
    return newcombe_paired(counts[0], counts[1], counts[2], counts[3], level)


def amount_effect(pairs: Sequence[tuple[Value, Value]], level: float = 0.95, undefined: str = "") -> Estimate:
    """Mean difference of an amount with the change minus without it: d ± t(1 − α, n − 1)·sd/√n over pairs.

    Args:
        pairs: amounts of forks with one seed; null is unknown.
        level: confidence level, in (0, 1).
        undefined: why an amount may be missing without being unknown, such as "did not succeed"; pairs that
            lack one are then left out and counted.
    """
    whole = [(one, other) for one, other in pairs if one is not None and other is not None]
    missing, method = len(pairs) - len(whole), "t on differences of pairs"
    if not whole or (missing and not undefined):
        why = f"{missing} of {len(pairs)} pairs lack an amount" if pairs else "No pair of forks has ended"
        return _nothing(method, 2 * len(pairs), level, f"{why}{f' ({undefined})' if undefined else ''}.")
    notes = [THIS_STATE]
    if missing:
        notes.append(f"Over {len(whole)} of {len(pairs)} pairs; in the others one or both {undefined}.")
    differences = [one - other for one, other in whole]
    mean, half = fmean(differences), _half_width(differences, level)
    if half is None:
        notes.append(NO_SPREAD)
    return Estimate(
        value=mean, low=None if half is None else mean - half, high=None if half is None else mean + half,
        level=level, method=method, unit=UNIT, n_tasks=1, n_trials=2 * len(whole), notes=notes,
    )  # fmt: skip


def counted_once(estimate: Estimate, copies: int, sides: int) -> Estimate:
    """An estimate over forks that are copies of one trial: they are one observation, and have no interval.

    Args:
        estimate: over all of them.
        copies: how many there are.
        sides: trials that one observation takes: 1, or 2 of a pair.
    """
    if not copies:
        return estimate
    said = f"{copies} copies of one trial count once" if copies > 1 else "another one would be a copy"
    notes = [note for note in estimate.notes if note != NO_SPREAD]
    return msgspec.structs.replace(
        estimate, low=None, high=None, method="one observation", n_trials=sides,
        notes=[*notes, f"No interval: {said}."],
    )  # fmt: skip


def over_states(effects: Sequence[Value], of: str, level: float = 0.95) -> Estimate:
    """Mean of the effects at states that were drawn at random with equal probability, with a t interval.

    Args:
        effects: one a state; null is unknown, and makes the mean unknown.
        of: what the states were drawn from, for the note.
        level: confidence level, in (0, 1).
    """
    method, notes = (
        "t on effects of states",
        [f"Speaks of the steps of {of} that can be forked, and no others."],
    )
    known = [effect for effect in effects if effect is not None]
    if not known or len(known) < len(effects):
        return _nothing(method, len(effects), level, "The effect at a state is unknown.", STATES)
    half = _half_width(known, level)
    if half is None:
        notes.append("No interval: one state, or all effects are the same.")
    mean = fmean(known)
    return Estimate(
        value=mean, low=None if half is None else mean - half, high=None if half is None else mean + half,
        level=level, method=method, unit=STATES, n_tasks=1, n_trials=len(known), notes=notes,
    )  # fmt: skip


def _half_width(values: Sequence[float], level: float) -> float | None:
    """Of the t interval; null where nothing varies, since an interval of zero width would be a lie."""
    if len(values) < 2:
        return None
    spread = stdev(values)
    if negligible(spread, values):
        return None
    return t_quantile(level, len(values) - 1) * spread / math.sqrt(len(values))


def _nothing(method: str, n: int, level: float, why: str, unit: str = UNIT) -> Estimate:
    return Estimate(value=None, level=level, method=method, unit=unit, n_tasks=1, n_trials=n, notes=[why])
