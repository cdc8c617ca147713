"""Two systems on the same tasks: by how much they differ, task by task, and whether that can be told."""

import math
from collections.abc import Sequence
from itertools import product
from statistics import fmean, stdev
from typing import Literal

import msgspec
import numpy as np

from seatrial.estimate.clustered import negligible
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.mcnemar import McNemar, mcnemar, newcombe_unpaired
from seatrial.estimate.permutation import FLIPS, sign_flip_p
from seatrial.estimate.rates import wilson_effective
from seatrial.estimate.student import t_quantile, t_two_sided
from seatrial.estimate.trials import (
    Values,
    all_yes_or_no,
    count_trials,
    count_unknown,
    refuse_what_is_no_number,
    scope_notes,
)
from seatrial.estimate.ways import YES_NO, covering, fillings, task_ways

Verdict = Literal["A higher", "B higher", "cannot be told apart yet"]
UNDECIDED: Verdict = "cannot be told apart yet"
T_METHOD = "t on task differences"
BOTH = f"the larger p of {T_METHOD} and random signs"
AT_ODDS = (
    "Interval and test are two approximations and differ here on whether 0 is left out; the test decides."
)
# With fewer tasks t alone is not to be trusted: coarse differences are far from normal.
TRUST_T_FROM = 10


class PairedDifference(msgspec.Struct, frozen=True, kw_only=True):
    """What a paired comparison of A and B found. Higher means a larger value, not a better one.

    Attributes:
        difference: mean over tasks of A's task mean minus B's, with its interval at 1 − alpha.
        verdict: decided by ``p`` against ``alpha``.
        p: two-sided p value of ``test``; null where nothing can be tested.
        test: what ``p`` comes from.
        p_t: of the t test on task differences; null where they do not vary.
        p_permutation: of random signs, beside it; with fewer than 10 tasks t decides only together with it.
        alpha: level of the test, in (0, 1).
        wins, losses, ties: tasks where A's mean is higher, lower, the same.
        effect: mean of the task differences over their standard deviation (Cohen's d_z); null without one.
        mcnemar: only with one yes-or-no trial of each system per task.
    """

    difference: Estimate
    verdict: Verdict
    p: float | None
    test: str
    p_t: float | None
    p_permutation: float | None
    alpha: float
    wins: int
    losses: int
    ties: int
    effect: float | None
    mcnemar: McNemar | None


def decide(difference: float | None, p: float | None, alpha: float) -> Verdict:
    """What a difference A minus B allows to be said at p against alpha; p may be an adjusted one."""
    if difference is None or p is None or p >= alpha or difference == 0:
        return UNDECIDED
    return "A higher" if difference > 0 else "B higher"


def paired_difference(
    a: Values,
    b: Values,
    rng: np.random.Generator,
    *,
    alpha: float = 0.05,
    flips: int = FLIPS,
    names: tuple[str, str] = ("A", "B"),
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> PairedDifference:
    """Compare two systems by their differences task by task.

    The mean d of the task differences has the interval d ± t(1 − alpha, tasks − 1)·sd/√tasks, and p from the
    same t; with fewer than 10 tasks p is the larger of that and the one by random signs. With one
    yes-or-no trial of each per task, Newcombe's interval and McNemar's exact p take their place. Where all
    tasks differ by the same the signs decide, and rates get Newcombe's interval from two Wilson intervals.
    Unknown outcomes, and unknown values where both limits are finite, are taken in every way they may have
    come out (see ``ways``): the interval covers all ways, and a verdict stands only if all give it.

    Args:
        a, b: task to the values of its valid trials, of the same tasks. A task without a valid trial on one
            side is left out and named.
        rng: source of the sampled signs, with more than 12 tasks.
        alpha: level of the test, in (0, 1); the interval's is 1 − alpha.
        flips: sampled sign patterns, at least 1.
        names: of the systems, for notes and errors.
        limits: least and greatest value of one trial; no difference is greater than the two are apart, and
            the interval is cut there. Outcomes lie in [0, 1] whatever is given.

    Raises:
        ValueError: the two are of different tasks, or a value is NaN or infinite.
    """
    refuse_other_tasks(a, b)
    refuse_what_is_no_number(a, names[0])
    refuse_what_is_no_number(b, names[1])
    kept = [task for task in sorted(a) if len(a[task]) and len(b[task])]
    left, right = {task: a[task] for task in kept}, {task: b[task] for task in kept}
    notes = [
        f"{task} is left out: no valid trial of {names[0] if not len(a[task]) else names[1]}."
        for task in sorted(a)
        if task not in left
    ]
    notes += scope_notes(left)
    unknown = count_unknown(left) + count_unknown(right)
    ends = YES_NO if all_yes_or_no(left, right) else limits
    test = _Test(rng=rng, alpha=alpha, flips=flips, reach=ends[1] - ends[0])
    if unknown and unknown == count_trials(left) + count_trials(right):
        return _nothing(left, right, alpha, [f"No comparison: {unknown} values are unknown.", *notes])
    if unknown and not math.isfinite(test.reach):
        why = f"No comparison: {unknown} values are unknown, and nothing says how large they can be."
        return _nothing(left, right, alpha, [why, *notes])
    if not kept:
        return _nothing(left, right, alpha, ["No comparison: no task has valid trials of both.", *notes])
    if not unknown:
        return _compare(left, right, test, notes)
    choices = [list(product(fillings(left[task], ends), fillings(right[task], ends))) for task in kept]
    ways = task_ways(choices, lambda pair: fmean(pair[0]) - fmean(pair[1]))
    found = [
        _compare(
            {task: way[i][0] for i, task in enumerate(kept)},
            {task: way[i][1] for i, task in enumerate(kept)},
            msgspec.structs.replace(test, check=False),
            [*notes, f"{unknown} unknown outcomes, taken every way.", *ways.note],
        )
        for way in ways.found
    ]
    return _over(found)


def refuse_other_tasks(a: Values, b: Values) -> None:
    """A comparison of two systems on differing tasks would compare the tasks.

    Raises:
        ValueError: naming the tasks that only one of them has.
    """
    if other := sorted(set(a) ^ set(b)):
        raise ValueError(
            f"paired comparison: {len(other)} tasks are of one system only, first {other[0]}. "
            "Compare systems on the same tasks."
        )


class _Test(msgspec.Struct, frozen=True, kw_only=True):
    """How to test: see ``paired_difference``.

    Attributes:
        reach: greatest difference there can be.
        check: whether random signs are drawn beside a test that decides without them.
    """

    rng: np.random.Generator
    alpha: float
    flips: int
    reach: float
    check: bool = True


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An interval for the difference, the p value that decides, and where both come from."""

    low: float | None
    high: float | None
    method: str
    p: float | None
    test: str
    note: str = ""


def _compare(a: Values, b: Values, test: _Test, notes: list[str]) -> PairedDifference:
    """The comparison of two systems whose values are all known, on the same tasks."""
    means_a, means_b = _task_means(a), _task_means(b)
    differences = [x - y for x, y in zip(means_a, means_b, strict=True)]
    mean, size = fmean(differences), max(map(abs, means_a + means_b))
    differences = [0.0 if abs(d) <= 1e-12 * size else d for d in differences]
    spread = stdev(differences) if len(differences) > 1 else None
    if spread is not None and negligible(spread, differences):
        spread = 0.0
    p_t = t_two_sided(mean * math.sqrt(len(differences)) / spread, len(differences) - 1) if spread else None
    table = _mcnemar(a, b, 1 - test.alpha)
    signs_decide = table is None and (not spread or len(differences) < TRUST_T_FROM)
    drawn = len(differences) > 1 and (test.check or signs_decide)
    flipped = sign_flip_p(differences, test.rng, test.flips) if drawn else None
    answer = _answer((a, b), (mean, spread, p_t, flipped), table, 1 - test.alpha)
    remarks = [answer.note] if answer.note else []
    if answer.p is not None and answer.low is not None and answer.high is not None and answer.test != BOTH:
        leaves_out_zero = not answer.low <= 0 <= answer.high
        remarks += [AT_ODDS] if leaves_out_zero != (answer.p < test.alpha) else []
    if flipped is not None:
        remarks += _disagreement(answer, p_t, flipped, test.alpha)
    return PairedDifference(
        difference=Estimate(
            value=mean,
            low=None if answer.low is None else max(-test.reach, answer.low),
            high=None if answer.high is None else min(test.reach, answer.high),
            level=1 - test.alpha,
            method=answer.method,
            unit="tasks, paired",
            n_tasks=len(differences),
            n_trials=count_trials(a) + count_trials(b),
            notes=notes + remarks,
        ),
        verdict=decide(mean, answer.p, test.alpha),
        p=answer.p,
        test=answer.test,
        p_t=p_t,
        p_permutation=flipped,
        alpha=test.alpha,
        wins=sum(d > 0 for d in differences),
        losses=sum(d < 0 for d in differences),
        ties=sum(d == 0 for d in differences),
        effect=mean / spread if spread else None,
        mcnemar=table,
    )


def _answer(
    pair: tuple[Values, Values],
    found: tuple[float, float | None, float | None, float | None],
    table: McNemar | None,
    level: float,
) -> _Answer:
    """Which interval and test suit the trials there are."""
    mean, spread, p_t, flipped = found
    tasks = len(pair[0])
    if spread is None:
        note = "One task: nothing shows whether other tasks would differ likewise."
        return _Answer(low=None, high=None, method="none", p=None, test="none", note=note)
    if table is not None:
        method = "Newcombe's method 10"
        return _Answer(low=table.low, high=table.high, method=method, p=table.p_exact, test="McNemar, exact")
    if spread > 0:
        half = t_quantile(level, tasks - 1) * spread / math.sqrt(tasks)
        ends = (mean - half, mean + half)
        if tasks >= TRUST_T_FROM or p_t is None or flipped is None:
            return _Answer(low=ends[0], high=ends[1], method=T_METHOD, p=p_t, test=T_METHOD)
        return _Answer(low=ends[0], high=ends[1], method=T_METHOD, p=max(p_t, flipped), test=BOTH)
    note = "All tasks differ by the same, so their spread says nothing; random signs decide."
    around: tuple[float | None, float | None] = (None, None)
    method = "none"
    if all_yes_or_no(*pair):
        (rate_a, ends_a), (rate_b, ends_b) = _wilson(pair[0], level), _wilson(pair[1], level)
        around = newcombe_unpaired(rate_a, ends_a, rate_b, ends_b)
        method = "Newcombe's method 10 from two Wilson intervals, taken as independent"
    else:
        note = f"No interval: {note[0].lower()}{note[1:]}"
    return _Answer(low=around[0], high=around[1], method=method, p=flipped, test="random signs", note=note)


def _disagreement(answer: _Answer, p_t: float | None, flipped: float, alpha: float) -> list[str]:
    """What to say where t, or McNemar's test, and random signs fall on two sides of the level."""
    if answer.test == BOTH and p_t is not None:
        if (p_t < alpha) == (flipped < alpha):
            return []
        return [
            f"t and random signs disagree: p = {p_t:.3g} and {flipped:.3g}. With fewer than {TRUST_T_FROM} "
            "tasks both must tell the two apart; t alone, and the interval by it, are not to be trusted here."
        ]
    if answer.p is None or (answer.p < alpha) == (flipped < alpha):
        return []
    return [
        f"The check by random signs does not agree: p = {flipped:.3g}. The verdict hangs on the choice of "
        "test; more tasks would settle it."
    ]


def _wilson(values: Values, level: float) -> tuple[float, tuple[float, float]]:
    """Rate over tasks and its default interval."""
    rates = _task_means(values)
    return fmean(rates), wilson_effective(rates, [len(trials) for trials in values.values()], level)


def _task_means(values: Values) -> list[float]:
    return [fmean(float(v) for v in trials if v is not None) for trials in values.values()]


def _mcnemar(a: Values, b: Values, level: float) -> McNemar | None:
    """The paired table where each system has one yes-or-no trial per task; null otherwise."""
    single = all(len(trials) == 1 for values in (a, b) for trials in values.values())
    if not single or not all_yes_or_no(a, b):
        return None
    pairs = [(bool(a[task][0]), bool(b[task][0])) for task in a]
    cells = [(True, True), (True, False), (False, True), (False, False)]
    both, only_a, only_b, neither = (pairs.count(cell) for cell in cells)
    return mcnemar(both, only_a, only_b, neither, level)


def _over(ways: Sequence[PairedDifference]) -> PairedDifference:
    """What holds in every way of the unknown outcomes. Tasks that win in some ways only count as ties."""
    differences = [way.difference for way in ways]
    values = [one.value or 0.0 for one in differences]
    verdicts = {way.verdict for way in ways}
    p_values = [way.p for way in ways if way.p is not None]
    same_side = min(values) * max(values) > 0 and len(p_values) == len(ways)
    wins, losses = min(way.wins for way in ways), min(way.losses for way in ways)
    covered = covering(differences, [f"Between {min(values):.3g} and {max(values):.3g}."])
    return PairedDifference(
        difference=msgspec.structs.replace(covered, value=None),
        verdict=ways[0].verdict if len(verdicts) == 1 else UNDECIDED,
        p=(max(p_values) if same_side else 1.0) if p_values else None,
        test=f"{ways[-1].test}, the largest p of all ways",
        p_t=None,
        p_permutation=None,
        alpha=ways[0].alpha,
        wins=wins,
        losses=losses,
        ties=differences[0].n_tasks - wins - losses,
        effect=None,
        mcnemar=None,
    )


def _nothing(a: Values, b: Values, alpha: float, notes: list[str]) -> PairedDifference:
    """A comparison that cannot be made, with its reason."""
    return PairedDifference(
        difference=Estimate(
            value=None,
            level=1 - alpha,
            method="none",
            unit="tasks, paired",
            n_tasks=len(a),
            n_trials=count_trials(a) + count_trials(b),
            notes=notes,
        ),
        verdict=UNDECIDED,
        p=None,
        test="none",
        p_t=None,
        p_permutation=None,
        alpha=alpha,
        wins=0,
        losses=0,
        ties=0,
        effect=None,
        mcnemar=None,
    )
