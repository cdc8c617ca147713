"""Asking a run to stop, bounds on its cost, limits and filters, and attempts granted later."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from seatrial.errors import UsageError
from seatrial.journal.events import ModelCalled, TrialStarted
from seatrial.journal.run import IndexLine, RunFolder
from seatrial.journal.writer import JournalWriter
from seatrial.schedule.leftovers import close_dead_attempts
from seatrial.schedule.locking import lock_run
from seatrial.schedule.queue import Ledger, execution_order
from seatrial.spec.loading import load_experiment
from tests.runs import open_run
from tests.schedule.small import (
    COMMAND,
    DONE,
    ask_twice,
    await_steps,
    experiment,
    go_on,
    plan,
    seatrial,
    shown,
    start,
)
from tests.waiting import PATIENCE


def outcome(file: Path, run: Path, *options: str, status: int = 0) -> dict[str, object]:
    done = subprocess.run(
        [*COMMAND, "run", str(file), "-o", str(run), "--json", *options], capture_output=True, check=False
    )
    assert done.returncode == status, done.stderr
    plain: dict[str, object] = json.loads(done.stdout)
    return plain


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_once_it_finishes_and_judges_what_runs(tmp_path: Path, number: signal.Signals) -> None:
    slow = ["echo begun", "sleep 3", DONE]
    file = experiment(tmp_path, {"a": slow, "b": slow}, repeats=4)
    runner = start(file, tmp_path / "run", "--workers", "2")
    await_steps(tmp_path / "run", 2)
    runner.send_signal(number)
    out, err = runner.communicate(timeout=PATIENCE)
    assert runner.returncode == 130
    assert "it was asked to stop; " in out
    assert "under way are finished and judged" in out
    assert "interrupted" in err
    run = RunFolder.open(tmp_path / "run")
    begun = {trial for trial in plan(run.folder) if run.attempts(trial)}
    assert 1 <= len(begun) < 8
    assert f"{8 - len(begun)} trials of the plan are left" in out
    assert {line.trial: line.stop_reason for line in run.index()} == dict.fromkeys(begun, "finished")
    assert {trial["terminal_class"] for trial in shown(run.folder)} == {"success"}
    assert len(shown(run.folder)) == len(begun)


def test_asked_twice_it_ends_what_runs_and_tries_it_again_later(tmp_path: Path) -> None:
    file = experiment(tmp_path, {"a": ["sleep 100", DONE], "b": ["sleep 100", DONE]})
    runner = start(file, tmp_path / "run", "--workers", "2")
    await_steps(tmp_path / "run", 1, journals=2)
    ask_twice(runner, signal.SIGINT)
    out, _ = runner.communicate(timeout=PATIENCE)
    assert runner.returncode == 130
    run = RunFolder.open(tmp_path / "run")
    ended = sorted((line.trial, line.stop_reason, line.runner_ended) for line in run.index())
    assert ended == [(trial, "killed", True) for trial in sorted(plan(run.folder))]
    assert not list((run.folder / "scratch" / "worlds").iterdir())
    assert "2 trials of the plan are left" in out
    ledger = Ledger(retries=0)
    ledger.add(run.index())
    assert [ledger.next_attempt(trial) for trial in plan(run.folder)] == [2, 2]
    assert not any(ledger.given_up(trial) for trial in plan(run.folder))


def test_a_limit_and_filters_leave_the_rest_for_later(tmp_path: Path) -> None:
    file = experiment(tmp_path, {"a": [DONE], "b": [DONE]}, repeats=2, tasks=("one", "two"))
    run = tmp_path / "run"
    for wrong in (["--task", "two"], ["--system", "c"], ["--arm", "perturbed:x"], ["--limit", "-1"]):
        assert wrong[1] in go_on(file, run, *wrong, status=2)
        assert not run.exists()
    said = go_on(file, run, "--limit", "1")
    assert "7 trials of the plan are left" in said
    order = [planned.trial for planned in execution_order(RunFolder.open(run).manifest().plan, 7)]
    assert [line.trial for line in RunFolder.open(run).index()] == order[:1]
    told = outcome(file, run, "--task", "*/one", "--system", "a", "--system", "b", "--arm", "baseline")
    mine = {f"small-one.{system}.baseline.{repeat}" for system in "ab" for repeat in (1, 2)}
    assert told["left"] == 8 - len({order[0], *mine})
    assert {line.trial for line in RunFolder.open(run).index()} == {order[0], *mine}
    assert outcome(file, run)["left"] == 0
    # One at a time, they ended in the order they were started.
    rest = [trial for trial in order if trial not in {order[0], *mine}]
    assert [line.trial for line in RunFolder.open(run).index()][-len(rest) :] == rest


def test_a_bound_on_the_cost_keeps_the_rest_from_beginning(tmp_path: Path) -> None:
    file = experiment(tmp_path, {"a": [DONE], "b": [DONE]})
    run = open_run(load_experiment(file), tmp_path / "run")
    first = execution_order(run.manifest().plan, 7)[0].trial
    spend(run, first, [(900, 100, 1.25), (None, None, None)])
    said = go_on(file, run.folder, "--max-money", "1.25", status=1)
    assert "2 trials not run because of the cap: --max-money 1.25 is reached: 1.25 spent and 1 calls" in said
    assert "2 model calls, 1,000 tokens + 1 calls of unknown cost, EUR 1.2500 + 1 calls" in said
    assert "--max-money 1.25 bounds what is known, which 1 calls are not" in said
    told = outcome(file, run.folder, "--max-tokens", "1000", status=1)
    assert (told["left"], told["not_begun"]) == (
        2,
        [p.trial for p in execution_order(run.manifest().plan, 7)],
    )
    assert told["spent"] == {
        "calls": 2, "tokens": 1000, "without_tokens": 1, "money": 1.25, "without_money": 1,
        "untold_tokens": 0, "untold_money": 0, "currency": "EUR", "unseen": 0,
    }  # fmt: skip
    assert outcome(file, run.folder, "--max-money", "1.26", "--max-tokens", "1001")["left"] == 0
    assert "is no amount" in go_on(file, run.folder, "--max-money", "-1", status=2)


def spend(run: RunFolder, trial: str, calls: list[tuple[int | None, int | None, float | None]]) -> None:
    """Leave an attempt of a dead runner that had called a model."""
    run.attempt_folder(trial, 1).mkdir(parents=True)
    journal = JournalWriter(run.journal_path(trial, 1), lambda: 0)
    journal.append(
        TrialStarted(
            trial=trial, attempt=1, task="small/one", system="b", arm="baseline", seed=1, base="",
            fingerprint="", reset_proved=False,
        )
    )  # fmt: skip
    for number, (read, written, money) in enumerate(calls, start=1):
        journal.append(
            ModelCalled(
                number=number, step=1, attempt=1, asked="m", call_class="ok" if money else "endless",
                status=200, input_tokens=read, output_tokens=written, money=money,
                currency="EUR" if money else None, latency_us=1, request="",
            )
        )  # fmt: skip
    journal.close()


def test_what_was_given_up_is_tried_again_only_when_asked_to_be(tmp_path: Path) -> None:
    file = experiment(tmp_path, {"a": [DONE], "b": [DONE]}, head="retry = { infrastructure = 1 }")
    run = open_run(load_experiment(file), tmp_path / "run")
    lost, other = plan(run.folder)
    for attempt in (1, 2):
        run.add_to_index(
            IndexLine(
                trial=lost, attempt=attempt, digest="", stop_reason="environment_fault", infrastructure=True,
                note="the cable",
            )
        )  # fmt: skip
    told = outcome(file, run.folder, status=1)
    assert (told["given_up"], told["left"]) == ({lost: "the cable"}, 0)
    assert run.manifest().amendments == []
    assert outcome(file, run.folder, "--rerun-infrastructure")["given_up"] == {}
    (note,) = run.manifest().amendments
    assert (note["rerun"], note["attempts"]) == ([lost], 2)
    assert note["time"][:2] == "20"
    ends = [(line.trial, line.attempt, line.infrastructure) for line in run.index()]
    assert sorted(ends) == sorted([(lost, 1, True), (lost, 2, True), (lost, 3, False), (other, 1, False)])
    go_on(file, run.folder, "--rerun-infrastructure")
    assert len(run.manifest().amendments) == 1
    assert len(run.index()) == 4


def test_a_plan_grows_with_a_note_and_never_shrinks(tmp_path: Path) -> None:
    run = tmp_path / "run"
    go_on(experiment(tmp_path, {"a": [DONE]}, repeats=1), run)
    before = RunFolder.open(run).manifest()
    file = experiment(tmp_path, {"a": [DONE]}, repeats=3)
    with lock_run(run), pytest.raises(UsageError, match="another runner"):
        open_run(load_experiment(file), run)
    assert RunFolder.open(run).manifest() == before
    go_on(file, run)
    after = RunFolder.open(run).manifest()
    assert (after.experiment_id, len(after.plan)) == (before.experiment_id, 3)
    assert [note["added"] for note in after.amendments] == [[p.trial for p in after.plan[1:]]]
    assert [line.attempt for line in RunFolder.open(run).index()] == [1, 1, 1]
    said = go_on(experiment(tmp_path, {"a": [DONE]}, repeats=2), run, status=2)
    assert "never shrink" in said
    assert RunFolder.open(run).manifest() == after


def test_the_second_runner_on_a_folder_is_refused_and_disturbs_nothing(tmp_path: Path) -> None:
    file = experiment(tmp_path, {"a": ["echo begun", "sleep 100"]})
    first = start(file, tmp_path / "run")
    await_steps(tmp_path / "run", 2)
    assert "another runner" in go_on(file, tmp_path / "run", status=2)
    assert "another runner" in seatrial("gc", str(tmp_path / "run"), status=2)
    assert first.poll() is None
    ask_twice(first, signal.SIGTERM)
    first.communicate(timeout=PATIENCE)
    run = RunFolder.open(tmp_path / "run")
    assert [(line.attempt, line.note) for line in run.index()] == [(1, "interrupted")]
    assert close_dead_attempts(run, run.manifest()) == []
