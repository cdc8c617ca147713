"""Waiting for what another process does, however long a busy machine takes for it.

A test that supposes how long something takes fails by chance. It waits for the thing itself, and finds its
own processes by words that no other test process uses.
"""

import glob
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 120.0
"""Seconds after which a wait is a fault; a busy machine needs more than a quiet one."""


def until(is_so: Callable[[], object], complaint: str = "it did not come about") -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, complaint
        time.sleep(0.01)


def appears(process: subprocess.Popen[str], pattern: str) -> None:
    """Wait until a path matches; fail if the process ends before that.

    ``pathlib`` raises when a folder goes away while it is searched; the ``glob`` module passes over it.
    """

    def is_there() -> bool:
        if glob.glob(pattern):
            return True
        assert process.poll() is None, process.communicate()
        return False

    until(is_there, f"nothing matches {pattern}")


def unique(seconds: int) -> str:
    """An argument for ``sleep`` that no other test process uses: its processes are found by it."""
    return f"{seconds}.{os.getpid():07}"  # of one length, so that none is the beginning of another


def naming(word: str, mounts: bool = False) -> list[int]:
    """Pids of other processes that name a word on their command line.

    Args:
        mounts: or among their mounts.
    """
    files = ("cmdline", "mountinfo") if mounts else ("cmdline",)
    return [
        pid
        for pid in _pids()
        if pid != os.getpid() and any(word.encode() in _read(pid, name) for name in files)
    ]


def ending_in(word: str) -> list[int]:
    """Pids of processes whose last argument a word is, such as ``sleep`` itself and not its shell."""
    return [pid for pid in _pids() if _read(pid, "cmdline").rstrip(b"\0").endswith(b"\0" + word.encode())]


def running(*words: str) -> set[str]:
    """Which of the words are the last argument of some process."""
    return {word for word in words if ending_in(word)}


def await_none(word: str) -> None:
    """Wait until no process names a word: the kernel ends what depended on a killed one, but not at once."""
    until(lambda: not naming(word, mounts=True), f"{word}: is left")


def end(word: str) -> None:
    """Wait for a process whose last argument a word is, and end it: what waited for it goes on."""
    until(lambda: ending_in(word), f"{word}: nobody is there")
    for pid in ending_in(word):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


@contextmanager
def when_running(word: str, do: Callable[[], object]) -> Iterator[None]:
    """While in here, do something once, from a signal handler, when a word is a process's last argument."""
    done = list[object]()

    def look(*_: object) -> None:
        if not done and ending_in(word):
            done.append(do())

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def children(pid: int) -> list[int]:
    """Pids of a process's own children; of one that has ended, none."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def state(pid: int) -> str:
    """The kernel's letter for what a process does: ``S`` sleeps, ``T`` stands still, ``Z`` has ended."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _read(pid: int, name: str) -> bytes:
    """A file of a process; nothing of one that has ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
