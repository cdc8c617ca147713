"""The runner's end of a trial's questions to the person at its terminal."""

import contextlib
import socket
from collections.abc import Callable

import msgspec

from seatrial.trial.people.terminal import Prompt, Typed

# Puts a question to the person; the second argument says whether the trial that asks is gone. Null when
# nobody answered.
Answering = Callable[[Prompt, Callable[[], bool]], str | None]

LONGEST = 16 << 20


class PersonLine:
    """A socket pair between the runner and one trial's process.

    Attributes:
        theirs: descriptor for the process; closed here once it has started.
        over: nothing more will come.
    """

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self.theirs = self._theirs.fileno()
        self._data = b""
        self.over = False

    def started(self) -> None:
        """The process has its end."""
        self._theirs.close()

    def fileno(self) -> int:
        """Of our end, for poll."""
        return self._ours.fileno()

    def serve(self, answering: Answering, gone: Callable[[], bool]) -> None:
        """Take what has come; put a whole question to the person and send back what was typed."""
        part = self._ours.recv(1 << 16)
        self._data += part
        if not part or len(self._data) > LONGEST:
            self.over = True
            return
        line, end, rest = self._data.partition(b"\n")
        if not end:
            return
        self._data = rest
        typed = Typed(line=answering(msgspec.json.decode(line, type=Prompt), gone))
        with contextlib.suppress(OSError):  # it ended meanwhile
            self._ours.sendall(msgspec.json.encode(typed) + b"\n")

    def close(self) -> None:
        """Both ends of ours."""
        self._ours.close()
        self._theirs.close()
