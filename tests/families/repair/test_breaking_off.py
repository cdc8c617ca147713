"""A generator that somebody ends: nothing is left of it, or only until the next one comes by."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.families.repair.conftest import DOWNLOADS, Made
from tests.waiting import appears, await_none

NEW = [sys.executable, "-c", "from seatrial.cli.main import main; main()", "suite", "new"]


def generating(tmp_path: Path) -> subprocess.Popen[str]:
    """A generator with a temporary folder of its own."""
    (tmp_path / "scratch").mkdir(exist_ok=True)
    knobs = ["--family", "repair", "--depth", "1", "--cache", str(DOWNLOADS)]
    return subprocess.Popen(
        [*NEW, str(tmp_path / "tasks" / "new"), *knobs],
        env={**os.environ, "TMPDIR": str(tmp_path / "scratch")}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def left(tmp_path: Path) -> list[Path]:
    """All that stands beside the task and among its temporary files."""
    return [path for name in ("tasks", "scratch") for path in tmp_path.glob(f"{name}/*")]


def broken_off(tmp_path: Path, numbers: list[signal.Signals], pattern: str) -> subprocess.Popen[str]:
    """A generator that got signals as soon as it had made something."""
    generator = generating(tmp_path)
    try:
        appears(generator, f"{tmp_path}/{pattern}")
        for number in numbers:
            os.killpg(generator.pid, number)
            time.sleep(0.05)
    except BaseException:
        generator.kill()
        raise
    return generator


@pytest.mark.parametrize("pattern", ["scratch/*/view/*", "tasks/.seatrial-*/task.toml"])
def test_an_interrupted_generator_leaves_nothing(made: Made, tmp_path: Path, pattern: str):
    made("toolz", depth=1)  # so that the archive is there
    generator = broken_off(tmp_path, [signal.SIGINT] * 2, pattern)
    said, problem = generator.communicate()
    assert (generator.returncode, said) == (130, "")
    assert problem == (
        f"seatrial: interrupted. {tmp_path / 'tasks' / 'new'} was not made. Give the same command again.\n"
    )
    assert left(tmp_path) == []


def test_what_a_killed_generator_left_goes_with_the_next_one(made: Made, tmp_path: Path):
    made("toolz", depth=1)
    broken_off(tmp_path, [signal.SIGKILL], "scratch/*/commands").communicate()
    await_none(str(tmp_path / "scratch"))
    assert {path.parent.name for path in left(tmp_path)} == {"tasks", "scratch"}
    again = generating(tmp_path)
    said, problem = again.communicate()
    assert (again.returncode, problem) == (0, ""), said
    assert left(tmp_path) == [tmp_path / "tasks" / "new"]
