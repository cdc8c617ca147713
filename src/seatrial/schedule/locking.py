"""One process at a time works on a run folder: a lock that is taken before anything is written there."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seatrial.errors import UsageError
from seatrial.journal.run import RunFolder

LOCK = "lock"


@contextmanager
def lock_run(folder: Path) -> Iterator[RunFolder]:
    """Hold a run that is there for this process; the lock ends with it, however it ends.

    Raises:
        JournalError: the folder is no run, or its manifest is damaged.
        UsageError: another runner holds it.
    """
    RunFolder.open(folder)  # what is no run gets no lock file
    handle = _taken(folder)
    try:
        # Asked again: a runner that made it may have taken it back before we held it.
        yield RunFolder.open(folder)
    finally:
        os.close(handle)


@contextmanager
def lock_new_folder(folder: Path) -> Iterator[None]:
    """Make a folder where none is, and hold it whatever is in it.

    A folder made here is removed again when an error leaves the block and nothing else is in it.

    Raises:
        UsageError: another runner holds it.
        OSError: it cannot be made or written.
    """
    made = not folder.exists()
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # another runner made it, failed and removed it
            handle = _taken(folder)
            break
    try:
        yield
    except BaseException:
        # Whoever opened the lock meanwhile finds that it is no longer in its place, and begins anew.
        if not (folder / "manifest.json").exists():
            (folder / LOCK).unlink(missing_ok=True)
            if made:
                with suppress(OSError):
                    folder.rmdir()
        raise
    finally:
        os.close(handle)


def _taken(folder: Path) -> int:
    """The lock of a folder, held.

    Raises:
        UsageError: another process holds it.
        FileNotFoundError: the folder is gone.
    """
    path = folder / LOCK
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except BlockingIOError:
            os.close(handle)
            raise UsageError(
                f"{folder}: another runner works on it. Wait for it, or give another folder."
            ) from None
        except FileNotFoundError:
            pass  # removed between the two looks
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
