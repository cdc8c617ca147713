"""A calibration that somebody ends: nothing half-done is left, by it or by the next one."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seatrial.spec.new_task import new_task
from tests.waiting import appears, await_none

COMMAND = [sys.executable, "-c", "from seatrial.cli.main import main; main()", "calibrate"]


@pytest.fixture
def task(tmp_path: Path) -> Path:
    new_task(tmp_path / "seating", "example/seating")
    return tmp_path / "seating"


@contextmanager
def calibrating(tmp_path: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A calibration at work on its first trials, and the folder of its temporary files."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    started = subprocess.Popen(
        [*COMMAND, *arguments], env={**os.environ, "TMPDIR": str(scratch)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        place = f"{tmp_path}/kept" if "--keep" in arguments else f"{scratch}/*"
        appears(started, f"{place}/products/run/trials/*/*/journal.jsonl")
        yield started, scratch
    finally:
        started.kill()
        started.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_however_often_it_is_asked_to_end_it_ends_in_order(
    task: Path, tmp_path: Path, times: int, number: signal.Signals
):
    keep = tmp_path / "kept"
    with calibrating(tmp_path, str(task), "--keep", str(keep)) as (asked, scratch):
        for _ in range(times):
            # As a terminal does: everything that belongs to the command is asked.
            os.killpg(asked.pid, number)
            time.sleep(0.05)
        said, problem = asked.communicate()
    assert (asked.returncode, said) == (130, "")
    assert problem.endswith(
        f"seatrial: interrupted. Nothing was recorded of {task}. Give the same command again.\n"
    )
    assert "Traceback" not in problem
    assert list(scratch.iterdir()) == [] and not keep.exists() and not (task / "calibration.json").exists()


def test_what_a_killed_calibration_left_goes_with_the_next_one(task: Path, tmp_path: Path):
    with calibrating(tmp_path, str(task)) as (killed, scratch):
        killed.kill()
        killed.communicate()
        await_none(str(scratch))
    assert [path.name.startswith("seatrial-calibrate-") for path in scratch.iterdir()] == [True]
    again = subprocess.run(
        [*COMMAND, str(task)], env={**os.environ, "TMPDIR": str(scratch)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (again.returncode, again.stderr.count("interrupted")) == (0, 0), again.stderr
    assert list(scratch.iterdir()) == []
