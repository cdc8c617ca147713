"""PID 1 of a sandbox: runs actions one at a time, bounds their output, kills what must end.

Runs inside the sandbox as a single file with nothing but the standard library, once ``confine.waiting`` has
seen the first request. It speaks frames over the descriptor given as its first argument: two big-endian
32-bit lengths, a JSON header, a payload.

An action is a fresh process in a session of its own; it ends when that process exits, not when its pipe
closes. What it left behind runs on, and its further output is drained and counted.
"""

import binascii
import ctypes
import json
import os
import resource
import select
import signal
import stat
import struct
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

HEADER = struct.Struct(">II")
PR_SET_DUMPABLE = 4
FILE_LIMIT = 64 << 20
# The kernel refuses a single argument from 128 KiB on; longer scripts are handed over as a file.
ARGUMENT_LIMIT = 96 << 10
# Reads before anything else is looked at again: an endless writer must not hold up the clock.
READS_AT_ONCE = 16
# Added to the badness of all but PID 1, so that running out of memory never takes the sandbox along.
VICTIM_FIRST = b"500"
KILL_SECONDS = 5.0
REAP_SECONDS = 0.05

Request = dict[str, Any]
Report = dict[str, Any]
Finished = tuple[int, resource.struct_rusage]


class Tail:
    """Keeps the first and the last ``each`` bytes of a stream and counts the rest."""

    def __init__(self, each: int) -> None:
        self.each, self.head, self.tail, self.total = each, bytearray(), bytearray(), 0

    def add(self, data: bytes) -> None:
        """Take in more of the stream."""
        self.total += len(data)
        if not self.each:
            return
        room = self.each - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > 2 * self.each:
            del self.tail[: -self.each]

    def result(self) -> tuple[bytes, bytes, int]:
        """First part, last part, bytes left out between them."""
        tail = bytes(self.tail[-self.each :]) if self.each else b""
        return bytes(self.head), tail, self.total - len(self.head) - len(tail)


class Init:
    """The loop of PID 1."""

    def __init__(self, control: int, options: dict[str, Any]) -> None:
        self.control, self.options = control, options
        self.drains: dict[int, Tail] = {}
        self.main: int | None = None
        self.ended: Finished | None = None
        self.childless = True

    # -- frames ---------------------------------------------------------------------------------------
    def receive(self, size: int) -> bytes:
        """Read exactly ``size`` bytes; the sandbox ends when its owner is gone."""
        data = bytearray()
        while len(data) < size:
            part = os.read(self.control, size - len(data))
            if not part:
                os._exit(0)
            data += part
        return bytes(data)

    def send(self, header: Report, payload: bytes = b"") -> None:
        """Write one frame."""
        text = json.dumps(header).encode()
        try:
            write_all(self.control, HEADER.pack(len(text), len(payload)) + text + payload)
        except BrokenPipeError:
            os._exit(0)

    def serve(self) -> None:
        """Answer requests for ever, draining what background processes write."""
        operations = {
            "run": self.do_run, "file": self.do_file, "stop": self.do_stop, "continue": self.do_continue,
            "count": self.do_count, "interrupt": self.do_interrupt,
        }  # fmt: skip
        while True:
            for descriptor in self.poll([self.control], 1.0):
                if descriptor == self.control:
                    head, body = HEADER.unpack(self.receive(HEADER.size))
                    request = json.loads(self.receive(head))
                    operations[request["op"]](request, self.receive(body))
            self.reap()

    def poll(self, wanted: Sequence[int], seconds: float) -> list[int]:
        """Wait for one of ``wanted``, draining all pipes meanwhile; returns those that are ready."""
        poll = select.poll()
        for descriptor in (*wanted, *self.drains):
            poll.register(descriptor, select.POLLIN)
        ready = [descriptor for descriptor, _ in poll.poll(max(0.0, seconds) * 1000)]
        for descriptor in ready:
            if descriptor in self.drains:
                self.drain(descriptor)
        return [descriptor for descriptor in ready if descriptor in wanted]

    def drain(self, descriptor: int) -> None:
        """Take in some of what is there; closes the pipe at its end."""
        for _ in range(READS_AT_ONCE):
            try:
                data = os.read(descriptor, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                os.close(descriptor)
                del self.drains[descriptor]
                return
            self.drains[descriptor].add(data)

    # -- processes ------------------------------------------------------------------------------------
    def reap(self) -> None:
        """Collect the dead; remembers how the action's own process ended."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                self.childless = True
                return
            if pid == 0:
                self.childless = False
                return
            if pid == self.main:
                self.ended = status, usage

    def others(self) -> list[int]:
        """Every living process but this one; orphans become our children, so no child means nobody."""
        self.reap()
        if self.childless:
            return []
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]

    def family(self) -> dict[int, tuple[int, int]]:
        """Parent and session of every living process."""
        found = {}
        for pid in self.others():
            fields = status_fields(pid)
            if fields:
                found[pid] = int(fields[1]), int(fields[3])
        return found

    def kill_action(self, before: dict[int, tuple[int, int]]) -> None:
        """Kill what this action started and nothing older; nobody can fork away while all are stopped.

        Older processes' children are spared, also those whose parent has ended, unless they moved to a
        session of their own: then nothing tells them from this action's.
        """
        if not signal_all(signal.SIGSTOP):
            return
        family = self.family()
        sessions = {session for _, session in before.values()}
        killed = set()
        for pid, (_, session) in family.items():
            at = pid
            while at in family and at not in before:
                at = family[at][0]
            if at not in before and session not in sessions and signal_one(pid, signal.SIGKILL):
                killed.add(pid)
        signal_all(signal.SIGCONT)
        deadline = time.monotonic() + KILL_SECONDS
        while killed & set(self.others()) and time.monotonic() < deadline:
            time.sleep(0.001)

    def start(self, work: Callable[[], None], output: int) -> int:
        """Fork a process that runs ``work``; returns its pid."""
        pid = os.fork()
        if pid:
            return pid
        try:
            os.close(self.control)
            os.setsid()
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            for number in (signal.SIGPIPE, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            self.confine()
            work()
            os._exit(0)
        except BaseException as fault:
            write_all(2, f"cannot run: {reason(fault)}\n".encode(errors="replace"))
            os._exit(127 if isinstance(fault, FileNotFoundError) else 126)

    def confine(self) -> None:
        """Limits of one action's process, set by itself."""
        # Only the owner of a dumpable process may raise its badness; our own descriptors are closed by now.
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
        badness = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(badness, VICTIM_FIRST)
        os.close(badness)
        for name, value in self.options.get("rlimits", {}).items():
            resource.setrlimit(getattr(resource, name), (value, value))

    def execute(self, work: Callable[[], None], timeout: float, keep: int) -> tuple[Report, bytes]:
        """Run ``work`` in a child under a time limit; returns the report and what is kept of its output."""
        before = self.family()
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        sink = self.drains[reader] = Tail(keep)
        started = time.monotonic()
        try:
            pid = self.main = self.start(work, writer)
        except OSError as fault:
            sink.add(f"cannot start a process: {fault.strerror}\n".encode())
            return self.report(sink, started, 126 << 8, None, "exit"), bytes(sink.head)
        finally:
            os.close(writer)
        end = self.wait(child := os.pidfd_open(pid), started + timeout)
        if end != "exit":
            self.kill_action(before)
            while self.wait(child, time.monotonic() + KILL_SECONDS) == "interrupt":
                pass
        os.close(child)
        if reader in self.drains:
            self.drain(reader)
        if reader in self.drains:
            self.drains[reader] = Tail(0)
        self.reap()
        status, usage = self.ended or (None, None)
        self.main = self.ended = None
        head, tail, _ = sink.result()
        return self.report(sink, started, status, usage, end), head + tail

    def report(
        self,
        sink: Tail,
        started: float,
        status: int | None,
        usage: resource.struct_rusage | None,
        end: str,
    ) -> Report:
        """How an action ended, as sent to the harness."""
        head, _, omitted = sink.result()
        return {
            "status": None if status is None else os.waitstatus_to_exitcode(status),
            "timed_out": end == "time",
            "interrupted": end == "interrupt",
            "took_us": int((time.monotonic() - started) * 1e6),
            "cpu_us": int((usage.ru_utime + usage.ru_stime) * 1e6) if usage else None,
            "omitted": omitted,
            "head": len(head),
            "alive": len(self.others()),
        }

    def wait(self, child: int, deadline: float) -> str:
        """Wait for a process (a pidfd) to exit while draining.

        Returns:
            ``exit``, ``time`` when the time is up, or ``interrupt`` when the harness asked for that.
        """
        while (left := deadline - time.monotonic()) > 0:
            ready = self.poll([child, self.control], min(left, REAP_SECONDS))
            # An orphan that ended must not look alive to a command that waits for its end.
            self.reap()
            if child in ready:
                return "exit"
            # While an action runs, the harness has nothing else to say.
            if self.control in ready:
                head, body = HEADER.unpack(self.receive(HEADER.size))
                self.receive(head + body)
                return "interrupt"
        return "time"

    # -- operations -----------------------------------------------------------------------------------
    def do_run(self, request: Request, script: bytes) -> None:
        """Run a program; ``script`` becomes its last argument, as text or, when too long, as a file."""

        def work() -> None:
            os.chdir(request["cwd"])
            arguments = list(request["argv"])
            if len(script) > ARGUMENT_LIMIT:
                arguments[-1:] = [f"/proc/self/fd/{in_memory(script)}"]
            elif script:
                arguments.append(script)
            os.execve(arguments[0], arguments, request["env"])

        self.send(*self.execute(work, request["timeout"], request["keep"]))

    def do_file(self, request: Request, payload: bytes) -> None:
        """A file tool, in a child of its own: a FIFO or a huge file must not stop PID 1."""

        def work() -> None:
            os.chdir("/workspace")
            try:
                answer, code = FILE_TOOLS[request["tool"]](request, payload), 0
            except (OSError, ValueError) as fault:
                said = reason(fault)
                place = "" if said.startswith(request["path"]) else f"{request['path']}: "
                answer, code = f"{place}{said}".encode(errors="replace"), 1
            write_all(1, answer)
            os._exit(code)

        self.send(*self.execute(work, request["timeout"], request["keep"]))

    def do_stop(self, request: Request, payload: bytes) -> None:
        """Stop every other process and wait until each is stopped."""
        deadline = time.monotonic() + 5
        signal_all(signal.SIGSTOP)
        while time.monotonic() < deadline:
            states = [(status_fields(pid) or [b"X"])[0] for pid in self.others()]
            if all(state in (b"T", b"t", b"Z", b"X") for state in states):
                self.send({"stopped": len(states)})
                return
            time.sleep(0.0002)
        self.send({"stopped": None})

    def do_continue(self, request: Request, payload: bytes) -> None:
        """Let all run on."""
        signal_all(signal.SIGCONT)
        self.send({"alive": len(self.others())})

    def do_interrupt(self, request: Request, payload: bytes) -> None:
        """Too late: the action it was meant for has ended by itself. Nobody waits for an answer."""

    def do_count(self, request: Request, payload: bytes) -> None:
        """Say how many processes there are besides PID 1."""
        self.send({"alive": len(self.others())})


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def reason(fault: BaseException) -> str:
    """A fault in words, with the path it is about."""
    if isinstance(fault, OSError) and fault.strerror:
        return f"{fault.filename}: {fault.strerror}" if isinstance(fault.filename, str) else fault.strerror
    return str(fault) or type(fault).__name__


def status_fields(pid: int) -> list[bytes] | None:
    """Fields of ``/proc/PID/stat`` from the state on; null when the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None


def signal_one(pid: int, number: int) -> bool:
    """Send a signal; false when nobody is there to take it."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def signal_all(number: int) -> bool:
    """Send a signal to all but PID 1; false when there is nobody."""
    return signal_one(-1, number)


def in_memory(data: bytes) -> int:
    """An inheritable descriptor from which ``data`` is read."""
    descriptor = os.memfd_create("script", 0)
    write_all(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def read_file(request: Request, payload: bytes) -> bytes:
    """The content of a regular file, up to a limit; a FIFO must not be waited for."""
    with open(os.open(request["path"], os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("is not a regular file")
        return file.read(FILE_LIMIT)


def write_file(request: Request, payload: bytes) -> bytes:
    """Write a whole file, with the folders it needs."""
    folder = os.path.dirname(request["path"])
    if folder:
        os.makedirs(folder, exist_ok=True)
    handle = os.open(request["path"], os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK, 0o644)
    with open(handle, "wb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("is not a regular file")
        os.ftruncate(handle, 0)
        file.write(payload)
    return f"wrote {len(payload)} bytes".encode()


def edit_file(request: Request, payload: bytes) -> bytes:
    """Replace a text that occurs exactly once."""
    old, new = binascii.a2b_base64(request["old"]), binascii.a2b_base64(request["new"])
    text = read_file(request, b"")
    found = text.count(old) if old else 0
    if found != 1:
        raise ValueError(f"the old text occurs {found} times; it must occur exactly once")
    if len(text) >= FILE_LIMIT:
        raise ValueError("is too large to be edited")
    write_file(request, text.replace(old, new))
    return b"edited"


FILE_TOOLS: dict[str, Callable[[Request, bytes], bytes]] = {
    "read_file": read_file,
    "write_file": write_file,
    "edit_file": edit_file,
}


def main() -> None:
    """Take over as PID 1."""
    control = int(sys.argv[1])
    os.set_inheritable(control, False)
    # What runs here has our uid: without this it could open our descriptors through /proc/1 or trace us.
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Init(control, json.loads(sys.argv[2])).serve()
