"""Do the intervals of the project's estimators cover what was set, at their nominal rate?"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.disturbed_replay import DisturbedTruth, disturbed_truth
from benchmarks.disturbed_runs import config_of
from benchmarks.disturbed_studies import CLASH, GOAL, HALF, LOOKS, RATE, implied, measure_of, noticed_at
from benchmarks.disturbed_task import ORACLE_ACTIONS, write_disturbed
from benchmarks.findings import Findings
from benchmarks.shadow import Offered
from benchmarks.truth_runs import LEVEL
from seatrial.estimate.amplification import Recovered, recovery_amplification
from seatrial.estimate.detection_latency import Wait, notice_latency
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.means import mean_over_tasks
from seatrial.estimate.rates import rate_of_trials, wilson
from seatrial.spec.loading import load_task

BATCHES, BATCH = 300, 40
COVERED = 0.95
# Intervals for shares of few trials cannot hit their level exactly.
MARGIN = 0.02
# One run: its disturbed trials, each with the undisturbed one of the same seed.
Batch = Sequence[tuple[DisturbedTruth, DisturbedTruth]]


def questions() -> Mapping[tuple[str, str], tuple[float, Callable[[Batch], Estimate]]]:
    """By arm and measure: what was set, and how the project estimates it from one run."""
    set_to = implied()
    return {
        (RATE, "noticed_at_once"): (set_to[RATE, "noticed_at_once"], _share("noticed_at_once")),
        (RATE, "missed"): (1 - set_to[RATE, "recovered"], _missed),
        (RATE, "recovered"): (set_to[RATE, "recovered"], lambda batch: _amplified(batch)[1]),
        (RATE, "recovery_cost"): (set_to[RATE, "recovery_cost"], _cost),
        (RATE, "amplification"): (amplification(), lambda batch: _amplified(batch)[0]),
        (GOAL, "adopted"): (set_to[GOAL, "adopted"], _share("adopted")),
        (GOAL, "residue_actions"): (set_to[GOAL, "residue_actions"], _share("residue_actions")),
        (CLASH, "conflict_detected"): (set_to[CLASH, "conflict_detected"], _share("conflict_detected")),
    }


def amplification() -> float:
    """Mean of the extra actions over those of the oracle, of trials that recover.

    A report and the parts 1 and 2 again: 3. Each look at which the change was not noticed leaves a part more
    to do again.
    """
    seen = [noticed_at(look) for look in range(1, LOOKS + 1)]
    extra = sum(share * (3 + missed) for missed, share in enumerate(seen)) / sum(seen)
    return extra / ORACLE_ACTIONS


def _share(measure: str) -> Callable[[Batch], Estimate]:
    return lambda batch: rate_of_trials([bool(measure_of(one, measure)) for one, _ in batch], COVERED)


def _cost(batch: Batch) -> Estimate:
    costs = [one.recovery_cost for one, _ in batch if one.recovery_cost is not None]
    return mean_over_tasks({"small": costs}, "actions", COVERED)


def _missed(batch: Batch) -> Estimate:
    """Of the latency until the change is understood: the share that never does."""
    waits = [
        Wait(
            noticed=one.understood_step is not None, at=(one.understood_step or one.actions) - one.fired_step
        )
        for one, _ in batch
        if one.fired_step is not None
    ]
    return notice_latency({"small": waits}, np.random.default_rng(1), COVERED, draws=1).miss_rate


def _amplified(batch: Batch) -> tuple[Estimate, Estimate]:
    """Amplification, and the recovery rate beside it."""
    trials = [
        Recovered(recovered=one.recovered, extra=one.actions - base.actions, oracle=ORACLE_ACTIONS)
        for one, base in batch
    ]
    found = recovery_amplification({"small": trials}, "actions", COVERED)
    return found.ratio, found.recovery_rate


def coverage(trials: int, workers: int) -> Findings:
    """How often the intervals cover what was set, over replayed runs.

    Args:
        trials, workers: of no use here: nothing is run.
    """
    found = Findings("coverage", [f"{BATCHES} replayed runs of {BATCH} trials, {COVERED:.0%} intervals"])
    asked = questions()
    arms = dict.fromkeys(["baseline", *(arm for arm, _ in asked)])
    with tempfile.TemporaryDirectory() as name:
        config = config_of(load_task(write_disturbed(Path(name) / "small")), HALF)
    offered, seeds = Offered(belief=True), range(BATCHES * BATCH)
    played = {arm: [disturbed_truth(config, seed, arm, offered) for seed in seeds] for arm in arms}
    for (arm, measure), (should, estimate) in asked.items():
        pairs = list(zip(played[arm], played["baseline"], strict=True))
        batches = [pairs[start : start + BATCH] for start in range(0, len(pairs), BATCH)]
        covers = sum(_covers(estimate(batch), should) for batch in batches)
        low, high = wilson(covers, BATCHES, LEVEL)
        text = f"{measure:<17} set {should:.4f}  covered {covers / BATCHES:.3f} [{low:.3f}, {high:.3f}]"
        found.lines.append(text)
        if high < COVERED - MARGIN or low > COVERED + MARGIN:
            found.wrong.append(f"does not cover at its level: {text}")
    return found


def _covers(estimate: Estimate, value: float) -> bool:
    return estimate.low is not None and estimate.high is not None and estimate.low <= value <= estimate.high
