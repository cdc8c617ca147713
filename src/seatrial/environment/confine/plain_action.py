"""One action as an ordinary child process: bounded output, a deadline, an end when the process exits.

For hosts without a sandbox; inside one, ``environment.confine.init`` does this.
"""

import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_CHUNK = 1 << 16
# Reads before the clock is looked at again: an endless writer must not hold it up.
_READS_AT_ONCE = 16
# The kernel refuses a single argument from 128 KiB on; longer scripts are handed over as a file.
_ARGUMENT_LIMIT = 96 << 10


@dataclass(frozen=True)
class Order:
    """What to run.

    Attributes:
        argv: program and arguments; with a ``script`` that is too long its last one gives way to a file.
        script: the last argument; null for none.
        cwd: a real folder, and how the agent names it.
        environment: all of it.
        stdin: given to the program; null for ``/dev/null``.
        seconds: wall time.
        keep: bytes of output kept from the beginning, and as many from the end.
    """

    argv: Sequence[str]
    cwd: tuple[str, str]
    environment: dict[str, str]
    seconds: float
    keep: int
    script: bytes | None = None
    stdin: bytes | None = None


@dataclass
class Report:
    """How it ended; ``status`` as Python says it, output with the omitted count between its parts."""

    status: int
    output: bytes
    took_us: int
    cpu_us: int | None = None
    timed_out: bool = False


class _Kept:
    """The first and the last bytes of a stream."""

    def __init__(self, each: int) -> None:
        self._each, self._head, self._tail, self._total = each, bytearray(), bytearray(), 0

    def add(self, data: bytes) -> None:
        self._total += len(data)
        room = self._each - len(self._head)
        self._head += data[:room]
        self._tail = (self._tail + data[room:])[-self._each :]

    def text(self) -> bytes:
        omitted = self._total - len(self._head) - len(self._tail)
        between = f"\n[… {omitted} bytes omitted …]\n".encode() if omitted else b""
        return bytes(self._head) + between + bytes(self._tail)


def act(order: Order, kill: Callable[[int], object], ended: Callable[[int], object]) -> Report:
    """Run an order to its end.

    Args:
        order: what to run.
        kill: ends everything of this action, given its session, when the time is up.
        ended: told the session at the end, while its number can be nobody else's.
    """
    began = time.monotonic()
    kept = _Kept(order.keep)
    reader, writer = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(reader, False)
    try:
        process = _start(order, writer)
    except (OSError, ValueError) as fault:
        os.close(reader)
        said = f"{order.cwd[1]}: {fault.strerror}" if isinstance(fault, OSError) else str(fault)
        status = 127 if isinstance(fault, FileNotFoundError) else 126
        return Report(status, f"cannot run: {said}\n".encode(errors="replace"), _since(began))
    finally:
        os.close(writer)
    pipe = _Pipe(reader, kept)
    handle = os.pidfd_open(process.pid)
    try:
        timed_out = not pipe.follow(handle, began + order.seconds)
        if timed_out:
            kill(process.pid)
            # Whatever became of the others, this one must end; it has not been waited for yet.
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        ended(process.pid)
    finally:
        os.close(handle)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    pipe.leave()
    cpu = int((usage.ru_utime + usage.ru_stime) * 1e6)
    return Report(process.returncode, kept.text(), _since(began), cpu, timed_out)


def _start(order: Order, output: int) -> subprocess.Popen[bytes]:
    argv: list[str | bytes] = list(order.argv)
    with tempfile.TemporaryFile() as script, tempfile.TemporaryFile() as stdin:
        if order.script is not None and len(order.script) > _ARGUMENT_LIMIT:
            script.write(order.script)
            script.flush()
            script.seek(0)
            argv[-1] = f"/proc/self/fd/{script.fileno()}"
        elif order.script is not None:
            argv.append(order.script)
        if order.stdin is not None:
            stdin.write(order.stdin)
            stdin.flush()
            stdin.seek(0)
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL if order.stdin is None else stdin.fileno(),
            stdout=output,
            stderr=output,
            pass_fds=[script.fileno()],
            cwd=order.cwd[0],
            env=order.environment,
            start_new_session=True,
        )


def _since(began: float) -> int:
    return int((time.monotonic() - began) * 1e6)


class _Pipe:
    """Our end of an action's output."""

    def __init__(self, reader: int, kept: _Kept) -> None:
        self._reader, self._kept, self._ended = reader, kept, False

    def follow(self, handle: int, deadline: float) -> bool:
        """Read until the process (a pidfd) has exited; false when the time is up before."""
        while (left := deadline - time.monotonic()) > 0:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            if not self._ended:
                poll.register(self._reader, select.POLLIN)
            ready = {descriptor for descriptor, _ in poll.poll(left * 1000 + 1)}
            if self._reader in ready:
                self._take()
            if handle in ready:
                return True
        return False

    def _take(self) -> None:
        for _ in range(_READS_AT_ONCE):
            try:
                data = os.read(self._reader, _CHUNK)
            except BlockingIOError:
                return
            if not data:
                self._ended = True
                return
            self._kept.add(data)

    def leave(self) -> None:
        """Take in what is there; what others still write is read and forgotten, so that they run on."""
        if not self._ended:
            self._take()
        if self._ended:
            os.close(self._reader)
        else:
            os.set_blocking(self._reader, True)
            threading.Thread(target=_forget, args=(self._reader,), daemon=True).start()


def _forget(reader: int) -> None:
    while os.read(reader, _CHUNK):
        pass
    os.close(reader)
