"""Utility under declared coefficients (F9): the worked example, and where the ranking turns."""

import math

import numpy as np
import pytest

from seatrial.estimate.utility import SystemMeans, utility, utility_estimate, utility_map
from tests.estimate.gold import single

DECLARED = {"money": 0.5, "seconds": 0.002}


def system(rate, money, seconds, tasks=100):
    return SystemMeans(
        success=single([i < rate * tasks for i in range(tasks)], bool),
        amounts={"money": single([money] * tasks), "seconds": single([seconds] * tasks)},
    )


SYSTEMS = {"A": system(0.82, 0.40, 80.0), "B": system(0.79, 0.12, 35.0)}


def test_the_worked_example():
    assert utility(0.82, {"money": 0.40, "seconds": 80}, DECLARED) == pytest.approx(0.46)
    assert utility(0.79, {"money": 0.12, "seconds": 35}, DECLARED) == pytest.approx(0.66)
    for name, answer in (("A", 0.46), ("B", 0.66)):
        found = utility_estimate(SYSTEMS[name], DECLARED)
        assert found.value == pytest.approx(answer)
        assert found.low < answer < found.high
        assert "Declared: 0.5 per unit of money, 0.002 per unit of seconds." in found.notes[-1]


def test_the_map_shows_where_the_ranking_turns():
    grid = {"money": [0.0, 0.5], "seconds": [0.0, 0.002]}
    found = utility_map(SYSTEMS, grid, np.random.default_rng(1), 2_000)
    rankings = {tuple(cell.coefficients.values()): cell.ranking for cell in found.cells}
    assert rankings[0, 0] == ["A", "B"], "success alone"
    assert rankings[0.5, 0.002] == ["B", "A"]
    assert found.first_share == {"A": 0.25, "B": 0.75} and not found.stable
    free, dear = found.cells[0], found.cells[-1]
    assert free.first_probability["A"] > 0.9 and dear.first_probability["B"] == 1
    assert sum(free.first_probability.values()) == pytest.approx(1)
    assert utility_map(SYSTEMS, {"money": [1.0]}, np.random.default_rng(1), 100).stable


def test_equal_systems_share_the_first_place():
    found = utility_map(
        {"x": SYSTEMS["A"], "y": SYSTEMS["A"]}, {"money": [0.1]}, np.random.default_rng(1), 100
    )
    assert found.cells[0].first_probability == {"x": 0.5, "y": 0.5}
    assert found.cells[0].ranking == ["x", "y"] and not found.stable


def test_success_and_cost_vary_together():
    # Success costs money here: what one gains the other takes, so utility varies less than success does.
    won = [i % 2 == 0 for i in range(20)]
    tied = SystemMeans(success=single(won, bool), amounts={"money": single([float(w) for w in won])})
    found = utility_estimate(tied, {"money": 1.0})
    assert (found.value, found.low) == (0, None), "every task has utility 0"


@pytest.mark.parametrize(
    "declared", [{"money": 0.5}, {**DECLARED, "tokens": 1.0}, {**DECLARED, "money": -1.0}]
)
def test_every_resource_needs_its_coefficient(declared):
    with pytest.raises(ValueError, match="utility"):
        utility(0.5, {"money": 1, "seconds": 1}, declared)
    with pytest.raises(ValueError, match="utility"):
        utility_estimate(SYSTEMS["A"], declared)


def test_bad_tables_and_grids_are_refused():
    rng = np.random.default_rng(1)
    for systems, grid in (
        ({}, {"money": [1.0]}),
        (SYSTEMS, {}),
        (SYSTEMS, {"money": []}),
        (SYSTEMS, {"money": [math.nan]}),
        (SYSTEMS, {"tokens": [1.0]}),
        (SYSTEMS, {"money": [1.0] * 200, "seconds": [1.0] * 200}),
        ({**SYSTEMS, "C": system(0.5, 1.0, 1.0, tasks=99)}, {"money": [1.0]}),
        ({"C": SystemMeans(success={"a": [None]}, amounts={"money": {"a": [1.0]}})}, {"money": [1.0]}),
        ({"C": SystemMeans(success={"a": [True]}, amounts={"money": {"b": [1.0]}})}, {"money": [1.0]}),
    ):
        with pytest.raises(ValueError, match="utility"):
            utility_map(systems, grid, rng, 10)
