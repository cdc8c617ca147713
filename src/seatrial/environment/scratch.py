"""Scratch folders that outlive nobody: what killed processes left of theirs is removed by the next call."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seatrial.environment.state.overlay import remove_tree

# What ``mkdtemp`` puts behind a prefix.
_RANDOM = "?" * 8


@contextmanager
def scratch_folder(prefix: str, place: Path | None = None) -> Iterator[Path]:
    """A new folder, locked while it is in use and removed afterwards, however its user ends.

    Those of the same prefix in the same place whose process is gone are removed first. The folder may be
    renamed while it is in use; what has another name is kept.

    Args:
        prefix: tells what is ours from what is not, so it must be a name that nobody else would choose.
        place: the folder it is made in; by default the one for temporary files.

    Raises:
        OSError: the place cannot be written.
    """
    place = place or Path(tempfile.gettempdir())
    _sweep(place, prefix)
    folder, lock = _locked(prefix, place)
    try:
        yield folder
    finally:
        remove_tree(str(folder))
        os.close(lock)


def _locked(prefix: str, place: Path) -> tuple[Path, int]:
    """A new folder and its lock; another's sweep may take the folder before it is locked."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        with suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_SH)
                if os.path.samestat(os.fstat(lock), os.stat(folder)):
                    return folder, lock
            except OSError:
                os.close(lock)
                raise
            os.close(lock)


def _sweep(place: Path, prefix: str) -> None:
    for left in place.glob(f"{prefix}{_RANDOM}"):
        with suppress(OSError):
            lock = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(lock).st_uid == os.getuid():
                    remove_tree(str(left))
            finally:
                os.close(lock)
