"""Sessions of `seatrial shell` in processes of their own, at a pipe or at a terminal."""

import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

from seatrial.spec.new_task import new_task
from tests.waiting import PATIENCE, state, until

PROGRAM = [sys.executable, "-c", "from seatrial.cli.main import main; main()", "shell"]


def guests(folder: Path) -> Path:
    """The task that `seatrial suite new` writes."""
    new_task(folder, "example/guests")
    return folder


def piped(*arguments: object, lines: str = "", status: int = 0) -> str:
    """Run a whole session; returns what it printed, or what it complained of.

    Half surrogate pairs in the lines stand for bytes that are no UTF-8.
    """
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)], input=lines, capture_output=True, encoding="utf-8",
        errors="surrogateescape", check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr if status == 2 else done.stdout


class Terminal:
    """A session at a pseudo-terminal."""

    def __init__(self, *arguments: object) -> None:
        # Without a kind of terminal, line editing writes no control sequences.
        environment = {**os.environ, "TERM": "dumb"}
        self.pid, self._handle = pty.fork()
        if self.pid == 0:
            os.execvpe(PROGRAM[0], [*PROGRAM, *map(str, arguments)], environment)
        self.shown = ""

    def until(self, pattern: str) -> str:
        """Read on until something new matches; returns what was shown meanwhile."""
        begun = len(self.shown)
        while not re.search(pattern, self.shown[begun:]):
            ready, _, _ = select.select([self._handle], [], [], PATIENCE)
            assert ready, f"{pattern!r} was not shown: {self.shown[begun:]}"
            try:
                part = os.read(self._handle, 1 << 16)
            except OSError:  # the other side is closed
                part = b""
            assert part, f"{pattern!r} was not shown: {self.shown[begun:]}"
            self.shown += part.decode(errors="replace").replace("\r\n", "\n")
        return self.shown[begun:]

    def rest(self) -> None:
        """Wait until it sleeps: a signal between an echo and the wait for more is not heard by itself."""
        until(lambda: state(self.pid) == "S")

    def type(self, text: str) -> None:
        """Type something; control characters do what they do at a terminal. Surrogates: see ``piped``."""
        os.write(self._handle, text.encode(errors="surrogateescape"))

    def end(self) -> int:
        """Wait for the end; returns the exit code."""
        while True:
            try:
                if not os.read(self._handle, 1 << 16):
                    break
            except OSError:
                break
        os.close(self._handle)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
