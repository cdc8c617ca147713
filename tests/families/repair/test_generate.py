"""The generated task as a whole. Fetches the package's archive the first time."""

import json
import tomllib
from pathlib import Path

import pytest

from seatrial.errors import SpecError, UsageError
from seatrial.families.repair import RepairOptions, check_instance, generate
from seatrial.families.repair.check import leaks, outcome
from seatrial.families.repair.rehearse import commands
from seatrial.spec.lint import lint_task
from seatrial.spec.loading import load_task
from tests.families.repair.conftest import DOWNLOADS


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mode) for path in files}


def test_the_task_loads_and_lint_finds_nothing(task: Path):
    assert lint_task(load_task(task)) == []


def test_the_subgoals_form_the_declared_chain(task: Path):
    spec = load_task(task).spec
    after = {subgoal.id: subgoal.after for subgoal in spec.subgoal}
    assert after == {
        "repair-a": [],
        "stage-1": ["repair-a"],
        "repair-b": [],
        "stage-2": ["stage-1", "repair-b"],
        "repair-c": [],
        "stage-3": ["stage-2", "repair-c"],
        "suite": ["stage-3"],
    }
    assert spec.horizon.dependency_depth == 5


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(task: Path, tmp_path: Path):
    again = generate("toolz", 1, tmp_path / "again", DOWNLOADS, RepairOptions(check=False))
    assert tree(again) == tree(task)
    other = generate("toolz", 2, tmp_path / "other", DOWNLOADS, RepairOptions(check=False))
    assert tree(other)["verifiers/expected/stage-1.json"] != tree(task)["verifiers/expected/stage-1.json"]


@pytest.mark.slow
def test_every_script_gets_the_verdicts_it_must(task: Path):
    check_instance(task)


@pytest.mark.slow
def test_a_wrong_repair_is_stuck_where_it_is_wrong(task: Path):
    with commands() as path:
        found = outcome(task, task / "solutions" / "wrong.toml", path)
    # Stage 3 stands on the wrong product of stage 2, so repairing its own function does not save it.
    assert {name for name, passed in found.items() if passed} == {"repair-a", "stage-1", "repair-c"}


def test_the_suite_compares_what_it_says(task: Path):
    spec = tomllib.loads((task / "task.toml").read_text())
    jobs = json.loads((task / "verifiers/expected/suite.json").read_text())
    kept = [seen for job in jobs for seen in job["expected"].values()]
    assert spec["provenance"]["observations"] == sum(map(len, kept)) > 1000
    assert {job["name"] for job in jobs} >= {
        "test_itertoolz",
        "test_dicttoolz",
        "rerun-1",
        "rerun-2",
        "rerun-3",
    }


def test_no_observation_rests_on_a_place_or_an_address(task: Path):
    text = (task / "verifiers/expected/suite.json").read_text()
    assert "/tmp" not in text
    assert "0x0" not in text and "at 0x7" not in text


def test_the_agent_is_shown_nothing_hidden(task: Path, tmp_path: Path):
    assert leaks(task) == []
    faults = json.loads((task / "solutions/faults.json").read_text())
    assert len(faults) == 3
    shown = {path: data for path, (data, _) in tree(task / "environment").items()}
    assert not [path for path in shown if path.startswith(("out/", "verifiers", "solutions"))]
    assert set(shown) > {"LICENSE.txt", "pipeline/collect.py", "toolz/itertoolz.py", "data/plan.jsonl"}


def test_a_leak_is_found(task: Path, tmp_path: Path):
    for path, (data, _) in tree(task).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    case = json.loads((task / "verifiers/cases/repair-a.json").read_text())["cases"][5]
    (tmp_path / "environment" / "notes.txt").write_text(case)
    (tmp_path / "instruction.md").write_text("Please the verifier.")
    found = leaks(tmp_path)
    assert any("'verifier'" in each for each in found)
    assert any("stands in the workspace" in each for each in found)


def test_an_unknown_package_and_a_taken_folder_are_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="no package 'absent'"):
        generate("absent", 1, tmp_path / "out", tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("mine")
    with pytest.raises(UsageError, match="already there"):
        generate("toolz", 1, tmp_path / "taken", tmp_path)


def test_a_failure_leaves_nothing_behind(tmp_path: Path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "toolz-1.0.0.tar.gz").write_bytes(b"other bytes")
    with pytest.raises(SpecError):
        generate("toolz", 1, tmp_path / "out", tmp_path / "cache")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache"]
