import pytest

from seatrial.errors import SpecError
from seatrial.spec.loading import load_experiment, load_task
from seatrial.spec.reading import read_toml
from tests.spec.folders import assert_error, write_experiment, write_task


@pytest.mark.parametrize(
    ("text", "place", "pieces"),
    [
        ("a = \n", "line 1, column 5", ["not TOML", "Invalid value"]),
        ("a = 1\nb = 1 c\n", "line 2, column 7", ["b = 1 c"]),
        ("a = 1\na = 2", "line 2, column 6", ["Cannot overwrite a value"]),
        ("a = [1,\n2", "line 2, column 2", ["Unclosed array"]),
        ("a = nan\n", "a", ["nan", "finite number"]),
        ("x = [{w = -inf}]\n", "x[0].w", ["-inf"]),
        ("seed = 99999999999999999999\n", "seed", ["99999999999999999999", "64 bits"]),
        ("a = " + "[" * 3000, "", ["nested too deeply"]),
    ],
)
def test_broken_toml_says_where(tmp_path, text, place, pieces):
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(SpecError) as raised:
        read_toml(path)
    assert_error(raised, path, place, *pieces)


def test_toml_that_is_not_utf8_says_which_byte(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b'a = 1\nb = "\xff"\n')
    with pytest.raises(SpecError) as raised:
        read_toml(path)
    assert_error(raised, path, "line 2", "0xff", "UTF-8")


def test_absent_files_and_folders(tmp_path):
    with pytest.raises(SpecError) as raised:
        load_experiment(tmp_path / "none.toml")
    assert_error(raised, tmp_path / "none.toml", "", "No such file")
    with pytest.raises(SpecError) as raised:
        load_experiment(tmp_path)
    assert_error(raised, tmp_path, "", "Is a directory")
    with pytest.raises(SpecError) as raised:
        read_toml(tmp_path / "nul\0")
    assert "is no path" in str(raised.value)
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(SpecError) as raised:
            load_task(folder)
        assert_error(raised, folder, "", "suite new")


@pytest.mark.parametrize(
    ("change", "place", "pieces"),
    [
        ({"subgoal.1.wieght": 2}, "subgoal[1].wieght", ['unknown key "wieght"', 'Did you mean "weight"']),
        ({"environment.limits": {"memory": 2}}, "environment.limits.memory", ["unknown key", "memory_mb"]),
        ({"colour": 1}, "colour", ["unknown key", "Name a known key: approval, budget, canary"]),
        ({"version": 1}, "version", ["1 has the wrong type", "Write a string"]),
        (
            {"environment.limits": {"processes": "x"}},
            "environment.limits.processes",
            ['"x"', "a whole number"],
        ),
        ({"subgoal.0.weight": True}, "subgoal[0].weight", ["true has the wrong type", "a number"]),
        ({"subgoal.0.after": "first"}, "subgoal[0].after", ['"first" has the wrong type', "an array"]),
        ({"human_minutes": 12}, "human_minutes", ["12 has the wrong type", "a table"]),
        ({"environment.network": "nonne"}, "environment.network", ['"nonne"', 'Did you mean "none"']),
        ({"subgoal.0.verifier": None}, "subgoal[0].verifier", ["missing", "Add verifier = "]),
        ({"schema": None}, "schema", ["missing", '"seatrial/task@1"']),
        ({"schema": "seatrial/task@9", "colour": 1}, "schema", ['"seatrial/task@9"', '"seatrial/task@1"']),
    ],
)
def test_a_task_of_the_wrong_shape(tmp_path, change, place, pieces):
    folder = write_task(tmp_path, change)
    with pytest.raises(SpecError) as raised:
        load_task(folder)
    assert_error(raised, folder / "task.toml", place, *pieces)


@pytest.mark.parametrize(
    ("change", "place", "pieces"),
    [
        ({"system.0.agent": "scriptd"}, "system[0].agent", ['"scriptd"', 'Did you mean "scripted"']),
        ({"trial_per_task": 3}, "trial_per_task", ['Did you mean "trials_per_task"']),
        ({"trials_per_task": "3"}, "trials_per_task", ['"3" has the wrong type', "a whole number"]),
        ({"tasks": ["a", 3]}, "tasks[1]", ["3 has the wrong type", "a string"]),
        ({"schema": "seatrial/task@1"}, "schema", ['"seatrial/experiment@1"']),
    ],
)
def test_an_experiment_of_the_wrong_shape(tmp_path, change, place, pieces):
    path = write_experiment(tmp_path, change)
    with pytest.raises(SpecError) as raised:
        load_experiment(path)
    assert_error(raised, path, place, *pieces)


def test_a_long_value_is_cut(tmp_path):
    folder = write_task(tmp_path, {"version": ["y" * 500]})
    with pytest.raises(SpecError) as raised:
        load_task(folder)
    assert "y…" in str(raised.value) and len(raised.value.problem) < 120
