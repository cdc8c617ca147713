"""Regression rules (F18) on success, safety, P95 and unit cost, paired by task."""

import math

import numpy as np
import pytest

from seatrial.estimate.gate import gate
from seatrial.estimate.regression import Margins, Side, quantile_change, regression_rules, regressions
from tests.estimate.gold import single

MARGINS = Margins(success=0.05, violations=0.05, p95=0.2, unit_cost=0.2)


# P95 has too few tasks beyond it to be judged on a third of these.
TASKS = 150


def side(won, seconds, costs, broken=None, tasks=TASKS):
    return Side(
        success=single([won(i) for i in range(tasks)], bool),
        violations=single([(broken or (lambda i: False))(i) for i in range(tasks)], bool),
        seconds=single([seconds(i) for i in range(tasks)]),
        costs=single([costs(i) for i in range(tasks)]),
    )


def mostly(i):
    return i % 5 < 4


def spread(i):
    return 10.0 + i % 7


def changes(candidate, baseline, draws=1_000):
    return regressions(candidate, baseline, np.random.default_rng(3), draws=draws)


def verdicts(candidate, baseline):
    found = gate(regression_rules(MARGINS), changes(candidate, baseline))
    return found.verdict, {f.rule.measure: f.verdict for f in found.findings}


BASE = side(mostly, spread, spread)


def test_each_kind_of_regression_is_caught_by_itself():
    slow = side(mostly, lambda i: 2 * spread(i) + i % 3, spread)
    dear = side(mostly, spread, lambda i: 2 * spread(i) + i % 3)
    weak = side(lambda i: i % 5 < 2, spread, spread)
    rash = side(mostly, spread, spread, broken=lambda i: i % 3 == 0)
    for candidate, measure in ((slow, "p95"), (dear, "unit_cost"), (weak, "success"), (rash, "violations")):
        whole, each = verdicts(candidate, BASE)
        assert whole == "fail" and each[measure] == "fail"
        if measure != "success":  # which moves the unit cost too
            assert {name for name, verdict in each.items() if verdict == "fail"} == {measure}


def test_changes_are_ratios_and_differences():
    doubled = changes(side(mostly, lambda i: 2 * spread(i), lambda i: 3 * spread(i)), BASE)
    assert doubled["p95"]["all"].value == pytest.approx(1)
    assert doubled["unit_cost"]["all"].value == pytest.approx(2)
    assert doubled["success"]["all"].value == 0


def test_a_better_candidate_passes_and_few_tasks_are_insufficient():
    better = side(lambda i: i % 50 < 49, lambda i: spread(i) * (0.5 + i % 3 / 10), lambda i: spread(i) * 0.6)
    assert verdicts(better, BASE)[1]["p95"] == "pass"
    assert verdicts(better, BASE)[1]["unit_cost"] == "pass"
    assert verdicts(better, BASE)[1]["success"] == "pass"
    few = side(mostly, spread, spread, tasks=5), side(lambda i: i % 5 != 1, spread, spread, tasks=5)
    assert verdicts(*few)[0] == "insufficient evidence"


def test_a_stratum_can_get_worse_behind_an_unchanged_whole():
    strata = {f"t{i:03d}": "deep" if i < 30 else "shallow" for i in range(60)}
    candidate = side(lambda i: i >= 30 or i % 5 == 0, spread, spread, tasks=60)
    baseline = side(lambda i: i < 30 or i % 5 == 0, spread, spread, tasks=60)
    found = regressions(candidate, baseline, np.random.default_rng(3), strata, draws=200)
    assert found["success"]["all"].value == 0
    assert found["success"]["deep"].value == pytest.approx(-0.8) and found["success"]["deep"].n_tasks == 30
    rules = regression_rules(MARGINS, ("all", "deep", "shallow"))
    verdict = {(f.rule.measure, f.stratum): f.verdict for f in gate(rules, found).findings}
    assert verdict["success", "deep"] == "fail" and verdict["success", "shallow"] == "pass"
    with pytest.raises(ValueError, match="t059 has no stratum"):
        del strata["t059"]
        regressions(candidate, baseline, np.random.default_rng(3), strata, draws=200)


def test_a_candidate_without_success_costs_without_end():
    found = changes(side(lambda i: False, spread, spread), BASE)["unit_cost"]["all"]
    assert found.value == math.inf
    none = changes(side(lambda i: False, spread, spread), side(lambda i: False, spread, spread))
    assert none["unit_cost"]["all"].value is None


def test_every_task_weighs_the_same_in_a_quantile():
    many = {"a": [1.0] * 90, "b": [5.0], "c": [5.0]}
    base = {"a": [1.0], "b": [1.0], "c": [1.0]}
    found = quantile_change(many, base, 0.5, np.random.default_rng(1), 0.95, 500)
    assert found.value == 4, "two tasks of three take 5 s"
    # Three tasks have eight sign patterns: none of them is rare enough to leave any ratio out.
    assert (found.low, found.high) == (-1, math.inf)
    assert any(note.startswith("No high end: too few of 3 tasks") for note in found.notes)


def test_a_quantiles_interval_is_the_ratios_that_sign_flips_do_not_reject():
    # The same times in another order of tasks, far apart: at the ratio 1 + ε just one task has crossed.
    times = [2.0**i for i in range(40)]
    same = quantile_change(single(times), single(times), 0.75, np.random.default_rng(1), 0.95, 2_000)
    assert same.value == 0
    # Up to five crossed tasks have p = 2/2⁵ = .0625 and are kept, the sixth (p = .031) is not; from one power
    # of two to the next each further task crosses, as the pooled quantile falls with what is divided.
    assert same.low == pytest.approx(1 / (1 + same.high) - 1, abs=1e-3)
    powers = math.log2(1 + same.high)
    assert powers == pytest.approx(round(powers), abs=1e-3) and 5 <= round(powers) <= 12
    slower = quantile_change(
        single([3 * t for t in times]), single(times), 0.75, np.random.default_rng(1), 0.95
    )
    assert slower.value == pytest.approx(2)
    assert 1 + slower.high == pytest.approx(3 * (1 + same.high), rel=1e-3)


def test_a_quantiles_interval_covers_the_true_ratio():
    held = 0
    for repeat in range(100):
        rng = np.random.default_rng(repeat)
        task = rng.lognormal(4, 1, 80)
        sides = [single((task * ratio * rng.lognormal(0, 0.3, 80)).tolist()) for ratio in (1.3, 1.0)]
        found = quantile_change(*sides, 0.9, rng, 0.9, 400)
        held += found.low <= 0.3 <= found.high
    assert held >= 84, "two standard errors below .90 of 100"


def test_what_is_unknown_stays_so():
    hole = Side(
        success=BASE.success,
        violations=BASE.violations,
        seconds={**BASE.seconds, "t000": [None]},
        costs={**BASE.costs, "t000": [None]},
    )
    found = changes(hole, BASE)
    for measure in ("p95", "unit_cost"):
        assert found[measure]["all"].value is None
        assert "The change is unknown" in found[measure]["all"].notes[-1]
    assert "1 of 150 values of the candidate are unknown" in found["p95"]["all"].notes[-1]
    assert gate(regression_rules(MARGINS), found).verdict == "insufficient evidence"


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="margin"):
        regression_rules(Margins(success=-0.1, violations=0, p95=0, unit_cost=0))
    with pytest.raises(ValueError, match="one system only"):
        changes(side(mostly, spread, spread, tasks=TASKS - 1), BASE)
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError):
            changes(side(mostly, spread, lambda i, bad=bad: bad), BASE)
        with pytest.raises(ValueError):
            changes(side(mostly, lambda i, bad=bad: bad, spread), BASE)
