"""Who works on a run folder holds it from before its first byte; others are refused and change nothing."""

import signal
import subprocess
from pathlib import Path

import pytest

from seatrial.errors import JournalError, UsageError
from seatrial.journal.run import RunFolder
from seatrial.schedule.locking import lock_new_folder, lock_run
from tests.schedule.small import COMMAND, DONE, experiment, go_on, shown
from tests.waiting import PATIENCE, await_none, end, ending_in, unique, until

HOLD = "test -e /workspace/start.txt || exit 9; sleep {word}; {then}\n"


def with_setup(folder: Path, script: str) -> Path:
    """An experiment whose task has a setup script."""
    file = experiment(folder, {"a": [DONE]})
    task = folder / "tasks" / "one" / "task.toml"
    task.write_text(task.read_text().replace("[environment]", '[environment]\nsetup = "setup.sh"'))
    (task.parent / "setup.sh").write_text(script)
    return file


class SetupHeld:
    """A runner on a new folder whose setup script has begun and sleeps until ``go_on``.

    Use it in a ``with`` block, which ends it however the test fares.

    Args:
        then: how the script goes on.
    """

    def __init__(self, folder: Path, run: Path, then: str) -> None:
        self.word = unique(600)
        self.file = with_setup(folder, HOLD.format(word=self.word, then=then))
        self.runner = subprocess.Popen(
            [*COMMAND, "run", str(self.file), "-o", str(run)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        until(lambda: ending_in(self.word) or self.runner.poll() is not None)

    def __enter__(self) -> "SetupHeld":
        return self

    def __exit__(self, *_: object) -> None:
        self.runner.kill()
        self.runner.communicate()

    def go_on(self) -> tuple[int, str]:
        """Let it end; returns its exit code and what it said."""
        end(self.word)
        return self._end()

    def interrupt(self) -> tuple[int, str]:
        """Ctrl-C."""
        self.runner.send_signal(signal.SIGINT)
        return self._end()

    def _end(self) -> tuple[int, str]:
        out, err = self.runner.communicate(timeout=PATIENCE)
        return self.runner.returncode, out + err


def refuse_others(file: Path, run: Path) -> None:
    """A second runner and a cleaning end at once, told why, and change nothing."""
    before = sorted(run.rglob("*"))
    for words in (["run", str(file), "-o", str(run)], ["gc", str(run)]):
        done = subprocess.run(
            [*COMMAND, *words], capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        assert (done.returncode, "another runner works on it" in done.stderr) == (2, True), done.stderr
    assert sorted(run.rglob("*")) == before


def test_a_second_runner_is_refused_while_the_first_sets_up_and_costs_it_nothing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with SetupHeld(tmp_path, run, "true") as first:
        refuse_others(first.file, run)
        status, said = first.go_on()
    assert status == 0, said
    assert [trial["terminal_class"] for trial in shown(run)] == ["success"]
    assert [line.attempt for line in RunFolder.open(run).index()] == [1]


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("how", ["interrupt", "failure"])
def test_a_runner_that_takes_its_new_run_back_does_so_before_another_may_begin(
    tmp_path: Path, how: str, there: bool
) -> None:
    run = tmp_path / "run"
    if there:
        run.mkdir()
    with SetupHeld(tmp_path, run, "exit 3") as first:
        refuse_others(first.file, run)
        status, said = first.interrupt() if how == "interrupt" else first.go_on()
    assert status == (130 if how == "interrupt" else 2), said
    assert (list(run.iterdir()) == []) if there else not run.exists()
    go_on(with_setup(tmp_path, "true"), run)
    assert [trial["terminal_class"] for trial in shown(run)] == ["success"]


def test_a_setup_whose_runner_died_is_made_up_for_before_an_attempt_is_spent(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with SetupHeld(tmp_path, run, "exit 3") as first:
        pass
    await_none(first.word)
    with SetupHeld(tmp_path, run, "exit 3") as again:
        status, said = again.go_on()
    assert (status, "exit code 3" in said) == (2, True), said
    assert not (run / "trials").exists()
    assert not list(run.glob("scratch/bases/.*"))


def test_a_lock_that_was_taken_back_meanwhile_is_not_the_folders_lock(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="changed its mind"), lock_new_folder(tmp_path / "new"):
        with pytest.raises(UsageError, match="another runner"), lock_new_folder(tmp_path / "new"):
            pass
        assert [path.name for path in (tmp_path / "new").iterdir()] == ["lock"]
        raise UsageError("changed its mind")
    assert not (tmp_path / "new").exists()
    with lock_new_folder(tmp_path / "new"):
        (tmp_path / "new" / "lock").unlink()
        with lock_new_folder(tmp_path / "new"):
            pass  # the file that was held lies no longer there, so it holds nobody off


def test_what_is_no_run_is_not_locked(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="is no run folder"), lock_run(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_what_a_killed_runner_left_before_the_manifest_is_used_again(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "objects" / "aa").mkdir(parents=True)
    (run / "lock").touch()
    go_on(experiment(tmp_path, {"a": [DONE]}), run)
    assert [trial["terminal_class"] for trial in shown(run)] == ["success"]


def test_a_folder_of_somebody_elses_gets_no_lock(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    said = go_on(experiment(tmp_path, {"a": [DONE]}), tmp_path / "mine", status=2)
    assert "is not empty and holds no run" in said
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]
