"""Empirical difficulty (F13): recovered scales, links between generations, and what is refused."""

import math

import numpy as np
import pytest

from seatrial.estimate.difficulty import (
    DISCRIMINATION,
    ItemDifficulty,
    fit_difficulty,
    information,
    link_scales,
    most_telling,
)


def answers(abilities, difficulties, rng, trials=4, slopes=None):
    a = np.ones(len(difficulties)) if slopes is None else slopes
    chance = 1 / (1 + np.exp(-a * (np.asarray(abilities)[:, None] - difficulties)))
    won = rng.random((*chance.shape, trials)) < chance[:, :, None]
    return {
        f"s{i:03d}": {f"t{j:03d}": row.tolist() for j, row in enumerate(rows)} for i, rows in enumerate(won)
    }


def test_the_scale_is_recovered_and_errors_are_honest():
    rng = np.random.default_rng(1)
    truth = np.linspace(-2, 2, 40)
    found = fit_difficulty(answers(np.linspace(-1, 1, 12), truth, rng))
    got = np.array([found.tasks[f"t{j:03d}"].difficulty for j in range(40)])
    errors = np.array([found.tasks[f"t{j:03d}"].error for j in range(40)])
    assert np.corrcoef(got, truth)[0, 1] > 0.95
    assert np.mean(np.abs(got - truth) < 1.96 * errors) >= 0.85
    assert sum(found.abilities.values()) == pytest.approx(0)
    assert sorted(found.abilities, key=found.abilities.get)[-1] in {"s010", "s011"}
    assert found.notes[0] == "Empirical: fitted on these systems, so never use it to stratify them."


def test_the_mode_is_where_the_posterior_is_flat():
    responses = {"a": {"x": [True, True, False], "y": [False]}, "b": {"x": [True], "y": [True, False]}}
    found = fit_difficulty(responses)
    shift = 0.0
    # At the mode Σ(successes − expected) = ability/σ² for every system; solve for the shift by the sums.
    ability, hard = found.abilities, {t: i.difficulty for t, i in found.tasks.items()}
    gaps = {
        s: sum(sum(trials) - len(trials) / (1 + math.exp(hard[t] - ability[s])) for t, trials in own.items())
        for s, own in responses.items()
    }
    shift = gaps["a"] - ability["a"]
    assert gaps["b"] - ability["b"] == pytest.approx(shift, abs=1e-5), "both carry the same centre"
    for task in ("x", "y"):
        gap = sum(
            sum(own[task]) - len(own[task]) / (1 + math.exp(hard[task] - ability[s]))
            for s, own in responses.items()
        )
        assert -gap == pytest.approx((hard[task] + shift) / 4, abs=1e-5)


def test_a_task_all_solve_stays_finite_by_the_prior_and_is_said():
    responses = answers([-1, 0, 1], [-1.0, 0.0, 1.0], np.random.default_rng(2))
    for table in responses.values():
        table["easy"] = [True] * 4
    found = fit_difficulty(responses)
    assert found.tasks["easy"].bounded_by_prior and -5 < found.tasks["easy"].difficulty < 0
    assert found.tasks["easy"].error > found.tasks["t001"].error
    assert any("always or never solved" in note for note in found.notes)


def test_a_2pl_needs_a_hundred_systems():
    rng = np.random.default_rng(3)
    few = answers(rng.normal(size=99), np.zeros(5), rng)
    with pytest.raises(ValueError, match="99 systems cannot tell slopes apart"):
        fit_difficulty(few, "2PL")
    slopes = np.array([0.5, 0.5, 0.5, 2.0, 2.0, 2.0])
    many = answers(rng.normal(size=150), np.zeros(6), rng, slopes=slopes)
    found = fit_difficulty(many, "2PL")
    got = np.array([found.tasks[f"t{j:03d}"].discrimination for j in range(6)])
    assert got[3:].min() > 1.5 * got[:3].max()
    assert all(item.error < DISCRIMINATION for item in found.tasks.values())


def test_anchors_bring_a_new_generation_onto_the_old_scale():
    rng = np.random.default_rng(4)
    hard = np.linspace(-1.5, 1.5, 20)
    old = fit_difficulty(answers(np.linspace(-1, 1, 15), hard, rng, trials=10))
    # The new generation is one logit abler, so the same tasks look easier; one anchor leaked.
    leaked = hard.copy()
    leaked[10] -= 2
    new = fit_difficulty(answers(np.linspace(0, 2, 15), leaked, rng, trials=10))
    link = link_scales(old, new, [f"t{j:03d}" for j in range(20)])
    assert link.drifted == ["t010"]
    assert link.shift == pytest.approx(1, abs=0.25)
    assert 0 < link.error < 0.2


def test_links_need_sound_anchors():
    rng = np.random.default_rng(5)
    scale = fit_difficulty(answers([-1, 0, 1], [-1.0, 0.0, 1.0, 0.5], rng, trials=8))
    same = link_scales(scale, scale, ["t000", "t001", "t002"])
    assert same.shift == 0 and same.error > 0 and same.drifted == same.one_sided == []
    easy = fit_difficulty(
        {s: {**own, "easy": [True]} for s, own in answers([-1, 0, 1], [0.0] * 3, rng).items()}
    )
    assert link_scales(easy, easy, ["t000", "t001", "t002", "easy"]).one_sided == ["easy"]
    for anchors in ([], ["t000", "t001"], ["t000", "t001", "gone"]):
        with pytest.raises(ValueError, match="link_scales"):
            link_scales(scale, scale, anchors)


def test_a_coin_s_toss_says_most():
    item = ItemDifficulty(difficulty=1.0, error=0.1, discrimination=1.0, n_trials=9, bounded_by_prior=False)
    assert information(1.0, item) == 0.25
    assert information(3.0, item) == pytest.approx(information(-1.0, item)) == pytest.approx(0.105, abs=1e-3)
    assert information(1e6, item) == 0


def test_budget_goes_to_the_transition_zone():
    scale = fit_difficulty(
        answers(np.linspace(-1, 1, 12), [-3.0, -1.0, 0.0, 1.0, 3.0], np.random.default_rng(6), 9)
    )
    assert most_telling(scale, [0.0])[0] == "t002" and set(most_telling(scale, [0.0])[-2:]) == {
        "t000",
        "t004",
    }
    assert most_telling(scale, [4.0])[0] == "t004"
    for bad in ([], [math.nan]):
        with pytest.raises(ValueError, match="most_telling"):
            most_telling(scale, bad)


def test_bad_tables_are_refused():
    for responses in (
        {},
        {"a": {"x": [True], "y": [False]}},
        {"a": {"x": [True]}, "b": {"x": [False]}},
        {"a": {"x": [None], "y": [True]}, "b": {"x": [True], "y": [True]}},
    ):
        with pytest.raises(ValueError, match="fit_difficulty"):
            fit_difficulty(responses)
