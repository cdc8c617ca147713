"""Watching a comparison (F14): continue, stop, insufficient; the error is kept however often one looks."""

import numpy as np
import pytest

from seatrial.estimate.sequential import Interim, watch


def interim(information, z, error=0.1, n_tasks=50):
    return Interim(
        information=information,
        difference=z * (error or 1),
        error=error,
        n_tasks=n_tasks,
        n_trials=2 * n_tasks,
    )


def test_the_three_states():
    assert watch([interim(0.5, 2.0)]).state == "continue"
    assert watch([interim(0.5, 3.1)]).state == "stop"
    assert watch([interim(0.5, -3.1)]).state == "stop"
    end = watch([interim(0.5, 1.0), interim(1.0, 1.9)])
    assert end.state == "insufficient"
    assert "cannot be told apart yet" in end.notes[-1]
    assert watch([interim(0.5, -3.1)], sides=1).state == "continue"


def test_the_repeated_interval_leaves_zero_out_only_where_it_stops():
    for z in (2.0, 2.9, 3.0, 4.0):
        found = watch([interim(0.5, z)])
        assert (found.difference.low > 0) == (found.state == "stop")
        assert found.difference.value == pytest.approx(0.1 * z)
    one = watch([interim(0.5, 2.0)], sides=1).difference
    assert one.high is None and one.low is not None


def test_a_crossing_is_not_undone():
    found = watch([interim(0.4, 4.0), interim(0.8, 0.5)])
    assert found.state == "stop" and "Look 1 had crossed already" in found.notes[-1]


def test_few_tasks_or_no_spread_decide_nothing():
    few = watch([interim(0.5, 9.0, n_tasks=9)])
    assert few.state == "continue" and "9 tasks are too few" in few.notes[0]
    still = watch([interim(0.5, 9.0, error=None)])
    assert still.state == "continue" and still.difference.low is None and "nothing varied" in still.notes[0]


def test_looking_five_times_errs_no_more_often_than_stated():
    rng, stopped, repeats = np.random.default_rng(2), 0, 400
    times = [0.2, 0.4, 0.6, 0.8, 1.0]
    for _ in range(repeats):
        differences = rng.normal(size=100)
        looks = []
        for share in times:
            seen = differences[: int(100 * share)]
            error = float(seen.std(ddof=1)) / len(seen) ** 0.5
            looks.append(interim(share, float(seen.mean()) / error, error, len(seen)))
        # One call judges all looks; each look's own verdict is in it.
        stopped += watch(looks).state == "stop"
    # 5 %, a little more since z of 20 tasks is a t; looking naively would give 14 %.
    assert 0.02 < stopped / repeats < 0.09


def test_bad_looks_are_refused():
    for looks in ([], [interim(0.5, 1.0), interim(0.4, 1.0)], [interim(0.5, 1.0, error=-1.0)]):
        with pytest.raises(ValueError, match=r"boundaries|watch"):
            watch(looks)
