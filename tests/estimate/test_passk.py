"""pass@k, pass^k and select@k (F2, F31): known answers, enumeration, and what must be refused or said."""

import csv
import itertools
import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.passk import Attempts, coin_at_k, pass_at_k, pass_hat_k, pass_k, select_at_k
from seatrial.estimate.rates import rate_over_tasks
from tests.estimate.gold import FILE, gold

TAUBENCH = FILE.parents[1] / "taubench" / "tau_airline_gpt4o_4trials.csv"


def over(outcomes, k, kind="pass@k", **more):
    return pass_k(outcomes, k, np.random.default_rng(3), kind, draws=2_000, **more)


def table(*counts):
    return {f"t{i}": [True] * c + [False] * (n - c) for i, (n, c) in enumerate(counts)}


@pytest.mark.parametrize("name", ["passk_20_4_5", "passk_10_3_10", "passk_10_0_3", "passk_5_5_2"])
def test_both_give_the_known_answers(name):
    case = gold(name)
    n, c, k = (case.given[key] for key in ("n", "c", "k"))
    assert pass_at_k(n, c, k) == pytest.approx(case.expected["pass_at_k"], abs=case.tolerance)
    assert pass_hat_k(n, c, k) == pytest.approx(case.expected["pass_hat_k"], abs=case.tolerance)


def test_the_mean_is_over_tasks_not_a_function_of_the_mean_rate():
    case = gold("pass_hat_k_mean_over_tasks")
    found = over(table(*case.given["tasks"]), case.given["k"], "pass^k")
    assert found.estimate.value == pytest.approx(case.expected, abs=case.tolerance)
    assert found.bootstrap.value == found.estimate.value
    assert found.attempts == 16
    assert found.estimate.low < case.expected < found.estimate.high
    assert found.bootstrap.low < case.expected < found.bootstrap.high


def test_the_airline_trials_give_the_published_pass_hat_k():
    """Four trials of 50 tasks, as published with τ-bench."""
    outcomes: dict[str, list[bool]] = {}
    with TAUBENCH.open() as file:
        for row in csv.DictReader(file):
            outcomes.setdefault(row["task_id"], []).append(float(row["reward"]) == 1)
    answers = [0.42, 0.2733, 0.22, 0.2]
    found = [over(outcomes, k, "pass^k").estimate for k in (1, 2, 3, 4)]
    assert [one.value for one in found] == pytest.approx(answers, abs=5e-5)
    assert (found[0].n_tasks, found[0].n_trials) == (50, 200)
    assert over(outcomes, 4).estimate.value == pytest.approx(36 / 50), "tasks solved at least once"


def test_select_gives_the_known_answer_with_ties():
    case = gold("select_at_k")
    found = select_at_k(case.given["success"], case.given["score"], case.given["k"])
    assert found == pytest.approx(case.expected, abs=case.tolerance)


attempts = st.lists(st.tuples(st.booleans(), st.sampled_from([0.1, 0.4, 0.9])), min_size=1, max_size=7)


@given(attempts, st.integers(1, 7))
def test_all_three_are_what_drawing_every_k_gives(pairs, k):
    k = min(k, len(pairs))
    won = [w for w, _ in pairs]
    draws = list(itertools.combinations(range(len(pairs)), k))
    assert pass_at_k(len(won), sum(won), k) == pytest.approx(fmean(any(won[i] for i in d) for d in draws))
    assert pass_hat_k(len(won), sum(won), k) == pytest.approx(fmean(all(won[i] for i in d) for d in draws))
    picked = []
    for draw in draws:
        best = max(pairs[i][1] for i in draw)
        picked.append(fmean(won[i] for i in draw if pairs[i][1] == best))
    assert select_at_k(won, [s for _, s in pairs], k) == pytest.approx(fmean(picked))


def test_the_coin_is_a_model_apart():
    assert coin_at_k(0.3, 4) == pytest.approx(0.7599)
    assert coin_at_k(0.25, 2) > over(table((4, 2), (4, 0)), 2).estimate.value, "tasks differ"
    for arguments in ((1.1, 2), (0.5, 0), (math.nan, 2)):
        with pytest.raises(ValueError, match="coin_at_k"):
            coin_at_k(*arguments)


def test_more_attempts_than_there_are_is_refused_by_name():
    with pytest.raises(ValueError, match="k = 4, but t1 has 3 attempts"):
        over(table((5, 1), (3, 1)), 4)
    with pytest.raises(ValueError, match="k = 0"):
        over(table((5, 1)), 0)
    for function in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match=function.__name__):
            function(3, 1, 5)


def test_one_attempt_is_the_success_rate():
    outcomes = table((5, 1), (4, 4), (6, 3))
    found, rate = over(outcomes, 1).estimate, rate_over_tasks(outcomes)
    assert (found.value, found.low, found.high) == pytest.approx((rate.value, rate.low, rate.high))


def test_unknown_outcomes_bound_it_both_ways():
    found = over({"a": [True, None, False], "b": [False] * 3}, 2)
    assert found.estimate.value is None and found.bootstrap.value is None
    assert found.tasks == {"a": None, "b": 0}
    low, high = over(table((3, 1), (3, 0)), 2).estimate, over(table((3, 2), (3, 0)), 2).estimate
    assert found.estimate.low == min(low.low, high.low) and found.estimate.high == max(low.high, high.high)
    assert any("1 unknown outcome" in note for note in found.estimate.notes)


def test_degenerate_tables_say_so():
    alone = over({"a": [True, False, True]}, 2)
    assert alone.estimate.unit == "attempts, this task only" and alone.bootstrap.low is None
    assert alone.estimate.low < alone.estimate.value <= alone.estimate.high
    same = over(table((4, 4), (4, 4)), 2)
    assert same.bootstrap.low is None and same.estimate.low < 1 == same.estimate.high
    assert any("all its draws agree" in note for note in same.bootstrap.notes)
    empty = over({"a": []}, 2)
    assert empty.estimate.value is None and "No valid trial of a." in empty.estimate.notes


def test_tasks_with_side_effects_are_repeated_only_as_dry_runs():
    outcomes = table((4, 2), (4, 1), (4, 4))
    real = over(outcomes, 2, about=Attempts(side_effects=["t2"]))
    assert (real.estimate.n_tasks, set(real.tasks)) == (2, {"t0", "t1"})
    assert any("t2 is left out: it has side effects" in note for note in real.estimate.notes)
    dry = over(outcomes, 2, about=Attempts(side_effects=["t2"], dry_run=True))
    assert dry.estimate.n_tasks == 3 and any("dry-run level" in note for note in dry.estimate.notes)
    assert over(outcomes, 1, about=Attempts(side_effects=["t2"])).estimate.n_tasks == 3
    assert over(outcomes, 2, "pass^k", about=Attempts(side_effects=["t2"])).estimate.n_tasks == 3
    nothing = over(outcomes, 2, about=Attempts(side_effects=list(outcomes)))
    assert nothing.estimate.value is None and "No task to speak of." in nothing.estimate.notes


def test_budget_and_diversity_stand_beside():
    about = Attempts(
        costs={"t0": [1.0, 3.0], "t1": [2.0, 2.0]}, candidates={"t0": ["x", "y"], "t1": ["z", "z"]}
    )
    found = over(table((2, 1), (2, 0)), 2, about=about)
    assert found.spend.value == 4 and found.spend.unit == "tasks"
    assert found.distinct.value == pytest.approx((1 + 0.5) / 2)
    unknown = over(table((2, 1), (2, 0)), 2, about=Attempts(costs={"t0": [1.0, None], "t1": [2.0, 2.0]}))
    assert unknown.spend.value is None
    with pytest.raises(ValueError, match="give a candidate for each"):
        over(table((2, 1)), 2, about=Attempts(candidates={"t0": ["x"]}))


def test_selection_needs_every_score():
    outcomes, scores = table((3, 1), (3, 2)), {"t0": [1.0, 0.2, 0.3], "t1": [0.0, 0.0, 0.0]}
    found = over(outcomes, 3, "select@k", scores=scores)
    assert found.tasks == {"t0": 1, "t1": pytest.approx(2 / 3)}
    for bad in (
        None,
        {"t0": [1.0, 2.0, 3.0]},
        {**scores, "t1": [0.0, None, 1.0]},
        {**scores, "t1": [math.nan] * 3},
    ):
        with pytest.raises(ValueError, match="score"):
            over(outcomes, 3, "select@k", scores=bad)


def test_the_result_knows_no_order_of_tasks():
    outcomes = table((5, 1), (4, 2), (6, 3))
    assert over(outcomes, 2) == over(dict(reversed(outcomes.items())), 2)
