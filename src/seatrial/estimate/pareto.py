"""Which systems no other beats on success and cost (and violations) at once, and how sure that is.

The hard safety gate comes first: a system that breaks it is shown and never on the frontier, however cheap.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.estimate.bootstrap import DRAWS, Floats
from seatrial.estimate.draws import drawn_sums
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.means import mean_over_tasks
from seatrial.estimate.rates import rate_over_tasks
from seatrial.estimate.trials import (
    Outcomes,
    Values,
    count_unknown,
    measured,
    refuse_what_is_no_number,
    scope_notes,
)


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One system's trials.

    Attributes:
        outcomes: task to the outcomes of its valid trials.
        costs: task to the cost of every attempt, failed and repeated ones included, each at least 0.
        violations: task to whether each valid trial broke a hard constraint; null is unknown. Without it
            there is neither a gate nor a third axis.
    """

    outcomes: Outcomes
    costs: Values
    violations: Outcomes | None = None


class ParetoPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a system stands.

    Attributes:
        system: its name.
        success: rate over tasks; higher is better.
        cost: of all attempts per valid trial, mean over tasks; lower is better.
        violations: rate of trials that broke a hard constraint; null without such data.
        passes_gate: whether that rate is at most the limit; null where it is unknown or there is no gate.
        gate_probability: share of bootstrap samples within the limit; null likewise.
        on_frontier: no system within the gate is at least as good on all axes and better on one; null where
            the system cannot be placed (unknown values), or where one that cannot be placed beats it or does
            not, by what is unknown; false where it breaks the gate.
        frontier_probability: share of bootstrap samples in which it is on the frontier of the same systems;
            null where that hangs on what is unknown, the notes then say between what it lies.
        dominates: other placed system to the share of samples in which this one dominates it.
        dominated_by: systems that dominate it at the point estimates, whatever is unknown of them.
        notes: why it is not placed, or what its place hangs on.
    """

    system: str
    success: Estimate
    cost: Estimate
    violations: Estimate | None
    passes_gate: bool | None
    gate_probability: float | None
    on_frontier: bool | None
    frontier_probability: float | None
    dominates: dict[str, float]
    dominated_by: list[str]
    notes: list[str] = []


def pareto(
    systems: Mapping[str, Candidate],
    rng: np.random.Generator,
    gate: float | None = None,
    level: float = 0.95,
    draws: int = DRAWS,
) -> list[ParetoPoint]:
    """The frontier of success and cost, violations a third axis where all systems have them.

    Samples draw tasks, the same for all systems, so that what is dominated is judged on paired tasks.

    Args:
        systems: name to trials, all of the same tasks.
        rng: source of all randomness.
        gate: highest allowed rate of trials with a hard violation, in [0, 1]; null for no gate.
        level: of the intervals, in (0, 1).
        draws: bootstrap samples, at least 1.

    Returns:
        One point a system, by falling success; those that cannot be placed come last.

    Raises:
        ValueError: no system, differing tasks, a bad cost or gate, or a gate without violations.
    """
    _refuse(systems, gate)
    third = all(one.violations is not None for one in systems.values())
    placed = [name for name in sorted(systems) if not _why_not(systems[name], third)]
    estimates = {name: _estimates(one, level) for name, one in systems.items()}
    if not placed:
        return [_unplaced(name, systems[name], estimates[name], third) for name in sorted(systems)]
    rest = [name for name in sorted(systems) if name not in placed]
    # A system without a place may still beat others: it stands at its best, and at its worst.
    dearest = _beyond_all(systems)
    shadows = [_at_an_end(systems[name], best, dearest) for best in (True, False) for name in rest]
    stood = [_axes(one, third) for one in [*(systems[name] for name in placed), *shadows]]
    rows = np.stack(stood, axis=1)  # (tasks, systems, axes)
    means = rows.mean(axis=0)
    flat = drawn_sums(rows.reshape(len(rows), -1), rng, draws) / len(rows)
    sample = flat.reshape(draws, len(stood), -1)
    allowed = np.ones(len(stood), bool) if gate is None else -means[:, 2] <= gate
    beats = _dominance(means[None])[0]
    shares = _dominance(sample)
    at_best = slice(0, len(placed) + len(rest))
    at_worst = [*range(len(placed)), *range(len(placed) + len(rest), len(stood))]
    free = [~(shares[:, those] & allowed[those][None, :, None]).any(axis=1) for those in (at_best, at_worst)]
    points = []
    for place, name in enumerate(placed):
        others = [other for other in range(len(placed)) if other != place]
        rivals = [placed[o] for o in others if beats[o, place] and allowed[o]]
        doubted = [r for i, r in enumerate(rest, len(placed)) if beats[i, place] and allowed[i]]
        surely = [r for i, r in enumerate(rest, len(placed) + len(rest)) if beats[i, place] and allowed[i]]
        rivals += surely
        ends = [float(one[:, place].mean()) if allowed[place] else 0.0 for one in free]
        notes = [] if allowed[place] else [f"Breaks the gate: more violations than {gate:g} of trials."]
        if ends[0] != ends[1]:
            notes.append(
                f"On the frontier in {100 * ends[0]:.0f} to {100 * ends[1]:.0f} % of the draws, by what is "
                f"unknown of {', '.join(rest)}."
            )
        success, cost, violations = estimates[name]
        points.append(
            ParetoPoint(
                system=name,
                success=success,
                cost=cost,
                violations=violations,
                passes_gate=None if gate is None else bool(allowed[place]),
                gate_probability=None if gate is None else float((-sample[:, place, 2] <= gate).mean()),
                on_frontier=None
                if allowed[place] and doubted and not rivals
                else bool(allowed[place]) and not rivals,
                frontier_probability=ends[0] if ends[0] == ends[1] else None,
                dominates={placed[o]: float(shares[:, place, o].mean()) for o in others},
                dominated_by=rivals,
                notes=notes,
            )
        )
    points.sort(key=lambda point: (-(point.success.value or 0.0), point.cost.value or 0.0, point.system))
    return points + [_unplaced(name, systems[name], estimates[name], third) for name in rest]


def _refuse(systems: Mapping[str, Candidate], gate: float | None) -> None:
    if not systems:
        raise ValueError("pareto: no system")
    tasks = {name: set(measured(one.outcomes)) for name, one in systems.items()}
    first = next(iter(tasks))
    for name, one in systems.items():
        if other := sorted(tasks[name] ^ tasks[first]):
            raise ValueError(
                f"pareto: {other[0]} has trials of {name} or {first} only; compare the same tasks"
            )
        refuse_what_is_no_number(one.costs, f"pareto costs of {name}")
        if any(cost is not None and cost < 0 for costs in one.costs.values() for cost in costs):
            raise ValueError(f"pareto: a cost of {name} is below 0")
        if gate is not None and one.violations is None:
            raise ValueError(f"pareto: a gate needs to know the violations of {name}")
    if not tasks[first]:
        raise ValueError("pareto: no task has a valid trial")
    if gate is not None and not 0 <= gate <= 1:
        raise ValueError(f"pareto: gate {gate} is not a rate in [0, 1]")


def _why_not(one: Candidate, third: bool) -> str:
    """Why a system has no place; empty where it has one."""
    judged = measured(one.outcomes)
    if unknown := count_unknown(judged):
        return f"Not placed: {unknown} outcomes are unknown."
    paid = {task: one.costs.get(task, ()) for task in judged}
    if count_unknown(paid) or any(not len(costs) for costs in paid.values()):
        return "Not placed: a cost is unknown."
    broken = {task: (one.violations or {}).get(task, ()) for task in judged} if third else {}
    if count_unknown(broken) or any(not len(trials) for trials in broken.values()):
        return "Not placed: whether a hard constraint was broken is unknown in some trials."
    return ""


def _at_an_end(one: Candidate, best: bool, dearest: float) -> Candidate:
    """The system with all that is unknown taken for it, or all against it.

    An unknown cost has no greatest value: against it stands ``dearest``, beyond which nothing changes.
    """
    judged = measured(one.outcomes)
    unsaid = 0.0 if best else dearest
    costs = {task: one.costs.get(task) or [None] for task in judged}
    broken = {task: (one.violations or {}).get(task) or [None] for task in judged}
    return Candidate(
        outcomes={task: [best if v is None else v for v in trials] for task, trials in judged.items()},
        costs={task: [unsaid if c is None else c for c in paid] for task, paid in costs.items()},
        violations={task: [not best if v is None else v for v in trials] for task, trials in broken.items()},
    )


def _beyond_all(systems: Mapping[str, Candidate]) -> float:
    """A cost that makes its system the dearest of all, also as one of many trials in a mean."""
    known = sum(cost or 0.0 for one in systems.values() for costs in one.costs.values() for cost in costs)
    trials = sum(len(outcomes) for one in systems.values() for outcomes in one.outcomes.values())
    return (1.0 + known) * trials**2


def _axes(one: Candidate, third: bool) -> Floats:
    """Each task's success, −cost and −violations, so that higher is better on all; shape (tasks, axes)."""
    rows = []
    for task, trials in measured(one.outcomes).items():
        won = sum(bool(v) for v in trials) / len(trials)
        cost = sum(c for c in one.costs[task] if c is not None) / len(trials)
        row = [won, -cost]
        if third and one.violations is not None:
            broken = one.violations[task]
            row.append(-sum(bool(v) for v in broken) / len(broken))
        rows.append(row)
    return np.array(rows)


def _dominance(values: Floats) -> NDArray[np.bool_]:
    """Whether system i dominates j in each draw: values (draws, systems, axes), result (draws, i, j)."""
    found = np.empty((len(values), values.shape[1], values.shape[1]), bool)
    for system in range(values.shape[1]):
        # Means that are equal but for rounding are equal.
        gap = values[:, system, None, :] - values
        slack = 1e-12 * np.maximum(np.abs(values), np.abs(values[:, system, None, :]))
        found[:, system] = (gap >= -slack).all(axis=2) & (gap > slack).any(axis=2)
    return found


def _estimates(one: Candidate, level: float) -> tuple[Estimate, Estimate, Estimate | None]:
    judged = measured(one.outcomes)
    per_trial: dict[str, Sequence[float | None]] = {}
    unknown = attempts = 0
    for task, trials in judged.items():
        costs = one.costs.get(task, ())
        known = [cost for cost in costs if cost is not None]
        attempts += len(costs)
        unknown += len(costs) - len(known)
        per_trial[task] = [sum(known) / len(trials) if costs and len(known) == len(costs) else None]
    cost = mean_over_tasks(per_trial, "cost", level, limits=(0.0, float("inf")))
    notes = cost.notes
    if count_unknown(per_trial):
        # Each task stands for one value there, but what is unknown is the cost of attempts.
        missing = f"Unknown in {unknown} of {attempts} attempts." if attempts else "No cost is given."
        notes = [*scope_notes(per_trial), missing]
    cost = msgspec.structs.replace(cost, n_trials=sum(len(trials) for trials in judged.values()), notes=notes)
    broken = None if one.violations is None else rate_over_tasks(one.violations, level)
    return rate_over_tasks(one.outcomes, level), cost, broken


def _unplaced(
    name: str, one: Candidate, estimates: tuple[Estimate, Estimate, Estimate | None], third: bool
) -> ParetoPoint:
    return ParetoPoint(
        system=name,
        success=estimates[0],
        cost=estimates[1],
        violations=estimates[2],
        passes_gate=None,
        gate_probability=None,
        on_frontier=None,
        frontier_probability=None,
        dominates={},
        dominated_by=[],
        notes=[_why_not(one, third)],
    )
