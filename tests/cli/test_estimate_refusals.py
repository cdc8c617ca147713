"""Bad input to the estimates: refused with a remedy, or answered with an explicit degenerate result."""

import subprocess
import sys

import pytest

from seatrial.errors import JournalError, SpecError, UsageError
from tests.cli.tables import data, line, run, table, trials


@pytest.fixture
def small(tmp_path):
    rows = trials("one", {"a": [True], "b": [False]}) + trials("two", {"a": [True], "b": [True]})
    return table(tmp_path / "small.csv", rows)


def test_a_refusal_is_one_line_and_exit_code_2(tmp_path):
    program = "from seatrial.cli.main import main; main()"
    command = [sys.executable, "-c", program, "estimate", "rate", str(tmp_path / "none.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("seatrial: ") and done.stderr.count("\n") == 1


def refused(kind, *arguments):
    fault = run(*arguments).exception
    assert isinstance(fault, kind), fault
    return str(fault)


def test_an_empty_table(tmp_path):
    path = table(tmp_path / "t.csv", trials("one", {"a": [True]}))
    path.write_text(path.read_text().splitlines()[0] + "\n")
    assert "t.csv" in refused(SpecError, "estimate", "rate", path)


def test_a_missing_file(tmp_path):
    assert "cannot be read" in refused(SpecError, "estimate", "rate", tmp_path / "none.csv")


def test_a_trial_that_is_there_twice(tmp_path):
    rows = trials("one", {"a": [True]})
    assert "more than once" in refused(JournalError, "estimate", "rate", table(tmp_path / "t.csv", rows * 2))


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_score_that_is_no_number(tmp_path, value):
    path = table(tmp_path / "t.csv", trials("one", {"a": [True]}, score=value))
    said = refused(SpecError, "estimate", "rate", path)
    assert "score" in said and value in said


def test_negative_minutes(tmp_path):
    path = table(tmp_path / "t.csv", trials("one", {"a": [True]}, human_minutes=-1))
    assert "human_minutes" in refused(SpecError, "estimate", "horizon", path)


def test_an_unknown_measure_system_arm_or_axis_lists_what_there_is(small):
    assert "Did you mean" in refused(UsageError, "estimate", "rate", small, "--measure", "strict_succes")
    assert '"strict_success"' in refused(UsageError, "estimate", "rate", small, "--measure", "strict_succes")
    assert "strict_success" in refused(UsageError, "estimate", "rate", small, "--measure", "zzz")
    assert "Name a system: one, two" in refused(UsageError, "estimate", "rate", small, "--system", "qqqqq")
    assert "Name an arm: baseline" in refused(UsageError, "estimate", "rate", small, "--arm", "zzz")
    assert "unknown in every row" in refused(UsageError, "estimate", "survival", small)
    assert "human_minutes" in refused(UsageError, "estimate", "horizon", small)


def test_a_number_is_no_outcome(tmp_path):
    path = table(tmp_path / "t.csv", trials("one", {"a": [True]}, score=0.5))
    assert "--at-least" in refused(UsageError, "estimate", "passk", path, "--measure", "score")
    said = refused(UsageError, "estimate", "passk", path, "--at-least", 0.5)
    assert "yes or no" in said


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [("--level", 1.5, "--level 1.5"), ("--level", "nan", "--level nan"), ("--seed", -1, "--seed -1"),
     ("--plot", "x.png", ".svg or .html"), ("--plot", "/no/such/place/x.svg", "there is no folder")],
)  # fmt: skip
def test_options_out_of_range(small, option, value, said):
    assert said in refused(UsageError, "estimate", "rate", small, option, value)


@pytest.mark.parametrize(
    ("kind", "option", "value"),
    [
        ("cost", "--cap", "nan"),
        ("cost", "--cap", 0),
        ("horizon", "--ridge", -1),
        ("horizon", "--chance", 1),
        ("budget", "--target", 2),
    ],
)
def test_options_of_one_kind_are_named_when_out_of_range(small, kind, option, value):
    assert f"{option} {value} is out of range. Give " in refused(
        UsageError, "estimate", kind, small, option, value
    )


def test_more_draws_than_memory_holds_are_refused(small):
    done = run("estimate", "rate", small, "--draws", 1_000_000_000)
    assert done.exit_code == 2 and "1000000" in done.output


def test_one_task_is_labelled(tmp_path):
    path = table(tmp_path / "t.csv", trials("one", {"a": [True, False, True]}))
    found = line(data("estimate", "rate", path), "one", "strict_success")
    assert "this task only" in " ".join(found["estimate"]["notes"]) and found["beside"] == []


@pytest.mark.parametrize("way", [True, False])
def test_all_alike_is_no_interval_of_zero_width(tmp_path, way):
    path = table(tmp_path / "t.csv", trials("one", {"a": [way] * 3, "b": [way] * 3}, human_minutes=5.0))
    found = line(data("estimate", "rate", path, "--draws", 50), "one", "strict_success")
    for estimate in (found["estimate"], *found["beside"]):
        assert estimate["low"] is None or estimate["low"] < estimate["high"]
    horizon = line(data("estimate", "horizon", path), "one", "horizon at 50 %")
    assert horizon["estimate"]["value"] is None and ("succeeded" if way else "failed") in " ".join(
        horizon["estimate"]["notes"]
    )


def test_one_system_cannot_be_compared_or_scaled(tmp_path):
    path = table(tmp_path / "t.csv", trials("one", {"a": [True], "b": [False]}))
    assert "holds 1 systems" in refused(UsageError, "compare", path)
    assert "irt" in refused(UsageError, "estimate", "irt", path)


def test_versions_of_a_task_are_not_pooled(tmp_path):
    rows = trials("one", {"a": [True, False]}, task_version=lambda _, n: f"1.{n}")
    path = table(tmp_path / "t.csv", rows)
    said = refused(SpecError, "estimate", "rate", path)
    assert "system one" in said and "several versions" in said and "--allow-mixed" in said
    assert data("estimate", "rate", path, "--allow-mixed")["mixed"][0].startswith(
        "1 tasks in several versions"
    )


def test_systems_on_other_tasks_share_no_frontier(tmp_path):
    rows = trials("one", {"a": [True], "b": [True]}, money=1.0) + trials("two", {"a": [True]}, money=2.0)
    path = table(tmp_path / "t.csv", rows)
    assert "--common-tasks" in refused(UsageError, "estimate", "pareto", path)
    found = data("estimate", "pareto", path, "--common-tasks")
    assert "1 tasks that not every system has are left out." in found["limits"]


def test_a_task_has_one_length(tmp_path):
    rows = trials("one", {"a": [True, False], "b": [True, True]}, human_minutes=lambda _, n: n + 1.0)
    path = table(tmp_path / "t.csv", rows)
    assert "a has human_minutes 1.0 and 2.0" in refused(UsageError, "estimate", "horizon", path)


def test_tasks_without_a_length_are_left_out_aloud(tmp_path):
    rows = trials("one", {"a": [True], "b": [False], "c": [True]})
    for row, minutes in zip(rows, (1.0, 100.0, None), strict=True):
        row["human_minutes"] = minutes
    found = data("estimate", "horizon", table(tmp_path / "t.csv", rows), "--draws", 20)
    assert "1 tasks (1 trials) of one lack human_minutes and are left out." in found["limits"]


def test_a_column_to_divide_by(small):
    said = refused(UsageError, "estimate", "rate", small, "--by", "zzz")
    assert 'one has no "zzz" to divide by. Name a column:' in said and "task" in said


def test_nothing_to_draw(tmp_path):
    path = table(tmp_path / "t.csv", trials("one", {"a": [None], "b": [None]}))
    said = refused(UsageError, "estimate", "rate", path, "--plot", tmp_path / "x.svg")
    assert "nothing to draw" in said and not (tmp_path / "x.svg").exists()


def test_bad_worths_ranges_and_shares(tmp_path):
    path = table(tmp_path / "t.csv", trials("one", {"a": [True]}, money=1.0, elapsed_us=5))
    assert "RESOURCE=N" in refused(UsageError, "estimate", "utility", path, "--worth", "money")
    assert "LOW:HIGH" in refused(UsageError, "estimate", "budget", path, "--between", "5")
    assert "no estimate of budget" in refused(UsageError, "estimate", "budget", path, "--between", "5:1")
    assert "STRATUM=SHARE" in refused(UsageError, "estimate", "rate", path, "--population", "x")
