"""inotify watches, one per folder: what there is without root.

A folder made by the running command is watched only once its event was read; whatever happened in it
before is found by looking, but something made and removed again in that moment is not: the folder is named
``blind``.
"""

import errno
import os
import struct
from collections.abc import Iterable

from seatrial.environment.confine import syscalls
from seatrial.environment.watching.touched import (
    ATTRIBUTES,
    CONTENT,
    CREATED,
    OPENED_FOR_WRITING,
    READ,
    REMOVED,
    WROTE,
    Touched,
)

_ACCESS, _MODIFY, _ATTRIB, _CLOSE_WRITE, _CLOSE_NOWRITE = 1, 2, 4, 8, 16
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_OVERFLOW, _IGNORED, _ISDIR = 0x4000, 0x8000, 0x40000000
_READS = _ACCESS | _CLOSE_NOWRITE
_MASK = (
    _ACCESS | _MODIFY | _ATTRIB | _CLOSE_WRITE | _CLOSE_NOWRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
)
_ONLYDIR, _DONT_FOLLOW, _EXCL_UNLINK = 0x1000000, 0x2000000, 0x4000000
_EVENT = struct.Struct("=iIII")
_BITS = (
    (_MODIFY, WROTE), (_CREATE, CREATED), (_DELETE, REMOVED), (_ATTRIB, ATTRIBUTES),
    (_CLOSE_WRITE, OPENED_FOR_WRITING), (_MOVED_FROM, REMOVED), (_MOVED_TO, CREATED),
)  # fmt: skip


class InotifyWatcher:
    """Watches every folder below ``root``.

    Args:
        root: mount point of the overlay.
        folders: every folder below it, relative, ``""`` for the root itself.

    Raises:
        OSError: no more watches may be had.
    """

    name = "inotify"
    sees_everything = False

    def __init__(self, root: str, folders: Iterable[str]) -> None:
        self._root = root
        self._folders: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self._touched = Touched()
        self._muted = False
        self._written: set[str] = set()
        self._rebound: set[str] = set()
        self.descriptor = syscalls.inotify_init()
        try:
            for folder in folders:
                self._watch(folder)
        except OSError:
            self.close()
            raise

    def _watch(self, folder: str) -> None:
        path = f"{self._root}/{folder}" if folder else self._root
        number = syscalls.inotify_add_watch(self.descriptor, path, _MASK | _ONLYDIR | _DONT_FOLLOW)
        self._folders[number] = folder
        self._numbers[folder] = number

    def collect(self) -> None:
        """See ``Watcher.collect``."""
        while True:
            try:
                data = os.read(self.descriptor, 1 << 18)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                number, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size
                name = data[at : at + length].split(b"\0", 1)[0]
                at += length
                shown = self._touched
                if self._muted:
                    # What we do ourselves is told to nobody, but new folders must be watched all the same.
                    self._touched = Touched()
                self._event(number, mask, os.fsdecode(name))
                if self._muted:
                    shown.overflow |= self._touched.overflow
                    self._touched = shown

    def _event(self, number: int, mask: int, name: str) -> None:
        if mask & _OVERFLOW:
            self._touched.overflow = True
            return
        folder = self._folders.get(number)
        if mask & _IGNORED:
            if folder is not None:
                del self._folders[number]
                if self._numbers.get(folder) == number:
                    del self._numbers[folder]
            return
        if folder is None:
            self._touched.overflow = True
            return
        path = "/".join(part for part in (folder, name) if part)
        is_folder = bool(mask & _ISDIR)
        what = READ if mask & _READS and not is_folder else 0
        for bit, meaning in _BITS:
            if mask & bit:
                what |= meaning
        if path and what:
            self._touched.note(path, what)
        if not is_folder:
            self._follow_names(path, what, moved_here=bool(mask & _MOVED_TO), removed=bool(mask & _DELETE))
        if is_folder and mask & (_CREATE | _MOVED_TO):
            self._follow(path, moved=bool(mask & _MOVED_TO))
        if is_folder and mask & _MOVED_FROM:
            self._touched.trees.add(path)
            self._forget(path)

    def _follow_names(self, path: str, what: int, moved_here: bool, removed: bool) -> None:
        """Notice writes by a name that stands for nothing, or something else, by now."""
        if what & CONTENT:
            self._touched.lost |= path in self._rebound
            self._written.add(path)
        if moved_here or removed:
            self._touched.lost |= path in self._written
            self._rebound.add(path)
        if moved_here:
            self._written.add(path)

    def _follow(self, folder: str, moved: bool) -> None:
        """Start to watch a folder that appeared, with all below it."""
        self._touched.trees.add(folder)
        if not moved:
            self._touched.blind.add(folder)
            self._touched.lost = True
        pending = [folder]
        while pending:
            at = pending.pop()
            try:
                self._watch(at)
                with os.scandir(f"{self._root}/{at}") as entries:
                    pending += [f"{at}/{e.name}" for e in entries if e.is_dir(follow_symlinks=False)]
            except OSError as fault:
                if fault.errno not in (errno.ENOENT, errno.ENOTDIR):
                    self._touched.overflow = True

    def _forget(self, folder: str) -> None:
        """Names below a folder that moved away no longer hold; its watches get new ones where it arrives."""
        for number, path in list(self._folders.items()):
            if path == folder or path.startswith(f"{folder}/"):
                del self._folders[number]
                self._numbers.pop(path, None)

    def take(self, quiet: bool) -> Touched:
        """See ``Watcher.take``."""
        self.collect()
        touched, self._touched = self._touched, Touched()
        self._written.clear()
        if quiet:
            self._rebound.clear()
        return touched

    def mute(self, muted: bool) -> None:
        """Drop events while the harness itself reads the overlay (inotify does not say whose they are)."""
        self.collect()
        self._muted = muted

    def inode_number(self, handle: bytes) -> int | None:
        """Never asked: inotify reports no inodes."""
        return None

    def name_inode(self, path: str) -> None:
        """Not possible with inotify; the caller compares change times instead."""

    def close(self) -> None:
        """See ``Watcher.close``."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1
