"""Runs one command in a box to its end: bounded output, a deadline, and nothing left when it returns.

The box's PID 1 is a small bash script of ours: it sets limits, starts the command and exits with its status.
When PID 1 has been waited for, the kernel has killed everything else of its PID namespace.
"""

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from seatrial.environment.confine import starting
from seatrial.environment.confine.box import Box
from seatrial.environment.confine.cgroups import ControlGroup, make_group
from seatrial.environment.confine.host import Host
from seatrial.errors import VerifierFault

START_SECONDS = 20.0
END_SECONDS = 10.0
_CHUNK = 1 << 16
# Above the numbers a shell can write with one digit, so that 3 is free.
_FIRST_DESCRIPTOR = 20

_MaybePair = tuple[int | None, int | None]
End = Literal["exited", "time", "output", "cancelled"]


@dataclass(frozen=True)
class Bounds:
    """Limits on one box: memory in MiB, processes and threads, seconds of wall time."""

    memory_mb: int = 2048
    processes: int = 256
    seconds: float = 60.0


@dataclass
class Stream:
    """What is read from one pipe: the first ``limit`` bytes; ``fatal`` means that more ends the box."""

    limit: int
    fatal: bool = False
    data: bytearray = field(default_factory=bytearray)
    total: int = 0

    def add(self, part: bytes) -> None:
        """Take in bytes; those beyond the limit are only counted."""
        self.data += part[: self.limit - len(self.data)]
        self.total += len(part)

    @property
    def over(self) -> bool:
        """Whether more came than may come."""
        return self.fatal and self.total > self.limit


@dataclass
class Order:
    """What to run and how to watch it.

    Attributes:
        box: mounts, files and environment; command, PID 1 and descriptors are filled in here.
        command: argument vector inside.
        bounds: limits.
        group: control group that holds the limits it can; rlimits hold the rest.
        record: what is read from descriptor 3; null when the command gets none.
        stdin: given to the command.
        wake: descriptors to watch meanwhile, each with what to do when it can be read; an answer of false
            ends the box.
    """

    box: Box
    command: list[str]
    bounds: Bounds
    group: ControlGroup
    stdout: Stream
    stderr: Stream
    record: Stream | None = None
    stdin: bytes = b""
    wake: dict[int, Callable[[], bool]] = field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    """How it ended; ``status`` as a shell would say, and whether the kernel killed for memory."""

    end: End
    status: int
    out_of_memory: bool


def group_for(host: Host, name: str, bounds: Bounds) -> ControlGroup:
    """A control group with these bounds, as root; an empty one otherwise."""
    if host.mode != "root":
        return ControlGroup()
    # Under the stage's name, so that what a killed harness leaves is swept by the next one.
    stage = os.path.basename(host.stage)
    return make_group(f"{stage}-{name}", bounds.memory_mb, bounds.processes)


def run_to_end(order: Order, host: Host) -> Ended:
    """Run the order. When this returns, nothing of the box is alive and all pipes are closed.

    Raises:
        VerifierFault: the box could not be started.
    """
    with contextlib.ExitStack() as stack:
        pipes = _Pipes(stack, order)
        box = order.box
        box.command = _first_process(order, pipes, host)
        box.as_init, box.join = True, order.group.folders
        box.keep = [fd for fd in (pipes.ready[1], pipes.record[1]) if fd is not None]
        ooms = order.group.out_of_memory_kills()
        process = starting.start(
            box, host, stdin=pipes.stdin[0], stdout=pipes.stdout[1], stderr=pipes.stderr[1]
        )
        stack.callback(starting.stop, process)
        pipes.close_far_ends()
        first = _await_first(process, pipes)
        stack.callback(os.close, first)
        end = _Watch(order, pipes, process).follow()
        if end != "exited":
            _kill(first, process)
        status = process.wait()
        starting.end_leftovers(process)
        pipes.drain(order)
        return Ended(end, status if status >= 0 else 128 - status, order.group.out_of_memory_kills() > ooms)


class _Pipes:
    """Pipes of one box; the first of each pair is ours but for ``stdin``, whose second is."""

    def __init__(self, stack: contextlib.ExitStack, order: Order) -> None:
        self._open: set[int] = set()
        stack.callback(self.close)
        self.ready = self._pair()
        self.stdout, self.stderr = self._pair(), self._pair()
        self.record: _MaybePair = self._pair() if order.record is not None else (None, None)
        self.stdin: _MaybePair = self._pair() if order.stdin else (None, None)
        streams = [(self.stdout[0], order.stdout), (self.stderr[0], order.stderr)]
        if order.record is not None and self.record[0] is not None:
            streams.append((self.record[0], order.record))
        self.streams: dict[int, Stream] = dict(streams)
        for descriptor in (*self.streams, self.stdin[1]):
            if descriptor is not None:
                os.set_blocking(descriptor, False)

    def _pair(self) -> tuple[int, int]:
        low = os.pipe2(os.O_CLOEXEC)
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST_DESCRIPTOR) for fd in low]
        for descriptor in low:
            os.close(descriptor)
        self._open.update(high)
        return high[0], high[1]

    def shut(self, descriptor: int | None) -> None:
        if descriptor in self._open:
            self._open.discard(descriptor)
            os.close(descriptor)

    def close_far_ends(self) -> None:
        for descriptor in (self.ready[1], self.stdout[1], self.stderr[1], self.record[1], self.stdin[0]):
            self.shut(descriptor)

    def close(self) -> None:
        for descriptor in list(self._open):
            self.shut(descriptor)

    def take(self, descriptor: int) -> bool:
        """Read once; false at the end of the stream."""
        try:
            part = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return True
        self.streams[descriptor].add(part)
        return bool(part)

    def drain(self, order: Order) -> None:
        """Read what is left in the pipes; nobody can write to them any more."""
        for descriptor in self.streams:
            if descriptor in self._open:
                while self.take(descriptor):
                    if not _readable(descriptor, 0):
                        break


def _first_process(order: Order, pipes: _Pipes, host: Host) -> list[str]:
    """PID 1: bash stays, so that the command is an ordinary process whose death by a signal is seen."""
    limits = ["ulimit -c 0"]
    if order.group.memory is None:
        limits.append(f"ulimit -v {order.bounds.memory_mb << 10}")
    # Without a user namespace the kernel counts all processes of the user, not the box's.
    if order.group.pids is None and host.mode != "unsafe":
        limits.append(f"ulimit -u {order.bounds.processes}")
    record = pipes.record[1]
    inherited = f"exec 3>&{record} {record}>&-; " if record is not None else ""
    script = (
        f"{'; '.join(limits)}; printf . >&{pipes.ready[1]}; exec {pipes.ready[1]}>&-; "
        # Only the command's own words go to stderr, not bash's report of how it died.
        f"exec {{said}}>&2 2>/dev/null; "
        f'({inherited}exec 2>&$said {{said}}>&-; exec -- "$@"); exit $?'
    )
    return ["/bin/bash", "--noprofile", "--norc", "-c", script, "sh", *order.command]


def _await_first(process: subprocess.Popen[bytes], pipes: _Pipes) -> int:
    """Wait until PID 1 runs and return a descriptor of it."""
    if not _readable(pipes.ready[0], START_SECONDS) or not os.read(pipes.ready[0], 1):
        starting.stop(process)
        said = bytearray()
        with contextlib.suppress(BlockingIOError):
            said += os.read(pipes.stderr[0], 4096)
        raise VerifierFault(
            f"cannot start a verifier's sandbox: {said.decode(errors='replace').strip() or 'no answer'}. "
            "Run `seatrial doctor`."
        )
    # Where PID 1 cannot be told (it has ended, or the kernel lists no children) bubblewrap stands for it.
    children: list[str] = []
    with (
        contextlib.suppress(OSError),
        open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file,
    ):
        children = file.read().split()
    try:
        return os.pidfd_open(int(children[0]) if children else process.pid)
    except ProcessLookupError:
        return os.pidfd_open(process.pid)


def _readable(descriptor: int, seconds: float) -> bool:
    """Whether there is something to read, or the end, within the time."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _kill(first: int, process: subprocess.Popen[bytes]) -> None:
    """Kill PID 1 and wait for bubblewrap, which waits until the kernel has emptied the PID namespace."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(first, signal.SIGKILL)
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        starting.stop(process)


class _Watch:
    """Feeds and reads the pipes until the box ends or must end."""

    def __init__(self, order: Order, pipes: _Pipes, process: subprocess.Popen[bytes]) -> None:
        self._order, self._pipes, self._process = order, pipes, process
        self._stdin = memoryview(order.stdin)
        self._poll = select.poll()
        self._deadline = time.monotonic() + order.bounds.seconds

    def follow(self) -> End:
        own = os.pidfd_open(self._process.pid)
        try:
            for descriptor in (own, *self._pipes.streams, *self._order.wake):
                self._poll.register(descriptor, select.POLLIN)
            if self._pipes.stdin[1] is not None:
                self._poll.register(self._pipes.stdin[1], select.POLLOUT)
            while True:
                left = self._deadline - time.monotonic()
                if left <= 0:
                    return "time"
                for descriptor, _ in self._poll.poll(left * 1000 + 1):
                    if descriptor == own:
                        return "exited"
                    if (end := self._serve(descriptor)) is not None:
                        return end
        finally:
            os.close(own)

    def _serve(self, descriptor: int) -> End | None:
        if descriptor in self._order.wake:
            return None if self._order.wake[descriptor]() else "cancelled"
        if descriptor == self._pipes.stdin[1]:
            self._feed(descriptor)
            return None
        if not self._pipes.take(descriptor):
            self._poll.unregister(descriptor)
        return "output" if self._pipes.streams[descriptor].over else None

    def _feed(self, descriptor: int) -> None:
        try:
            self._stdin = self._stdin[os.write(descriptor, self._stdin[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._stdin = memoryview(b"")
        if not self._stdin:
            self._poll.unregister(descriptor)
            self._pipes.shut(descriptor)
