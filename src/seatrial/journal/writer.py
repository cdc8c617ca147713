"""Appends events to one attempt's journal: chained, acknowledged when the kernel has the line."""

import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from seatrial.errors import JournalError
from seatrial.journal.digest import digest_bytes
from seatrial.journal.events import Event

FSYNC_SECONDS = 1.0


class JournalWriter:
    """One writer per journal. ``append`` returns after the whole line was handed to the kernel; any thread
    may call it.

    Args:
        path: the new ``journal.jsonl``; its folder must exist, the file must not.
        elapsed: gives the trial clock in microseconds.
        fsync_every: at most this many seconds pass before a line is on disk; 0 means before it is
            acknowledged.

    Attributes:
        goal_version: stamped on every line from now on.
    """

    def __init__(self, path: Path, elapsed: Callable[[], int], fsync_every: float = FSYNC_SECONDS) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        try:
            self._file = os.open(path, flags, 0o644)
        except FileExistsError:
            raise JournalError(f"{path}: journal exists. Attempts are never overwritten.") from None
        self._elapsed, self._fsync_every = elapsed, fsync_every
        self._encoder = msgspec.json.Encoder()
        self._broken = False
        self._appending = threading.Lock()
        self.path, self.seq, self.last_digest = path, 0, ""
        self.goal_version = 1
        self._unsynced = threading.Event()
        self._closing = threading.Event()
        self._syncer: threading.Thread | None = None
        if fsync_every > 0:
            self._syncer = threading.Thread(target=self._sync_in_time, daemon=True)
            self._syncer.start()

    def append(self, event: Event) -> Event:
        """Number, stamp, chain and write one event.

        Raises:
            JournalError: the line could not be written whole (full disk); the journal is then closed for
                good, since what follows could not be trusted.
        """
        with self._appending:
            self._write(event)
        return event

    def _write(self, event: Event) -> None:
        if self._broken:
            raise JournalError(f"{self.path}: closed after a failed write.")
        event.seq, event.prev, event.elapsed = self.seq, self.last_digest, self._elapsed()
        event.goal_version = self.goal_version
        event.time = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        line = self._encoder.encode(event) + b"\n"
        try:
            view = memoryview(line)
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as fault:
            self._broken = True
            raise JournalError(f"{self.path}: cannot write event {self.seq}: {fault.strerror}") from fault
        self.last_digest = digest_bytes(line)
        self.seq += 1
        if self._syncer is None:
            self._sync_now()
        else:
            self._unsynced.set()

    def _sync_now(self) -> None:
        try:
            os.fdatasync(self._file)
        except OSError as fault:
            self._broken = True
            raise JournalError(f"{self.path}: cannot reach the disk: {fault.strerror}") from fault

    def _sync_in_time(self) -> None:
        """Bring lines to disk in a thread of its own: no action waits for it, and none has to follow."""
        while not self._closing.wait(self._fsync_every):
            if self._unsynced.is_set():
                self._unsynced.clear()
                try:
                    os.fdatasync(self._file)
                except OSError:
                    self._broken = True  # told at the next append: no line after this one can be trusted

    def close(self) -> str:
        """Flush to disk and return the last line's digest, for the run's index."""
        self._closing.set()
        if self._syncer is not None:
            self._syncer.join()
            self._syncer = None
        if self._file >= 0:
            os.fsync(self._file)
            os.close(self._file)
            self._file = -1
        return self.last_digest
