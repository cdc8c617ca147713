import pytest

from seatrial.errors import SpecError
from seatrial.spec.loading import load_experiment, load_task
from tests.spec.folders import assert_error, write_experiment, write_task


def test_a_task_comes_with_its_files(tmp_path):
    loaded = load_task(write_task(tmp_path))
    assert set(loaded.files) == {
        "task.toml", "instruction.md", "environment/start.txt", "verifiers/first.sh", "verifiers/last.sh",
        "solutions/reference.toml", "solutions/wrong.toml",
    }  # fmt: skip
    assert loaded.files["verifiers/first.sh"][1] == 0o755
    assert loaded.raw["id"] == loaded.spec.id == "ledger/steps"
    assert loaded.instruction(1).startswith("Write a.txt")
    assert loaded.file == str(tmp_path / "task.toml")


def test_the_digest_follows_every_file(tmp_path):
    folder = write_task(tmp_path)
    seen = {load_task(folder).digest}
    (folder / "verifiers" / "first.sh").write_text("#!/bin/sh\necho fail >&3\n")
    seen.add(load_task(folder).digest)
    (folder / "notes.txt").write_text("x")
    seen.add(load_task(folder).digest)
    assert len(seen) == 3
    (folder / "verifiers" / "__pycache__").mkdir()
    (folder / "verifiers" / "__pycache__" / "x.pyc").write_text("x")
    assert load_task(folder).digest in seen


def test_an_experiment_comes_with_tasks_and_scripts(tmp_path):
    path = write_experiment(tmp_path)
    write_task(tmp_path / "tasks" / "two", {"id": "ledger/other"})
    (tmp_path / "tasks" / "README.md").write_text("not a task")
    (tmp_path / "tasks" / "shared").mkdir()
    loaded = load_experiment(path)
    assert [task.spec.id for task in loaded.tasks] == ["ledger/steps", "ledger/other"]
    assert loaded.scripts["hasty"]["ledger/other"].step[0].call() == {"command": "echo done > a.txt"}


def test_a_task_named_twice_is_taken_once(tmp_path):
    path = write_experiment(tmp_path, {"tasks": ["tasks/one", "tasks/*", "./tasks/one"]})
    assert len(load_experiment(path).tasks) == 1


@pytest.mark.parametrize(
    ("tasks", "place", "pieces"),
    [
        ([], "tasks", ["[] names no task"]),
        (["nothing/*"], "tasks[0]", ['"nothing/*" matches no task', "task.toml"]),
        (["tasks/one", "tasks/none"], "tasks[1]", ['"tasks/none"']),
        ([""], "tasks[0]", ['"" is no path']),
        (["suite:core"], "tasks[0]", ['"suite:core"']),
    ],
)
def test_tasks_that_are_not_there(tmp_path, tasks, place, pieces):
    path = write_experiment(tmp_path, {"tasks": tasks})
    with pytest.raises(SpecError) as raised:
        load_experiment(path)
    assert_error(raised, path, place, *pieces)


def test_two_tasks_of_one_id(tmp_path):
    path = write_experiment(tmp_path)
    write_task(tmp_path / "tasks" / "two")
    with pytest.raises(SpecError) as raised:
        load_experiment(path)
    assert_error(raised, path, "tasks[0]", '"ledger/steps"', "tasks/one", "tasks/two", "its own id")


@pytest.mark.parametrize(
    ("script", "pieces"),
    [
        ("solutions/none.toml", ['"solutions/none.toml" does not exist', "tasks/one"]),
        ("../one/solutions/wrong.toml", ["lies outside"]),
        ("/etc/hostname", ["lies outside"]),
    ],
)
def test_a_script_that_is_not_there(tmp_path, script, pieces):
    path = write_experiment(tmp_path, {"system.1.script": script})
    with pytest.raises(SpecError) as raised:
        load_experiment(path)
    assert_error(raised, path, "system[1].script", *pieces)


def test_a_fault_in_a_task_or_script_names_that_file(tmp_path):
    path = write_experiment(tmp_path)
    script = tmp_path / "tasks" / "one" / "solutions" / "wrong.toml"
    script.write_text('[[step]]\ntool = "shel"\n')
    with pytest.raises(SpecError) as raised:
        load_experiment(path)
    assert_error(raised, script, "step[0].tool", '"shel"', 'Did you mean "shell"')
    write_task(tmp_path / "tasks" / "one", {"version": 3})
    with pytest.raises(SpecError) as raised:
        load_experiment(path)
    assert_error(raised, tmp_path / "tasks" / "one" / "task.toml", "version", "3")
