"""Success with and without a disturbance, on the same tasks (D2)."""

import numpy as np
import pytest

from seatrial.estimate.paired_drop import paired_drop


def drop(before, after):
    return paired_drop(before, after, np.random.default_rng(7))


def test_the_drop_is_the_mean_of_the_tasks_drops_beside_both_rates():
    before = {"f/a": [True, True], "f/b": [True, False], "f/c": [True, True]}
    after = {"f/a": [True, False], "f/b": [False, False], "f/c": [True, False]}
    found = drop(before, after)
    assert found.before.value == pytest.approx(5 / 6)
    assert found.after.value == pytest.approx(1 / 3)
    assert found.drop.value == pytest.approx(0.5)
    assert (found.floor, found.drop.n_tasks, found.drop.n_trials) == (False, 3, 12)


def test_a_low_baseline_is_named_as_a_floor():
    tasks = [f"f/{i}" for i in range(10)]
    found = drop({t: [t == "f/0"] for t in tasks}, {t: [False] for t in tasks})
    assert found.floor is True
    assert "Floor: the baseline itself succeeds in 10 % only" in " ".join(found.drop.notes)
    assert drop({t: [True] for t in tasks}, {t: [False] for t in tasks}).floor is False


def test_a_task_without_a_partner_is_left_out_and_named():
    found = drop({"f/a": [True], "f/b": [True], "f/c": []}, {"f/a": [False], "f/b": [False], "f/d": [True]})
    assert found.drop.n_tasks == 2
    assert [note for note in found.drop.notes if note.startswith("f/")] == [
        "f/c is left out: no valid trial on one side.", "f/d is left out: no valid trial on one side.",
    ]  # fmt: skip


def test_what_is_unknown_is_taken_both_ways():
    found = drop({"f/a": [True], "f/b": [None]}, {"f/a": [False], "f/b": [False]})
    assert (found.before.value, found.floor, found.drop.value) == (None, None, None)
    assert found.drop.low <= 0.5 and found.drop.high >= 1


def test_nothing_to_compare_is_said():
    found = drop({}, {"f/a": [True]})
    assert (found.drop.value, found.p, found.verdict) == (None, None, "cannot be told apart yet")


def test_a_placebo_drops_by_chance_only():
    """Outcomes of one process on both sides: told apart in about alpha of the runs, at most 10 of 100."""
    rng = np.random.default_rng(20261129)
    told = 0
    for _ in range(100):
        chance = {f"f/{i}": rng.random() for i in range(12)}
        sides = [{t: list(rng.random(5) < p) for t, p in chance.items()} for _ in range(2)]
        plain = [{t: [bool(v) for v in trials] for t, trials in side.items()} for side in sides]
        found = paired_drop(plain[0], plain[1], rng)
        told += found.p is not None and found.p < 0.05
    assert told <= 10
