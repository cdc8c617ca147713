"""What one path of a tree is now: the only place where the environment's files are read from outside."""

import os
import stat
from dataclasses import dataclass

from seatrial.errors import StateOverrun
from seatrial.journal.digest import digest_bytes, digest_stream
from seatrial.journal.entries import Entry, Kind, path_text
from seatrial.journal.objects import ObjectStore

_KINDS: dict[int, Kind] = {
    stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "link", stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
}  # fmt: skip


_WHOLE = 4 << 20


@dataclass(frozen=True)
class Seen:
    """An entry with what identifies its inode."""

    entry: Entry
    inode: int
    link_count: int


def look(
    tree: str, path: str, agent_uid: int, objects: ObjectStore | None, room: int | None = None
) -> Seen | None:
    """Look at ``path`` below ``tree`` without following any symlink in it.

    The caller makes sure that nothing moves meanwhile and that the path's parents are real folders.

    Args:
        tree: folder that holds the roots.
        path: as the file system has it, relative to ``tree``.
        agent_uid: the uid that counts as ``agent``; every other is ``base``.
        objects: where contents are stored; null to only digest them.
        room: how many bytes of content may still be recorded; null is no bound.

    Returns:
        What is there, or null when nothing is (or something that is no state, such as a whiteout).

    Raises:
        StateOverrun: the content does not fit.
    """
    full = f"{tree}/{path}"
    try:
        found = os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        return None
    kind = _KINDS.get(stat.S_IFMT(found.st_mode))
    if kind is None:
        return None
    digest = target = None
    if kind == "file":
        if room is not None and found.st_size > room:
            raise StateOverrun(f"{path}: {found.st_size} bytes are more than may be recorded of this world.")
        digest = _take(full, found.st_size, objects)
    elif kind == "link":
        raw = os.readlink(os.fsencode(full))
        target, digest = path_text(raw), digest_bytes(raw)
    entry = Entry(
        path=path_text(os.fsencode(path)),
        kind=kind,
        mode=0 if kind == "link" else stat.S_IMODE(found.st_mode),
        owner="agent" if found.st_uid == agent_uid else "base",
        digest=digest,
        size=found.st_size if kind == "file" else 0,
        target=target,
        xattrs=_xattrs(full),
        mtime=found.st_mtime_ns,
    )
    return Seen(entry, found.st_ino, found.st_nlink)


def kind_at(path: bytes) -> Kind | None:
    """Kind of what is there, no link followed in the last part; null where nothing is that is state."""
    try:
        return _KINDS.get(stat.S_IFMT(os.lstat(path).st_mode))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _take(path: str, size: int, objects: ObjectStore | None) -> str:
    """Digest a file's content and store it; a large one passes through in pieces."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        if size > _WHOLE:
            return digest_stream(file) if objects is None else objects.put_stream(file)
        data = file.read()
    digest = digest_bytes(data)
    if objects is not None:
        objects.put(data, digest)
    return digest


def _xattrs(path: str) -> dict[str, str]:
    try:
        names = os.listxattr(path, follow_symlinks=False)
        return {
            path_text(os.fsencode(name)): os.getxattr(path, name, follow_symlinks=False).hex()
            for name in names
            if name.startswith("user.") and not name.startswith("user.overlay.")
        }
    except OSError:
        return {}
