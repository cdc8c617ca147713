"""Which attempt stands for its trial."""

import pytest

from seatrial.records.counted import counted_index, counted_records
from tests.records.test_table import record


@pytest.mark.parametrize(
    ("classes", "index"),
    [
        (["success"], 0),
        (["infrastructure", "failure", "success"], 1),
        (["infrastructure", "infrastructure"], 1),
        (["unknown", "success"], 0),
    ],
)
def test_the_first_that_was_completed_else_the_last(classes, index):
    assert counted_index(classes) == index


def test_attempts_are_ordered_by_number_and_trials_as_they_come():
    other = record("t-0")
    other.experiment = "f"
    found = counted_records([record("t-1", 2), other, record("t-0", 1), record("t-1", 1)])
    assert [(r.experiment, r.trial, r.attempt) for r in found] == [
        ("e", "t-1", 1), ("f", "t-0", 1), ("e", "t-0", 1),
    ]  # fmt: skip
