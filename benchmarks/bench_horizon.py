"""Horizon draws fitted in one batch, against a plain scikit-learn loop on the same draws."""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from seatrial.estimate.bootstrap import Counts, Floats
from seatrial.estimate.hierarchy import hierarchy_weights
from seatrial.estimate.horizon_draws import HorizonData, trial_weights
from seatrial.estimate.logistic import fit_logistic

TASKS, TRIALS, DRAWS, RIDGE = 170, 8, 1_000, 0.1
# The loop is slow, so it runs the first of the draws only and is scaled.
LOOP_DRAWS = 200
# Ours is over in a blink, so it runs several times and is averaged.
REPEATS = 5
AIM = 50


def suite(rng: np.random.Generator) -> HorizonData:
    """Tasks of 1 to 1,400 minutes in families of one to nine, of differing difficulty at one length."""
    log_minutes = rng.uniform(0, 10.5, TASKS)
    family = np.unique(rng.integers(0, 40, TASKS), return_inverse=True)[1]
    rate = 1 / (1 + np.exp(-(0.6 * (5 - log_minutes) + rng.normal(0, 1, TASKS))))
    names = [f"t{task:03d}" for task in range(TASKS)]
    trials = np.full(TASKS, TRIALS)
    return HorizonData(names, np.exp2(log_minutes), family, trials, rng.binomial(trials, rate))


def draws(data: HorizonData, rng: np.random.Generator) -> tuple[Counts, Counts]:
    """Trials and successes of each task in each draw, as the estimate draws them."""
    trials = hierarchy_weights(data.family, DRAWS, rng) * data.trials
    return trials, rng.binomial(trials, data.successes / data.trials)


class Rows(NamedTuple):
    """The drawn trials of one fit, one an entry."""

    lengths: Floats
    won: Counts
    weights: Floats


def rows(data: HorizonData, trials: Counts, successes: Counts) -> list[Rows]:
    """The trials of the first draws written out, as the loop takes them; not part of what is measured."""
    weight, x, found = trial_weights(data, "invsqrt"), np.log2(data.minutes), []
    for draw in range(LOOP_DRAWS):
        shares = np.repeat(weight, trials[draw])
        pairs = zip(successes[draw], trials[draw] - successes[draw], strict=True)
        won = np.concatenate([np.repeat([1, 0], pair) for pair in pairs])
        found.append(Rows(np.repeat(x, trials[draw])[:, None], won, shares / shares.sum()))
    return found


def loop(drawn: list[Rows]) -> Floats:
    """One scikit-learn fit a draw."""
    found = np.empty(len(drawn))
    for place, (lengths, won, weights) in enumerate(drawn):
        model = LogisticRegression(C=1 / RIDGE).fit(lengths, won, sample_weight=weights)
        found[place] = 2 ** (-model.intercept_[0] / model.coef_[0, 0])
    return found


def cpu(work: Callable[[], Floats]) -> tuple[float, Floats]:
    """Processor seconds and the result."""
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def main() -> list[str]:
    """The CPU ratio, and how far the two results lie apart."""
    rng = np.random.default_rng(0)
    data = suite(rng)
    trials, successes = draws(data, rng)
    weight, x = trial_weights(data, "invsqrt"), np.log2(data.minutes)

    def ours() -> Floats:
        for _ in range(REPEATS):
            fits = fit_logistic(weight * trials, weight * successes, x, RIDGE)
            found = np.exp2(-fits.intercept / fits.slope)
        return found

    # Once before measuring: imports and first calls are nobody's work, and only loaded libraries heed limits.
    written = rows(data, trials, successes)
    ours()
    loop(written[:1])
    # One thread each: the loop's threads would spin, and its processor time would not be its work.
    with threadpool_limits(1):
        our_cpu, batch = cpu(ours)
        loop_cpu, one_by_one = cpu(lambda: loop(written))
    ratio = loop_cpu / LOOP_DRAWS / (our_cpu / REPEATS / DRAWS)
    apart = float(np.abs(one_by_one / batch[:LOOP_DRAWS] - 1).max())
    return [
        f"{DRAWS} fits of {TASKS} tasks x {TRIALS} trials: scikit-learn loop over ours "
        f"{ratio:.0f}x CPU (aim >= {AIM}x; the loop ran {LOOP_DRAWS}, "
        f"scaled); 50 % horizons differ by {apart:.1e} relative at most"
    ]
