"""Utility under declared coefficients, and how the ranking hangs on them.

Not a composite score of systems: whoever pays declares what a unit of each resource is worth, and the map
shows for which declarations another system would come first.
"""

import itertools
import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import DRAWS, Floats
from seatrial.estimate.clustered import clustered_t
from seatrial.estimate.draws import drawn_sums
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.trials import Values, all_known, count_trials

MOST_CELLS = 10_000


class SystemMeans(msgspec.Struct, frozen=True, kw_only=True):
    """What a system gains and uses.

    Attributes:
        success: task to its trials' success (or other gain), in [0, 1].
        amounts: resource ("money", "seconds") to task to the amount each trial used, at least 0.
    """

    success: Values
    amounts: Mapping[str, Values]


class UtilityCell(msgspec.Struct, frozen=True, kw_only=True):
    """The ranking under one declaration.

    Attributes:
        coefficients: resource to worth of one unit, in successes.
        utilities: system to its utility.
        ranking: systems from the highest utility; equal ones in the order of their names.
        first_probability: system to the share of bootstrap samples in which it comes first; shared firsts
            count by halves (thirds, …).
    """

    coefficients: dict[str, float]
    utilities: dict[str, float]
    ranking: list[str]
    first_probability: dict[str, float]


class UtilityMap(msgspec.Struct, frozen=True, kw_only=True):
    """All cells of a grid.

    Attributes:
        cells: one for every combination of coefficients.
        first_share: system to the share of cells it comes first in; shared firsts are split.
        stable: one system comes first, alone, in every cell.
    """

    cells: list[UtilityCell]
    first_share: dict[str, float]
    stable: bool


def utility(success: float, amounts: Mapping[str, float], coefficients: Mapping[str, float]) -> float:
    """success − Σ coefficient · amount, in successes.

    Args:
        success: rate, in [0, 1].
        amounts: resource to mean amount a trial uses.
        coefficients: resource to worth of one unit; exactly the resources of ``amounts``.

    Raises:
        ValueError: a coefficient is missing, stands for no amount, or is negative or not finite.
    """
    _refuse_coefficients(coefficients, set(amounts))
    return success - math.fsum(coefficients[name] * amount for name, amount in amounts.items())


def utility_estimate(system: SystemMeans, coefficients: Mapping[str, float], level: float = 0.95) -> Estimate:
    """Utility over tasks with the t interval over tasks, so that success and cost vary together.

    Raises:
        ValueError: a value is unknown or not finite, tasks differ by resource, or a bad coefficient.
    """
    _refuse_coefficients(coefficients, set(system.amounts))
    names = sorted(coefficients)
    tasks, rows = _rows("system", system, names)
    worth = rows @ np.array([1.0, *(-coefficients[name] for name in names)])
    found = clustered_t({task: [float(value)] for task, value in zip(tasks, worth, strict=True)}, level)
    declared = ", ".join(f"{coefficients[name]:g} per unit of {name}" for name in names)
    return msgspec.structs.replace(
        found,
        n_trials=count_trials(all_known(system.success, "utility")),
        notes=[*found.notes, f"Declared: {declared}. Another declaration may rank systems otherwise."],
    )


def utility_map(
    systems: Mapping[str, SystemMeans],
    grid: Mapping[str, Sequence[float]],
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> UtilityMap:
    """Rankings under every combination of coefficients; samples share their tasks among systems.

    Args:
        systems: name to means, all of the same tasks and with every resource of the grid.
        grid: resource to the coefficients to try; at most 10,000 combinations.
        rng: source of all randomness.
        draws: bootstrap samples, at least 1.

    Raises:
        ValueError: no system, differing tasks or resources, an unknown value, or a bad grid.
    """
    names = sorted(grid)
    if not systems or not names or not 1 <= math.prod(len(grid[name]) for name in names) <= MOST_CELLS:
        raise ValueError(f"utility_map: needs a system and 1 to {MOST_CELLS} combinations of coefficients")
    order = sorted(systems)
    tables = [_rows(name, systems[name], names) for name in order]
    if other := [name for name, table in zip(order, tables, strict=True) if table[0] != tables[0][0]]:
        raise ValueError(f"utility_map: {other[0]} has trials of other tasks than {order[0]}")
    rows = np.stack([table[1] for table in tables], axis=1)
    sample = (drawn_sums(rows.reshape(len(rows), -1), rng, draws) / len(rows)).reshape(draws, len(order), -1)
    cells = []
    for chosen in itertools.product(*(grid[name] for name in names)):
        coefficients = dict(zip(names, map(float, chosen), strict=True))
        _refuse_coefficients(coefficients, set(names))
        worth = np.array([1.0, *(-value for value in coefficients.values())])
        cells.append(_cell(order, coefficients, rows.mean(axis=0) @ worth, sample @ worth))
    shares = np.mean([_firsts(np.array([[c.utilities[s] for s in order]]))[0] for c in cells], axis=0)
    return UtilityMap(
        cells=cells,
        first_share={name: float(share) for name, share in zip(order, shares, strict=True)},
        stable=bool(shares.max() == 1),
    )


def _cell(
    order: Sequence[str], coefficients: dict[str, float], utilities: Floats, sample: Floats
) -> UtilityCell:
    chances = _firsts(sample).mean(axis=0)
    values = {name: float(value) for name, value in zip(order, utilities, strict=True)}
    return UtilityCell(
        coefficients=coefficients,
        utilities=values,
        ranking=sorted(order, key=lambda name: (-values[name], name)),
        first_probability={name: float(chance) for name, chance in zip(order, chances, strict=True)},
    )


def _firsts(utilities: Floats) -> Floats:
    """The share of a first place each system has, by row; equal but for rounding is equal."""
    top = utilities.max(axis=1, keepdims=True)
    first = utilities >= top - 1e-12 * np.maximum(1.0, np.abs(top))
    return np.asarray(first / first.sum(axis=1, keepdims=True), float)


def _rows(name: str, system: SystemMeans, resources: Sequence[str]) -> tuple[list[str], Floats]:
    """Tasks and each one's mean success and amounts, shape (tasks, 1 + resources)."""
    if missing := [resource for resource in resources if resource not in system.amounts]:
        raise ValueError(f"utility: {name} has no amounts of {missing[0]}")
    columns = [all_known(system.success, f"utility of {name}: success")]
    columns += [all_known(system.amounts[r], f"utility of {name}: {r}") for r in resources]
    if other := [r for r, c in zip(resources, columns[1:], strict=True) if set(c) != set(columns[0])]:
        raise ValueError(f"utility: {other[0]} of {name} is of other tasks than its successes")
    tasks = list(columns[0])
    return tasks, np.array([[float(np.mean(column[task])) for column in columns] for task in tasks])


def _refuse_coefficients(coefficients: Mapping[str, float], resources: set[str]) -> None:
    if other := sorted(resources ^ set(coefficients)):
        raise ValueError(f"utility: {other[0]} has an amount or a coefficient only; declare one for each")
    if bad := sorted(name for name, value in coefficients.items() if not 0 <= value < math.inf):
        raise ValueError(
            f"utility: coefficient of {bad[0]} is {coefficients[bad[0]]}; give one of at least 0"
        )
