"""Release gates (F18): on the end of an interval, per stratum, and free to say that evidence is lacking."""

import math

import pytest

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.gate import GateRule, gate
from seatrial.estimate.rates import rate_over_tasks
from tests.estimate.gold import single


def estimate(value, low, high, n_tasks=100, n_trials=300):
    return Estimate(
        value=value, low=low, high=high, method="m", unit="tasks", n_tasks=n_tasks, n_trials=n_trials
    )


def judge(rule, found, stratum="all"):
    return gate([rule], {rule.measure: {stratum: found}})


AT_LEAST = GateRule(measure="success", at_least=0.80)


def test_the_worked_example_is_insufficient_and_says_how_many_more():
    found = judge(AT_LEAST, estimate(0.83, 0.76, 0.88))
    assert found.verdict == "insufficient evidence"
    finding = found.findings[0]
    # By Wilson's score, n = z²·e(1 − e)/(p − e)² for an end e: 4.78 times as many for .80 as for .76.
    assert finding.more_tasks == math.ceil(100 * (0.8 * 0.2 / 0.03**2) / (0.76 * 0.24 / 0.07**2) - 100) == 378
    assert finding.more_trials == 3 * 378
    assert "378 more tasks would settle it" in finding.reason


def test_pass_and_fail_need_the_whole_interval():
    assert judge(AT_LEAST, estimate(0.9, 0.8, 0.95)).verdict == "pass"
    assert judge(AT_LEAST, estimate(0.7, 0.6, 0.79)).verdict == "fail"
    assert judge(AT_LEAST, estimate(0.7, 0.6, 0.8)).verdict == "insufficient evidence"
    at_most = GateRule(measure="success", at_most=0.1)
    assert judge(at_most, estimate(0.02, 0.0, 0.1)).verdict == "pass"
    assert judge(at_most, estimate(0.3, 0.11, 0.5)).verdict == "fail"
    below = judge(AT_LEAST, estimate(0.78, 0.7, 0.85)).findings[0]
    wanted = 100 * (0.8 * 0.2 / 0.02**2) / (0.85 * 0.15 / 0.07**2) - 100
    assert below.more_tasks == pytest.approx(wanted, abs=1), "until all lies below"
    change = judge(GateRule(measure="success", at_least=-0.05), estimate(-0.01, -0.09, 0.07)).findings[0]
    assert change.more_tasks == pytest.approx(100 * (0.08 / 0.04) ** 2 - 100, abs=1), (
        "a difference is no rate"
    )


def test_so_many_more_do_settle_it():
    outcomes = single([i % 10 < 9 for i in range(40)], bool)
    finding = judge(AT_LEAST, rate_over_tasks(outcomes)).findings[0]
    assert finding.verdict == "insufficient evidence"
    total = 10 * math.ceil((40 + finding.more_tasks) / 10)
    assert (
        judge(AT_LEAST, rate_over_tasks(single([i % 10 < 9 for i in range(total)], bool))).verdict == "pass"
    )
    less = single([i % 10 < 9 for i in range(total - 20)], bool)
    assert judge(AT_LEAST, rate_over_tasks(less)).verdict == "insufficient evidence"


def test_no_violation_yet_needs_far_fewer_than_the_square_law_says():
    rule = GateRule(measure="violations", at_most=0.01)
    finding = judge(rule, rate_over_tasks(single([False] * 100, bool))).findings[0]
    assert finding.more_tasks == pytest.approx(281, abs=1), "z²·99 trials in all: 380.3"
    clean = single([False] * (100 + finding.more_tasks), bool)
    assert judge(rule, rate_over_tasks(clean)).verdict == "pass"


def test_where_no_number_can_be_told_it_says_so():
    for found in (estimate(0.8, 0.7, 0.9), estimate(None, 0.7, 0.9), estimate(1.0, 0.5, math.inf, 1, 4)):
        finding = judge(GateRule(measure="success", at_least=0.8), found).findings[0]
        assert finding.verdict == "insufficient evidence"
        assert finding.more_tasks is None
    assert "one task says nothing of others" in finding.reason
    at = judge(GateRule(measure="success", at_least=0.8), estimate(0.8, 0.7, 0.9)).findings[0]
    assert "the value is the limit itself" in at.reason and "allow a margin" in at.reason
    none = judge(AT_LEAST, estimate(None, None, None, 0, 0)).findings[0]
    assert none.verdict == "insufficient evidence" and "no interval to judge by" in none.reason
    endless = judge(GateRule(measure="success", at_most=2.0), estimate(1.0, 0.5, math.inf)).findings[0]
    assert endless.more_tasks is None


def test_one_stratum_can_fail_the_whole():
    rule = GateRule(measure="success", at_least=0.8, strata=("all", "deep"))
    good, bad = estimate(0.9, 0.85, 0.95), estimate(0.4, 0.2, 0.6)
    found = gate([rule], {"success": {"all": good, "deep": bad}})
    assert found.verdict == "fail" and [f.verdict for f in found.findings] == ["pass", "fail"]
    open_ = gate([rule], {"success": {"all": good, "deep": estimate(0.85, 0.5, 0.99)}})
    assert open_.verdict == "insufficient evidence"


def test_nothing_is_skipped():
    with pytest.raises(ValueError, match="no rule"):
        gate([], {})
    with pytest.raises(ValueError, match="no estimate of success in stratum deep"):
        gate(
            [GateRule(measure="success", at_least=0.8, strata=("deep",))],
            {"success": {"all": estimate(1, 1, 1)}},
        )
    for rule in (
        GateRule(measure="x"),
        GateRule(measure="x", at_least=0.1, at_most=0.2),
        GateRule(measure="x", at_least=math.nan),
        GateRule(measure="x", at_least=0.1, strata=()),
    ):
        with pytest.raises(ValueError, match="exactly one"):
            judge(rule, estimate(1, 1, 1))


def test_an_unbounded_end_is_explained():
    why = "No high end: 12 tasks, and 72 at least would bound it from above."
    endless = Estimate(
        value=90.0, low=40.0, high=math.inf, method="m", unit="tasks", n_tasks=12, n_trials=12, notes=[why]
    )
    (found,) = gate([GateRule(measure="p95", at_most=100)], {"p95": {"all": endless}}).findings
    assert (found.verdict, found.more_tasks) == ("insufficient evidence", None)
    assert "that end is unbounded, so no number of trials can be told. No high end: 12 tasks" in found.reason
