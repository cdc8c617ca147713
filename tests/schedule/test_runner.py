"""Attempts, resuming and what is left: kills, interrupts, full disks, judging late."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.errors import JournalError, UsageError
from seatrial.journal.run import RunFolder
from seatrial.report.show import run_overview
from seatrial.schedule import runner
from seatrial.schedule.leftovers import close_dead_attempts
from seatrial.schedule.runner import run_plan
from seatrial.schedule.watching import Silent
from seatrial.spec.loading import load_experiment
from seatrial.trial.job import TrialJob
from tests.runs import open_run
from tests.schedule.small import DONE, ask_twice, await_steps, experiment, start
from tests.waiting import PATIENCE

WORKED = Path(__file__).parents[2] / "examples" / "worked" / "experiment.toml"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = open_run(load_experiment(WORKED), tmp_path_factory.mktemp("runner") / "run")
    run_plan(run, run.manifest(), Silent())
    return run.folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> RunFolder:
    shutil.copytree(finished, tmp_path / "run")
    return RunFolder.open(tmp_path / "run")


def classes(run: RunFolder) -> list[str]:
    return [trial["terminal_class"] for trial in run_overview(run.folder)["trials"]]


def test_an_ended_trial_without_verdicts_is_judged_and_not_run_again(run: RunFolder) -> None:
    for planned in run.manifest().plan:
        run.verdicts_path(planned.trial, 1).unlink()
    tally = run_plan(run, run.manifest(), Silent())
    assert (tally.skipped, tally.unjudged) == (2, {})
    assert [run.attempts(planned.trial) for planned in run.manifest().plan] == [[1], [1]]
    assert classes(run) == ["success", "failure"]


def test_a_trial_that_cannot_be_judged_is_named_and_not_run_again(run: RunFolder, tmp_path: Path) -> None:
    trial = run.manifest().plan[0].trial
    run.verdicts_path(trial, 1).unlink()
    shutil.rmtree(run.folder / "verdicts" / "cache")
    (run.folder / "verdicts" / "cache").write_text("in the way")
    tally = run_plan(run, run.manifest(), Silent())
    assert list(tally.unjudged) == [trial]
    assert run.attempts(trial) == [1]


def test_an_end_that_only_the_index_lacks_counts_as_that_end(run: RunFolder) -> None:
    before = run.index()
    (run.folder / "index.jsonl").unlink()
    assert close_dead_attempts(run, run.manifest()) == []
    assert sorted(run.index(), key=str) == sorted(before, key=str)


def test_verdicts_of_another_journal_are_refused(run: RunFolder) -> None:
    one, other = (run.verdicts_path(planned.trial, 1) for planned in run.manifest().plan)
    shutil.copy(one, other)
    with pytest.raises(JournalError, match="of another journal"):
        run_overview(run.folder)
    table: dict[str, Any] = msgspec.json.decode(one.read_bytes())
    one.write_bytes(msgspec.json.encode({**table, "journal": "0" * 64}))
    with pytest.raises(JournalError, match="of another journal"):
        run_overview(run.folder)


def test_a_folder_left_before_the_manifest_is_used_again(tmp_path: Path) -> None:
    (tmp_path / "run" / "objects" / "aa").mkdir(parents=True)
    (tmp_path / "run" / ".manifest.json.77.tmp").write_text("{")
    assert open_run(load_experiment(WORKED), tmp_path / "run").manifest().name == "worked-example"


def test_a_folder_that_cannot_be_filled_is_not_left_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise JournalError("no space")

    monkeypatch.setattr("seatrial.journal.run.RunFolder.create", full)
    (tmp_path / "there").mkdir()
    for name in ("new", "there"):
        with pytest.raises(JournalError, match="no space"):
            open_run(load_experiment(WORKED), tmp_path / name)
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_a_path_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not UTF-8"):
        open_run(load_experiment(WORKED), Path(f"{tmp_path}/bad\udcff"))
    assert not list(tmp_path.iterdir())


def test_no_attempt_is_spent_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = open_run(load_experiment(WORKED), tmp_path / "run")
    monkeypatch.setattr(runner, "ROOM_BYTES", 1 << 62)
    with pytest.raises(JournalError, match="the disk is full"):
        run_plan(run, run.manifest(), Silent())
    assert run.index() == []


def test_an_interrupt_ends_cleanly_and_the_run_goes_on_later(tmp_path: Path) -> None:
    # Without a sandbox the test can tell the trial when to go on.
    told = tmp_path / "told"
    file = experiment(tmp_path, {"waits": [f"until [ -e {told} ]; do sleep 0.05; done", DONE]})
    process = start(file, tmp_path / "run", "--unsafe-no-sandbox")
    await_steps(tmp_path / "run", 1)
    ask_twice(process, signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    warning, ended = said.strip().splitlines()
    assert "no sandbox" in warning
    assert ended == "seatrial: interrupted. Give the same command again to go on."
    run = RunFolder.open(tmp_path / "run")
    assert [(line.stop_reason, line.note) for line in run.index()] == [("killed", "interrupted")]
    assert not list((run.folder / "scratch" / "worlds").glob("*"))
    told.touch()
    run_plan(run, run.manifest(), Silent())
    assert classes(run) == ["success"]


def test_a_worker_whose_runner_is_gone_does_nothing(tmp_path: Path) -> None:
    run = open_run(load_experiment(WORKED), tmp_path / "run")
    trial = run.manifest().plan[0].trial
    job = msgspec.json.encode(TrialJob(run=str(run.folder), trial=trial, attempt=1))
    command = [sys.executable, "-m", "seatrial.trial.worker", "1"]
    assert subprocess.run(command, input=job, check=False, capture_output=True).returncode == 2
    assert run.attempts(trial) == []
