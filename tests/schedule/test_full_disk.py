"""A disk that fills while trials run: the run stops and says so, loses nothing and goes on later."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.environment.confine import syscalls
from seatrial.environment.confine.host import Host
from seatrial.journal.run import RunFolder
from tests.schedule.small import DONE, experiment, go_on, journals, lines, plan, shown

SIZE = 12 << 20


@pytest.fixture
def small_disk(tmp_path: Path, host: Host) -> Iterator[Path]:
    """A file system of 12 MiB, seen by this process and its children alone."""
    place = tmp_path / "disk"
    place.mkdir()
    syscalls.mount("small", str(place), "tmpfs", 0, f"size={SIZE}")
    yield place
    syscalls.unmount(str(place))


def test_a_disk_that_fills_midway(tmp_path: Path, small_disk: Path) -> None:
    hungry = [
        "echo before > before",
        "head -c 3000000 /dev/urandom > big",
        "head -c 2000000 /dev/urandom > more; true",
        DONE,
    ]
    file = experiment(tmp_path, {"modest": [DONE], "hungry": hungry})
    run = RunFolder(small_disk / "run")
    go_on(file, run.folder, "--system", "modest")
    filler = small_disk / "filler"
    filler.write_bytes(b"\0" * (free(small_disk) - (4 << 20)))
    acknowledged, index = journals(run.folder), lines(run.folder / "index.jsonl")
    said = go_on(file, run.folder, status=2)
    assert f"{run.folder}: the disk is full." in said
    assert "No space left on device" in said
    assert "Free space, then give the same command again." in said
    assert lines(run.folder / "index.jsonl")[: len(index)] == index
    now = journals(run.folder)
    assert all(now[name] == data for name, data in acknowledged.items())
    # The lost attempt is kept, up to its last whole line, and not held against the trial.
    (lost,) = [line for line in run.index() if line.trial == plan(run.folder)[1]]
    assert (lost.stop_reason, lost.infrastructure, lost.runner_ended) == ("harness_fault", True, True)
    assert b"echo before" in now[f"trials/{lost.trial}/1/journal.jsonl"]
    filler.unlink()
    go_on(file, run.folder)
    assert [(trial["terminal_class"], trial["attempt"]) for trial in shown(run.folder)] == [
        ("success", 1), ("success", 2),
    ]  # fmt: skip


def test_a_disk_that_is_full_from_the_start_spends_no_attempt(tmp_path: Path, small_disk: Path) -> None:
    file = experiment(tmp_path, {"modest": [DONE]})
    run = RunFolder(small_disk / "run")
    go_on(file, run.folder, "--limit", "0")
    filler = small_disk / "filler"
    filler.write_bytes(b"\0" * (free(small_disk) - (64 << 10)))
    assert "the disk is full. Free space" in go_on(file, run.folder, status=2)
    assert run.attempts(plan(run.folder)[0]) == []
    filler.unlink()
    go_on(file, run.folder)
    assert [trial["attempt"] for trial in shown(run.folder)] == [1]


def free(place: Path) -> int:
    disk = os.statvfs(place)
    return disk.f_bavail * disk.f_frsize
