"""Control groups that killed harnesses left are found again by the name of their stage."""

import fcntl
import os
import subprocess
import tempfile
from contextlib import suppress

import pytest

from seatrial.environment.confine.cgroups import make_group
from seatrial.environment.confine.host import _STAGE, _STAGES, _sweep
from tests.waiting import until


def locked_stage() -> tuple[str, int]:
    """A stage's folder and its lock; another harness's sweep may take a folder before it is locked."""
    while True:
        stage = tempfile.mkdtemp(prefix=_STAGE, dir=_STAGES)
        with suppress(FileNotFoundError):
            lock = os.open(stage, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if os.path.exists(stage):
                return stage, lock
            os.close(lock)


@pytest.mark.root
def test_a_stage_stays_until_its_groups_are_gone() -> None:
    stage, alive = locked_stage()
    group = make_group(f"{os.path.basename(stage)}-w1-1", memory_mb=64, processes=8)
    if not group.folders:
        os.close(alive)
        os.rmdir(stage)
        pytest.skip("this host gives root no control groups; there is nothing to leave behind")
    dying = subprocess.Popen(["sleep", "300"])
    try:
        for folder in group.folders:
            with open(f"{folder}/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(dying.pid))
        os.close(alive)  # from here on nobody alive holds the stage
        _sweep()
        assert os.path.isdir(stage)
        assert all(os.path.isdir(folder) for folder in group.folders)
    finally:
        dying.kill()
        dying.wait()
    _sweep()
    # Another harness on this host may have been about to remove it already.
    until(lambda: not os.path.exists(stage))
    assert not any(os.path.isdir(folder) for folder in group.folders)
