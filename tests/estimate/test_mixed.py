"""Mixed logistic (F17): recovered effects, a direct integral, and what has no finite estimate."""

import math

import numpy as np
import pytest

from seatrial.estimate.mixed import _Counts, _log_likelihood, mixed_logistic


def table(rng, intercepts, deviation, tasks=80, trials=4):
    u = rng.normal(0, deviation, tasks)
    found = {}
    for name, a in intercepts.items():
        chance = 1 / (1 + np.exp(-(a + u)))
        won = rng.random((tasks, trials)) < chance[:, None]
        found[name] = {f"t{i:03d}": row.tolist() for i, row in enumerate(won)}
    return found


def test_effects_deviation_and_rates_are_recovered():
    found = mixed_logistic(table(np.random.default_rng(1), {"a": 0.0, "b": 1.0, "c": -1.0}, 1.5, tasks=300))
    assert found.reference == "a"
    assert found.effects["b"].value == pytest.approx(1, abs=0.25)
    assert found.effects["c"].value == pytest.approx(-1, abs=0.25)
    assert found.deviation == pytest.approx(1.5, abs=0.25)
    assert found.icc == pytest.approx(found.deviation**2 / (found.deviation**2 + math.pi**2 / 3))
    assert found.rates["a"] == pytest.approx(0.5, abs=0.06)
    # Averaged over tasks, odds of e shrink towards ½: not σ(1) = .73.
    assert found.rates["b"] == pytest.approx(0.66, abs=0.06)
    assert found.effects["b"].n_tasks == 300 and found.effects["b"].n_trials == 2400
    assert "A model" in found.notes[0] and "too narrow where they do not" in found.notes[0]
    assert found.effects["b"].unit == "trials, given these tasks"


@pytest.mark.parametrize("deviation", [0.3, 1.7, 9.0])
def test_the_likelihood_is_the_integral_over_tasks_and_its_slope_is_right(deviation):
    counts = _Counts(np.array([[2.0, 0.0], [30.0, 1.0]]), np.array([[3.0, 2.0], [30.0, 4.0]]))
    at = np.array([0.3, -0.8, math.log(deviation)])
    u = np.linspace(-10 * deviation, 10 * deviation, 200_001)
    total = 0.0
    for won, tried in zip(*counts, strict=True):
        odds = np.array([0.3, -0.5])[:, None] + u
        inside = (won[:, None] * odds - tried[:, None] * np.logaddexp(0, odds)).sum(axis=0)
        density = np.exp(-u * u / (2 * deviation**2)) / (deviation * math.sqrt(2 * math.pi))
        total += math.log(np.trapezoid(np.exp(inside) * density, u))
    value, slope = _log_likelihood(at, counts)
    assert value == pytest.approx(total, abs=1e-6)
    for place in range(3):
        move = np.eye(3)[place] * 1e-5
        found = (_log_likelihood(at + move, counts)[0] - _log_likelihood(at - move, counts)[0]) / 2e-5
        assert slope[place] == pytest.approx(found, abs=1e-4)


def test_two_systems_with_one_trial_a_task_are_fitted_exactly():
    # Three parameters and three free cells: the fitted rates are the observed ones.
    cells = [(True, True)] * 60 + [(True, False)] * 12 + [(False, True)] * 8 + [(False, False)] * 20
    systems = {name: {f"t{i}": [pair[k]] for i, pair in enumerate(cells)} for k, name in enumerate("ab")}
    assert mixed_logistic(systems).rates == pytest.approx({"a": 0.72, "b": 0.68}, abs=1e-4)


def test_the_interval_of_an_effect_holds_the_truth():
    rng, held, repeats = np.random.default_rng(2), 0, 100
    for _ in range(repeats):
        effect = mixed_logistic(table(rng, {"a": 0.2, "b": 0.9}, 1.0, tasks=30, trials=3)).effects["b"]
        held += effect.low <= 0.7 <= effect.high
    assert held / repeats >= 0.89


def test_tasks_that_cannot_be_told_apart():
    alike = {name: {f"t{i}": [True, False] for i in range(10)} for name in ("a", "b")}
    found = mixed_logistic(alike)
    assert (found.deviation, found.icc) == (0, 0)
    assert any("cannot be told apart" in note for note in found.notes)
    assert found.effects["b"].value == pytest.approx(0, abs=1e-4)
    # Then it is plain logistic regression, whose error is √(Σ 1/(n·p·q)).
    half = (found.effects["b"].high - found.effects["b"].low) / 2
    assert half == pytest.approx(1.96 * math.sqrt(2 / (20 * 0.25)), rel=1e-3)


def test_a_system_that_always_succeeds_has_no_finite_effect():
    systems = table(np.random.default_rng(3), {"a": 0.0, "b": 0.5}, 1.0, tasks=20)
    perfect = {**systems, "z": {task: [True] for task in systems["a"]}}
    found = mixed_logistic(perfect)
    assert found.effects["z"].value is None and "no finite estimate" in found.effects["z"].notes[0]
    assert found.effects["b"] == mixed_logistic(systems).effects["b"]
    assert mixed_logistic(systems, reference="b").effects["a"].value == pytest.approx(
        -found.effects["b"].value, abs=1e-3
    )


def test_what_cannot_be_fitted_is_refused():
    half = {"t0": [True, False], "t1": [False, True]}
    for systems in (
        {"a": half},
        {"a": {"t0": [True, False]}, "b": {"t0": [True, False]}},
        {"a": {"t0": [None]}},
    ):
        with pytest.raises(ValueError, match="mixed_logistic"):
            mixed_logistic(systems)
    with pytest.raises(ValueError, match="cannot be the reference"):
        mixed_logistic({"a": half, "b": half, "z": {"t0": [True]}}, reference="z")
