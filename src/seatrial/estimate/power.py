"""How many tasks, and how many trials of each, a wanted difference needs.

Normal approximations throughout: with fewer than about 30 tasks add two or three, since the test is a t test.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist, fmean, variance

import msgspec

from seatrial.estimate.clustered import design_effect
from seatrial.estimate.trials import Outcomes, all_known

# No one runs more; beyond, a plan is a slip of the keyboard.
MOST_TASKS = 1e9
# Below this nothing that was measured on fewer tasks than that differs.
LEAST_DIFFERENCE = 1e-9


class TrialSpread(msgspec.Struct, frozen=True, kw_only=True):
    """How trials vary, in squared units of the measure.

    Attributes:
        between: variance over tasks of the true difference (paired) or true rate (one system), at least 0.
        within_a, within_b: mean variance of the trials of one task, at least 0.
        trials_a, trials_b: trials of each task, at least 1.
    """

    between: float
    within_a: float = 0.0
    within_b: float = 0.0
    trials_a: int = 1
    trials_b: int = 1

    @property
    def per_task(self) -> float:
        """Variance one task adds to the mean: ω² + σ_a²/K_a + σ_b²/K_b."""
        return self.between + self.within_a / self.trials_a + self.within_b / self.trials_b


def paired_tasks(difference: float, spread: TrialSpread, alpha: float = 0.05, power: float = 0.8) -> int:
    """Tasks a paired comparison needs: ⌈(z_{α/2} + z_β)²·(ω² + σ_a²/K_a + σ_b²/K_b)/δ²⌉ (Miller 2024).

    Args:
        difference: δ, the smallest worth finding, not 0.
        spread: of the two systems' trials.
        alpha: two-sided level of the test, in (0, 1).
        power: wanted chance to find it, in (0, 1).

    Raises:
        ValueError: an argument is out of range.
    """
    _refuse_spread(spread)
    return _whole(_squared_reach(alpha, power) * spread.per_task / _refuse_difference(difference) ** 2)


def detectable_difference(tasks: int, spread: TrialSpread, alpha: float = 0.05, power: float = 0.8) -> float:
    """Smallest difference so many paired tasks find with the wanted power; the inverse of ``paired_tasks``.

    Raises:
        ValueError: an argument is out of range.
    """
    _refuse_spread(spread)
    if tasks < 1:
        raise ValueError(f"detectable_difference: {tasks} tasks; needs 1 at least")
    return math.sqrt(_squared_reach(alpha, power) * spread.per_task / tasks)


def unpaired_tasks(
    rates: tuple[float, float],
    trials_per_task: int = 1,
    icc: float = 0.0,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int:
    """Tasks on EACH side when two systems run on different tasks and rates are compared.

    Trials: (z_{α/2}·√(2p̄q̄) + z_β·√(p₁q₁ + p₂q₂))²/δ² (Fleiss 1981), times the design effect
    1 + (m − 1)·ICC, over m trials a task.

    Args:
        rates: expected success of both, in (0, 1) and unequal.
        trials_per_task: m, at least 1.
        icc: correlation of two trials of one task, in [0, 1].
        alpha: two-sided level of the test, in (0, 1).
        power: wanted chance to find the difference, in (0, 1).

    Raises:
        ValueError: an argument is out of range.
    """
    if not all(0 < rate < 1 for rate in rates) or not 0 <= icc <= 1:
        raise ValueError(f"unpaired_tasks: rates {rates}, ICC {icc}; needs rates in (0, 1) and 0 <= ICC <= 1")
    difference, mean = _refuse_difference(rates[0] - rates[1]), fmean(rates)
    z_alpha, z_beta = _quantiles(alpha, power)
    spread = math.sqrt(math.fsum(rate * (1 - rate) for rate in rates))
    trials = (z_alpha * math.sqrt(2 * mean * (1 - mean)) + z_beta * spread) ** 2 / difference**2
    return _whole(trials * design_effect(trials_per_task, icc) / trials_per_task)


class Pilot(msgspec.Struct, frozen=True, kw_only=True):
    """What a pilot run says of the spread of a rate.

    Attributes:
        between: variance over tasks of the true rates, estimated, at least 0.
        within: task to the variance of its trials, p(1 − p) with p pulled to ½ by half a trial each way, so
            that a task that never varied yet is not taken as certain.
    """

    between: float
    within: dict[str, float]


class TrialPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to run next.

    Attributes:
        tasks: tasks in all, piloted ones included.
        repeats: piloted task to its trials in all; other tasks get ``other_repeats``.
        other_repeats: trials of every task without a pilot.
        trials: in all.
        error: standard error the plan should reach.
        reached: whether that is at most the wanted one.
        notes: why, as whole sentences.
    """

    tasks: int
    repeats: dict[str, int]
    other_repeats: int
    trials: int
    error: float
    reached: bool
    notes: list[str]


def pilot_spread(outcomes: Outcomes) -> Pilot:
    """Split a pilot's variance: of the tasks' means, less what their trials' noise explains.

    Args:
        outcomes: task to the outcomes of its trials, all known, of two tasks at least.

    Raises:
        ValueError: an unknown outcome, or fewer than two tasks.
    """
    known = all_known(outcomes, "pilot_spread")
    if len(known) < 2:
        raise ValueError("pilot_spread: one task shows no spread between tasks; run another")
    within, noise = {}, []
    for task, trials in known.items():
        rate = (sum(trials) + 0.5) / (len(trials) + 1)
        within[task] = rate * (1 - rate)
        noise.append(within[task] / len(trials))
    return Pilot(between=max(0.0, variance(map(fmean, known.values())) - fmean(noise)), within=within)


def plan_trials(
    pilot: Pilot, wanted_error: float, tasks_available: int, most_repeats: int = 100
) -> TrialPlan:
    """Add tasks first; only when there are no more, repeat those whose trials vary most (Neyman 1934).

    A task says more than a repeat: it lowers both parts of (ω² + σ²/K)/T, a repeat one only.

    Args:
        pilot: from ``pilot_spread``.
        wanted_error: standard error of the mean rate, above 0.
        tasks_available: tasks that could be run in all, at least those of the pilot.
        most_repeats: trials of one task at most, at least 1.

    Returns:
        Not reached, with the reason, where the tasks differ so much that no repeats can help.

    Raises:
        ValueError: an argument is out of range.
    """
    if not wanted_error > 0 or tasks_available < len(pilot.within) or most_repeats < 1:
        raise ValueError(
            f"plan_trials: error {wanted_error}, {tasks_available} tasks for a pilot of {len(pilot.within)}, "
            f"{most_repeats} repeats; out of range"
        )
    typical = fmean(pilot.within.values())
    wanted = max(len(pilot.within), _whole((pilot.between + typical) / wanted_error**2))
    if wanted <= tasks_available:
        note = f"{wanted} tasks of {tasks_available} reach it with one trial each, so tasks are added first."
        return _plan(pilot, wanted, dict.fromkeys(pilot.within, 1), 1, wanted_error, [note])
    others = tasks_available - len(pilot.within)
    deviations = [math.sqrt(v) for v in pilot.within.values()] + [math.sqrt(typical)] * (others > 0)
    copies = [1.0] * len(pilot.within) + [float(others)] * (others > 0)
    left = wanted_error**2 * tasks_available**2 - pilot.between * tasks_available
    notes = [f"All {tasks_available} tasks are used; trials are added where they vary most."]
    if left <= 0:
        notes.append("Tasks differ too much: no number of repeats reaches the wanted error. Add tasks.")
        counts = [1] * len(deviations)
    else:
        counts = _neyman(deviations, copies, left, most_repeats)
    repeats = dict(zip(pilot.within, counts, strict=False))
    return _plan(pilot, tasks_available, repeats, counts[-1] if others else 0, wanted_error, notes)


def _neyman(deviations: Sequence[float], copies: Sequence[float], left: float, most: int) -> list[int]:
    """Fewest trials, in proportion to deviations and at least 1, with Σ copies·σ²/trials <= left."""
    sizes = list(zip(deviations, copies, strict=True))
    single: set[int] = set()  # those whose proportion would be below one trial get one
    while True:
        room = left - math.fsum(c * d * d for i, (d, c) in enumerate(sizes) if i in single)
        free = math.fsum(c * d for i, (d, c) in enumerate(sizes) if i not in single)
        if room <= 0 or free == 0:
            break
        fewer = {i for i, (d, _) in enumerate(sizes) if i not in single and d * free < room}
        if not fewer:
            break
        single |= fewer
    wanted = [d * free / room if room > 0 else math.inf for d in deviations]
    return [
        1 if i in single else most if number >= most else max(1, math.ceil(number - 1e-9))
        for i, number in enumerate(wanted)
    ]


def _plan(
    pilot: Pilot, tasks: int, repeats: Mapping[str, int], other: int, wanted: float, notes: list[str]
) -> TrialPlan:
    others = tasks - len(repeats)
    typical = fmean(pilot.within.values())
    noise = math.fsum(pilot.within[task] / count for task, count in repeats.items())
    noise += others * typical / other if others else 0.0
    error = math.sqrt(pilot.between / tasks + noise / tasks**2)
    reached = error <= wanted * (1 + 1e-9)
    if not reached and "Add tasks." not in notes[-1]:
        notes = [*notes, "The most repeats allowed do not reach the wanted error."]
    return TrialPlan(
        tasks=tasks,
        repeats=dict(repeats),
        other_repeats=other if others else 0,
        trials=sum(repeats.values()) + others * other,
        error=error,
        reached=reached,
        notes=notes,
    )


def _quantiles(alpha: float, power: float) -> tuple[float, float]:
    if not 0 < alpha < 1 or not 0 < power < 1:
        raise ValueError(f"power: alpha {alpha}, power {power}; both lie in (0, 1)")
    return NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)


def _squared_reach(alpha: float, power: float) -> float:
    return sum(_quantiles(alpha, power)) ** 2


def _refuse_difference(difference: float) -> float:
    if abs(difference) < LEAST_DIFFERENCE or not math.isfinite(difference):
        raise ValueError(
            f"power: a difference of {difference} cannot be looked for; name the smallest that matters"
        )
    return difference


def _refuse_spread(spread: TrialSpread) -> None:
    parts = (spread.between, spread.within_a, spread.within_b)
    if min(parts) < 0 or not all(map(math.isfinite, parts)) or min(spread.trials_a, spread.trials_b) < 1:
        raise ValueError(f"power: {spread}; variances are at least 0 and every task has a trial")


def _whole(number: float) -> int:
    """Rounded up, but not by what rounding adds to a whole number; at least 1.

    Raises:
        ValueError: it is beyond any number that could be run.
    """
    if not number <= MOST_TASKS:
        raise ValueError(
            f"power: {number:.3g} tasks, more than {MOST_TASKS:g}. Look for a greater difference"
        )
    return max(1, math.ceil(number * (1 - 1e-12)))
