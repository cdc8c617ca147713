"""An agent's process: its own sandbox, one socket to the gateway, nothing else of the host."""

import contextlib
import json
import os
import select
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seatrial.agents.last_words import LastWords
from seatrial.agents.runtime import CODE, SOCKET
from seatrial.environment.confine import starting
from seatrial.environment.confine.box import Box, Mount
from seatrial.environment.confine.cgroups import ControlGroup, make_group
from seatrial.environment.confine.host import Host
from seatrial.errors import AgentFault

RUNTIME_PATH = "/run/agent.py"
MODEL_SOCKET = "/run/model.sock"
LINE_LIMIT = 32 << 20
START_SECONDS = 60.0
# A whole answer must have been taken within this time; an agent that does not read would hold us for ever.
SEND_SECONDS = 30.0
# What the agent itself may use; its actions have the limits of the task.
MEMORY_MB, PROCESSES = 4096, 512
# What is handed on; ``hello`` and ``ready`` are answered here.
ASKED = ("act", "crashed", "checkpoint", "compacted")
_POLL_SECONDS = 1.0
_LAST_SECONDS = 0.5
_RUNTIME_SOURCE = Path(__file__).with_name("runtime.py").read_bytes()


@dataclass(frozen=True)
class AgentProgram:
    """What to run: the class of a Python agent, or null for a script in ``config["steps"]``.

    Attributes:
        code: ``module:Class`` below the mounted folder.
        folder: files the agent's sandbox sees at ``/agent``, relative path to bytes.
        config: handed to the agent as it is.
    """

    code: str | None
    config: dict[str, Any]
    folder: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelDoor:
    """The socket behind which the agent's model is; ``wake`` becomes readable when it is shut for good."""

    socket: str
    wake: int


@dataclass(frozen=True)
class Request:
    """One call of the agent: one of ``ASKED``."""

    id: object
    method: str
    params: dict[str, Any]


class AgentProcess:
    """Starts the agent and hands over its requests one by one.

    Args:
        host: the prepared host.
        program: what to run.
        hello: what the agent is told first: the instruction as an observation, and the seed; ``checkpoints``
            where they are offered; the persisted ``state`` for a process that takes another's place.
        name: neutral and unique in this process.
        model: the way to its model; null for an agent without one.
    """

    def __init__(
        self, host: Host, program: AgentProgram, hello: dict[str, Any], name: str,
        model: ModelDoor | None = None,
    ) -> None:  # fmt: skip
        self._hello = {**hello, "code": program.code, "config": program.config}
        self._stage = f"{host.stage}/{name}"
        os.makedirs(self._stage, mode=0o755)
        self._listener = socket.socket(socket.AF_UNIX)
        path = f"{self._stage}/socket"
        self._listener.bind(path)
        os.chmod(path, 0o666)
        self._listener.listen(1)
        mounts = [Mount(path, SOCKET)]
        if program.folder:
            _lay_out(f"{self._stage}/code", program.folder)
            mounts.append(Mount(f"{self._stage}/code", CODE))
        if model is not None:
            mounts.append(Mount(model.socket, MODEL_SOCKET))
        self._wake = None if model is None else model.wake
        self._group = _group(host, name)
        box = Box(
            command=_bounded(
                [host.interpreter.program, "-I", "-S", "-B", RUNTIME_PATH, SOCKET, CODE], self._group, host
            ),
            uid=host.uid("agent"),
            join=self._group.folders,
            mounts=mounts,
            tmpfs=["/tmp"],
            files={RUNTIME_PATH: _RUNTIME_SOURCE},
            environment={} if model is None else {"MODEL_SOCKET": MODEL_SOCKET},
        )
        self._connection: socket.socket | None = None
        self._buffer = bytearray()
        self._searched = 0  # so far there is no end of a line in the buffer
        self._early: Request | None = None
        self._closed = False
        self._status: int | None = None
        self._errors = LastWords()
        self._process = starting.start(box, host, stderr=self._errors.descriptor)
        self._errors.given()
        self.ready = self.gone = False

    def next_request(self, seconds: float | None) -> Request | None:
        """The agent's next request; null when it has ``gone``, the time is up or its model's door is shut.

        An agent that acts is ``ready``, whether it says so or not: from then on its end is its own fault.

        Args:
            seconds: how long it may think; null without a bound.

        Raises:
            AgentFault: what it sends is no JSON-RPC line, or it does not connect.
        """
        early, self._early = self._early, None
        return early or self._next(None if seconds is None else time.monotonic() + seconds)

    def await_ready(self, seconds: float) -> None:
        """Wait until the agent has been loaded with all it was given; its first request stays to be taken.

        Raises:
            AgentFault: as for ``next_request``, or it takes longer.
        """
        deadline = time.monotonic() + seconds
        self._early = self._next(deadline, until_ready=True)
        if self._early is None and not self.ready and not self.gone and time.monotonic() >= deadline:
            raise AgentFault(f"the agent was not ready within {seconds:g} seconds.")

    def _next(self, deadline: float | None, until_ready: bool = False) -> Request | None:
        if self._connection is None:
            self._accept()
        while True:
            line = self._read_line(deadline)
            if line is None:
                return None
            request = _parse(line)
            if request.method == "hello":
                self.answer(request, self._hello)
            elif request.method == "ready":
                self.ready = True
                self.answer(request, {})
                if until_ready:
                    return None
            elif request.method in ASKED:
                self.ready = self.ready or request.method == "act"
                return request
            else:
                self.refuse(request, f"no method {request.method!r}", -32601)

    def _accept(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self._listener], [], [], 0.05)
            if ready:
                self._connection, _ = self._listener.accept()
                self._connection.settimeout(SEND_SECONDS)
                return
            if self._process.poll() is not None:
                break
        raise AgentFault(f"the agent did not connect: {self.problems() or 'no message'}")

    def _read_line(self, deadline: float | None) -> bytes | None:
        assert self._connection is not None
        if deadline is not None and time.monotonic() > deadline:
            return None
        while self._buffer.find(b"\n", self._searched) < 0:
            self._searched = len(self._buffer)
            if len(self._buffer) > LINE_LIMIT:
                raise AgentFault(f"the agent sent a line of more than {LINE_LIMIT >> 20} MiB.")
            left = _POLL_SECONDS if deadline is None else min(_POLL_SECONDS, deadline - time.monotonic())
            if left <= 0:
                return None
            awaited: list[Any] = [self._connection, *([] if self._wake is None else [self._wake])]
            ready, _, _ = select.select(awaited, [], [], left)
            if self._wake in ready:
                return None
            if ready:
                try:
                    part = self._connection.recv(1 << 16)
                except OSError:
                    part = b""
                if not part:
                    self.gone = True
                    return None
                self._buffer += part
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer, self._searched = bytearray(rest), 0
        return line

    def answer(self, request: Request, result: object) -> None:
        """Send a result; an agent that has gone does not hear it, which is noticed at the next read."""
        self._send({"id": request.id, "result": result})

    def refuse(self, request: Request, problem: str, code: int = -32602) -> None:
        """Send an error in place of a result."""
        self._send({"id": request.id, "error": {"code": code, "message": problem}})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._connection is not None
        try:
            self._connection.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        except OSError:
            # It does not read, or has gone; after a part of a line nothing more can be said to it.
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)

    def problems(self) -> str:
        """What it wrote to stderr, the last 4,000 characters."""
        return self._errors.text(_LAST_SECONDS)

    def close(self) -> int | None:
        """End the process and all it started; returns its exit status when it had ended by itself.

        May be called again: it then only repeats the status.
        """
        if not self._closed:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LAST_SECONDS)
            self._status = self._process.poll()
            self.kill()
        return self._status

    def kill(self) -> None:
        """End the process and all it started by SIGKILL, now: nothing in it gets to do or to say anything."""
        if self._closed:
            return
        self._closed = True
        starting.stop(self._process)
        self._group.close()
        for end in (self._connection, self._listener):
            if end is not None:
                end.close()
        shutil.rmtree(self._stage, ignore_errors=True)


def _parse(line: bytes) -> Request:
    try:
        message = json.loads(line)
        params = message.get("params", {})
        request = Request(message.get("id"), message["method"], params)
    except (ValueError, KeyError, AttributeError, RecursionError) as fault:
        raise AgentFault(f"the agent sent no JSON-RPC line: {line[:200]!r}.") from fault
    if not isinstance(request.method, str) or not isinstance(params, dict):
        raise AgentFault(f"the agent sent no JSON-RPC line: {line[:200]!r}.")
    return request


def _group(host: Host, name: str) -> ControlGroup:
    """A control group for the agent, as root; an empty one otherwise."""
    if host.mode != "root":
        return ControlGroup()
    # A sweep after a kill finds it by the name of the stage.
    return make_group(f"{os.path.basename(host.stage)}-{name}", MEMORY_MB, PROCESSES)


def _bounded(command: list[str], group: ControlGroup, host: Host) -> list[str]:
    """The command with rlimits where control groups do not bound it.

    Without a user namespace the kernel counts all processes of the user, so there is no limit on them.
    """
    limits = ["ulimit -c 0"]
    if group.memory is None:
        limits.append(f"ulimit -v {MEMORY_MB << 10}")
    if group.pids is None and host.mode != "unsafe":
        limits.append(f"ulimit -u {PROCESSES}")
    return ["/bin/bash", "--noprofile", "--norc", "-c", f'{"; ".join(limits)}; exec "$@"', "sh", *command]


def _lay_out(folder: str, files: dict[str, bytes]) -> None:
    """Write an agent's files where its sandbox can read them."""
    for relative, data in files.items():
        path = f"{folder}/{relative}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
