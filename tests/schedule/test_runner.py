"""Attempts, resuming and what is left: kills, interrupts, full disks, judging late."""

import os
import shutil
import signal
import subprocess
import sys
import time
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
from tests.waiting import appears

WORKED = Path(__file__).parents[2] / "examples" / "worked" / "experiment.toml"
COMMAND = [sys.executable, "-c", "from seatrial.cli.main import main; main()"]


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
    process = subprocess.Popen(
        [*COMMAND, "run", str(WORKED), "-o", str(tmp_path / "run")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    appears(process, f"{tmp_path}/run/trials/*/1/journal.jsonl")
    for _ in range(2):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.05)  # two at once are one to the kernel
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.strip() == "seatrial: interrupted. Give the same command again to go on."
    run = RunFolder.open(tmp_path / "run")
    assert [(line.stop_reason, line.note) for line in run.index()] == [("killed", "interrupted")]
    assert not list((run.folder / "scratch" / "worlds").glob("*"))
    run_plan(run, run.manifest(), Silent())
    assert classes(run) == ["success", "failure"]


def test_a_worker_whose_runner_is_gone_does_nothing(tmp_path: Path) -> None:
    run = open_run(load_experiment(WORKED), tmp_path / "run")
    trial = run.manifest().plan[0].trial
    job = msgspec.json.encode(TrialJob(run=str(run.folder), trial=trial, attempt=1))
    command = [sys.executable, "-m", "seatrial.trial.worker", "1"]
    assert subprocess.run(command, input=job, check=False, capture_output=True).returncode == 2
    assert run.attempts(trial) == []
