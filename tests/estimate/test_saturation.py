"""Saturation and floor flags (F24)."""

import pytest

from seatrial.estimate.saturation import saturation
from tests.estimate.gold import single


def system(won, tasks):
    return single([i < won for i in range(tasks)], bool)


@pytest.mark.parametrize(
    ("won", "tasks", "flag"),
    [
        (200, 200, "saturated"),
        (20, 20, "perhaps saturated"),
        (0, 200, "at the floor"),
        (1, 20, "perhaps at the floor"),
        (10, 20, "in range"),
    ],
)
def test_a_flag_without_perhaps_needs_the_whole_interval(won, tasks, flag):
    assert saturation({"s": system(won, tasks)}).systems["s"].flag == flag


def test_tasks_that_tell_no_one_apart_are_named():
    found = saturation(
        {
            "a": {"x": [True], "y": [False], "z": [True], "u": [None]},
            "b": {"x": [True], "y": [False], "z": [False]},
        }
    )
    assert (found.always, found.never, found.telling) == (["x"], ["y"], 0.5)
    assert found.systems["a"].flag == "unknown", "a task with an unknown outcome is not called settled"
    assert saturation({"a": {}}).telling is None


def test_bad_rates_are_refused():
    for systems, ceiling, floor in (({}, 0.9, 0.1), ({"a": {}}, 0.1, 0.9), ({"a": {}}, 1.1, 0.1)):
        with pytest.raises(ValueError, match="saturation"):
            saturation(systems, ceiling, floor)
