"""The logistic time horizon (F4): known answers, marks outside the range, counted draws."""

import math
from collections import Counter

import numpy as np
import pytest

from seatrial.estimate.horizon import Horizon, horizon
from seatrial.estimate.horizon_draws import (
    HorizonOptions,
    crossings,
    draw_horizons,
    drawn_lengths,
    horizon_data,
    trial_weights,
)
from seatrial.estimate.lengths import length_bins
from seatrial.estimate.logistic import Fits, fit_logistic
from tests.estimate import metr
from tests.estimate.gold import gold

EARLY_SUITE = metr.found()
needs_early_suite = pytest.mark.skipif(
    EARLY_SUITE is None, reason="METR's runs are not here: their licence keeps them out; set SEATRIAL_DATA"
)


def rng(seed=1):
    return np.random.default_rng(seed)


def line(intercept, slope):
    return Fits(np.array([intercept]), np.array([slope]), np.array([True]))


def steps(lengths=12, trials=6, turn=6, start=1.0):
    """Tasks of doubling length, each longer one done less often, half at the turn."""
    outcomes, minutes = {}, {}
    for step in range(lengths):
        rate = 1 / (1 + math.exp(step - turn))
        outcomes[f"f{step % 4}/t{step:02d}"] = [i < round(rate * trials) for i in range(trials)]
        minutes[f"f{step % 4}/t{step:02d}"] = start * 2.0**step
    return outcomes, minutes


def at(found: Horizon, chance=0.5):
    return next(one for one in found.horizons if one.chance == chance)


def test_crossings_follow_the_closed_form():
    case = gold("horizon_closed_form")
    found = crossings(line(case.given["alpha"], -case.given["beta"]), (0.5, 0.8, 0.9), 1, 1000)[0]
    assert found == pytest.approx([case.expected[key] for key in ("t50", "t80", "t90")], abs=case.tolerance)
    odds = case.given["alpha"] - case.given["beta"] * np.log2([16, 64])
    chances = [case.expected["p_at_16"], case.expected["p_at_64"]]
    assert 1 / (1 + np.exp(-odds)) == pytest.approx(chances, abs=case.tolerance)


def test_the_worked_example_in_natural_logarithms():
    beta, alpha = 0.8, 1.6
    found = crossings(line(alpha, -beta * math.log(2)), (0.5, 0.8), 1, 1000)[0]
    assert found == pytest.approx([math.e**2, 1.306], rel=1e-3)


def test_the_fit_gives_the_known_horizons():
    case = gold("horizon_logistic_fit")
    trials = list(zip(case.given["minutes"], case.given["success"], strict=True))
    outcomes = {f"t{place:02d}": [bool(won)] for place, (_, won) in enumerate(trials)}
    minutes = {f"t{place:02d}": float(length) for place, (length, _) in enumerate(trials)}
    for name, ridge in (
        ("weights_sum1_lam0.1", 0.1),
        ("weights_sum1_lam1e-5", 1e-5),
        ("unweighted_lam0", 0.0),
    ):
        options = HorizonOptions(ridge=ridge, weighting="none", draws=50)
        found = horizon(outcomes, minutes, rng(), options)
        for chance, key in ((0.5, "t50"), (0.8, "t80")):
            value = at(found, chance).estimate.value
            assert value == pytest.approx(case.expected[name][key], rel=case.tolerance)


@needs_early_suite
@pytest.mark.parametrize(
    ("agent", "value", "low", "high"),
    [
        ("Claude 3.5 Sonnet (New)", 60.52, 14.96, 232.0),
        ("o1", 42.45, 1.32, 245.2),
        ("GPT-4o", 6.98, 0.61, 28.3),
    ],
)
def test_the_early_suite_gives_the_published_horizons(agent, value, low, high):
    runs = metr.suite(EARLY_SUITE, agent)
    options = HorizonOptions(families=runs.families, ridge=0.1)
    found = at(horizon(runs.outcomes, runs.minutes, rng(), options)).estimate
    assert found.value == pytest.approx(value, rel=1e-3)
    # The published ends are of 1,000 draws, as these are; how far such ends scatter is seen in blocks.
    data = horizon_data(runs.outcomes, runs.minutes, runs.families)
    many = draw_horizons(data, HorizonOptions(chances=(0.5,), ridge=0.1, draws=10_000), rng(2)).horizons
    lows, highs = np.nan_to_num(many, nan=0.0), np.nan_to_num(many, nan=np.inf)
    ends = zip((lows, highs), (0.025, 0.975), strict=True)
    blocks = [np.log(np.quantile(part.reshape(10, 1_000), q, axis=1)) for part, q in ends]
    for published, ours, ends in ((low, found.low, blocks[0]), (high, found.high, blocks[1])):
        assert abs(math.log(published) - ends.mean()) < 3 * ends.std()
        assert abs(math.log(ours) - ends.mean()) < 3 * ends.std()


@needs_early_suite
def test_the_weights_are_the_published_ones():
    runs = metr.suite(EARLY_SUITE, "o1")
    data = horizon_data(runs.outcomes, runs.minutes, runs.families)
    weight = trial_weights(data, "invsqrt")
    published = np.array([runs.weights[task][0] for task in data.tasks])
    assert weight / (weight * data.trials).sum() == pytest.approx(published, abs=1e-9)


@needs_early_suite
def test_an_extrapolation_is_marked_and_draws_of_one_class_are_counted():
    runs = metr.suite(EARLY_SUITE, "gpt-3.5-turbo-instruct")
    found = horizon(runs.outcomes, runs.minutes, rng(), HorizonOptions(families=runs.families, ridge=0.1))
    assert at(found).place == "below range" and at(found).shown == "< 1"
    assert at(found).estimate.value is None and at(found).fitted == pytest.approx(1.842e-6, rel=1e-3)
    assert found.draws_all_failure > 50 and at(found).draws_below > 900
    assert any("Below the measured range" in note for note in at(found).estimate.notes)
    none = metr.suite(EARLY_SUITE, "davinci-002")
    assert at(horizon(none.outcomes, none.minutes, rng())).shown == "< 2"


def test_beyond_the_longest_task_and_beyond_sixteen_hours_are_marked():
    outcomes, minutes = steps(lengths=6, turn=5, trials=40)
    longest = at(horizon(outcomes, minutes, rng(), HorizonOptions(chances=(0.2,))), 0.2)
    assert (longest.place, longest.shown) == ("beyond range", "> 32")
    outcomes, minutes = steps(lengths=12, turn=10.5, trials=40)
    hours = at(horizon(outcomes, minutes, rng()))
    assert (hours.place, hours.shown, hours.estimate.value) == ("beyond range", "> 960", None)
    assert 960 < hours.fitted < 2048 and hours.draws_beyond > 500


def test_any_chance_may_be_asked_and_harder_ones_are_shorter():
    outcomes, minutes = steps(trials=40)
    options = HorizonOptions(chances=(0.3, 0.5, 0.8, 0.9))
    found = [one.estimate.value for one in horizon(outcomes, minutes, rng(), options).horizons]
    assert found == sorted(found, reverse=True) and found[1] == pytest.approx(64, rel=0.1)


def test_curves_that_do_not_fall_have_no_horizon_unless_they_stay_on_one_side():
    assert math.isnan(crossings(line(-1.0, 0.5), (0.5,), 1, 64)[0, 0])
    assert crossings(line(1.0, 0.5), (0.5,), 1, 64)[0, 0] == math.inf
    assert crossings(line(-9.0, 0.5), (0.5,), 1, 64)[0, 0] == 0
    assert math.isnan(crossings(line(1.0, -0.5)._replace(converged=np.array([False])), (0.5,), 1, 64)[0, 0])


@pytest.mark.parametrize(
    ("won", "where"), [((3, 4, 5), "it stays above 50 %"), ((0, 1, 2), "it stays below 50 %"),
                       ((1, 3, 5), "it crosses 50 %")],
)  # fmt: skip
def test_a_fitted_curve_that_rises_has_no_horizon_on_whichever_side_it_stays(won, where):
    outcomes = {f"t{n}": [i < wins for i in range(5)] for n, wins in enumerate(won)}
    found = horizon(outcomes, {"t0": 2.0, "t1": 8.0, "t2": 32.0}, rng(), HorizonOptions(draws=200))
    assert found.rises and found.slope > 0
    assert (at(found).estimate.value, at(found).fitted, at(found).shown) == (None, None, "undefined")
    assert at(found).place == "undefined" and any(where in note for note in at(found).estimate.notes)


def test_rising_draws_are_counted_and_taken_both_ways():
    outcomes = {"a": [True, False], "b": [False, True], "c": [True, False], "d": [True, False, True]}
    minutes = {"a": 2.0, "b": 4.0, "c": 16.0, "d": 30.0}
    found = horizon(outcomes, minutes, rng(), HorizonOptions(draws=2_000))
    assert found.draws_rising > 500 and at(found).draws_undefined > 0
    assert (at(found).estimate.low, at(found).estimate.high) == (0, math.inf)
    assert any("taken both ways" in note for note in at(found).estimate.notes)
    counted = found.draws_all_success + found.draws_all_failure + found.draws_rising
    assert counted + found.draws_unconverged <= found.draws


@pytest.mark.parametrize(
    ("outcomes", "shown", "reason"),
    [
        ({"a": [True], "b": [True]}, "> 8", "All trials succeeded"),
        ({"a": [False], "b": [False]}, "< 2", "All trials failed"),
        ({"a": [True, False]}, "undefined", "one length"),
        ({}, "undefined", "No valid trial."),
        ({"a": [], "b": []}, "undefined", "No valid trial."),
    ],
)
def test_where_no_curve_fits_there_is_a_reason_and_no_number(outcomes, shown, reason):
    found = at(horizon(outcomes, {"a": 2.0, "b": 8.0}, rng()))
    assert (found.estimate.value, found.estimate.low, found.estimate.high) == (None, None, None)
    assert found.shown == shown and any(reason in note for note in found.estimate.notes)


def test_one_family_is_named():
    outcomes = {"gen/a": [True, True], "gen/b": [True, False], "gen/c": [False, False]}
    found = horizon(outcomes, {"gen/a": 1.0, "gen/b": 4.0, "gen/c": 9.0}, rng(), HorizonOptions(draws=200))
    assert found.n_families == 1
    assert any("that generator only" in note for note in at(found).estimate.notes)


def test_unknown_outcomes_are_taken_both_ways():
    outcomes, minutes = steps(trials=10)
    options = HorizonOptions(draws=300)
    known = at(horizon(outcomes, minutes, rng(), options)).estimate
    task = "f2/t06"
    unsure = at(horizon({**outcomes, task: [None] * 6 + outcomes[task][:4]}, minutes, rng(), options))
    assert unsure.estimate.value is None and " to " in unsure.shown
    assert unsure.estimate.low < known.low and unsure.estimate.high > known.high
    assert any("6 unknown outcomes" in note for note in unsure.estimate.notes)


def test_the_spread_of_human_times_widens_the_interval():
    outcomes, minutes = steps(trials=40)
    rough = {task: [length / 8, length, length * 8] for task, length in minutes.items()}
    plain = at(horizon(outcomes, minutes, rng(), HorizonOptions(families={t: t for t in minutes}))).estimate
    spread = at(
        horizon(outcomes, minutes, rng(), HorizonOptions(families={t: t for t in minutes}, human_times=rough))
    ).estimate
    assert spread.value == plain.value and "human times resampled" in spread.method
    assert math.log(spread.high / spread.low) > 1.3 * math.log(plain.high / plain.low)
    same = HorizonOptions(human_times={task: [length] for task, length in minutes.items()})
    assert at(horizon(outcomes, minutes, rng(), same)).estimate.low == pytest.approx(
        at(horizon(outcomes, minutes, rng())).estimate.low, rel=0.2
    )


def test_human_times_that_say_little_or_something_else_are_named():
    outcomes, minutes = steps(trials=10)
    times = {"f0/t00": [1.0], "f1/t01": [8.0, 9.0]}
    notes = at(horizon(outcomes, minutes, rng(), HorizonOptions(human_times=times, draws=20))).estimate.notes
    assert any("11 of 12 tasks have one human time or none" in note for note in notes)
    assert any("human times of 1, first f1/t01" in note for note in notes)


def test_resampled_human_times_have_the_spread_of_their_mean():
    times = [2.0, 4.0, 16.0, 64.0]
    data = horizon_data({"a": [True], "b": [False]}, {"a": 10.0, "b": 7.0}, None)
    lengths = drawn_lengths(data, {"a": times}, 20_000, rng())
    assert lengths[:, 0].mean() == pytest.approx(np.log2(times).mean(), abs=0.05)
    assert lengths[:, 0].std() == pytest.approx(np.log2(times).std() / 2, rel=0.03)
    assert (lengths[:, 1] == np.log2(7)).all()
    assert drawn_lengths(data, None, 9, rng()).tolist() == pytest.approx(np.log2([10, 7]))


def naive_draw(chance, families):
    """Trials and successes by task: families, then tasks, then trials, one by one."""
    trials, won = Counter(), Counter()
    for _ in families:
        family = families[chance.integers(len(families))]
        for _ in family:
            task, outcomes = family[chance.integers(len(family))]
            for _ in outcomes:
                trials[task] += 1
                won[task] += outcomes[chance.integers(len(outcomes))]
    return trials, won


def test_the_draws_follow_the_scheme_written_out():
    outcomes, minutes = steps(trials=6)
    data = horizon_data(outcomes, minutes, None)
    options = HorizonOptions(chances=(0.5,), ridge=0.01, draws=20_000)
    ours = np.log2(draw_horizons(data, options, rng()).horizons[:, 0])
    families = [[(t, outcomes[t]) for t in data.tasks if t.startswith(f"f{number}")] for number in range(4)]
    chance, weight = rng(5), trial_weights(data, "invsqrt")
    pairs = [naive_draw(chance, families) for _ in range(2_000)]
    trials, won = (np.array([[pair[side][t] for t in data.tasks] for pair in pairs]) for side in (0, 1))
    fits = fit_logistic(weight * trials, weight * won, np.log2(data.minutes), 0.01)
    naive = np.log2(crossings(fits, (0.5,), *data.range)[:, 0])
    shares = [0.05, 0.25, 0.5, 0.75, 0.95]
    assert np.quantile(naive, shares) == pytest.approx(np.quantile(ours, shares), abs=0.08)


def test_bins_count_every_trial_once():
    outcomes, minutes = steps(trials=10)
    found = horizon(outcomes, minutes, rng(), HorizonOptions(draws=10)).bins
    assert sum(part.rate.n_trials for part in found) == 120
    assert [part.rate.n_tasks for part in found] == [0, 2, 2, 2, 2, 2, 2]
    assert found[0].rate.value is None and found[0].fitted is None
    assert all(abs(part.fitted - part.rate.value) < 0.1 for part in found[1:])


def test_impossible_bins_are_refused():
    with pytest.raises(ValueError, match="no human minutes of a"):
        length_bins({"a": [True]}, {})
    for edges in ([4.0, 1.0], [0.0], [math.inf]):
        with pytest.raises(ValueError, match="edges"):
            length_bins({"a": [True]}, {"a": 1.0}, edges=edges)


def test_order_and_seed():
    outcomes, minutes = steps()
    first = horizon(outcomes, minutes, rng())
    turned = {task: trials[::-1] for task, trials in reversed(outcomes.items())}
    assert horizon(turned, minutes, rng()) == first
    assert at(horizon(outcomes, minutes, rng(2))).estimate.low != at(first).estimate.low


@pytest.mark.parametrize("bad", [0.0, -3.0, math.nan, math.inf])
def test_impossible_minutes_are_refused(bad):
    with pytest.raises(ValueError, match="minutes of a"):
        horizon({"a": [True, False]}, {"a": bad}, rng())
    with pytest.raises(ValueError, match="human times"):
        horizon({"a": [True]}, {"a": 1.0}, rng(), HorizonOptions(human_times={"a": [bad]}))


@pytest.mark.parametrize(
    "options",
    [
        HorizonOptions(chances=()),
        HorizonOptions(chances=(1.0,)),
        HorizonOptions(draws=0),
        HorizonOptions(level=1.0),
        HorizonOptions(ridge=-0.1),
        HorizonOptions(ridge=math.nan),
        HorizonOptions(weighting="square"),
    ],
)
def test_impossible_options_are_refused(options):
    with pytest.raises(ValueError, match="horizon"):
        horizon({"a": [True, False]}, {"a": 1.0}, rng(), options)
    with pytest.raises(ValueError, match="no human minutes of b"):
        horizon({"b": [True]}, {"a": 1.0}, rng())
