"""A world without a sandbox: a copy of the base, in which actions are ordinary processes of the harness.

For hosts that cannot sandbox, and only when it was asked for. The roots are folders of the copy:
``/workspace`` itself does not exist. Nothing keeps an action from the rest of the host, nobody watches,
nothing is masked: the state comes from full scans, and every window of every constraint is unknown.
"""

import base64
import contextlib
import json
import os
import posixpath
import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from seatrial.environment.confine import plain_action, rootfs
from seatrial.environment.confine.marked import NAME, Family
from seatrial.environment.confine.plain_action import Order
from seatrial.environment.delta import Delta, Result
from seatrial.environment.ground import Ground
from seatrial.environment.sandbox import as_fault
from seatrial.environment.services.opened import open_services
from seatrial.environment.state.base import prove_untouched
from seatrial.environment.state.overlay import remove_tree
from seatrial.environment.state.restore import make_equal, refuse_moved, undoing
from seatrial.environment.state.scan import candidates
from seatrial.environment.state.tracker import Start, Tracker
from seatrial.environment.watching.touched import Touched
from seatrial.errors import EnvironmentFault, StateOverrun
from seatrial.journal.entries import ROOTS, Entry, State, is_row, path_bytes
from seatrial.journal.objects import ObjectStore

_FILE_TOOLS = str(Path(__file__).with_name("confine") / "unsafe_files.py")
# No limit on processes: without a user namespace the kernel counts all of the user's.
_LIMITED = 'ulimit -c 0; ulimit -f "$1"; ulimit -v "$2"; shift 2; exec "$@"'
_SHELL = ["/bin/bash", "--noprofile", "--norc", "-c"]
# Any owner but the symbolic one is left alone: an ordinary user cannot give files away.
_SAME_OWNER = -1


class CopyTracker(Tracker):
    """The state of a plain copy of a base."""

    def __init__(self, tree: str, ground: Ground, objects: ObjectStore | None, start: Start) -> None:
        uid = ground.host.uid("world")
        super().__init__(tree, tree, ground.base, uid, objects, start, ground.providers, {})

    def rescan(self) -> list[Entry]:
        """Look at every path there is, was or should be."""
        known = {path for path in (*self.base.state, *self.delta()) if not is_row(path)}
        present = candidates(self.tree, self.base.state)
        return self._refresh(present | {os.fsdecode(path_bytes(path)) for path in known})


class UnsafeWorld:
    """A world on a host that cannot sandbox.

    Args:
        ground: what it stands on.
        delta: the state to begin in, as a difference from the base.

    Raises:
        EnvironmentFault: the base cannot be copied.
    """

    _count = 0

    def __init__(self, ground: Ground, delta: State | None = None) -> None:
        UnsafeWorld._count += 1
        self.ground, self.watcher = ground, None
        self.after_undo: list[Callable[[list[str]], None]] = []
        self.tree = os.path.abspath(f"{ground.scratch}/worlds/u{os.getpid()}-{UnsafeWorld._count}")
        self._mark = f"{os.path.basename(ground.host.stage)}/{secrets.token_hex(16)}"
        self._family = Family(self._mark)
        self._holds = self._alive = 0
        self._acting: Family | None = None
        self._interrupted = False
        with as_fault("a world cannot be made"):
            copy_tree(ground.base.folder, self.tree)
            _, start = ground.start(delta or {})
            base = ground.base.state
            try:
                make_equal(self.tree, base, start.files, ground.objects, _SAME_OWNER)
                self.tracker = CopyTracker(self.tree, ground, ground.objects, start)
                self.services = open_services(
                    ground.stock, f"{self.tree}-rows", f"{ground.host.stage}/{os.path.basename(self.tree)}",
                    ground.objects, start.rows, confined=False,
                )  # fmt: skip
            except BaseException:
                remove_tree(self.tree)
                raise
        self.tracker.bound = ground.limits.state_mb << 20

    # -- acting ---------------------------------------------------------------------------------------
    def shell(self, command: str, cwd: str = "/workspace", seconds: float | None = None) -> Result:
        """Run one fresh shell; no state of it outlives the action."""
        return self._act(_SHELL, cwd, seconds, script=command.encode("utf-8", "surrogateescape"))

    def run(self, argv: Sequence[str], cwd: str = "/workspace", seconds: float | None = None) -> Result:
        """Run one command; paths in it are taken as they are."""
        return self._act(argv, cwd, seconds)

    def file_tool(
        self, tool: str, path: str, content: bytes = b"", old: bytes = b"", new: bytes = b""
    ) -> Result:
        """Read, write or edit a file below one of the roots, as the agent; other paths are refused."""
        place = self._place(path)
        if place is None:
            said = f"{path}: is not below one of {', '.join(ROOTS.values())}; there is no sandbox"
            return Result(1, said.encode("utf-8", "replace"), alive=self._alive)
        parts = {"content": content, "old": old, "new": new}
        asked = {name: base64.b64encode(data).decode() for name, data in parts.items()}
        request = json.dumps({"tool": tool, "path": path, "place": place, **asked}).encode()
        argv = [self.ground.host.interpreter.program, "-I", "-S", "-B", _FILE_TOOLS]
        return self._act(argv, "/workspace", None, stdin=request)

    def _act(
        self, argv: Sequence[str], cwd: str, seconds: float | None,
        script: bytes | None = None, stdin: bytes | None = None,
    ) -> Result:  # fmt: skip
        limits = self.ground.limits
        mark = f"{self._mark}/{secrets.token_hex(8)}"
        bounds = [str(limits.file_mb << 10), str(limits.memory_mb << 10)]
        order = Order(
            argv=[*_SHELL, _LIMITED, "sh", *bounds, *argv],
            cwd=(self._place(cwd) or cwd, cwd),
            environment={**self._environment(), NAME: mark},
            seconds=seconds or limits.seconds,
            keep=limits.output_kb * 1024 // 2,
            script=script,
            stdin=stdin,
        )
        family = Family(mark)
        self._acting, self._interrupted = family, False
        try:
            report = plain_action.act(order, family.kill, self._family.find)
        finally:
            self._acting = None
        self._alive = len(self._family.find())
        status = report.status
        return Result(
            exit_code=128 - status if status < 0 else status,
            output=report.output,
            timed_out=report.timed_out,
            interrupted=self._interrupted,
            tool_us=report.took_us,
            cpu_us=report.cpu_us,
            alive=self._alive,
        )

    def interrupt(self) -> None:
        """End what can be found of the action under way."""
        if self._acting is not None:
            self._interrupted = True
            self._acting.kill()

    def _environment(self) -> dict[str, str]:
        plain = rootfs.plain_environment(self.ground.host.interpreter)
        own = {
            "HOME": f"{self.tree}/home",
            "TMPDIR": f"{self.tree}/tmp",
            "PYTHONPYCACHEPREFIX": f"{self.ground.host.stage}/pycache",
        }
        return {**plain, **own, **(self.services.environment if self.services else {})}

    def _place(self, path: str) -> str | None:
        """Where a path of the agent's really is; null when it lies below no root (links are not resolved)."""
        full = posixpath.normpath(posixpath.join("/workspace", path))
        # What a command was told of the copy, such as ``$HOME``, it may say back; the copy may lie in /tmp.
        if full.startswith(f"{self.tree}/"):
            return full
        for root, place in ROOTS.items():
            if full == place or full.startswith(f"{place}/"):
                return f"{self.tree}/{root}{full[len(place) :]}"
        return None

    @property
    def alive(self) -> int:
        """Processes left behind that can be found."""
        return self._alive

    @property
    def unsettled(self) -> bool:
        """See ``BubblewrapSandbox.unsettled``."""
        acts = self._acting is not None
        return acts or bool(self._alive) or (self.services is not None and self.services.services.unsettled)

    # -- knowing the state ----------------------------------------------------------------------------
    def settle(self) -> Delta:
        """The changes since the last call, from a full scan; processes that can be found are stopped."""
        with self.frozen(), as_fault("the state cannot be read or stored"):
            if self.services is not None:
                self.services.settle_into(self.tracker)
            try:
                changes = self.tracker.rescan()
            except PermissionError as fault:
                # Inside a sandbox the harness could read it: the agent shut out itself and us.
                raise StateOverrun(f"{fault.filename}: cannot be read without a sandbox.") from fault
        touched = Touched(overflow=True)
        return Delta(changes, touched, self.tracker.fingerprint(), self.tracker.before, reads_seen=False)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Hold every process that can be found still; may be nested."""
        if not self._holds:
            self._alive = len(self._family.find())
        holds = bool(self._alive) and not self._holds
        if holds:
            self._family.stop()
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            if holds:
                self._family.resume()
                self._alive = len(self._family.find())

    def audit(self) -> bool:
        """Whether a scan from nothing gives the fingerprint that the trial's scans gave."""
        with self.frozen():
            start = Start(self.ground.base, self.tracker.delta(), self.ground.providers)
            fresh = CopyTracker(self.tree, self.ground, None, start)
            fresh.rescan()
            rows_agree = self.services is None or self.services.agree_with(self.tracker)
        return rows_agree and fresh.fingerprint() == self.tracker.fingerprint()

    def undo(self, changes: Sequence[Entry], before: State) -> int:
        """Put changed paths back to what they were; see ``BubblewrapSandbox.undo``."""
        wanted = undoing(self.tracker, changes, before)
        self.put(wanted)
        return len(wanted)

    def put(self, wanted: Mapping[str, Entry]) -> None:
        """Make paths what they are to be; see ``BubblewrapSandbox.put``."""
        now = {path: entry for path in wanted if (entry := self.tracker.current(path)) is not None}
        with self.frozen(), as_fault("paths cannot be changed from outside"):
            refuse_moved(self.tracker, wanted)
            make_equal(self.tree, now, dict(wanted), self.ground.objects, _SAME_OWNER)
            for renew in self.after_undo:
                renew([os.fsdecode(path_bytes(path)) for path in wanted])

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

    def close(self) -> None:
        """End every process that can be found and remove the copy."""
        self._family.kill()
        if self.services is not None:
            self.services.close()
        remove_tree(self.tree)


def copy_tree(source: str, target: str) -> None:
    """Copy a folder with modes, times, attributes, links and hard links.

    Raises:
        EnvironmentFault: it cannot be copied.
    """
    os.makedirs(os.path.dirname(target), exist_ok=True)
    done = subprocess.run(["cp", "-a", "--", source, target], capture_output=True, check=False)
    if done.returncode:
        remove_tree(target)
        said = done.stderr.decode(errors="replace").strip()
        raise EnvironmentFault(f"cannot copy a folder: {said}. Free space or permit it.")
