"""Macro, micro and population-weighted means (F17)."""

import math

import pytest

from seatrial.estimate.clustered import clustered_t
from seatrial.estimate.rates import rate_over_tasks, wilson
from seatrial.estimate.student import t_quantile
from seatrial.estimate.weighting import population_weighted, stratified, three_means
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
    assert stratified(values, strata, weights).error == pytest.approx(case.expected["se"], abs=case.tolerance)
    assert found.population.low < found.population.value < found.population.high
    assert found.macro.value == pytest.approx(case.expected["naive"])
    doubled = population_weighted(values, strata, {name: 2 * w for name, w in weights.items()})
    assert doubled.value == pytest.approx(found.population.value), "weights are scaled"


def test_macro_and_micro_differ_where_trials_do():
    values = {"a": [1.0] * 8, "b": [0.0, 0.0], "c": [1.0, 0.0]}
    found = three_means(values)
    assert (found.macro.value, found.micro.value, found.population) == (0.5, 0.75, None)


def test_one_stratum_of_all_tasks_is_the_plain_interval():
    outcomes = {"a": [True, True], "b": [False, True], "c": [False, False], "d": [True, True]}
    found = population_weighted(outcomes, dict.fromkeys(outcomes, "x"), {"x": 1.0})
    plain = rate_over_tasks(outcomes)
    assert (found.low, found.value, found.high) == pytest.approx((plain.low, plain.value, plain.high))
    seconds = {"a": [1.0, 2.0], "b": [4.0], "c": [2.5]}
    measured = population_weighted(seconds, dict.fromkeys(seconds, "x"), {"x": 1.0})
    by_t = clustered_t(seconds)
    assert (measured.low, measured.high) == pytest.approx((by_t.low, by_t.high))


def test_satterthwaites_freedom_is_between_the_smallest_and_the_sum():
    values = {f"x{i}": [float(i)] for i in range(3)} | {f"y{i}": [float(i * i)] for i in range(4)}
    strata = {task: task[0] for task in values}
    found = stratified(values, strata, {"x": 0.5, "y": 0.5})
    parts = 0.25 * 1.0 / 3, 0.25 * (49 / 3) / 4  # variances 1 of 0, 1, 2 and 49/3 of 0, 1, 4, 9
    assert found.error == pytest.approx(math.sqrt(sum(parts)))
    assert found.freedom == pytest.approx(sum(parts) ** 2 / (parts[0] ** 2 / 2 + parts[1] ** 2 / 3))


def test_a_stratum_without_spread_leaves_no_certainty():
    outcomes = {"a": [True], "b": [False], "c": [True]}
    found = population_weighted(outcomes, {"a": "x", "b": "x", "c": "y"}, {"x": 0.5, "y": 0.5}, limits=(0, 1))
    assert found.value == 0.75
    arms = [wilson(1, 2), wilson(1, 1)]
    assert found.low == pytest.approx(0.75 - math.hypot((0.5 - arms[0][0]) / 2, (1 - arms[1][0]) / 2))
    assert found.high == pytest.approx(0.75 + (arms[0][1] - 0.5) / 2)
    seconds = {"a": [1.0], "b": [3.0], "c": [5.0]}
    measured = population_weighted(seconds, {"a": "x", "b": "x", "c": "y"}, {"x": 0.5, "y": 0.5})
    # The variance of x, 2, stands for y: error √(.25·2/2 + .25·2/1), each with one degree of freedom.
    assert (measured.high - measured.low) / 2 == pytest.approx(
        t_quantile(0.95, 0.75**2 / (0.25**2 + 0.5**2)) * math.sqrt(0.75)
    )
    assert "y shows no spread: the other strata's stands for it." in measured.notes
    same = population_weighted({"a": [1.0], "b": [2.0]}, {"a": "x", "b": "y"}, {"x": 1, "y": 1})
    assert (same.value, same.low) == (1.5, None) and "no stratum" in same.notes[-1]


def test_unknown_outcomes_stop_no_mean():
    values = {"a": [True, None], "b": [False, False], "c": [None], "d": [True]}
    strata = {"a": "x", "b": "x", "c": "y", "d": "y"}
    weights = {"x": 0.9, "y": 0.1}
    found = three_means(values, strata, weights, limits=(0, 1))
    ways = [
        three_means({**values, "a": [True, one], "c": [other]}, strata, weights, limits=(0, 1))
        for one in (False, True)
        for other in (False, True)
    ]
    for name in ("macro", "micro", "population"):
        whole, every = getattr(found, name), [getattr(way, name) for way in ways]
        assert (whole.value, whole.low, whole.high) == (
            None,
            min(one.low for one in every),
            max(one.high for one in every),
        )
    endless = three_means({"a": [1.0, None], "b": [2.0]})
    assert (endless.macro.value, endless.macro.low) == (None, None)
    assert "nothing says how large" in endless.micro.notes[0]


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
