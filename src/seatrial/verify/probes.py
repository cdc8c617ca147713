"""The harness's side of ``probe``: runs agent-made code in a second sandbox and returns its bytes.

The socket is mounted into one verifier's sandbox and nowhere else. Each request gets a sandbox of its own:
other uid, own PID namespace, no descriptor but its three pipes, the declared view with an empty layer on it.
"""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from seatrial.environment.confine.box import Box, Mount
from seatrial.environment.confine.cgroups import ControlGroup
from seatrial.environment.confine.host import Host
from seatrial.errors import SeatrialError
from seatrial.journal.entries import ROOTS, VIEWED
from seatrial.verify.confined import Bounds, Ended, Order, Stream, run_to_end
from seatrial.verify.mounts import Mounts

WORD_BYTES = 1 << 20
PUT_BYTES = 256 << 20
STDIN_BYTES = 64 << 20
STDOUT_BYTES = 16 << 20
STDERR_BYTES = 1 << 20
TIMED_OUT, REFUSED = 124, 125
_SEND_SECONDS = 30.0
_AT_ONCE = 8
_Number = TypeVar("_Number", int, float)
PUT_PLACE = "/put/"


@dataclass(frozen=True)
class Put:
    """A verifier's file to place before the run."""

    target: str
    executable: bool
    data: bytes


@dataclass(frozen=True)
class Request:
    """One probe as asked for."""

    command: list[str]
    seconds: float
    stdin: bytes
    puts: list[Put]


@dataclass(frozen=True)
class Ground:
    """What probes stand on. ``layer`` gives the view's folder, relative to the scratch folder."""

    host: Host
    mounter: Mounts
    bounds: Bounds
    group: ControlGroup
    layer: Callable[[], str]


class RefusedError(ValueError):
    """A request that cannot be carried out; the message is for the verifier's author."""


class ProbeServer:
    """Answers one verifier run's probes, each in a thread of its own.

    Attributes:
        path: of the socket, to be mounted into the verifier's sandbox.
    """

    def __init__(self, ground: Ground, path: str) -> None:
        self._ground, self.path = ground, path
        self._stop, self._stopped = os.pipe2(os.O_CLOEXEC)
        self._threads: list[threading.Thread] = []
        self._slots = threading.Semaphore(_AT_ONCE)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        os.chmod(path, 0o600)
        uid = ground.host.uid("verifier")
        os.chown(path, uid, uid)
        self._listener.listen(64)
        self._listener.setblocking(False)

    @property
    def descriptor(self) -> int:
        """Readable when somebody wants a probe; then ``accept`` must be called."""
        return self._listener.fileno()

    def accept(self) -> bool:
        """Take one request up; always true, so that the verifier runs on."""
        with contextlib.suppress(BlockingIOError):
            connection, _ = self._listener.accept()
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()
        return True

    def close(self) -> None:
        """End every probe that still runs, and the socket."""
        self._listener.close()
        os.close(self._stopped)
        for thread in self._threads:
            thread.join()
        os.close(self._stop)
        os.unlink(self.path)

    def _serve(self, connection: socket.socket) -> None:
        with connection, self._slots:
            connection.settimeout(_SEND_SECONDS)
            stdout, stderr = Stream(STDOUT_BYTES, fatal=True), Stream(STDERR_BYTES)
            try:
                request = receive(connection)
                status, note = self._run(request, connection, stdout, stderr)
            except OSError:
                return
            except (RefusedError, SeatrialError) as fault:
                status, note = REFUSED, str(fault)
            answer = (str(status).encode(), note.encode(errors="replace"), stdout.data, stderr.data)
            with contextlib.suppress(OSError):
                connection.sendall(b"".join(len(part).to_bytes(4, "big") + part for part in answer))

    def _run(self, request: Request, asker: socket.socket, stdout: Stream, stderr: Stream) -> tuple[int, str]:
        ground = self._ground
        bounds = replace(ground.bounds, seconds=min(request.seconds, ground.bounds.seconds))
        with scratch_view(ground) as tree:
            files = place(request.puts, tree, ground.host.uid("probe"))
            box = Box(
                command=[],
                uid=ground.host.uid("probe"),
                mounts=[Mount(f"{tree}/{root}", at, writable=root in ROOTS) for root, at in VIEWED.items()],
                files=files,
                chdir="/workspace",
            )
            wake = {self._stop: _end, asker.fileno(): _end}
            order = Order(
                box, request.command, bounds, ground.group, stdout, stderr, stdin=request.stdin, wake=wake
            )
            return _told(run_to_end(order, ground.host), stdout, bounds)


def _end() -> bool:
    """The verifier ended, or whoever asked went away: nobody waits for the answer."""
    return False


def _told(ended: Ended, stdout: Stream, bounds: Bounds) -> tuple[int, str]:
    """Exit code and note for the verifier."""
    if stdout.over:
        stdout.data.clear()
        return REFUSED, f"ended: more than {stdout.limit} bytes of output"
    if ended.end == "time":
        return TIMED_OUT, f"ended: {bounds.seconds:g} seconds are up"
    if ended.end != "exited":
        return REFUSED, "ended with the verifier"
    return ended.status, "a process was killed for memory" if ended.out_of_memory else ""


@contextlib.contextmanager
def scratch_view(ground: Ground) -> Iterator[str]:
    """The view with a fresh layer over it, gone afterwards."""
    mounted = ground.mounter.with_scratch(ground.layer(), ground.bounds.memory_mb)
    try:
        yield mounted.tree
    finally:
        mounted.close()


def receive(connection: socket.socket) -> Request:
    """Read one request: time-out, files to put, command, standard input, each piece after its length.

    Raises:
        RefusedError: it is malformed or too large.
        OSError: the other end went away.
    """
    pieces = _Pieces(connection)
    seconds = pieces.number(float)
    puts = []
    for _ in range(pieces.number(int)):
        target, run = os.fsdecode(pieces.take()), pieces.take() == b"x"
        puts.append(Put(target, run, pieces.take(PUT_BYTES)))
    command = [os.fsdecode(pieces.take()) for _ in range(pieces.number(int))]
    if not command or any("\0" in word for word in command) or not 0 < seconds < float("inf"):
        raise RefusedError("the request needs a command and a time-out above 0")
    return Request(command, seconds, pieces.take(STDIN_BYTES), puts)


class _Pieces:
    """Reads length-prefixed pieces, none longer and not more in all than may be."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._left = connection, PUT_BYTES + STDIN_BYTES
        self._deadline = time.monotonic() + _SEND_SECONDS

    def take(self, limit: int = WORD_BYTES) -> bytes:
        size = int.from_bytes(self._exactly(4), "big")
        self._left -= size + 64
        if size > limit or self._left < 0:
            raise RefusedError(f"a part of the request has {size} bytes; at most {limit} may come")
        return self._exactly(size)

    def number(self, kind: type[_Number]) -> _Number:
        try:
            return kind(self.take())
        except ValueError as fault:
            raise RefusedError(f"the request cannot be read: {fault}") from None

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._connection.recv(min(size - len(data), 1 << 20))
            if not part or time.monotonic() > self._deadline:
                raise ConnectionError("the verifier went away")
            data += part
        return bytes(data)


def place(puts: list[Put], tree: str, uid: int) -> dict[str, bytes]:
    """Put files into the tree, and return those that go outside it, by their path inside the sandbox.

    Raises:
        RefusedError: a target is no place for a file, or the agent put a link or a file in the way.
    """
    outside = {}
    for put in puts:
        target = put.target if put.target.startswith("/") else f"/workspace/{put.target}"
        parts = [part for part in target.split("/") if part not in ("", ".")]
        if ".." in parts or "\0" in target:
            raise RefusedError(f"--put: {put.target!r} goes up with '..'")
        plain = "/" + "/".join(parts)
        if plain.startswith(PUT_PLACE):
            outside[plain] = put.data
            continue
        place_inside = _inside(plain)
        if place_inside is None:
            raise RefusedError(f"--put: {put.target!r} lies neither below /put nor in {list(ROOTS.values())}")
        try:
            _write(tree, place_inside, put, uid)
        except OSError as fault:
            raise RefusedError(f"--put: {put.target!r}: {fault.strerror}: something is in the way") from None
    return outside


def _inside(path: str) -> list[str] | None:
    for root, at in ROOTS.items():
        if path.startswith(at + "/"):
            return [root, *path[len(at) + 1 :].split("/")]
    return None


def _write(tree: str, parts: list[str], put: Put, uid: int) -> None:
    """Walk down without following a link of the agent's, and write a new file at the end."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    at = os.open(tree, flags)
    try:
        for part in parts[:-1]:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=at)
                os.chown(part, uid, uid, dir_fd=at, follow_symlinks=False)
            below = os.open(part, flags, dir_fd=at)
            os.close(at)
            at = below
        with contextlib.suppress(FileNotFoundError):
            os.unlink(parts[-1], dir_fd=at)
        created = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(parts[-1], created, 0o600, dir_fd=at), "wb") as file:
            file.write(put.data)
            os.fchown(file.fileno(), uid, uid)
            os.fchmod(file.fileno(), 0o755 if put.executable else 0o644)
    finally:
        os.close(at)
