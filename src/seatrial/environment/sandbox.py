"""The world an agent acts in: a live bubblewrap sandbox on an overlay, its state known after each action."""

import base64
import contextlib
import errno
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from seatrial.environment.confine import rootfs, starting
from seatrial.environment.confine.box import Box, Mount
from seatrial.environment.confine.bytecode import compiled
from seatrial.environment.confine.cgroups import ControlGroup, make_group
from seatrial.environment.confine.channel import REPLY_SECONDS, Channel
from seatrial.environment.confine.inside import resume_inside, stop_inside
from seatrial.environment.delta import Delta, Result
from seatrial.environment.ground import Ground
from seatrial.environment.services.opened import open_services
from seatrial.environment.state.base import prove_untouched
from seatrial.environment.state.mapped import Mapped, writable_mappings
from seatrial.environment.state.overlay import Overlay, layer_inodes, make_layer
from seatrial.environment.state.restore import make_equal, refuse_moved, undoing
from seatrial.environment.state.tracker import Start, Tracker
from seatrial.environment.watching.fanotify import FanotifyWatcher
from seatrial.environment.watching.inotify import InotifyWatcher
from seatrial.environment.watching.touched import Touched, Watcher
from seatrial.errors import EnvironmentFault, JournalError, StateOverrun
from seatrial.journal.entries import ROOTS, Entry, State, path_bytes
from seatrial.journal.objects import ObjectStore

_CONFINE = Path(__file__).with_name("confine")
FIRST_PATH, INIT_PATH = "/run/waiting.pyc", "/run/init.pyc"
_PROGRAMS = {path: compiled(_CONFINE / f"{Path(path).stem}.py", path) for path in (FIRST_PATH, INIT_PATH)}
_SHELL = ["/bin/bash", "--noprofile", "--norc", "-c"]
# PID 1, what bubblewrap needs to start it, and room for the next action's own process.
_OWN_PROCESSES = 16


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


class BubblewrapSandbox:
    """A world made of bubblewrap, an overlay and our own PID 1.

    Args:
        ground: what it stands on.
        delta: the state to begin in, as a difference from the base; empty for the base itself.
        masked: state paths that are there but cannot be read, written or looked into.

    Raises:
        EnvironmentFault: the host cannot provide it.
    """

    _count = 0

    def __init__(self, ground: Ground, delta: State | None = None, masked: Sequence[str] = ()) -> None:
        self._begin(ground, ground.start(delta or {}), masked)
        self._become_ready()

    def _begin(self, ground: Ground, state: tuple[str, Start], masked: Sequence[str]) -> None:
        """Everything up to the start of the processes; several worlds may be begun before one is ready."""
        self.ground, self.masked = ground, tuple(masked)
        self.after_undo: list[Callable[[list[str]], None]] = []
        self._holds, self._put_back = 0, set[str]()
        BubblewrapSandbox._count += 1
        name = f"w{os.getpid()}-{BubblewrapSandbox._count}"
        self._opened = contextlib.ExitStack()
        with as_fault("a world cannot be made"), contextlib.ExitStack() as undo:
            layer, start = state
            self._overlay, self._layer = self._mount(name, layer, start)
            undo.callback(self._overlay.close)
            self.tracker = self._make_tracker(ground.objects, start)
            self.tracker.bound = ground.limits.state_mb << 20
            self.services = open_services(
                ground.stock, f"{ground.scratch}/worlds/{name}-rows", f"{ground.host.stage}/{name}-services",
                ground.objects, start.rows, confined=True,
            )  # fmt: skip
            if self.services is not None:
                undo.callback(self.services.close)
            self.watcher = self._make_watcher(layer)
            if self.watcher is not None:
                undo.callback(self.watcher.close)
            self._group = self._make_group(name)
            undo.callback(self._group.close)
            self._alive, self._ooms = 0, self._group.out_of_memory_kills()
            self._acting = self._held_midway = False
            self._held_since = self._held_ns = 0
            self._problems = os.memfd_create("stderr")
            undo.callback(os.close, self._problems)
            self._process, self._channel = self._start()
            self._opened = undo.pop_all()

    # -- starting -------------------------------------------------------------------------------------
    def _mount(self, name: str, digest: str, start: Start) -> tuple[Overlay, dict[int, str] | None]:
        """The overlay in its first state, and the inode numbers of a layer put under it.

        The numbers are null where this overlay does not keep them.
        """
        ground, host = self.ground, self.ground.host
        delta, linked = start.files, bool(start.linked)
        if delta and not (linked and host.mode == "rootless"):
            layer = make_layer(
                host, ground.scratch, ground.base, ground.base_layer, delta, ground.objects, digest
            )
            overlay = Overlay(host, ground.scratch, name, [layer, ground.base_layer])
            if overlay.traceable:
                if layer not in ground.layers:
                    ground.layers[layer] = layer_inodes(f"{ground.scratch}/{layer}", delta)
                return overlay, ground.layers[layer]
            if not linked:
                return overlay, None
            overlay.close()
        overlay = Overlay(host, ground.scratch, name, [ground.base_layer])
        if delta:
            # Without an index a write would break hard links that lie in a lower layer.
            try:
                make_equal(overlay.tree, ground.base.state, delta, ground.objects, host.uid("world"))
            except BaseException:
                overlay.close()
                raise
        return overlay, {} if overlay.traceable else None

    def _make_tracker(self, objects: ObjectStore | None, start: Start) -> Tracker:
        overlay, ground = self._overlay, self.ground
        return Tracker(
            overlay.tree, overlay.upper, ground.base, ground.host.uid("world"), objects, start,
            ground.providers, self._layer,
        )  # fmt: skip

    def _make_watcher(self, layer: str) -> Watcher | None:
        """Whoever sees what happens; worlds in one state look their folders up once."""
        if self._overlay.traceable:
            # A state that was written into this world's own upper layer has folders of its own.
            shared = not self.tracker.delta() or bool(self._layer)
            known = self.ground.places.get(layer) if shared else None
            with contextlib.suppress(OSError):
                folders = self._all_folders() if known is None else []
                watcher = FanotifyWatcher(self._overlay.tree, folders, known)
                if shared:
                    self.ground.places[layer] = watcher.places
                return watcher
        try:
            return InotifyWatcher(self._overlay.tree, self._all_folders())
        except OSError:
            return None

    def _all_folders(self) -> list[str]:
        below, delta = self.ground.base.folders, self.tracker.delta()
        kept = [path for path in below if path not in delta]
        found = sorted([*kept, *(path for path, entry in delta.items() if entry.kind == "dir")])
        return ["", *(os.fsdecode(path_bytes(path)) for path in found)]

    def _make_group(self, name: str) -> ControlGroup:
        if self.ground.host.mode != "root":
            return ControlGroup()
        limits = self.ground.limits
        stage = os.path.basename(self.ground.host.stage)
        return make_group(f"{stage}-{name}", limits.memory_mb, limits.processes + _OWN_PROCESSES)

    def _start(self) -> tuple[subprocess.Popen[bytes], Channel]:
        ours, theirs = socket.socketpair()
        host, limits = self.ground.host, self.ground.limits
        # The kernel counts processes per user namespace, so this bounds each sandbox alone; PID 1 has no such
        # limit and can always start the next action.
        rlimits = {
            "RLIMIT_CORE": 0, "RLIMIT_NPROC": limits.processes, "RLIMIT_FSIZE": limits.file_mb << 20,
        }  # fmt: skip
        if self._group.memory is None:
            rlimits["RLIMIT_AS"] = limits.memory_mb << 20
        options = json.dumps({"rlimits": rlimits})
        box = Box(
            command=[host.interpreter.program, "-I", "-S", "-B", FIRST_PATH, str(theirs.fileno()), options],
            uid=host.uid("world"),
            mounts=[
                *(Mount(f"{self.tree}/{root}", path, writable=True) for root, path in ROOTS.items()),
                *(self.services.mounts if self.services else ()),
            ],
            masks=self._masks(),
            files=dict(_PROGRAMS),
            keep=[theirs.fileno()],
            join=self._group.folders,
            as_init=True,
        )
        with theirs:
            process = starting.start(box, host, stderr=self._problems)
        return process, Channel(ours, self.watcher)

    def _become_ready(self) -> None:
        """Wait until PID 1 says that it is there.

        Raises:
            EnvironmentFault: it does not; the world is closed.
        """
        try:
            self._channel.receive()
        except EnvironmentFault as fault:
            starting.stop(self._process)
            said = os.pread(self._problems, 4096, 0).decode(errors="replace").strip()
            self.close()
            raise EnvironmentFault(
                f"cannot start a sandbox: {said or fault}. Run `seatrial doctor`."
            ) from fault
        except BaseException:
            self.close()
            raise

    def _masks(self) -> dict[str, bool]:
        """Inside paths to hide, and whether each is a folder. What does not exist needs no mask."""
        masks = {}
        for path in self.masked:
            entry = self.tracker.current(path)
            if entry is not None and entry.kind in ("file", "dir"):
                root, _, rest = os.fsdecode(path_bytes(path)).partition("/")
                masks[f"{ROOTS[root]}/{rest}"] = entry.kind == "dir"
        return masks

    # -- acting ---------------------------------------------------------------------------------------
    def run(self, argv: Sequence[str], cwd: str = "/workspace", seconds: float | None = None) -> Result:
        """Run one command; see ``Sandbox.run``."""
        return self._run(argv, b"", cwd, seconds)

    def shell(self, command: str, cwd: str = "/workspace", seconds: float | None = None) -> Result:
        """Run one fresh shell; no state of it outlives the action."""
        return self._run(_SHELL, command.encode("utf-8", "surrogateescape"), cwd, seconds)

    def _run(self, argv: Sequence[str], script: bytes, cwd: str, seconds: float | None) -> Result:
        environment = rootfs.plain_environment(self.ground.host.interpreter)
        environment |= self.services.environment if self.services else {}
        request = {"op": "run", "argv": list(argv), "cwd": cwd, "env": environment}
        return self._act(request, script, seconds or self.ground.limits.seconds)

    def file_tool(
        self, tool: str, path: str, content: bytes = b"", old: bytes = b"", new: bytes = b""
    ) -> Result:
        """Read, write or edit a file inside, as the agent and under its limits."""
        request = {
            "op": "file", "tool": tool, "path": path,
            "old": base64.b64encode(old).decode(), "new": base64.b64encode(new).decode(),
        }  # fmt: skip
        return self._act(request, content, self.ground.limits.seconds)

    def _act(self, request: dict[str, Any], payload: bytes, seconds: float) -> Result:
        keep = self.ground.limits.output_kb * 1024 // 2
        request |= {"timeout": seconds, "keep": keep}
        self._acting, self._held_ns = True, 0
        try:
            report, output = self._channel.ask(request, payload, seconds + REPLY_SECONDS)
            # Known before nothing is under way any more: another thread asks whether something runs.
            self._alive = report["alive"]
        finally:
            self._acting = False
        ooms = self._group.out_of_memory_kills()
        killed, self._ooms = ooms > self._ooms, ooms
        status = report["status"]
        return Result(
            exit_code=128 - status if status is not None and status < 0 else status,
            output=_shown(output, report["head"], report["omitted"]),
            timed_out=report["timed_out"],
            interrupted=report["interrupted"],
            out_of_memory=killed,
            # While the harness held it still it did nothing.
            tool_us=max(0, report["took_us"] - self._held_ns // 1000),
            cpu_us=report["cpu_us"],
            alive=self._alive,
        )

    def interrupt(self) -> None:
        """End the command or file tool under way like one whose time is up; nothing when there is none.

        For signal handlers: the call that waits for the action returns soon after.
        """
        self._channel.interrupt()

    @property
    def tree(self) -> str:
        """Where the overlay is mounted in this process's mount namespace."""
        return self._overlay.tree

    @property
    def alive(self) -> int:
        """Processes the last action left behind, as far as known."""
        return self._alive

    @property
    def unsettled(self) -> bool:
        """Whether the state may have moved since the last ``settle``."""
        return self._is_busy or (self.services is not None and self.services.services.unsettled)

    @property
    def _is_busy(self) -> bool:
        """Whether processes run, of earlier actions or of one under way."""
        return self._acting or bool(self._alive)

    # -- knowing the state ----------------------------------------------------------------------------
    def settle(self) -> Delta:
        """See ``Sandbox.settle``. What runs is frozen meanwhile and runs on afterwards.

        While an action is under way another thread may call this, and ``put``; one thread at a time.
        """
        with self.frozen(), as_fault("the state cannot be read or stored"):
            touched = Touched(overflow=True)
            if self.watcher is not None:
                touched = self.watcher.take(quiet=not self._is_busy)
            mapped = writable_mappings(self._process.pid) if self._is_busy else Mapped()
            if self.services is not None:
                self.services.settle_into(self.tracker)
            changes = self.tracker.update(touched, self.watcher, mapped, self._put_back)
            self._put_back.clear()
        before = self.tracker.before
        return Delta(changes, touched, self.tracker.fingerprint(), before, self.watcher is not None)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Hold every process of the sandbox still; costs nothing when there is none. May be nested."""
        holds = self._is_busy and not self._holds
        if holds:
            self._hold()
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            if holds:
                self._let_go()

    def _hold(self) -> None:
        self._held_midway = self._acting
        if self._held_midway:
            self._channel.draining.acquire()
            self._held_since = time.monotonic_ns()
        try:
            self._stop_all()
        except BaseException:
            self._release_channel()
            raise

    def _stop_all(self) -> None:
        if self._group.can_freeze:
            try:
                self._group.freeze()
            except (OSError, TimeoutError) as fault:
                raise EnvironmentFault(f"a process cannot be stopped: {fault}.") from fault
            return
        # PID 1 is asked only between actions: while one is under way it waits for nothing else.
        stopped = (
            stop_inside(self._process.pid)
            if self._held_midway
            else self._channel.ask({"op": "stop"})[0]["stopped"] is not None
        )
        if not stopped:
            raise EnvironmentFault("a process cannot be stopped.")

    def _let_go(self) -> None:
        if self._group.can_freeze:
            self._group.thaw()
        elif self._held_midway:
            resume_inside(self._process.pid)
        if not self._held_midway:
            operation = "count" if self._group.can_freeze else "continue"
            self._alive = self._channel.ask({"op": operation})[0]["alive"]
        self._release_channel()

    def _release_channel(self) -> None:
        if self._held_midway:
            self._held_ns += time.monotonic_ns() - self._held_since
            self._held_midway = False
            self._channel.draining.release()

    @contextlib.contextmanager
    def unwatched(self) -> Iterator[None]:
        """Leave out of ``Delta.touched`` what the harness itself does below ``tree``; hold ``frozen`` too."""
        if self.watcher is None:
            yield
            return
        self.watcher.mute(True)
        try:
            yield
        finally:
            self.watcher.mute(False)

    def audit(self) -> bool:
        """Whether a full scan from nothing gives the fingerprint that events gave."""
        with self.frozen(), self.unwatched():
            start = Start(self.ground.base, self.tracker.delta(), self.ground.providers)
            fresh = self._make_tracker(None, start)
            fresh.rescan()
            rows_agree = self.services is None or self.services.agree_with(self.tracker)
        return rows_agree and fresh.fingerprint() == self.tracker.fingerprint()

    def undo(self, changes: Sequence[Entry], before: State) -> int:
        """Put changed paths back to what they were; returns how many.

        Folders that have to be there for it, and other names of the same files, are put back as well. The
        next ``settle`` reports all of it as changes.

        Args:
            changes: what ``settle`` reported for those paths.
            before: ``Delta.before`` of the same window.
        """
        wanted = undoing(self.tracker, changes, before)
        self.put(wanted)
        return len(wanted)

    def put(self, wanted: Mapping[str, Entry]) -> None:
        """Make paths what they are to be, with nothing running meanwhile; ``absent`` removes.

        The folders of what is to be there must be there or among the paths, and so must what stands in a
        folder that is to go. The next ``settle`` reports all of it as changes.

        Raises:
            StateOverrun: a process of the agent's has moved something there since the last ``settle``.
        """
        raw = [os.fsdecode(path_bytes(path)) for path in wanted]
        now = {path: entry for path in wanted if (entry := self.tracker.current(path)) is not None}
        with self.frozen(), self.unwatched(), as_fault("paths cannot be changed from outside"):
            refuse_moved(self.tracker, wanted)
            make_equal(self.tree, now, dict(wanted), self.ground.objects, self.ground.host.uid("world"))
            self._put_back.update(raw)
            for renew in self.after_undo:
                renew(raw)

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
        return BubblewrapSandbox(self.ground, delta, self.masked)

    def forks(self, delta: State, count: int) -> "list[BubblewrapSandbox]":
        """So many worlds in one recorded state, started side by side; all are ready when they are returned.

        Raises:
            EnvironmentFault: one cannot be made; the others are closed.
        """
        state = self.ground.start(delta)
        with contextlib.ExitStack() as undo:
            found = []
            for _ in range(count):
                world = BubblewrapSandbox.__new__(BubblewrapSandbox)
                world._begin(self.ground, state, self.masked)
                undo.callback(world.close)
                found.append(world)
            for world in found:
                world._become_ready()
            undo.pop_all()
        return found

    def close(self) -> None:
        """See ``Sandbox.close``; nothing survives, not even a process that left its session."""
        if self._process is not None and self._process.poll() is None:
            starting.stop(self._process)
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


def _shown(output: bytes, head: int, omitted: int) -> bytes:
    if not omitted:
        return output
    return output[:head] + f"\n[… {omitted} bytes omitted …]\n".encode() + output[head:]


@contextlib.contextmanager
def as_fault(what: str) -> Iterator[None]:
    """Turn what the system refuses (a full disk, a path too long) into a fault of the environment."""
    try:
        yield
    except JournalError as fault:
        raise EnvironmentFault(f"{what}: {fault}") from fault
    except (OSError, RecursionError) as fault:
        if getattr(fault, "errno", 0) == errno.ENAMETOOLONG or isinstance(fault, RecursionError):
            raise StateOverrun("a path is longer than the kernel takes (4,096 bytes).") from fault
        remedy = "Free space." if getattr(fault, "errno", 0) == errno.ENOSPC else "See `seatrial doctor`."
        raise EnvironmentFault(f"{what}: {fault}. {remedy}") from fault
