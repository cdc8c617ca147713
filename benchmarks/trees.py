"""Trees of many files to build worlds on, and a clock."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from seatrial.environment.confine.host import Host
from seatrial.environment.ground import ActionLimits, Ground
from seatrial.environment.state.base import index_base, lay_out
from seatrial.journal.objects import ObjectStore

FILES_IN_A_FOLDER = 100


@contextmanager
def tree_ground(host: Host, files: int) -> Iterator[Ground]:
    """A ground whose base holds so many files of 20 lines."""
    folder = Path(tempfile.mkdtemp(prefix="seatrial-bench-"))
    try:
        for number in range(files):
            path = folder / "files" / f"d{number // FILES_IN_A_FOLDER}" / f"f{number}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"line {number}\n" * 20)
        lay_out(
            folder / "files", folder / "bases" / "one", host.uid("world") if host.mode == "root" else None
        )
        objects = ObjectStore(folder / "objects")
        base = index_base(str(folder / "bases" / "one"), objects, host.uid("world"))
        yield Ground(host, str(folder), base, objects, ActionLimits(seconds=300))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3
