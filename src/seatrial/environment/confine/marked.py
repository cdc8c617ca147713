"""Finds and signals the processes of one trial on a host without namespaces, and never any other.

Every process that the harness starts there carries a mark in its environment, which its children inherit. A
process counts as ours when it carries the mark, is in the session of an action that still runs, descends from
one that counts, or was found so before. One that drops its environment, leaves its session and loses its
parent between two looks escapes.
"""

import os
import signal
import time
from typing import NamedTuple

NAME = "SEATRIAL_MARK"
KILL_SECONDS = 5.0
_ROUND_SECONDS = 0.005
# Looks in a row that must find nobody: a process in the middle of ``execve`` shows no environment.
_QUIET_LOOKS = 2
_DEAD, _STOPPED = b"ZX", b"Tt"


class _Process(NamedTuple):
    """What the kernel says of one process; pid and start time together name it for ever."""

    state: bytes
    parent: int
    session: int
    started: int


class Family:
    """All processes that carry one mark.

    Args:
        mark: ``NAME``'s value, or the beginning of it up to a ``/``.
    """

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self._known: dict[int, int] = {}

    def find(self, session: int | None = None) -> list[int]:
        """Pids of the living, in ascending order.

        Args:
            session: whose members count as well; its leader must not have been waited for yet, or the number
                may be somebody else's.
        """
        table = _table()
        ours = {
            pid
            for pid, process in table.items()
            if self._known.get(pid) == process.started or process.session == session or _bears(pid, self.mark)
        }
        more = ours
        while more:
            more = {pid for pid, process in table.items() if process.parent in more} - ours
            ours |= more
        ours -= {1, os.getpid(), os.getppid()}
        self._known = {pid: table[pid].started for pid in ours if table[pid].state not in _DEAD}
        return sorted(self._known)

    def stop(self, session: int | None = None) -> None:
        """Stop all of them; returns when a look finds nobody that runs, or the time is up."""
        deadline = time.monotonic() + KILL_SECONDS
        while time.monotonic() < deadline:
            running = [pid for pid in self.find(session) if not _is_stopped(pid)]
            if not running:
                return
            self._signal(running, signal.SIGSTOP)
            time.sleep(0.0005)

    def resume(self) -> None:
        """Let all of them run on."""
        self._signal(self.find(), signal.SIGCONT)

    def kill(self, session: int | None = None) -> bool:
        """Kill all of them, stopped first so that none forks away; whether nobody is left."""
        deadline = time.monotonic() + KILL_SECONDS
        quiet = 0
        while time.monotonic() < deadline:
            if not self.find(session):
                quiet += 1
                if quiet == _QUIET_LOOKS:
                    return True
            else:
                quiet = 0
                self.stop(session)
                self._signal(list(self._known), signal.SIGKILL)
            time.sleep(_ROUND_SECONDS)
        return False

    def _signal(self, pids: list[int], number: signal.Signals) -> None:
        """Signal by descriptor, after a last look that the pid is still the process that was found."""
        for pid in pids:
            try:
                handle = os.pidfd_open(pid)
            except OSError:
                continue
            try:
                process = _look(pid)
                if process is not None and process.started == self._known.get(pid):
                    signal.pidfd_send_signal(handle, number)
            except OSError:
                continue
            finally:
                os.close(handle)


def _table() -> dict[int, _Process]:
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (process := _look(int(name))) is not None:
            found[int(name)] = process
    return found


def _look(pid: int) -> _Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return _Process(fields[0], int(fields[1]), int(fields[3]), int(fields[19]))
    except (OSError, IndexError):
        return None


def _is_stopped(pid: int) -> bool:
    process = _look(pid)
    return process is None or process.state in _STOPPED + _DEAD


def _bears(pid: int, mark: str) -> bool:
    """Whether a process's environment holds the mark, or one that begins with it and a slash."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environment = b"\0" + file.read() + b"\0"
    except OSError:
        return False
    entry = b"\0" + f"{NAME}={mark}".encode()
    return entry + b"\0" in environment or entry + b"/" in environment
