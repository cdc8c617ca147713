"""Mounts of views: read-only for a verifier, with fresh writable scratch over it for a probe.

Mount options are relative names below the stage, so that ``/proc`` in a sandbox shows no host path. One
thread with a working directory of its own makes them all: the process's directory is everybody's.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from seatrial.environment.confine import syscalls
from seatrial.environment.confine.host import Host
from seatrial.environment.state.overlay import remove_tree
from seatrial.errors import EnvironmentFault

_CLONE_FS = 0x200
_MS_NOEXEC = 8
_SAFE = syscalls.MS_NOSUID | syscalls.MS_NODEV


@dataclass(frozen=True)
class Mounted:
    """A mounted view: ``tree`` holds the roots; ``close`` unmounts it and forgets what was written."""

    tree: str
    close: Callable[[], None]


class Mounts(Protocol):
    """Shows folders of a scratch folder to boxes."""

    def read_only(self, folder: str, executable: bool) -> Mounted:
        """Show a folder that cannot be changed."""

    def with_scratch(self, folder: str, size_mb: int) -> Mounted:
        """Show a folder that can be written to and keeps nothing."""

    def close(self) -> None:
        """End; what is still shown stays until its own ``close``."""


class Mounter:
    """Mounts folders that lie below one scratch folder.

    Args:
        host: the prepared host; mounts appear below its stage.
        scratch: holds the folders that are mounted, for as long as this lives.
    """

    _numbers = iter(range(1, 1 << 62))

    def __init__(self, host: Host, scratch: str) -> None:
        self._host, self._scratch = host, scratch
        self._lock = threading.Lock()
        os.makedirs(f"{scratch}/nothing", exist_ok=True)
        self._link = self._name("s")
        os.symlink(scratch, f"{host.stage}/{self._link}")
        self._thread = ThreadPoolExecutor(1, initializer=self._settle)
        self._options = "userxattr," if host.mode == "rootless" else ""
        self._upper_on_tmpfs = host.mode == "root" or self._tmpfs_takes_attributes()

    def _settle(self) -> None:
        syscalls.unshare(_CLONE_FS)
        os.chdir(self._host.stage)

    def _name(self, kind: str) -> str:
        with self._lock:
            return f"{kind}{os.getpid()}-{next(Mounter._numbers)}"

    def _tmpfs_takes_attributes(self) -> bool:
        """Whether an overlay of an ordinary user can keep its marks on a tmpfs (Linux 6.6)."""
        try:
            os.setxattr(f"{self._host.stage}", "user.probe", b"1")
        except OSError:
            return False
        os.removexattr(f"{self._host.stage}", "user.probe")
        return True

    def read_only(self, folder: str, executable: bool) -> Mounted:
        """Mount a folder of the scratch folder read-only.

        Args:
            folder: relative to the scratch folder.
            executable: whether programs in it may be started; agent-made ones must not beside a verdict.
        """
        name = self._name("v")
        flags = _SAFE | syscalls.MS_RDONLY | (0 if executable else _MS_NOEXEC)
        lowers = f"lowerdir={self._link}/{folder}:{self._link}/nothing"
        self._run(self._mount, name, flags, lowers)
        return Mounted(f"{self._host.stage}/{name}", lambda: self._run(self._detach, name))

    def with_scratch(self, folder: str, size_mb: int) -> Mounted:
        """Mount a folder with an empty writable layer of bounded size over it.

        Args:
            folder: relative to the scratch folder.
            size_mb: bound on what can be written, in MiB.
        """
        name, upper = self._name("p"), self._name("u")
        self._run(self._layer, upper, size_mb)
        inside = upper if self._upper_on_tmpfs else f"{self._link}/{upper}"
        layers = f"lowerdir={self._link}/{folder},upperdir={inside}/upper,workdir={inside}/work"
        try:
            self._run(self._mount, name, _SAFE, layers)
        except EnvironmentFault:
            self._run(self._remove_layer, upper)
            raise

        def close() -> None:
            self._run(self._detach, name)
            self._run(self._remove_layer, upper)

        return Mounted(f"{self._host.stage}/{name}", close)

    def close(self) -> None:
        """End the thread; what is still mounted stays until its own ``close``."""
        self._run(os.unlink, self._link)
        self._thread.shutdown()

    # -- in the thread, whose directory is the stage --------------------------------------------------
    def _run(self, work: Callable[..., None], *arguments: object) -> None:
        try:
            self._thread.submit(work, *arguments).result()
        except OSError as fault:
            raise EnvironmentFault(f"cannot mount a view: {fault}. Run `seatrial doctor`.") from fault

    def _mount(self, name: str, flags: int, layers: str) -> None:
        os.mkdir(name, 0o755)
        try:
            syscalls.mount("overlay", name, "overlay", flags, self._options + layers)
        except OSError:
            os.rmdir(name)
            raise

    def _detach(self, name: str) -> None:
        syscalls.unmount(name)
        os.rmdir(name)

    def _layer(self, name: str, size_mb: int) -> None:
        place = name if self._upper_on_tmpfs else f"{self._link}/{name}"
        os.mkdir(place, 0o755)
        if self._upper_on_tmpfs:
            syscalls.mount("scratch", name, "tmpfs", _SAFE, f"mode=0755,size={size_mb}m")
        for folder in ("upper", "work"):
            os.mkdir(f"{place}/{folder}", 0o755)

    def _remove_layer(self, name: str) -> None:
        if self._upper_on_tmpfs:
            self._detach(name)
        else:
            remove_tree(f"{self._scratch}/{name}")
