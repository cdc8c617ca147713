"""τ-bench CSV: the airline trials come out with their known successes."""

from collections import Counter

import pytest

from seatrial.errors import SpecError
from tests.importers.conftest import TAUBENCH
from tests.importers.small import read

HEAD = "task_id,agent,trial,reward,n_tool_calls,user_cost_usd\n"


def test_the_airline_trials_have_their_known_successes(imported):
    records = imported("taubench", TAUBENCH).records
    solved = Counter({record.task: 0 for record in records})
    solved.update(record.task for record in records if record.strict_success)
    assert Counter(solved.values()) == {0: 14, 1: 12, 2: 10, 3: 4, 4: 10}
    assert {record.repeat for record in records} == {1, 2, 3, 4}
    assert {record.family for record in records} == {"airline"}


def test_the_simulated_users_cost_is_not_the_agents(imported):
    loaded = imported("taubench", TAUBENCH)
    assert {record.money for record in loaded.records} == {None}
    assert any("simulated user" in limit for limit in loaded.limits)


def test_a_part_of_a_reward_is_a_score_and_no_success():
    [record] = read("taubench", {"t.csv": (HEAD + "retail/1,m,0,0.5,3,0.1\n").encode()}).records
    assert (record.score, record.strict_success, record.actions) == (0.5, False, 3)


def test_an_empty_reward_is_unknown():
    [record] = read("taubench", {"t.csv": (HEAD + "retail/1,m,0,,3,\n").encode()}).records
    assert (record.strict_success, record.terminal_class, record.score) == (None, "unknown", None)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a/1,m,0,nan,1,1", "line 2, column reward: nan is no usable number"),
        ("a/1,m,0,inf,1,1", "inf is no usable number"),
        ("a/1,m,0,1.5,1,1", "1.5 is above 1"),
        ("a/1,m,0,1_0,1,1", '"1_0" is no number'),
        ("a/1,m,-1,1,1,1", "column trial: -1 is below 0"),
        ("a/1,m,0.5,1,1,1", "no whole number"),
        ("a/1,m,,1,1,1", "column trial: there is no value"),
        ("a/1,m,0,1,1", "line 2: has 5 cells, but there are 6 columns"),
        ("a/1,m,0,1,1,1\na/1,m,0,0,1,1", "line 3, column trial: .* same trial as in line 2"),
        ('"a/1,m,0,1,1,1', "not CSV"),
        ("", "has no row"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(row, message):
    with pytest.raises(SpecError, match=message):
        read("taubench", {"t.csv": (HEAD + row).encode()})


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("task_id,agent,trial\n", "the column reward is missing"),
        ("task_id,agent,trial,reward,trial\n", 'column "trial" is there twice'),
        ('{"run_id": 1}\n', "the column task_id is missing"),
    ],
)
def test_other_columns_are_refused(head, message):
    with pytest.raises(SpecError, match=message):
        read("taubench", {"t.csv": (head + "a,b,c\n").encode()})
