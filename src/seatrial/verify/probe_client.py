"""probe [--timeout SECONDS] [--put SRC=DEST]... -- COMMAND ARG...

Runs COMMAND in a sandbox of its own, on the same declared view with writable scratch over it, and gives back
its output and exit code. A fresh sandbox each time; nothing of it stays.

  --timeout SECONDS  wall time for COMMAND (30); 124 is the exit code when it is up
  --put SRC=DEST     copy a file or folder of the verifier's there first: DEST lies in the view's places
                     (relative: to /workspace), or below /put, which COMMAND cannot write

Standard input is passed on. Exit code 125: COMMAND was ended for too much output, or could not be run.
"""

# Runs inside the verifier's sandbox as a single file. Its start is paid for every probe: socket, json and
# typing would double it.
import os
import sys
from _socket import AF_UNIX, SOCK_STREAM, socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

Put = tuple[str, bool, bytes]
SOCKET = "/run/seatrial/probe.sock"
USAGE = __doc__ or ""
MISUSED, REFUSED = 2, 125


def usage(problem: str) -> "NoReturn":
    sys.stderr.write(f"probe: {problem}\n{USAGE}")
    sys.exit(MISUSED)


def parse(arguments: list[str]) -> tuple[float, list[Put], list[str]]:
    """Options up to ``--``, then the command."""
    timeout = 30.0
    puts: list[Put] = []
    while arguments:
        word = arguments.pop(0)
        if word == "--":
            break
        if word in ("-h", "--help"):
            sys.stdout.write(USAGE)
            sys.exit(0)
        if word not in ("--timeout", "--put") or not arguments:
            usage(f"{word!r} is no option, or lacks its value (COMMAND comes after --)")
        value = arguments.pop(0)
        if word == "--put":
            source, equals, target = value.partition("=")
            if not equals or not source or not target:
                usage(f"--put {value!r} is not SRC=DEST")
            puts += gather(source, target)
        else:
            try:
                timeout = float(value)
            except ValueError:
                usage(f"--timeout {value!r} is no number")
    if not arguments:
        usage("there is no command")
    return timeout, puts, arguments


def gather(source: str, target: str) -> list[Put]:
    """The file, or every file of the folder, as (target, run bit, bytes)."""
    try:
        if not os.path.isdir(source):
            with open(source, "rb") as file:
                return [(target, bool(os.fstat(file.fileno()).st_mode & 0o100), file.read())]
        names = sorted(os.listdir(source))
    except OSError as fault:
        usage(f"--put {source}: {fault.strerror}")
    found: list[Put] = []
    for name in names:
        if name != "__pycache__":
            found += gather(f"{source}/{name}", f"{target}/{name}")
    return found


def chunk(data: bytes) -> bytes:
    """Length-prefixed bytes: all that travels on the socket."""
    return len(data).to_bytes(4, "big") + data


def receive(connection: socket, size: int) -> bytes:
    parts = []
    while size:
        part = connection.recv(min(size, 1 << 20))
        if not part:
            sys.stderr.write("probe: the harness closed the connection\n")
            sys.exit(REFUSED)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def receive_chunk(connection: socket) -> bytes:
    return receive(connection, int.from_bytes(receive(connection, 4), "big"))


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except BrokenPipeError:
        return  # whoever asked does not want the rest


def main() -> None:
    timeout, puts, command = parse(sys.argv[1:])
    chunks = [str(timeout).encode(), str(len(puts)).encode()]
    for target, run, data in puts:
        chunks += [os.fsencode(target), b"x" if run else b"-", data]
    chunks += [str(len(command)).encode(), *map(os.fsencode, command)]
    chunks.append(b"" if os.isatty(0) else sys.stdin.buffer.read())
    connection = socket(AF_UNIX, SOCK_STREAM)
    connection.connect(os.environ.get("SEATRIAL_PROBE", SOCKET))
    try:
        connection.sendall(b"".join(map(chunk, chunks)))
    except BrokenPipeError:
        chunks.clear()  # refused early; the answer says why
    status, note, stdout, stderr = (receive_chunk(connection) for _ in range(4))
    write_all(1, stdout)
    write_all(2, stderr + (b"probe: " + note + b"\n" if note else b""))
    os._exit(int(status))


main()
