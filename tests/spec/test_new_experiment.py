import os

import pytest

from seatrial.errors import SpecError, UsageError
from seatrial.spec.loading import load_task
from seatrial.spec.new_experiment import check_place, new_experiment
from seatrial.spec.new_task import new_task


def test_every_solution_and_two_simulated_agents_are_systems(tmp_path):
    task = new_task(tmp_path / "guests", "mine/guests")
    loaded = new_experiment(tmp_path / "first.toml", task)
    kinds = {system.name: system.agent for system in loaded.spec.system}
    assert kinds == {
        "reference": "scripted", "rule-breaker": "scripted", "wrong": "scripted",
        "steady": "simulated", "hasty": "simulated",
    }  # fmt: skip
    assert loaded.spec.primary.compare == ["steady", "hasty"]
    assert [each.digest for each in loaded.tasks] == [task.digest], "the task is as it was"


def test_a_task_without_a_plan_has_no_simulated_agents(tmp_path):
    new_task(tmp_path / "guests", "mine/guests")
    (tmp_path / "guests" / "plan.toml").unlink()
    loaded = new_experiment(tmp_path / "first.toml", load_task(tmp_path / "guests"))
    assert {system.agent for system in loaded.spec.system} == {"scripted"}
    assert loaded.spec.primary is None


def test_people_who_approve_are_asked_and_recoveries_are_no_systems(tmp_path):
    folder = tmp_path / "guests"
    new_task(folder, "mine/guests")
    with open(folder / "task.toml", "a") as file:
        file.write('\n[[approval]]\nid = "late"\ntool = "shell"\nwhere = { command = "date" }\n')
        file.write('\n[[constraint]]\nid = "ask"\nmode = "prevent"\nrequires = "late"\n')
        file.write('forbid = { call = [{ tool = "shell", where = { command = "date" } }] }\n')
    (folder / "human.toml").write_text('[[approval]]\napproval = "late"\ndecision = "approve"\n')
    (folder / "solutions" / "recover-x.toml").write_bytes((folder / "solutions/reference.toml").read_bytes())
    loaded = new_experiment(tmp_path / "first.toml", load_task(folder))
    assert (loaded.spec.human.tier, loaded.spec.human.script) == ("approval", "human.toml")
    assert "recover-x" not in {system.name for system in loaded.spec.system}
    assert "reference" in {system.name for system in loaded.spec.system}


def test_the_task_is_named_from_where_the_experiment_lies(tmp_path, monkeypatch):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    task = new_task(tmp_path / 'a "task"', "mine/guests")
    loaded = new_experiment(tmp_path / "deep" / "er" / "first.toml", task)
    assert loaded.spec.tasks == ['../../a "task"']


def test_a_place_that_will_not_do_is_refused_first(tmp_path):
    (tmp_path / "there.toml").write_text("mine")
    os.symlink("nowhere", tmp_path / "link.toml")
    for place, said in [
        ("there.toml", "exists"),
        ("link.toml", "exists"),
        ("no/such.toml", "no such folder"),
        ("task/first.toml", "beside"),
    ]:
        (tmp_path / "task").mkdir(exist_ok=True)
        with pytest.raises(UsageError, match=said):
            check_place(tmp_path / place, tmp_path / "task")
    assert (tmp_path / "there.toml").read_text() == "mine"


def test_a_solution_whose_name_is_none_leaves_nothing(tmp_path):
    folder = tmp_path / "guests"
    new_task(folder, "mine/guests")
    (folder / "solutions" / "two words.toml").write_bytes((folder / "solutions" / "wrong.toml").read_bytes())
    with pytest.raises(SpecError, match="two words"):
        new_experiment(tmp_path / "first.toml", load_task(folder))
    assert sorted(os.listdir(tmp_path)) == ["guests"]
