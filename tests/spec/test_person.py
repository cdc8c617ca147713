import pytest

from seatrial.errors import SpecError
from seatrial.spec.identity import experiment_id, freeze
from seatrial.spec.loading import load_experiment, load_task
from seatrial.spec.person import person_experiment
from tests.spec.folders import assert_error, write_experiment, write_task


def test_a_session_is_one_trial_of_a_person_and_of_no_other_experiment(tmp_path):
    loaded = load_experiment(write_experiment(tmp_path, {}))
    session = person_experiment(loaded.tasks[0])
    frozen = freeze(session)
    assert [(cell.system, cell.arm) for cell in frozen.plan] == [("person", "baseline")]
    assert frozen.systems["person"]["agent"] == "human"
    assert frozen.systems["person"]["privileged"] is True
    assert experiment_id(session) != experiment_id(loaded)


def test_sessions_on_one_task_are_one_experiment(tmp_path):
    task = write_task(tmp_path / "task")
    first, second = (experiment_id(person_experiment(load_task(task))) for _ in range(2))
    assert first == second


def test_an_experiment_cannot_ask_for_a_person(tmp_path):
    file = write_experiment(tmp_path, {"system": [{"name": "me", "agent": "human"}]})
    with pytest.raises(SpecError) as raised:
        load_experiment(file)
    assert_error(raised, file, "system[0].agent", "unattended", "seatrial shell")
