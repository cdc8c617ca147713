"""A scratch folder outside the run; what processes that were killed left of theirs is removed first."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seatrial.environment.state.overlay import remove_tree

PREFIX = "seatrial-judging-"


@contextmanager
def scratch_folder() -> Iterator[str]:
    """A new folder, locked while it is in use, however its user ends."""
    _sweep(Path(tempfile.gettempdir()))
    folder = tempfile.mkdtemp(prefix=PREFIX)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield folder
    finally:
        remove_tree(folder)
        os.close(lock)


def _sweep(place: Path) -> None:
    for left in place.glob(f"{PREFIX}*"):
        with suppress(OSError):
            lock = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # One made a moment ago is not locked yet; only a killed process leaves files without a lock.
                if os.fstat(lock).st_uid == os.getuid() and any(left.iterdir()):
                    remove_tree(str(left))
            finally:
                os.close(lock)
