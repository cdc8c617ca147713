"""Watching a comparison (F14): continue, stop, insufficient; the error is kept however often one looks."""

import numpy as np
import pytest

from seatrial.estimate.sequential import Interim, watch
from seatrial.estimate.student import t_as_z, z_as_t


def interim(information, z, error=0.1, n_tasks=50):
    """One look at a difference whose t has the tail of ``z``."""
    return Interim(
        information=information,
        difference=z_as_t(z, n_tasks - 1) * (error or 1),
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
        assert found.z == pytest.approx([z]) and found.difference.value > 0.1 * z
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
            looks.append(
                Interim(
                    information=share,
                    difference=float(seen.mean()),
                    error=error,
                    n_tasks=len(seen),
                    n_trials=len(seen),
                )
            )
        # One call judges all looks; each look's own verdict is in it.
        stopped += watch(looks).state == "stop"
    # Looking five times at a stated 5 % without boundaries errs in 14 %.
    assert 0.025 < stopped / repeats < 0.08


def test_bad_looks_are_refused():
    for looks in (
        [],
        [interim(0.5, 1.0, n_tasks=2), interim(1.0, 1.0, error=0.0)],
        [interim(0.5, 1.0), interim(0.4, 1.0)],
        [interim(0.5, 1.0, error=-1.0)],
    ):
        with pytest.raises(ValueError, match=r"boundaries|watch"):
            watch(looks)


def test_t_and_z_of_one_tail():
    # The two-sided 5 % points of t with 10 degrees of freedom and of the normal distribution.
    assert t_as_z(2.228139, 10) == pytest.approx(1.959964, abs=1e-5)
    assert t_as_z(-2.228139, 10) == pytest.approx(-1.959964, abs=1e-5)
    for z in (-9.0, -3.0, 0.0, 4.5, 9.0):
        assert t_as_z(z_as_t(z, 19), 19) == pytest.approx(z)
