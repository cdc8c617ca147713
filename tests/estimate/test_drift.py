"""Anchor drift against a fresh drop (F19)."""

import numpy as np
import pytest

from seatrial.estimate.drift import anchor_drift, rate_gap


def tasks(name, rate, n=60, trials=4):
    won = np.random.default_rng(n).random((n, trials)) < rate
    return {f"{name}{i:03d}": row.tolist() for i, row in enumerate(won)}


def judge(then, now, fresh, **more):
    return anchor_drift(then, now, fresh, np.random.default_rng(1), **more)


def test_anchors_that_rise_while_fresh_tasks_fall_behind_are_suspect():
    found = judge(tasks("a", 0.5), tasks("a", 0.9), tasks("f", 0.5))
    assert found.reading == "exposure suspected"
    assert found.drift.verdict == "A higher" and found.drift.difference.value == pytest.approx(0.4, abs=0.1)
    assert found.fresh_drop.high < 0 and found.fresh_drop.value == pytest.approx(-0.4, abs=0.1)


def test_progress_that_fresh_tasks_share_is_no_exposure():
    found = judge(tasks("a", 0.5), tasks("a", 0.9), tasks("f", 0.9, n=61))
    assert found.reading == "anchors moved" and "keep pace" in found.notes[-1]
    assert judge(tasks("a", 0.7), tasks("a", 0.7), tasks("f", 0.7)).reading == "no drift shown"


def test_a_known_gap_in_difficulty_is_taken_off():
    then, now, fresh = tasks("a", 0.7), tasks("a", 0.7), tasks("f", 0.45)
    assert judge(then, now, fresh).reading == "exposure suspected"
    assert judge(then, now, fresh, expected_gap=-0.25).reading == "no drift shown"


def test_what_is_unknown_reads_so():
    anchors = tasks("a", 0.7, n=10)
    assert judge(anchors, anchors, {"f": [True]}).reading == "unknown"
    assert judge(anchors, anchors, {"f": [True], "g": [None]}).reading == "unknown"
    gap = rate_gap({"f": [None], "g": [True]}, anchors)
    assert gap.value is None and "No gap" in gap.notes[0]


def test_bad_sets_are_refused():
    anchors = tasks("a", 0.7, n=10)
    with pytest.raises(ValueError, match="as anchor and as fresh"):
        judge(anchors, anchors, anchors)
    with pytest.raises(ValueError, match="one system only"):
        judge(tasks("a", 0.7, n=9), anchors, tasks("f", 0.5))
    with pytest.raises(ValueError, match="gap"):
        judge(anchors, anchors, tasks("f", 0.5), expected_gap=2)
