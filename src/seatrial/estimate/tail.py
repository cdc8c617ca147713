"""Quantiles of the time to a first useful result, or of a cost: P50 to P99, timeouts counted at the cap.

A trial without a result has not been fast: it stands at the cap, as one that took at least so long. A
quantile that falls among those says "at least the cap".

The interval is by order statistics on the effective number of trials: a bootstrap never draws beyond the
greatest trial seen, so of few tasks its high end says too little (P99 of 40 tasks: covered .30 of .95).
"""

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import Counts, Floats, percentile_interval
from seatrial.estimate.clustered import ROUNDING, Weigh
from seatrial.estimate.endings import (
    DRAWS,
    SUCCESS,
    Ending,
    Endings,
    LifeTable,
    life_table,
    settled,
    unknown_ends,
)
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import effective_trials
from seatrial.estimate.resample import over_tasks
from seatrial.estimate.trials import ONE_TASK, Values, measured, scope_notes

SHARES = (0.5, 0.9, 0.95, 0.99)


class TailQuantile(msgspec.Struct, frozen=True, kw_only=True):
    """One quantile of the trials' places.

    Attributes:
        share: of the trials that are at most there.
        estimate: the quantile; its interval is by order statistics on the effective number of trials, its
            high end infinite while there are fewer tasks than ``trials_wanted``.
        bootstrap: the interval by drawing tasks, which cannot pass the greatest trial; null without spread.
        at_cap: whether it falls among the trials counted at the cap: it is at least that.
        order_statistics: the exact interval of independent trials; its high end is infinite where there are
            too few trials to bound it; null where trials do not count alike.
        trials_beyond: trials above the quantile: what its tail rests on.
        trials_wanted: least number of independent trials whose greatest bounds the quantile from above.
        n_at_cap: trials counted at the cap.
    """

    share: float
    estimate: Estimate
    bootstrap: tuple[float, float] | None = None
    at_cap: bool
    order_statistics: tuple[float, float] | None
    trials_beyond: int
    trials_wanted: int
    n_at_cap: int


def spent(values: Values) -> Endings:
    """Measured amounts, for example costs, as endings without a cap.

    Raises:
        ValueError: an amount is unknown.
    """
    for task, trials in values.items():
        if None in trials:
            raise ValueError(f"quantiles: an amount of {task} is unknown. Leave the quantiles unknown too.")
    return {t: [Ending(float(v), SUCCESS) for v in trials if v is not None] for t, trials in values.items()}


def tail_quantiles(
    endings: Endings,
    cap: float,
    rng: np.random.Generator,
    shares: Sequence[float] = SHARES,
    level: float = 0.95,
    draws: int = DRAWS,
    weigh: Weigh = "tasks",
) -> list[TailQuantile]:
    """Quantiles over all trials, those without a success counted at the cap.

    Args:
        endings: task to the end of every valid trial; the cause "success" is the useful result.
        cap: the declared limit, above 0; infinite where there is none. Later results stand there too.
        rng: source of all randomness.
        shares: each in (0, 1).
        level: confidence level, in (0, 1).
        draws: bootstrap samples of tasks, at least 1.
        weigh: what counts once each: a task or a trial.

    Endings of unknown cause are taken both ways: as results, and as none.

    Returns:
        One a share; null values, with the reason, where there is no trial, or where the quantile is infinite.

    Raises:
        ValueError: a share, the cap or a place is out of range, or there is no draw.
    """
    if not cap > 0 or not all(0 < share < 1 for share in shares) or draws < 1:
        raise ValueError(f"tail_quantiles: cap {cap}, shares {list(shares)}, {draws} draws; out of range")
    if unknown := unknown_ends(endings):
        seed = int(rng.integers(2**63))
        ways = (
            tail_quantiles(
                settled(endings, way), cap, np.random.default_rng(seed), shares, level, draws, weigh
            )
            for way in (False, True)
        )
        return [_between(worst, best, unknown) for worst, best in zip(*ways, strict=True)]
    table = life_table(endings, "tail_quantiles", weigh)
    known = measured(endings)
    places = np.array(
        [min(end.at, cap) if end.cause == SUCCESS else cap for task in table.tasks for end in known[task]]
    )
    order = np.argsort(places, kind="stable")
    owner, places = np.repeat(np.arange(len(table.tasks)), table.trials)[order], places[order]
    if not len(places):
        return [_empty(share, endings, level) for share in shares]
    value = _weighted(table.share[None], owner, places, shares)[0]

    def read(weights: Floats) -> Floats:
        return _weighted(weights * table.share, owner, places, shares)

    sample = over_tasks(len(table.tasks), rng, draws, read, len(places))
    at_cap = int((places >= cap).sum())

    def place(share: float) -> float:
        return float(_weighted(table.share[None], owner, places, [share])[0, 0])

    return [
        _quantile(
            (share, float(value[column]), sample[:, column]),
            places,
            (cap, at_cap),
            (table.equal_shares, _effective(table, owner, places <= value[column], weigh), place),
            _labels(endings, len(table.tasks), len(places), level),
        )
        for column, share in enumerate(shares)
    ]


def trials_wanted(share: float, level: float = 0.95) -> int:
    """Least n with 1 − shareⁿ >= (1 + level)/2: then the greatest of n trials bounds the quantile above."""
    return math.ceil(math.log((1 - level) / 2) / math.log(share))


def _weighted(weights: Floats, owner: np.ndarray, places: Floats, shares: Sequence[float]) -> Floats:
    """For each row of task weights the first place with at least each share of the weight at or below it."""
    total = np.cumsum(weights[:, owner], axis=1)
    wanted = np.asarray(shares)[None] * total[:, -1:]
    return np.stack(
        [
            places[(total >= wanted[:, [column]] * (1 - 1e-12)).argmax(axis=1)]
            for column in range(len(shares))
        ],
        axis=1,
    )


def _effective(table: LifeTable, owner: Counts, below: np.ndarray, weigh: Weigh) -> float:
    """Independent trials that would say as much of the share at or below the quantile; a task says one."""
    counts = table.trials.tolist()
    rates = np.bincount(owner, weights=below, minlength=len(counts)) / table.trials
    if weigh == "tasks" or min(counts) == max(counts):
        return effective_trials(np.minimum(rates, 1).tolist(), counts)
    # Tasks of unlike weight: Kish's number of tasks, a least one.
    return float(table.trials.sum() ** 2 / (table.trials**2).sum())


def _quantile(
    read: tuple[float, float, Floats],
    places: Floats,
    cap: tuple[float, int],
    known: tuple[bool, float, Callable[[float], float]],
    labels: Estimate,
) -> TailQuantile:
    """One quantile; ``known``: whether trials count alike, the effective trials, the place of a share."""
    share, value, sample = read
    even, size, place = known
    notes, tasks = list(labels.notes), labels.n_tasks
    at_cap, wanted = bool(value >= cap[0]), trials_wanted(share, labels.level)
    whole = math.floor(size * (1 + ROUNDING))
    low_rank, high_rank = _ranks(whole, share, labels.level)
    low = min(value, place(low_rank / whole)) if low_rank else 0.0
    bounded = tasks >= wanted and high_rank <= whole
    high = max(value, place(high_rank / whole)) if bounded else math.inf
    told = tasks > 1 and math.isfinite(low)
    if at_cap:
        where = f"At the cap: at least {cap[0]:g}" if math.isfinite(cap[0]) else "No cap, so infinite"
        notes.append(f"{where}; {cap[1]} of {len(places)} trials stand there.")
    if math.isfinite(high) and high >= cap[0] > value:
        notes.append("The high end stands at the cap: it may be any amount beyond.")
    if not bounded and tasks > 1:
        notes.append(f"No high end: {tasks} tasks, and {wanted} at least would bound it from above.")
    if tasks > 1:
        notes.append(f"Worth {size:.3g} independent trials of the {len(places)}.")
    drawn_low, drawn_high = percentile_interval(sample, labels.level)
    return TailQuantile(
        share=share,
        estimate=msgspec.structs.replace(
            labels,
            value=value if math.isfinite(value) else None,
            low=low if told else None,
            high=high if told else None,
            notes=notes,
        ),
        bootstrap=(drawn_low, drawn_high) if drawn_low < drawn_high else None,
        at_cap=at_cap,
        order_statistics=_order_statistics(places, share, labels.level) if even else None,
        trials_beyond=int((places > value).sum()),
        trials_wanted=wanted,
        n_at_cap=cap[1],
    )


def _order_statistics(places: Floats, share: float, level: float) -> tuple[float, float]:
    """The interval of independent trials: the places of the ranks that bound the quantile."""
    low, high = _ranks(len(places), share, level)
    least = float(places[low - 1]) if low >= 1 else 0.0
    return least, float(places[high - 1]) if high <= len(places) else math.inf


def _ranks(n: int, share: float, level: float) -> tuple[int, int]:
    """Ranks among n trials that bound a quantile at ``level`` or more; 0 and n + 1 where none does."""
    # Loaded here, since the commands that need no such interval should not wait for it.
    from scipy.special import bdtr

    tail = (1 - level) / 2
    chance = bdtr(np.arange(n + 1), n, share)  # chance that at most k trials are at or below the quantile
    low = int(np.searchsorted(chance, tail, side="right"))
    return low, int(np.searchsorted(chance, 1 - tail, side="left")) + 1


def _between(worst: TailQuantile, best: TailQuantile, unknown: int) -> TailQuantile:
    """What holds whether unknown endings were results or not; as many at the cap as there may be."""
    slow, fast = worst.estimate, best.estimate
    high = math.inf if slow.value is None else slow.value if slow.high is None else slow.high
    return msgspec.structs.replace(
        worst,
        estimate=msgspec.structs.replace(
            slow,
            value=slow.value if slow.value == fast.value else None,
            low=fast.value if fast.low is None else fast.low,
            high=high,
            notes=[*slow.notes, f"{unknown} endings of unknown cause, taken both ways."],
        ),
        bootstrap=None,
        order_statistics=None,
    )


def _labels(given: Endings, tasks: int, trials: int, level: float) -> Estimate:
    """What all quantiles of one table share."""
    alone = [f"One task: the quantile speaks of {ONE_TASK}."] if tasks == 1 else []
    return Estimate(
        value=None,
        level=level,
        method="quantile over trials, those without a result at the cap; order statistics on the effective "
        "number of trials",
        unit="tasks",
        n_tasks=tasks,
        n_trials=trials,
        notes=[*alone, *scope_notes(given)],
    )


def _empty(share: float, given: Endings, level: float) -> TailQuantile:
    """The answer where there is no trial."""
    nothing = msgspec.structs.replace(
        _labels(given, 0, 0, level), method="none", notes=["No valid trial.", *scope_notes(given)]
    )
    return TailQuantile(
        share=share,
        estimate=nothing,
        at_cap=False,
        order_statistics=None,
        trials_beyond=0,
        trials_wanted=trials_wanted(share, level),
        n_at_cap=0,
    )
