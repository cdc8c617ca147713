"""The world an agent acts in: a live bubblewrap sandbox on an overlay, whose state is known after each action."""

import base64
import contextlib
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from seatrial.environment import box as boxes
from seatrial.environment import rootfs
from seatrial.environment.base import Base, prove_untouched
from seatrial.environment.box import Box, Mount
from seatrial.environment.cgroups import ControlGroup, make_group
from seatrial.environment.channel import REPLY_SECONDS, Channel
from seatrial.environment.host import Host
from seatrial.environment.mapped import writable_mappings
from seatrial.environment.overlay import Overlay, make_layer
from seatrial.environment.providers import StateProvider
from seatrial.environment.restore import make_equal, reverse_of
from seatrial.environment.tracker import Tracker
from seatrial.environment.watch import READ, Touched, Watcher
from seatrial.environment.watch_fanotify import FanotifyWatcher
from seatrial.environment.watch_inotify import InotifyWatcher
from seatrial.errors import EnvironmentFault
from seatrial.journal.entries import ROOTS, Entry, State, path_text
from seatrial.journal.objects import ObjectStore

INIT_PATH = "/run/init.py"
_INIT_SOURCE = Path(__file__).with_name("init.py").read_bytes()


@dataclass(frozen=True)
class ActionLimits:
    """Bounds on one action and on the sandbox as a whole; see ``spec.task.Limits``."""

    memory_mb: int = 2048
    processes: int = 256
    seconds: float = 60.0
    output_kb: int = 64


@dataclass(frozen=True)
class Result:
    """How one command or file tool ended.

    Attributes:
        exit_code: as the shell would say: 128 + n for signal n; null when it could not be learned.
        output: what is shown: first and last part, with the omitted count between.
        timed_out: the time limit ended it.
        out_of_memory: the kernel killed a process of the sandbox for memory meanwhile.
        tool_us, cpu_us: wall and processor time.
        alive: processes left in the sandbox.
    """

    exit_code: int | None
    output: bytes
    timed_out: bool = False
    out_of_memory: bool = False
    tool_us: int = 0
    cpu_us: int | None = None
    alive: int = 0


@dataclass(frozen=True)
class Delta:
    """What one window changed.

    Attributes:
        changes: entries by path, ``absent`` for what is gone.
        touched: what the watcher saw, also of things undone since.
        fingerprint: of the state now.
        before: entries as they were, for changed paths that existed.
        reads_seen: whether this host shows reads.
    """

    changes: list[Entry]
    touched: Touched
    fingerprint: str
    before: State = field(default_factory=dict)
    reads_seen: bool = True

    def reads(self) -> list[str] | None:
        """Files of the state that were read in the window, sorted; null where reads cannot be seen."""
        if not self.reads_seen or self.touched.overflow:
            return None
        return sorted(path_text(os.fsencode(p)) for p, what in self.touched.paths.items() if what & READ)


class Sandbox(Protocol):
    """A resettable world. The conformance kit in ``environment.conformance`` says what each must hold to."""

    def run(self, argv: Sequence[str], cwd: str) -> Result:
        """Run one command to its end, within the limits."""

    def settle(self) -> Delta:
        """The changes since the last call, with nothing running meanwhile."""

    def fork(self, delta: State) -> "Sandbox":
        """A new sandbox in a recorded state; processes do not come along."""

    def close(self) -> None:
        """End every process and forget the world."""


@dataclass
class Ground:
    """What worlds of one task stand on: host, scratch folder, base, objects, limits."""

    host: Host
    scratch: str
    base: Base
    objects: ObjectStore
    limits: ActionLimits = field(default_factory=ActionLimits)
    providers: Sequence[StateProvider] = ()

    @property
    def base_layer(self) -> str:
        """The base's folder relative to the scratch folder."""
        return os.path.relpath(self.base.folder, self.scratch)


class BubblewrapSandbox:
    """A world made of bubblewrap, an overlay and our own PID 1.

    Args:
        ground: what it stands on.
        delta: the state to begin in, as a difference from the base; empty for the base itself.
    """

    _count = 0

    def __init__(self, ground: Ground, delta: State | None = None) -> None:
        self.ground = ground
        host = ground.host
        BubblewrapSandbox._count += 1
        name = f"w{os.getpid()}-{BubblewrapSandbox._count}"
        lowers = [ground.base_layer]
        direct = bool(delta) and host.mode == "rootless" and any(e.links for e in (delta or {}).values())
        if delta and not direct:
            digest = _name_of(ground.base, delta)
            lowers.insert(0, make_layer(host, ground.scratch, ground.base, lowers[0], delta, ground.objects, digest))
        self._opened = contextlib.ExitStack()
        with contextlib.ExitStack() as undo:
            overlay = self._overlay = Overlay(host, ground.scratch, name, lowers)
            undo.callback(overlay.close)
            if delta and direct:
                # Without an index a write would break hard links that lie in a lower layer.
                make_equal(overlay.tree, ground.base.state, delta, ground.objects, host.uid("world"))
            self.tracker = self._make_tracker(ground.objects, delta)
            self.watcher = self._make_watcher()
            if self.watcher is not None:
                undo.callback(self.watcher.close)
            self._group = self._make_group(name)
            undo.callback(self._group.close)
            self._alive, self._ooms = 0, self._group.out_of_memory_kills()
            self._process, self._channel = self._start()
            self._opened = undo.pop_all()

    def _make_tracker(self, objects: ObjectStore | None, delta: State | None) -> Tracker:
        overlay, ground = self._overlay, self.ground
        return Tracker(
            overlay.tree, overlay.upper, ground.base, ground.host.uid("world"), objects, delta,
            ground.providers, overlay.traceable,
        )  # fmt: skip

    # -- starting -------------------------------------------------------------------------------------
    def _make_watcher(self) -> Watcher | None:
        folders = ["", *(os.fsdecode(p) for p in self._all_folders())]
        if self._overlay.traceable:
            try:
                return FanotifyWatcher(self._overlay.tree, folders)
            except OSError:
                pass
        try:
            return InotifyWatcher(self._overlay.tree, folders)
        except OSError:
            return None

    def _all_folders(self) -> list[str]:
        delta = self.tracker.delta()
        if not delta:
            return self.ground.base.folders
        return sorted(path for path, entry in self.tracker.state().items() if entry.kind == "dir")

    def _make_group(self, name: str) -> ControlGroup:
        if self.ground.host.mode != "root":
            return ControlGroup()
        return make_group(f"seatrial-{name}", self.ground.limits.memory_mb, self.ground.limits.processes)

    def _start(self) -> tuple[subprocess.Popen[bytes], Channel]:
        ours, theirs = socket.socketpair()
        host, limits = self.ground.host, self.ground.limits
        rlimits = {"RLIMIT_CORE": 0}
        if self._group.pids is None:
            rlimits["RLIMIT_NPROC"] = limits.processes
        if self._group.memory is None:
            rlimits["RLIMIT_AS"] = limits.memory_mb << 20
        options = json.dumps({"rlimits": rlimits})
        box = Box(
            command=[host.interpreter.program, "-I", "-S", "-B", INIT_PATH, str(theirs.fileno()), options],
            uid=host.uid("world"),
            mounts=[Mount(f"{self._overlay.tree}/{root}", path, writable=True) for root, path in ROOTS.items()],
            files={INIT_PATH: _INIT_SOURCE},
            keep=[theirs.fileno()],
            join=self._group.folders,
            chdir="/workspace",
            as_init=True,
        )
        with theirs:
            problems = os.memfd_create("stderr")
            process = boxes.start(box, host, stderr=problems)
        channel = Channel(ours, self.watcher)
        try:
            channel.receive()
        except EnvironmentFault as fault:
            boxes.stop(process)
            said = os.pread(problems, 4096, 0).decode(errors="replace").strip()
            raise EnvironmentFault(f"cannot start a sandbox: {said or fault}. Run `seatrial doctor`.") from fault
        finally:
            os.close(problems)
        return process, channel

    # -- acting ---------------------------------------------------------------------------------------
    def run(self, argv: Sequence[str], cwd: str = "/workspace", seconds: float | None = None) -> Result:
        """Run one command; see ``Sandbox.run``."""
        environment = rootfs.plain_environment(self.ground.host.interpreter)
        request = {"op": "run", "argv": list(argv), "cwd": cwd, "env": environment}
        return self._act(request, b"", seconds or self.ground.limits.seconds)

    def shell(self, command: str, cwd: str = "/workspace", seconds: float | None = None) -> Result:
        """Run one fresh shell; no state of it outlives the action."""
        return self.run(["/bin/bash", "--noprofile", "--norc", "-c", command], cwd, seconds)

    def file_tool(self, tool: str, path: str, content: bytes = b"", old: bytes = b"", new: bytes = b"") -> Result:
        """Read, write or edit a file inside, as the agent and under its limits."""
        request = {
            "op": "file", "tool": tool, "path": path,
            "old": base64.b64encode(old).decode(), "new": base64.b64encode(new).decode(),
        }  # fmt: skip
        return self._act(request, content, self.ground.limits.seconds)

    def _act(self, request: dict[str, Any], payload: bytes, seconds: float) -> Result:
        keep = self.ground.limits.output_kb * 1024 // 2
        request |= {"timeout": seconds, "keep": keep}
        report, output = self._channel.ask(request, payload, seconds + REPLY_SECONDS)
        self._alive = report["alive"]
        ooms = self._group.out_of_memory_kills()
        killed, self._ooms = ooms > self._ooms, ooms
        status = report["status"]
        return Result(
            exit_code=128 - status if status is not None and status < 0 else status,
            output=_shown(output, report["head"], report["omitted"]),
            timed_out=report["timed_out"],
            out_of_memory=killed,
            tool_us=report["took_us"],
            cpu_us=report["cpu_us"],
            alive=self._alive,
        )

    @property
    def tree(self) -> str:
        """Where the overlay is mounted in this process's mount namespace."""
        return self._overlay.tree

    @property
    def alive(self) -> int:
        """Processes the last action left behind, as far as known."""
        return self._alive

    # -- knowing the state ----------------------------------------------------------------------------
    def settle(self) -> Delta:
        """See ``Sandbox.settle``. Background processes are frozen meanwhile and run on afterwards."""
        with self.frozen():
            touched = self.watcher.take() if self.watcher is not None else Touched(overflow=True)
            mapped = writable_mappings(self._process.pid) if self._alive else set()
            changes = self.tracker.update(touched, self.watcher, mapped)
        before = self.tracker.replaced
        return Delta(changes, touched, self.tracker.fingerprint(), before, self.watcher is not None)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Hold every process of the sandbox still; costs nothing when there is none."""
        if not self._alive:
            yield
            return
        if self._group.can_freeze:
            self._group.freeze()
            try:
                yield
            finally:
                self._group.thaw()
            self._alive = self._channel.ask({"op": "count"})[0]["alive"]
            return
        if self._channel.ask({"op": "stop"})[0]["stopped"] is None:
            raise EnvironmentFault("a background process cannot be stopped.")
        try:
            yield
        finally:
            self._alive = self._channel.ask({"op": "continue"})[0]["alive"]

    def audit(self) -> bool:
        """Whether a full scan from nothing gives the fingerprint that events gave."""
        with self.frozen():
            if self.watcher is not None:
                self.watcher.mute(True)
            fresh = self._make_tracker(None, self.tracker.delta())
            fresh.rescan()
            if self.watcher is not None:
                self.watcher.mute(False)
        return fresh.fingerprint() == self.tracker.fingerprint()

    def undo(self, changes: Sequence[Entry], before: State) -> int:
        """Put changed paths back to what they were; returns how many.

        Args:
            changes: what ``settle`` reported for those paths.
            before: entries from before the action, for those paths that existed.
        """
        with self.frozen():
            now = {e.path: e for e in changes if e.kind != "absent"}
            make_equal(
                self._overlay.tree, now, reverse_of(changes, before), self.ground.objects,
                self.ground.host.uid("world"),
            )  # fmt: skip
        return len(changes)

    def prove_reset(self) -> str:
        """Prove that the world is the base and nothing else, and return the fingerprint.

        Raises:
            EnvironmentFault: it is not; it must not be used.
        """
        prove_untouched(self.ground.base)
        leftovers = self.settle().changes
        if leftovers or self.tracker.delta():
            raise EnvironmentFault(f"the new world is not clean: {[e.path for e in leftovers][:5]}.")
        return self.tracker.fingerprint()

    # -- ending ---------------------------------------------------------------------------------------
    def fork(self, delta: State) -> "BubblewrapSandbox":
        """See ``Sandbox.fork``; forks of one state share one layer."""
        return BubblewrapSandbox(self.ground, delta)

    def close(self) -> None:
        """See ``Sandbox.close``; nothing survives, not even a process that left its session."""
        if self._process is not None and self._process.poll() is None:
            boxes.stop(self._process)
        self._channel.close()
        self._opened.close()

    def wait_idle(self, seconds: float) -> bool:
        """Wait until no background process is left; false when the time is up."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._alive = self._channel.ask({"op": "count"})[0]["alive"]
            if not self._alive:
                return True
            time.sleep(0.01)
        return False


def _name_of(base: Base, delta: State) -> str:
    """The name of a state's layer: its fingerprint with content, since layers hold bytes, not meaning."""
    from seatrial.journal.digest import digest_value  # noqa: PLC0415

    return digest_value([base.digest, sorted((e.identity(), e.digest, e.mtime) for e in delta.values())])


def _shown(output: bytes, head: int, omitted: int) -> bytes:
    if not omitted:
        return output
    return output[:head] + f"\n[… {omitted} bytes omitted …]\n".encode() + output[head:]
