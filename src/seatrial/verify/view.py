"""A folder that holds what one subgoal may see, made from objects and kept up to date from changes.

Everything in it belongs to one uid. Modes are as recorded, except that the owner may always read files and
enter folders, so that the verifier can. All times are one constant: they are no part of the state, and a
verdict must not depend on them. Folders above visible entries exist with mode 0755 and say nothing else.
Contents are copies; no object is ever linked into a view.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from seatrial.errors import JournalError
from seatrial.journal.entries import VIEWED, Entry, State, path_bytes
from seatrial.journal.objects import ObjectStore

# 2001-09-09: late enough for zip files, the same for everything.
TIME_NS = 10**18
_ATTRIBUTES = " (attributes)"
_REASONS = {"fifo": "is a FIFO", "socket": "is a socket"}


class View:
    """One materialised view.

    Args:
        folder: new folder to fill; holds one folder per root of the state, and one of services.
        uid: owner of all in it.
        objects: where contents come from.
        roots: names of the roots that will be mounted; links may only lead there.

    Attributes:
        left_out: visible paths that are not in the folder, each with the reason.
    """

    def __init__(self, folder: Path, uid: int, objects: ObjectStore, roots: Sequence[str]) -> None:
        self.folder, self._uid, self._objects, self._roots = folder, uid, objects, tuple(roots)
        self.left_out: dict[str, str] = {}
        self._base = os.fsencode(folder) + b"/"
        self._made: State = {}
        self._folders: set[str] = set(VIEWED)
        self._held: Counter[str] = Counter()
        self._stirred: set[str] = set()
        folder.mkdir(parents=True)
        folder.chmod(0o755)
        for root in VIEWED:
            os.mkdir(folder / root)
            self._plain_folder(root)

    def sync(self, entries: State, dirty: Iterable[str] | None = None) -> None:
        """Make the folder hold ``entries``.

        Args:
            entries: everything visible.
            dirty: the paths that may differ from the last call; null when that is not known.

        Raises:
            JournalError: the entries cannot exist together, or an object is missing.
        """
        paths = {*entries, *self._made, *self.left_out} if dirty is None else set(dirty)
        moved = {p for p in paths if self._made.get(p) != entries.get(p) or p in self.left_out}
        moved |= self._link_mates(moved, entries)
        for path in sorted(moved, reverse=True):
            self._take_away(path, entries.get(path))
        for path in sorted(moved & entries.keys()):
            self._add(entries[path], entries)
        for path in self._stirred & self._folders:
            os.utime(self._at(path), ns=(TIME_NS, TIME_NS))
        self._stirred.clear()

    def _link_mates(self, moved: set[str], entries: State) -> set[str]:
        """Every member of a hard-link group that gains, loses or changes one is made anew."""
        both = (self._made, entries)
        groups = {known[p].links for known in both for p in moved if p in known} - {None}
        if not groups:
            return set()
        return {entry.path for known in both for entry in known.values() if entry.links in groups}

    # -- taking away ----------------------------------------------------------------------------------
    def _take_away(self, path: str, wanted: Entry | None) -> None:
        self.left_out.pop(path, None)
        self.left_out.pop(path + _ATTRIBUTES, None)
        made = self._made.pop(path, None)
        if made is None:
            return
        if made.kind != "dir":
            os.unlink(self._at(path))
            self._release(path)
        elif wanted is not None and wanted.kind == "dir":
            self._made[path] = made
        elif path in VIEWED or self._held[path]:
            self._plain_folder(path)
        else:
            self._drop_folder(path)

    def _drop_folder(self, path: str) -> None:
        os.rmdir(self._at(path))
        self._folders.discard(path)
        self._release(path)

    def _release(self, path: str) -> None:
        """A parent that only stood for its children goes with the last of them."""
        parent = path.rpartition("/")[0]
        self._stirred.add(parent)
        self._held[parent] -= 1
        if not self._held[parent]:
            del self._held[parent]
            if parent not in self._made and parent not in VIEWED:
                self._drop_folder(parent)

    # -- adding ---------------------------------------------------------------------------------------
    def _add(self, entry: Entry, entries: State) -> None:
        path = entry.path
        reason = self._refusal(entry)
        if reason is not None:
            self.left_out[path] = reason
            return
        if path not in VIEWED:
            self._need_parent(path, entries)
        known = path in self._folders
        if entry.kind == "dir":
            if not known:
                os.mkdir(self._at(path), 0o700)
                self._folders.add(path)
        elif known:
            raise JournalError(f"{path}: is both a {entry.kind} and a folder. The journal was damaged.")
        elif entry.kind == "link":
            os.symlink(path_bytes(entry.target or ""), self._at(path))
        else:
            self._write(entry)
        self._made[path] = entry
        if not known:
            self._hold(path)
        self._dress(entry)

    def _hold(self, path: str) -> None:
        parent = path.rpartition("/")[0]
        self._stirred.add(parent)
        self._held[parent] += 1

    def _refusal(self, entry: Entry) -> str | None:
        """Why an entry must not be in the view; null when it may."""
        root, _, rest = entry.path.partition("/")
        if (
            root not in VIEWED
            or any(part in ("", ".", "..") for part in rest.split("/") if rest)
            or "\0" in rest
        ):
            raise JournalError(f"{entry.path!r}: is no path of the state. The journal was damaged.")
        if entry.kind == "link" and not leads_inside(entry, self._roots):
            return "is a link that leads out of the view"
        return _REASONS.get(entry.kind)

    def _need_parent(self, path: str, entries: State) -> None:
        parent = path.rpartition("/")[0]
        if parent in self._folders:
            return
        if parent in entries and entries[parent].kind != "dir":
            raise JournalError(f"{path}: lies below {parent}, which is no folder. The journal was damaged.")
        self._need_parent(parent, entries)
        os.mkdir(self._at(parent), 0o700)
        self._folders.add(parent)
        self._hold(parent)
        self._plain_folder(parent)

    def _write(self, entry: Entry) -> None:
        first = self._made.get(entry.links) if entry.links is not None else None
        if first is None and entry.links is not None:
            first = next((e for e in self._made.values() if e.links == entry.links), None)
        if first is not None and first.digest == entry.digest:
            os.link(self._at(first.path), self._at(entry.path), follow_symlinks=False)
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(self._at(entry.path), flags, 0o600), "wb") as file:
            file.write(self._objects.get(entry.digest) if entry.digest is not None else b"")

    def _dress(self, entry: Entry) -> None:
        path = self._at(entry.path)
        os.lchown(path, self._uid, self._uid)
        if entry.kind != "link":
            self._set_attributes(entry.path, entry.xattrs)
            os.chmod(path, entry.mode | (0o500 if entry.kind == "dir" else 0o400))
        os.utime(path, ns=(TIME_NS, TIME_NS), follow_symlinks=False)

    def _set_attributes(self, path: str, attributes: dict[str, str]) -> None:
        at = self._at(path)
        # An overlay on this view would take attributes of its own name for orders.
        wanted = {n: v for n, v in attributes.items() if n.startswith("user.") and ".overlay." not in n}
        try:
            for name in set(os.listxattr(at)) - set(wanted):
                if name.startswith("user."):
                    os.removexattr(at, name)
            for name, value in wanted.items():
                os.setxattr(at, name, bytes.fromhex(value))
        except OSError as fault:
            self.left_out[path + _ATTRIBUTES] = f"cannot be set here: {fault.strerror}"

    def _plain_folder(self, path: str) -> None:
        """Make a folder look like one that nobody described."""
        at = self._at(path)
        os.lchown(at, self._uid, self._uid)
        os.chmod(at, 0o755)
        self._set_attributes(path, {})
        os.utime(at, ns=(TIME_NS, TIME_NS))

    def _at(self, path: str) -> bytes:
        return self._base + path_bytes(path)


def leads_inside(link: Entry, roots: Sequence[str]) -> bool:
    """Whether a link, followed by the kernel, ends in one of the roots or nowhere.

    ``..`` is taken only before the first name: after a name it is resolved from wherever that name leads,
    which may be another link.
    """
    root, _, rest = link.path.partition("/")
    raw = path_bytes(link.target or "")
    if b"\0" in raw or not raw:
        return False
    at = [] if raw.startswith(b"/") else _parts(VIEWED[root].encode()) + _parts(path_bytes(rest))[:-1]
    named = False
    for part in _parts(raw):
        if part != b"..":
            at.append(part)
            named = True
        elif named:
            return False
        elif at:
            at.pop()
    return any(at[: len(inside)] == inside for inside in (_parts(VIEWED[name].encode()) for name in roots))


def _parts(path: bytes) -> list[bytes]:
    return [part for part in path.split(b"/") if part not in (b"", b".")]
