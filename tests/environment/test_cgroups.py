"""Control groups that killed harnesses left are found again by the name of their stage."""

import fcntl
import os
import subprocess
import tempfile

import pytest

from seatrial.environment.confine.cgroups import make_group
from seatrial.environment.confine.host import _STAGE, _STAGES, _sweep


@pytest.mark.root
def test_a_stage_stays_until_its_groups_are_gone() -> None:
    stage = tempfile.mkdtemp(prefix=_STAGE, dir=_STAGES)
    alive = os.open(stage, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(alive, fcntl.LOCK_SH)
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
    assert not os.path.exists(stage)
    assert not any(os.path.isdir(folder) for folder in group.folders)
