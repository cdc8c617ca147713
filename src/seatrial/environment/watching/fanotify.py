"""A fanotify mark on the overlay's whole file system: no window is unseen, however new the folder.

Events name a folder by its kernel handle. Handles of folders are learned when the mark is set, and kept up
from the events themselves, so that paths can be told even of folders that are gone by now.
"""

import contextlib
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
_CREATE, _DELETE, _OPEN_EXEC = 0x100, 0x200, 0x1000
_OVERFLOW, _RENAME, _ONDIR = 0x4000, 0x10000000, 0x40000000
_READS = _ACCESS | _CLOSE_NOWRITE | _OPEN_EXEC
_MASK = _MODIFY | _ATTRIB | _CLOSE_WRITE | _CREATE | _DELETE | _RENAME | _ONDIR | _READS
_CLASS_NOTIF, _NONBLOCK, _UNLIMITED_QUEUE = 0, 2, 0x10
_REPORT_FID, _REPORT_DIR_FID, _REPORT_NAME, _REPORT_TARGET_FID = 0x200, 0x400, 0x800, 0x1000
_FLAGS = (
    _CLASS_NOTIF | _NONBLOCK | _UNLIMITED_QUEUE
    | _REPORT_FID | _REPORT_DIR_FID | _REPORT_NAME | _REPORT_TARGET_FID
)  # fmt: skip
_MARK_ADD, _MARK_FILESYSTEM = 1, 0x100
_FID, _DFID_NAME, _DFID, _OLD_NAME, _NEW_NAME = 1, 2, 3, 10, 12
# Handles of folders to (handle of the folder above, name); the root is known by ``ROOT`` beside its handle.
Places = dict[bytes, tuple[bytes | None, str]]
ROOT = b""
_METADATA = struct.Struct("=IBBHQii")
_INFO = struct.Struct("=BBH8xIi")
_BITS = (
    (_MODIFY, WROTE), (_CREATE, CREATED), (_DELETE, REMOVED), (_ATTRIB, ATTRIBUTES),
    (_CLOSE_WRITE, OPENED_FOR_WRITING),
)  # fmt: skip


class FanotifyWatcher:
    """Watches the file system mounted at ``root``.

    Args:
        root: mount point of the overlay, mounted with ``nfs_export=on``.
        folders: every folder below it, relative, ``""`` for the root itself.
        known: ``places`` of a watcher on the same lower layers, in place of ``folders``: but for the root's,
            handles are those of folders in these layers.

    Attributes:
        places: where each folder was to begin with.

    Raises:
        OSError: the kernel or the mount does not allow it.
    """

    name = "fanotify"
    sees_everything = True

    def __init__(self, root: str, folders: Iterable[str], known: Places | None = None) -> None:
        self._mount = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._own_pid = os.getpid()
        self.places: Places = {ROOT: (None, "")} if known is None else known
        self._aliases: dict[bytes, set[str]] = {}
        self._named: dict[str, bytes] = {}
        self._touched = Touched()
        self._written: dict[str, set[bytes]] = {}
        self._rebound: set[str] = set()
        try:
            self.descriptor = syscalls.fanotify_init(_FLAGS)
        except OSError:
            os.close(self._mount)
            raise
        try:
            syscalls.fanotify_mark(self.descriptor, _MARK_ADD | _MARK_FILESYSTEM, _MASK, root)
            self._learn(sorted(folders))
            self._places = {**self.places, syscalls.file_handle(self._mount, "."): (None, "")}
        except OSError:
            self.close()
            raise

    def _learn(self, folders: list[str]) -> None:
        handles = {"": ROOT}
        for folder in folders:
            if folder:
                handle = handles[folder] = syscalls.file_handle(self._mount, folder)
                parent, _, name = folder.rpartition("/")
                self.places[handle] = (handles[parent], name)

    def collect(self) -> None:
        """See ``Watcher.collect``."""
        while True:
            try:
                data = os.read(self.descriptor, 1 << 18)
            except BlockingIOError:
                return
            self._parse(data)

    def _parse(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            length, _, _, head, mask, _, pid = _METADATA.unpack_from(data, at)
            if mask & _OVERFLOW:
                self._touched.overflow = True
            elif pid != self._own_pid:
                self._event(mask, self._records(data, at + head, at + length))
            elif mask & _ONDIR and mask & (_CREATE | _RENAME):
                self._place(mask, self._records(data, at + head, at + length))
            at += length

    def _place(self, mask: int, records: dict[int, tuple[bytes, str]]) -> None:
        """Remember where a new or moved folder is."""
        where = records.get(_NEW_NAME if mask & _RENAME else _DFID_NAME)
        if where is not None and _FID in records:
            self._places[records[_FID][0]] = where

    @staticmethod
    def _records(data: bytes, at: int, end: int) -> dict[int, tuple[bytes, str]]:
        found: dict[int, tuple[bytes, str]] = {}
        while at < end:
            kind, _, length, size, handle_type = _INFO.unpack_from(data, at)
            start = at + _INFO.size
            handle = handle_type.to_bytes(4, "little", signed=True) + data[start : start + size]
            name = data[start + size : at + length].split(b"\0", 1)[0]
            found[kind] = (handle, os.fsdecode(name))
            at += length
        return found

    def _event(self, mask: int, records: dict[int, tuple[bytes, str]]) -> None:
        target = records[_FID][0] if _FID in records else None
        if mask & _RENAME:
            self._renamed(records, target, bool(mask & _ONDIR))
            return
        named = records.get(_DFID_NAME) or records.get(_DFID)
        what = READ if mask & _READS and not mask & _ONDIR else 0
        for bit, meaning in _BITS:
            if mask & bit:
                what |= meaning
        if not what:
            return
        if named is None:
            # One name more or less, which is nothing that was done to the file.
            if target is not None:
                self._touched.inodes.add(target)
            return
        for known in self._aliases.get(target, ()) if target is not None else ():
            self._touched.note(known, what & ~(CREATED | REMOVED))
        folder, name = named
        if mask & _CREATE and mask & _ONDIR:
            self._place(mask, records)
        path = self._path(folder, "" if name == "." else name)
        if path is None:
            self._touched.overflow = True
        elif path:
            self._touched.note(path, what)
            if not mask & _ONDIR:
                self._follow_names(path, what, target)

    def _follow_names(self, path: str, what: int, target: bytes | None) -> None:
        """Hand over the inode of what was written by a name that stands for something else by now."""
        if what & CONTENT and target is not None:
            if path in self._rebound:
                self._touched.inodes.add(target)
            self._written.setdefault(path, set()).add(target)
        if what & REMOVED:
            self._rebind(path)

    def _rebind(self, path: str) -> None:
        self._rebound.add(path)
        self._touched.inodes |= self._written.pop(path, set())

    def _renamed(self, records: dict[int, tuple[bytes, str]], target: bytes | None, is_folder: bool) -> None:
        for kind, what in ((_OLD_NAME, REMOVED), (_NEW_NAME, CREATED)):
            if kind not in records:
                continue
            path = self._path(*records[kind])
            if path is None:
                self._touched.overflow = True
                continue
            self._touched.note(path, what)
            if is_folder:
                self._touched.trees.add(path)
            else:
                self._rebind(path)
                if target is not None:
                    self._written.setdefault(path, set()).add(target)
        if is_folder:
            self._place(_RENAME, records)

    def _path(self, folder: bytes, name: str) -> str | None:
        """Climb from a folder's handle to the root; null when a handle was never learned."""
        parts = [name] if name else []
        at: bytes | None = folder
        while at is not None:
            place = self._places.get(at)
            if place is None:
                return None
            at, own = place
            if own:
                parts.append(own)
        return "/".join(reversed(parts))

    def take(self, quiet: bool) -> Touched:
        """See ``Watcher.take``."""
        self.collect()
        touched, self._touched = self._touched, Touched()
        self._written.clear()
        if quiet:
            self._rebound.clear()
        return touched

    def inode_number(self, handle: bytes) -> int | None:
        """The inode a handle names, or null when it is gone."""
        try:
            descriptor = syscalls.open_handle(self._mount, handle)
        except OSError:
            return None
        try:
            found = os.fstat(descriptor)
            return found.st_ino if found.st_nlink else None
        finally:
            os.close(descriptor)

    def mute(self, muted: bool) -> None:
        """Nothing to do: events carry the pid of who caused them, and our own are left out."""

    def name_inode(self, path: str) -> None:
        """See ``Watcher.name_inode``."""
        old = self._named.pop(path, None)
        if old is not None:
            self._aliases[old].discard(path)
        with contextlib.suppress(OSError):
            handle = self._named[path] = syscalls.file_handle(self._mount, path)
            self._aliases.setdefault(handle, set()).add(path)

    def close(self) -> None:
        """See ``Watcher.close``."""
        for descriptor in (getattr(self, "descriptor", -1), self._mount):
            if descriptor >= 0:
                os.close(descriptor)
        self.descriptor = self._mount = -1
