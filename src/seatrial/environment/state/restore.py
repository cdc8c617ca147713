"""Makes a tree equal to a recorded state, through the overlay itself, so that no layer format is forged."""

import os
from collections.abc import Iterable

from seatrial.environment.state.look import kind_at
from seatrial.environment.state.tracker import Tracker
from seatrial.errors import StateOverrun
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
        if present is not None and not wanted.kind == present.kind == "dir":
            _remove(root + b"/" + path_bytes(path), present.kind == "dir")
    wanted_entries = [changes[p] for p in sorted(changes) if changes[p].kind != "absent"]
    for entry in wanted_entries:
        _make(root, entry, objects)
    for entry in reversed(wanted_entries):
        _dress(root + b"/" + path_bytes(entry.path), entry, agent_uid)


def refuse_moved(tracker: Tracker, paths: Iterable[str]) -> None:
    """Refuse to work on paths that are not of the kind that is known, nor their folders.

    A process of the agent's may have put a link there since the state was last settled, and whoever writes
    from outside would follow it. Nothing may run meanwhile.

    Raises:
        StateOverrun: it is the agent's doing.
    """
    root = os.fsencode(tracker.tree)
    looked: set[str] = set()
    for path in paths:
        parts = path.split("/")
        for count in range(1, len(parts) + 1):
            place = "/".join(parts[:count])
            if place in looked:
                continue
            looked.add(place)
            known = tracker.current(place)
            kind = kind_at(root + b"/" + path_bytes(place))
            if kind != (known.kind if known is not None else None):
                raise StateOverrun(f"{place} is not what it was a moment ago: a process moved it.")
            if kind != "dir":
                break


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
        wanted = {path_bytes(name): bytes.fromhex(value) for name, value in entry.xattrs.items()}
        for name in map(os.fsencode, os.listxattr(path)):
            if name.startswith(b"user.") and not name.startswith(b"user.overlay.") and name not in wanted:
                os.removexattr(path, name)
        for name, value in wanted.items():
            os.setxattr(path, name, value)
    os.utime(path, ns=(entry.mtime, entry.mtime), follow_symlinks=False)


def undoing(tracker: Tracker, changes: Iterable[Entry], before: State) -> dict[str, Entry]:
    """Entries that undo changes, with the folders and the names of the same file that they need.

    Args:
        tracker: knows what is there now.
        changes: to be undone.
        before: what all paths that changed in the same window were.
    """
    wanted: dict[str, Entry] = {}
    pending = [entry.path for entry in changes]
    while pending:
        path = pending.pop()
        if path in wanted:
            continue
        earlier = wanted[path] = before.get(path) or Entry(path=path, kind="absent")
        parent = path.rpartition("/")[0]
        standing = tracker.current(parent)
        if earlier.kind != "absent" and parent and (standing is None or standing.kind != "dir"):
            pending.append(parent)
        if earlier.links is not None:
            pending += [p for p, entry in before.items() if entry.links == earlier.links]
        now = tracker.current(path)
        if now is not None and now.kind == "dir" and earlier.kind != "dir":
            pending += tracker.known_below(path)
    return wanted
