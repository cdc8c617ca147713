"""Macro, micro and population-weighted means (F17)."""

import math

import pytest

from seatrial.estimate.weighting import population_weighted, three_means
from tests.estimate.gold import gold


def test_post_stratified_gives_the_known_answer():
    case = gold("post_stratified")
    values, strata = {}, {}
    for h, (won, n) in enumerate(case.given["success_n"]):
        for i in range(n):
            values[f"{h}-{i}"], strata[f"{h}-{i}"] = [i < won], str(h)
    weights = {str(h): w for h, w in enumerate(case.given["weights"])}
    found = three_means(values, strata, weights)
    assert found.population.value == pytest.approx(case.expected["estimate"], abs=case.tolerance)
    error = (found.population.high - found.population.low) / 2 / 1.959963984540054
    assert error == pytest.approx(case.expected["se"], abs=case.tolerance)
    assert found.macro.value == pytest.approx(case.expected["naive"])
    doubled = population_weighted(values, strata, {name: 2 * w for name, w in weights.items()})
    assert doubled.value == pytest.approx(found.population.value), "weights are scaled"


def test_macro_and_micro_differ_where_trials_do():
    values = {"a": [1.0] * 8, "b": [0.0, 0.0], "c": [1.0, 0.0]}
    found = three_means(values)
    assert (found.macro.value, found.micro.value, found.population) == (0.5, 0.75, None)


def test_a_stratum_without_spread_gives_no_interval():
    values, strata = {"a": [1.0], "b": [0.0], "c": [1.0]}, {"a": "x", "b": "x", "c": "y"}
    found = population_weighted(values, strata, {"x": 0.5, "y": 0.5})
    assert (found.value, found.low) == (0.75, None) and "tasks of y show no spread" in found.notes[-1]
    cut = population_weighted({**values, "d": [0.0]}, {**strata, "d": "y"}, {"x": 1, "y": 1}, limits=(0, 1))
    assert (cut.low, cut.high) == (0, 1)


@pytest.mark.parametrize(
    ("strata", "weights"),
    [
        ({"a": "x"}, {"x": 1.0}),
        ({"a": "x", "b": "y"}, {"x": 1.0}),
        ({"a": "x", "b": "x"}, {"x": 1.0, "y": 1.0}),
        ({"a": "x", "b": "x"}, {"x": 0.0}),
        ({"a": "x", "b": "x"}, {"x": math.nan}),
    ],
)
def test_a_population_needs_all_its_strata(strata, weights):
    with pytest.raises(ValueError, match="population_weighted"):
        population_weighted({"a": [1.0], "b": [0.0]}, strata, weights)
