"""One success among k attempts (pass@k), k in a row (pass^k), and the attempt a selector picks (select@k).

Every quantity is computed for each task without bias from its n attempts, then averaged: a function of the
mean rate would hide that tasks differ (three tasks at 1, .5 and 0 are not one task at .5 three times).
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import Literal

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import DRAWS, TASKS_ONLY, bootstrap_means, percentile_interval
from seatrial.estimate.estimate import NO_ENDS, Estimate, Said, say
from seatrial.estimate.means import mean_over_tasks
from seatrial.estimate.rates import wilson, wilson_effective
from seatrial.estimate.trials import (
    ONE_TASK,
    Outcomes,
    Values,
    count_trials,
    count_unknown,
    measured,
    refuse_what_is_no_number,
    scope_notes,
)
from seatrial.estimate.ways import YES_NO, bounds_note, fillings, task_ways

Kind = Literal["pass@k", "pass^k", "select@k"]
Choices = dict[str, list[float]]  # task to the values that its quantity may have, rising
# Ways of one task's unknown outcomes are tried one by one up to so many outcomes.
MOST_SELECTED = 8


class PassK(msgspec.Struct, frozen=True, kw_only=True):
    """One of the three quantities at one k.

    Attributes:
        kind, k: which, and for how many attempts.
        estimate: mean over tasks with the room's default interval.
        bootstrap: the same with a bootstrap over tasks.
        tasks: each task's own value; null where unknown outcomes could move it.
        attempts: attempts it stands for over all tasks: k a task.
        spend: what k attempts at a task cost on average; null without costs.
        distinct: expected share of different candidates among k of a task; null without candidates.
    """

    kind: Kind
    k: int
    estimate: Estimate
    bootstrap: Estimate
    tasks: dict[str, float | None]
    attempts: int
    spend: Estimate | None = None
    distinct: Estimate | None = None


class Attempts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the attempts beside their outcomes; each keyed and ordered as the outcomes are.

    Attributes:
        costs: cost of every attempt, at least 0; null is unknown.
        candidates: what every attempt produced, as a digest or text; equal ones are one candidate.
        side_effects: tasks whose attempts act on the world outside.
        dry_run: attempts were plans or dry runs, which change nothing outside.
    """

    costs: Values | None = None
    candidates: Mapping[str, Sequence[str]] | None = None
    side_effects: Collection[str] = ()
    dry_run: bool = False


def pass_at_k(n: int, successes: int, k: int) -> float:
    """Chance that k of n attempts, drawn without replacement, hold a success (Chen et al. 2021).

    1 − C(n − c, k)/C(n, k), unbiased for n independent attempts. In [0, 1].

    Raises:
        ValueError: not 0 <= successes <= n, or not 1 <= k <= n.
    """
    _refuse_counts("pass_at_k", n, successes, k)
    return 1 - math.comb(n - successes, k) / math.comb(n, k)


def pass_hat_k(n: int, successes: int, k: int) -> float:
    """Chance that k of n attempts, drawn without replacement, all succeed (Yao et al. 2024).

    C(c, k)/C(n, k), unbiased for n independent attempts. In [0, 1].

    Raises:
        ValueError: not 0 <= successes <= n, or not 1 <= k <= n.
    """
    _refuse_counts("pass_hat_k", n, successes, k)
    return math.comb(successes, k) / math.comb(n, k)


def coin_at_k(rate: float, k: int) -> float:
    """What pass@k would be if every attempt were a toss of one coin: 1 − (1 − rate)^k.

    A model, not an estimate: attempts at a task are alike, so the truth lies lower when ``rate`` is a mean
    over tasks. It is the only answer for k beyond the attempts made, and never given as pass@k.

    Raises:
        ValueError: rate is not in [0, 1], or k < 1.
    """
    if not 0 <= rate <= 1 or k < 1:
        raise ValueError(f"coin_at_k({rate}, {k}): needs 0 <= rate <= 1 and k >= 1")
    return 1 - (1 - rate) ** k


def select_at_k(successes: Sequence[bool], scores: Sequence[float], k: int) -> float:
    """Chance that the best-scored of k attempts, drawn without replacement, is a success.

    Σ over groups of equal score, b attempts below and g inside: [C(b + g, k) − C(b, k)]/C(n, k) times the
    group's success rate; equal scores are broken by chance.

    Args:
        successes: of each attempt.
        scores: of each attempt; the highest is picked. Finite.
        k: 1 … attempts.

    Raises:
        ValueError: lengths differ, a score is not finite, or k is out of range.
    """
    n = len(successes)
    if len(scores) != n or not all(map(math.isfinite, scores)):
        raise ValueError(f"select_at_k: {n} outcomes and {len(scores)} scores; needs a finite score for each")
    _refuse_counts("select_at_k", n, sum(map(bool, successes)), k)
    chance, below = 0.0, 0
    for score in sorted(set(scores)):
        group = [bool(won) for won, own in zip(successes, scores, strict=True) if own == score]
        picked = math.comb(below + len(group), k) - math.comb(below, k)
        chance += picked / math.comb(n, k) * fmean(group)
        below += len(group)
    return chance


def pass_k(
    outcomes: Outcomes,
    k: int,
    rng: np.random.Generator,
    kind: Kind = "pass@k",
    scores: Values | None = None,
    about: Attempts | None = None,
    level: float = 0.95,
    draws: int = DRAWS,
) -> PassK:
    """pass@k, pass^k or select@k over tasks; every task counts once.

    With k = 1 the first two are the success rate. The default interval is Wilson's on the effective number
    of trials, a task counting as its disjoint groups of k attempts. Unknown outcomes are taken both ways.

    Args:
        outcomes: task to the outcomes of its attempts, at least k each.
        k: attempts, at least 1.
        rng: source of all randomness.
        kind: which quantity.
        scores: what the selector saw, for select@k: a finite score for every attempt.
        about: costs, candidates and side effects of the attempts. A task with side effects is left out of
            pass@k and select@k beyond k = 1, by name, unless the attempts were dry runs.
        level: confidence level, in (0, 1).
        draws: bootstrap samples, at least 1.

    Raises:
        ValueError: k is below 1 or above a task's attempts (the task is named), or scores are missing.
    """
    known, extra = measured(outcomes), about or Attempts()
    notes = scope_notes(outcomes)
    if kind == "select@k" and (scores is None or any(len(scores.get(t, ())) != len(known[t]) for t in known)):
        raise ValueError("select@k: give a score for every attempt of every task")
    acting = sorted(set(extra.side_effects) & set(known))
    if acting and kind != "pass^k" and k > 1:
        if extra.dry_run:
            notes.append(f"At dry-run level: {len(acting)} tasks have side effects.")
        else:
            known = {task: trials for task, trials in known.items() if task not in acting}
            notes += [
                f"{task} is left out: it has side effects, so only dry runs may be repeated."
                for task in acting
            ]
    for task, trials in known.items():
        if not 1 <= k <= len(trials):
            raise ValueError(
                f"{kind}: k = {k}, but {task} has {len(trials)} attempts. Run more, or choose a smaller k."
            )
    choices = {t: _task_values(kind, trials, (scores or {}).get(t, ()), k) for t, trials in known.items()}
    unit = "tasks" if len(known) != 1 else f"attempts, {ONE_TASK}"
    said = Said(level, unit, len(known), count_trials(known), notes)
    return PassK(
        kind=kind,
        k=k,
        estimate=_default(choices, known, k, said),
        bootstrap=_bootstrap(choices, known, rng, draws, said),
        tasks={t: values[0] if len(values) == 1 else None for t, values in choices.items()},
        attempts=k * len(known),
        spend=_spend(extra.costs, known, k, level),
        distinct=_distinct(extra.candidates, known, k, level),
    )


def _task_values(
    kind: Kind, trials: Sequence[bool | None], scores: Sequence[float | None], k: int
) -> list[float]:
    """What a task's quantity may be, rising; one value where no outcome is unknown.

    For select@k it matters which of the unknown ones are successes: all ways of up to 8, else the two ends.
    """
    unknown = [place for place, value in enumerate(trials) if value is None]
    if kind != "select@k" or not unknown:
        ways = fillings(trials, YES_NO) if unknown else [trials]
        return sorted({_task_value(kind, [bool(value) for value in way], scores, k) for way in ways})
    outcomes = [(False, True)] * len(unknown)
    found = set()
    for way in product(*outcomes) if len(unknown) <= MOST_SELECTED else zip(*outcomes, strict=True):
        filled = [bool(value) for value in trials]
        for place, value in zip(unknown, way, strict=True):
            filled[place] = value
        found.add(_task_value(kind, filled, scores, k))
    return sorted(found)


def _task_value(kind: Kind, trials: Sequence[bool], scores: Sequence[float | None], k: int) -> float:
    if kind == "select@k":
        return select_at_k(trials, [math.nan if score is None else score for score in scores], k)
    count = pass_at_k if kind == "pass@k" else pass_hat_k
    return count(len(trials), sum(trials), k)


def _refuse_counts(what: str, n: int, successes: int, k: int) -> None:
    if not 0 <= successes <= n or not 1 <= k <= n:
        raise ValueError(f"{what}({n}, {successes}, {k}): needs 0 <= successes <= n and 1 <= k <= n")


def _default(choices: Choices, known: Outcomes, k: int, said: Said) -> Estimate:
    """Mean over tasks with Wilson's interval on the effective number of groups of k attempts."""
    if not known:
        return say(None, NO_ENDS, "none", said, ["No task to speak of."])
    groups = [len(trials) // k for trials in known.values()]
    ways = task_ways(list(choices.values()), float, [str(group) for group in groups])
    means = [fmean(way) for way in ways.found]
    if len(known) == 1:
        ends = [wilson(min(groups[0], mean * groups[0]), groups[0], said.level) for mean in means]
        method = f"Wilson on groups of {k} attempts, {ONE_TASK}"
    else:
        ends = [wilson_effective(_within(way), groups, said.level) for way in ways.found]
        method = f"mean of tasks, Wilson on the effective number of groups of {k} attempts"
    unknown = count_unknown(known)
    notes = [*bounds_note(means, unknown), *ways.note] if unknown else []
    value = None if unknown else means[0]
    return say(value, (min(e[0] for e in ends), max(e[1] for e in ends)), method, said, notes)


def _within(values: Collection[float]) -> list[float]:
    """The values without what rounding puts beyond 0 and 1."""
    return [min(1.0, max(0.0, value)) for value in values]


def _bootstrap(
    choices: Choices,
    known: Outcomes,
    rng: np.random.Generator,
    draws: int,
    said: Said,
) -> Estimate:
    """Bootstrap of all least and of all greatest values: on the same draws no other way reaches further."""
    ways = [{task: values[end] for task, values in choices.items()} for end in (0, -1)]
    value = None if count_unknown(known) or not known else fmean(ways[0].values())
    if len(known) < 2:
        why = "No bootstrap interval, since there are no several tasks to draw."
        return say(value, NO_ENDS, TASKS_ONLY, said, [why])
    sample = bootstrap_means([{t: [v] for t, v in way.items()} for way in ways], rng, draws)
    ends = [percentile_interval(sample[:, column], said.level) for column in (0, 1)]
    low, high = min(e[0] for e in ends), max(e[1] for e in ends)
    if any(end[1] - end[0] <= 1e-12 for end in ends):
        return say(value, NO_ENDS, TASKS_ONLY, said, ["No bootstrap interval, since all its draws agree."])
    return say(value, (low, high), TASKS_ONLY, said)


def _spend(costs: Values | None, known: Outcomes, k: int, level: float) -> Estimate | None:
    """Mean cost of k attempts at a task."""
    if costs is None or not known:
        return None
    refuse_what_is_no_number(costs, "pass@k costs")
    scaled = {t: [None if c is None else k * c for c in costs.get(t, ())] for t in known}
    return mean_over_tasks(scaled, f"cost of {k} attempts", level, limits=(0.0, math.inf))


def _distinct(
    candidates: Mapping[str, Sequence[str]] | None, known: Outcomes, k: int, level: float
) -> Estimate | None:
    """Expected share of different candidates among k: Σ over kinds of 1 − C(n − g, k)/C(n, k), over k."""
    if candidates is None or not known:
        return None
    shares: dict[str, list[float | None]] = {}
    for task, trials in known.items():
        n = len(trials)
        if len(candidates.get(task, ())) != n:
            raise ValueError(f"pass@k: {task} has {n} attempts; give a candidate for each")
        shares[task] = [math.fsum(pass_at_k(n, size, k) for size in Counter(candidates[task]).values()) / k]
    return mean_over_tasks(shares, "share of different candidates", level, limits=(0.0, 1.0))
