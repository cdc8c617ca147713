"""Makes a tree equal to a recorded state, through the overlay itself, so that no layer format is forged."""

import os
from collections.abc import Iterable

from seatrial.journal.entries import Entry, State, path_bytes
from seatrial.journal.objects import ObjectStore


def make_equal(
    tree: str, now: State, changes: State | dict[str, Entry], objects: ObjectStore, agent_uid: int
) -> None:
    """Apply entries to a tree in which nothing runs.

    Args:
        tree: folder that holds the roots.
        now: what the tree holds, as far as the changed paths are concerned.
        changes: path to the entry that must be there; kind ``absent`` removes.
        objects: where contents come from.
        agent_uid: uid for owner ``agent``; ``base`` becomes uid 0 of this namespace.
    """
    root = os.fsencode(tree)
    for path in sorted(changes, reverse=True):
        wanted, present = changes[path], now.get(path)
        if present is not None and (wanted.kind == "absent" or wanted.kind != present.kind or wanted.kind != "dir"):
            _remove(root + b"/" + path_bytes(path), present.kind == "dir")
    wanted_entries = [changes[p] for p in sorted(changes) if changes[p].kind != "absent"]
    for entry in wanted_entries:
        _make(root, entry, objects)
    for entry in reversed(wanted_entries):
        _dress(root + b"/" + path_bytes(entry.path), entry, agent_uid)


def _remove(path: bytes, is_folder: bool) -> None:
    try:
        if is_folder:
            os.rmdir(path)
        else:
            os.unlink(path)
    except FileNotFoundError:
        pass


def _make(root: bytes, entry: Entry, objects: ObjectStore) -> None:
    path = root + b"/" + path_bytes(entry.path)
    if entry.links is not None and entry.links != entry.path:
        os.link(root + b"/" + path_bytes(entry.links), path, follow_symlinks=False)
    elif entry.kind == "dir":
        if not os.path.isdir(path):
            os.mkdir(path)
    elif entry.kind == "link":
        os.symlink(path_bytes(entry.target or ""), path)
    elif entry.kind == "fifo":
        os.mkfifo(path)
    elif entry.kind == "socket":
        os.mknod(path, 0o140600)
    elif entry.digest is not None:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(handle, "wb") as file:
            file.write(objects.get(entry.digest))


def _dress(path: bytes, entry: Entry, agent_uid: int) -> None:
    """Owner, mode, attributes and times, children before their folders."""
    os.lchown(path, *([agent_uid, agent_uid] if entry.owner == "agent" else [0, 0]))
    if entry.kind != "link":
        os.chmod(path, entry.mode)
        stale = {name for name in os.listxattr(path) if name.startswith("user.")}
        for name in stale - set(entry.xattrs):
            if not name.startswith("user.overlay."):
                os.removexattr(path, name)
        for name, value in entry.xattrs.items():
            os.setxattr(path, name, bytes.fromhex(value))
    os.utime(path, ns=(entry.mtime, entry.mtime), follow_symlinks=False)


def reverse_of(changes: Iterable[Entry], before: State) -> dict[str, Entry]:
    """Entries that undo changes, given the state before them."""
    return {e.path: before.get(e.path) or Entry(path=e.path, kind="absent") for e in changes}
