"""Appends events to one attempt's journal: chained, acknowledged when the kernel has the line."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from seatrial.errors import JournalError
from seatrial.journal.digest import digest_bytes
from seatrial.journal.events import Event

FSYNC_SECONDS = 1.0


class JournalWriter:
    """One writer per journal. ``append`` returns after the whole line was handed to the kernel.

    Args:
        path: the new ``journal.jsonl``; its folder must exist, the file must not.
        elapsed: gives the trial clock in microseconds.
        fsync_every: seconds between fsyncs; 0 means for every event.
    """

    def __init__(self, path: Path, elapsed: Callable[[], int], fsync_every: float = FSYNC_SECONDS) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        try:
            self._file = os.open(path, flags, 0o644)
        except FileExistsError:
            raise JournalError(f"{path}: journal exists. Attempts are never overwritten.") from None
        self._elapsed, self._fsync_every = elapsed, fsync_every
        self._encoder = msgspec.json.Encoder()
        self._synced = time.monotonic()
        self._broken = False
        self.path, self.seq, self.last_digest = path, 0, ""

    def append(self, event: Event) -> Event:
        """Number, stamp, chain and write one event.

        Raises:
            JournalError: the line could not be written whole (full disk); the journal is then closed for
                good, since what follows could not be trusted.
        """
        if self._broken:
            raise JournalError(f"{self.path}: closed after a failed write.")
        event.seq, event.prev, event.elapsed = self.seq, self.last_digest, self._elapsed()
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
        now = time.monotonic()
        if now - self._synced >= self._fsync_every:
            os.fdatasync(self._file)
            self._synced = now
        return event

    def close(self) -> str:
        """Flush to disk and return the last line's digest, for the run's index."""
        if self._file >= 0:
            os.fsync(self._file)
            os.close(self._file)
            self._file = -1
        return self.last_digest
