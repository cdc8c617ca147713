import json

import pytest
from typer.testing import CliRunner

from seatrial.cli.suite.suite import app
from seatrial.errors import SpecError, UsageError
from seatrial.spec.loading import load_experiment
from tests.spec.folders import write_task


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_new_then_lint(tmp_path):
    made = run("new", tmp_path / "guests")
    assert made.exit_code == 0 and "example/guests" in made.output
    linted = run("lint", tmp_path / "guests")
    assert (linted.exit_code, linted.output) == (0, f"{tmp_path / 'guests'}: 0 errors, 0 warnings\n")


def test_new_as_json(tmp_path):
    made = run("new", tmp_path / "x", "--id", "mine/first", "--json")
    plain = json.loads(made.output)
    assert (plain["id"], plain["folder"]) == ("mine/first", str(tmp_path / "x"))
    assert "task.toml" in plain["files"]


def test_new_with_an_experiment(tmp_path):
    file = tmp_path / "first.toml"
    made = run("new", tmp_path / "guests", "--experiment", file)
    assert f"seatrial run {file} -o RUN" in made.output
    assert len(load_experiment(file).spec.system) == 5
    inside = run("new", tmp_path / "other", "--experiment", tmp_path / "other" / "x.toml")
    assert isinstance(inside.exception, UsageError)
    assert not (tmp_path / "other").exists()


def test_lint_exits_1_on_an_error_and_0_on_a_warning(tmp_path):
    wrong = write_task(tmp_path / "wrong", {"horizon.dependency_depth": 7})
    vague = write_task(tmp_path / "vague", {"version": "x"})
    assert run("lint", vague).exit_code == 0
    both = run("lint", wrong, vague, "--json")
    assert both.exit_code == 1
    tasks = json.loads(both.output)["tasks"]
    assert [[f["level"] for f in task["findings"]] for task in tasks] == [["error"], ["warning"]]
    assert set(tasks[0]["findings"][0]) == {"level", "place", "problem", "remedy"}
    assert f"error: {wrong}: horizon.dependency_depth: 7 is declared" in run("lint", wrong).output


def test_bad_input_is_left_to_the_main_command(tmp_path):
    with pytest.raises(SpecError, match=r"task\.toml: id"):
        raise run("lint", write_task(tmp_path, {"id": "x"})).exception
    with pytest.raises(UsageError, match="not empty"):
        raise run("new", tmp_path).exception


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--depth", "5"], "--depth is for generated tasks only. Add --family (repair, ledger"),
        (["--depth", "3"], "--depth is for generated tasks only"),
        (["--package", "toolz"], "--package is for generated tasks only"),
        (["--family", "absent"], "there is no family 'absent'. Choose one of: repair"),
        (
            ["--family", "ledger", "--package", "toolz"],
            "--package is no knob of ledger. Leave it out; it has --data",
        ),
        (["--family", "ledger", "--data", "absent"], "Choose one of weather, employment, electricity"),
        (["--family", "ledger", "--size", "401"], "too large for weather. Choose a number from 0 to 400"),
        (["--family", "repair", "--id", "a/b"], "named by its knobs. Leave --id out"),
        (["--family", "repair", "--package", "absent"], "Choose one of toolz, funcy, boltons"),
        (["--family", "repair", "--depth", "9", "--breadth", "2"], "needs 18 functions to break"),
        (["--family", "repair", "--seed", "9" * 23], "--seed 999"),
        (["--family", "repair", "--delay", "99"], "--delay 99 is too large. Choose a number from 0 to 20"),
        (["--family", "repair", "--group", "deep"], "Choose one of: 'short and deep', 'long and shallow'"),
    ],
)
def test_knobs_that_fit_no_task_are_refused_before_anything_is_written(tmp_path, options, said):
    refused = run("new", tmp_path / "new", *options, "--cache", tmp_path / "cache")
    assert isinstance(refused.exception, UsageError) and said in str(refused.exception)
    assert not list(tmp_path.iterdir())
