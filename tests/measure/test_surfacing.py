"""A conflict of goals that expects to be surfaced: what counts, and what it does to strict success (A5)."""

import msgspec
import pytest

from seatrial.journal.events import GoalChanged
from seatrial.measure.surfacing import conflict_surfaced
from seatrial.measure.trial import measure_trial
from seatrial.spec.task import Goal
from tests.measure.trials import FIVE, PLANNED, events, finished, make_task, requested, verdicts

CHANGED = GoalChanged(step=1, was=1, to=2, relation="conflict", expect="stop-and-surface", instruction="o")


def task(**keys):
    conflict = Goal(version=2, instruction="two.md", relation="conflict", expect="stop-and-surface", **keys)
    return make_task(goal=[Goal(instruction="one.md"), conflict])


def journal(*said, change=CHANGED):
    """Two actions, the goal changes after the first, then what the agent says."""
    lines = events(2, stop="gave_up")
    place = next(i for i, line in enumerate(lines) if getattr(line, "step", 0) == 2)
    later = []
    for step, (tool, words) in enumerate(said, start=3):
        asked = requested(step, tool)
        asked.arguments = words
        later += [asked, finished(step)]
    lines = [*lines[:place], *([] if change is None else [change]), *lines[place:-1], *later, lines[-1]]
    for line in lines[place + 1 :]:
        line.goal_version = 1 if change is None else change.to
    return lines


@pytest.mark.parametrize(
    ("keys", "said", "surfaced"),
    [
        ({}, [("give_up", {"reason": "they contradict"})], True),
        ({}, [("give_up", {"reason": "  "})], False),
        ({}, [("give_up", {})], False),
        ({}, [("ask_human", {"question": "which?"}), ("finish", {})], True),
        ({}, [("finish", {"summary": "they contradict"})], False),
        ({"surfaced": "contradict"}, [("finish", {"summary": "they contradict"})], True),
        ({"surfaced": "contradict"}, [("give_up", {"reason": "too hard"})], False),
        ({"surfaced": "contradict"}, [("shell", {"command": "echo contradict"})], False),
    ],
)
def test_what_counts_as_surfaced(keys, said, surfaced):
    assert conflict_surfaced(task(**keys), journal(*said)) is surfaced


def test_what_was_said_before_the_change_does_not_count():
    late = msgspec.structs.replace(CHANGED, step=3)
    assert conflict_surfaced(task(), journal(("ask_human", {"question": "which?"}), change=late)) is False


def test_unknown_or_not_expected_is_null():
    said = ("give_up", {"reason": "they contradict"})
    assert conflict_surfaced(task(), journal(said, change=None)) is None
    assert conflict_surfaced(task(), journal()[:-1]) is None
    assert conflict_surfaced(make_task(), journal(said)) is None


@pytest.mark.parametrize(("reason", "strict"), [("they contradict", True), ("", False)])
def test_a_conflict_passed_over_in_silence_is_no_success(reason, strict):
    table = verdicts({2: dict.fromkeys(FIVE, "pass")}, goal_version=2)
    lines = journal(("give_up", {"reason": reason}))
    record = measure_trial(task(), PLANNED, lines, table, False, "exp").record
    assert (record.strict_success, record.conflict_detected) == (strict, strict)
