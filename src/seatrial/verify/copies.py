"""Views on a host that cannot mount: copies, so that nothing a verifier or a probe writes stays.

Links of the state that lead into a root by its inside path are made to lead into the copy.
"""

import os
import posixpath
import threading

from seatrial.environment.confine.host import Host
from seatrial.environment.state.overlay import remove_tree
from seatrial.environment.unsafe import copy_tree
from seatrial.journal.entries import ROOTS
from seatrial.verify.mounts import Mounted, Mounter, Mounts


class Copier:
    """Stands in for ``Mounter``; ``executable`` and bounds on size mean nothing here.

    Args:
        scratch: holds the folders that are copied, and the copies.
    """

    def __init__(self, scratch: str) -> None:
        self._scratch, self._made, self._lock = scratch, 0, threading.Lock()

    def read_only(self, folder: str, executable: bool) -> Mounted:
        """A copy; writing to it is possible and changes nothing else."""
        return self._copy(folder)

    def with_scratch(self, folder: str, size_mb: int) -> Mounted:
        """A copy."""
        return self._copy(folder)

    def close(self) -> None:
        """Nothing to do: copies go with their own ``close``."""

    def _copy(self, folder: str) -> Mounted:
        with self._lock:
            self._made += 1
            tree = f"{self._scratch}/copies/{self._made}"
        copy_tree(f"{self._scratch}/{folder}", tree)
        for root in ROOTS:
            _lead_inside(tree, root)
        return Mounted(tree, lambda: remove_tree(tree))


def open_mounts(host: Host, scratch: str) -> Mounts:
    """How views are shown on this host."""
    return Copier(scratch) if host.mode == "unsafe" else Mounter(host, scratch)


def _lead_inside(tree: str, root: str) -> None:
    """Retarget links whose target is absolute or begins above its folder."""
    for place, folders, files in os.walk(f"{tree}/{root}"):
        for name in (*folders, *files):
            path = f"{place}/{name}"
            if not os.path.islink(path) or not (target := os.readlink(path)).startswith(("/", "..")):
                continue
            inside = ROOTS[root] + place.removeprefix(f"{tree}/{root}")
            full = posixpath.normpath(posixpath.join(inside, target))
            real = _real(tree, full)
            if real is not None:
                os.unlink(path)
                os.symlink(real, path)


def _real(tree: str, full: str) -> str | None:
    for root, place in ROOTS.items():
        if full == place or full.startswith(f"{place}/"):
            return f"{tree}/{root}{full[len(place) :]}"
    return None
