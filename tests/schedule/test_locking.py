"""Who works on a run folder holds it from before its first byte; others are refused and change nothing."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from seatrial.errors import JournalError, UsageError
from seatrial.journal.run import RunFolder
from seatrial.schedule.locking import lock_new_folder, lock_run
from tests.schedule.small import COMMAND, DONE, PATIENCE, experiment, go_on, shown
from tests.waiting import appears

SETUP = "test -e /workspace/start.txt && {then}\n"


def with_setup(folder: Path, then: str) -> Path:
    """An experiment whose task has a setup script."""
    file = experiment(folder, {"a": [DONE], "b": [DONE]})
    task = folder / "tasks" / "one" / "task.toml"
    task.write_text(task.read_text().replace("[environment]", '[environment]\nsetup = "setup.sh"'))
    (task.parent / "setup.sh").write_text(SETUP.format(then=then))
    return file


class SetupHeld:
    """A runner on a new folder whose setup script has begun and stands still until ``go_on``.

    Use it in a ``with`` block, which ends it however the test fares.
    """

    def __init__(self, file: Path, run: Path) -> None:
        self.runner = subprocess.Popen(
            [*COMMAND, "run", str(file), "-o", str(run)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip
        children = Path(f"/proc/{self.runner.pid}/task/{self.runner.pid}/children")
        deadline = time.monotonic() + PATIENCE
        appears(self.runner, f"{run}/scratch/bases/.*/*")
        (self._setup,) = map(int, children.read_text().split())
        os.kill(self._setup, signal.SIGSTOP)
        # The signal is only queued: a system call under way may still make a folder.
        while Path(f"/proc/{self._setup}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def __enter__(self) -> "SetupHeld":
        return self

    def __exit__(self, *_: object) -> None:
        self.runner.kill()
        self.runner.communicate()

    def go_on(self) -> tuple[int, str]:
        """Let it end; returns its exit code and what it said."""
        os.kill(self._setup, signal.SIGCONT)
        return self._end()

    def interrupt(self) -> tuple[int, str]:
        """Ctrl-C."""
        os.kill(self.runner.pid, signal.SIGINT)
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
    file, run = with_setup(tmp_path, "sleep 1"), tmp_path / "run"
    with SetupHeld(file, run) as first:
        refuse_others(file, run)
        status, said = first.go_on()
    assert status == 0, said
    assert [trial["terminal_class"] for trial in shown(run)] == ["success", "success"]
    assert [line.attempt for line in RunFolder.open(run).index()] == [1, 1]


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("how", ["interrupt", "failure"])
def test_a_runner_that_takes_its_new_run_back_does_so_before_another_may_begin(
    tmp_path: Path, how: str, there: bool
) -> None:
    file, run = with_setup(tmp_path, "sleep 1 && exit 3"), tmp_path / "run"
    if there:
        run.mkdir()
    with SetupHeld(file, run) as first:
        refuse_others(file, run)
        status, said = first.interrupt() if how == "interrupt" else first.go_on()
    assert status == (130 if how == "interrupt" else 2), said
    assert (list(run.iterdir()) == []) if there else not run.exists()
    go_on(with_setup(tmp_path, "true"), run)
    assert [trial["terminal_class"] for trial in shown(run)] == ["success", "success"]


def test_a_setup_whose_runner_died_is_made_up_for_before_an_attempt_is_spent(tmp_path: Path) -> None:
    file, run = with_setup(tmp_path, "sleep 1 && exit 3"), tmp_path / "run"
    with SetupHeld(file, run):
        pass
    assert "exit code 3" in go_on(file, run, status=2)
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
