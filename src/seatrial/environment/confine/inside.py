"""Finds and stops the processes of a sandbox from outside, while its PID 1 is busy with an action."""

import os
import signal
import time
from collections.abc import Iterator

STOP_SECONDS = 5.0
_LOOK_SECONDS = 0.0002
_STANDING = b"TtZX"


def descendants(first_pid: int) -> Iterator[int]:
    """A process and all that descend from it, as we see them; those that end meanwhile may be missing."""
    pending = [first_pid]
    while pending:
        pid = pending.pop()
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                    pending += [int(child) for child in file.read().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield pid


def stop_inside(first_pid: int) -> bool:
    """Stop every process of a sandbox but its PID 1; false when one did not stop in time.

    Args:
        first_pid: the sandbox's outermost process.
    """
    deadline = time.monotonic() + STOP_SECONDS
    while running := [pid for pid in _inside(first_pid) if not _stands(pid)]:
        if time.monotonic() > deadline:
            return False
        _signal(running, signal.SIGSTOP)
        time.sleep(_LOOK_SECONDS)
    return True


def resume_inside(first_pid: int) -> None:
    """Let all of them run on."""
    _signal(_inside(first_pid), signal.SIGCONT)


def _inside(first_pid: int) -> list[int]:
    """Descendants in a pid namespace below ours that are not its first process."""
    depth = len(_numbers(os.getpid()))
    found = []
    for pid in descendants(first_pid):
        numbers = _numbers(pid)
        if len(numbers) > depth and numbers[-1] != 1:
            found.append(pid)
    return found


def _numbers(pid: int) -> list[int]:
    """A process's pid in each namespace, the outermost one that we see first; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            line = next((line for line in file if line.startswith(b"NSpid:")), b"")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(number) for number in line.split()[1:]]


def _stands(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in _STANDING
    except (FileNotFoundError, ProcessLookupError):
        return True


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
