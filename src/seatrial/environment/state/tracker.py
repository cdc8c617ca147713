"""Keeps the state of an overlay current from touched paths alone, and says what changed.

Cost follows what was touched, not the size of the tree or of the state.
"""

import os
import stat
from collections.abc import Iterable, Sequence

import msgspec

from seatrial.environment.state.base import Base
from seatrial.environment.state.below import Below
from seatrial.environment.state.fingerprint import Fingerprint
from seatrial.environment.state.look import Seen, look
from seatrial.environment.state.mapped import Mapped
from seatrial.environment.state.providers import SIDE, StateProvider
from seatrial.environment.state.scan import candidates
from seatrial.environment.watching.touched import WRITES, Touched, Watcher
from seatrial.errors import StateOverrun
from seatrial.journal.entries import Entry, State, is_row, path_bytes, path_text
from seatrial.journal.objects import ObjectStore

Signature = tuple[int, int, int]


class Start:
    """A state to begin in, worked out once for all worlds that begin in it.

    Args:
        base: what the state differs from.
        delta: how; entries that say the same as the base are left out.
        providers: databases compared by logical content.

    Attributes:
        delta: the difference; ``files`` and ``rows`` of services are its two parts.
    """

    def __init__(self, base: Base, delta: State, providers: Sequence[StateProvider]) -> None:
        sides = {side for provider in providers for side in provider.sides}
        self.delta: State = {}
        self.fingerprint, self.names = Fingerprint(base.digest), Below()
        self.linked: list[str] = []
        self.files, self.rows = dict[str, Entry](), dict[str, Entry]()
        for path, entry in delta.items():
            below = base.state.get(path)
            if _same(below, entry) or (below is None and entry.kind == "absent"):
                continue
            self.delta[path] = entry
            (self.rows if is_row(path) else self.files)[path] = entry
            self.names.add(path)
            self.fingerprint.set(path, _shown(below, None if path in sides else entry))
            if entry.links is not None:
                self.linked.append(path)


class Tracker:
    """The state of one mounted overlay as entries over a base.

    Args:
        tree: mount point of the overlay.
        upper: its upper layer, for full scans.
        base: what it was mounted over.
        agent_uid: the uid that counts as the agent's.
        objects: where contents go before the line that names them.
        start: the state to begin in (after a fork or restore).
        providers: databases compared by logical content.
        bound: bytes of changed content that may be recorded; an attribute, null is no bound.
        layer: inode numbers of the files that a restored state's layer holds, to their paths; null when
            inode numbers do not survive a write (an overlay without an index).
    """

    def __init__(
        self,
        tree: str,
        upper: str,
        base: Base,
        agent_uid: int,
        objects: ObjectStore | None,
        start: "Start | None" = None,
        providers: Sequence[StateProvider] = (),
        layer: dict[int, str] | None = None,
    ) -> None:
        self.tree, self.upper, self.base = tree, upper, base
        self.before: State = {}
        self._uid, self._objects = agent_uid, objects
        self._providers = {provider.path: provider for provider in providers}
        self._sides = {side: provider.path for provider in providers for side in provider.sides}
        self._stable, self._layer = layer is not None, layer or {}
        start = start or Start(base, {}, providers)
        self._delta, self._print = dict(start.delta), start.fingerprint.copy()
        self._names, self._first_names = Below(), start.names
        self._groups: dict[int, set[str]] = {}
        self._inode_of: dict[str, int] = {}
        self._signatures: dict[str, Signature] = {}
        self._mapped = Mapped()
        self._bytes = sum(entry.size for entry in self._delta.values())
        self.bound: int | None = None
        self._earlier: dict[str, Entry | None] = {}
        for text in start.linked:
            path = _raw(text)
            self._join(text, self._inode(path, os.lstat(f"{self.tree}/{path}").st_ino))

    # -- what is known --------------------------------------------------------------------------------
    def current(self, path: str) -> Entry | None:
        """The entry at a path (as text), or null when nothing is there."""
        entry = self._delta.get(path) or self.base.state.get(path)
        return None if entry is None or entry.kind == "absent" else entry

    def fingerprint(self) -> str:
        """Digest of the state; equal states have equal fingerprints."""
        return self._print.value()

    def delta(self) -> State:
        """How the state differs from the base (a copy)."""
        return dict(self._delta)

    def state(self) -> State:
        """The whole state (a copy; costs the size of the tree)."""
        state = {**self.base.state, **self._delta}
        return {path: entry for path, entry in state.items() if entry.kind != "absent"}

    # -- looking --------------------------------------------------------------------------------------
    def update(
        self, touched: Touched, watcher: Watcher | None = None, mapped: Mapped | None = None,
        also: Iterable[str] = (),
    ) -> list[Entry]:  # fmt: skip
        """Look at everything touched and return the changes since the last call, sorted by path.

        Nothing may run in the sandbox meanwhile. What changed paths were before is in ``before``.

        Args:
            touched: what the watcher saw.
            watcher: muted while the overlay is read, asked for nameless inodes.
            mapped: files mapped writable now: they are looked at now and once more when they no longer are.
            also: further paths (as the file system has them).
        """
        mapped = mapped or Mapped()
        written, self._mapped = mapped | self._mapped, mapped
        if watcher is not None:
            watcher.mute(True)
        try:
            if touched.overflow:
                return self.rescan()
            paths = {path for path, what in touched.paths.items() if what & WRITES}
            paths |= touched.blind | written.paths | set(also)
            for tree in touched.trees:
                paths |= self._below(tree)
            for inode in written.inodes | self._numbers(touched, watcher):
                paths |= {_raw(text) for text in self._names_of(inode)}
            if touched.lost:
                paths |= self._changed_in_upper()
            return self._refresh(paths)
        finally:
            if watcher is not None:
                watcher.mute(False)

    def rescan(self) -> list[Entry]:
        """Look at every path that can differ from the base, by a walk of the upper layer alone."""
        known = {_raw(path) for path in self._delta if not is_row(path)}
        return self._refresh(candidates(self.upper, self.base.state) | known)

    def put_rows(self, rows: Iterable[Entry]) -> None:
        """Take in what became of rows of services; the next ``update`` or ``rescan`` reports the changes.

        Raises:
            StateOverrun: the state has grown beyond its bound.
        """
        for entry in rows:
            self._put(entry.path, None if entry.kind == "absent" else entry)
        if self.bound is not None and self._bytes > self.bound:
            raise StateOverrun(f"the changes are larger than the {self.bound >> 20} MiB that are recorded.")

    def _numbers(self, touched: Touched, watcher: Watcher | None) -> set[int]:
        if watcher is None:
            return set()
        numbers = {watcher.inode_number(handle) for handle in touched.inodes}
        return {number for number in numbers if number is not None}

    def _names_of(self, inode: int) -> set[str]:
        """Every name an inode is known by, or was given by base or layer."""
        names = set(self._groups.get(inode, ())) | self._groups.get(-inode, set())
        return names | {lower[inode] for lower in (self.base.inodes, self._layer) if inode in lower}

    def siblings(self, text: str) -> set[str]:
        """Other names of the same file."""
        inode = self._inode_of.get(text)
        return set() if inode is None else self._groups[inode] - {text}

    def _below(self, folder: str) -> set[str]:
        """A folder and all that is or was below it."""
        found, pending = {folder}, [folder]
        while pending:
            at = pending.pop()
            if not self._is_folder(at):
                continue
            with os.scandir(f"{self.tree}/{at}") as entries:
                for entry in entries:
                    path = f"{at}/{entry.name}"
                    found.add(path)
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(path)
        return found | {_raw(text) for text in self.known_below(path_text(os.fsencode(folder)))}

    def known_below(self, folder: str) -> set[str]:
        """Paths (as text) that the state holds below a folder."""
        known = self._names.of(folder) | self._first_names.of(folder) | self.base.below.of(folder)
        return {text for text in known if self.current(text) is not None}

    def _is_folder(self, path: str) -> bool:
        """Whether the path and every parent of it is a real folder, not a symlink to one."""
        at = self.tree
        for part in path.split("/"):
            at = f"{at}/{part}"
            try:
                if not stat.S_ISDIR(os.lstat(at).st_mode):
                    return False
            except (FileNotFoundError, NotADirectoryError):
                return False
        return True

    def _refresh(self, paths: Iterable[str]) -> list[Entry]:
        """Look at paths and at what they pull along, then settle hard-link groups and report changes."""
        real: dict[str, bool] = {"": True}
        counts: dict[int, int] = {}
        pending, done = set(paths), set[str]()
        while pending:
            more: set[str] = set()
            for path in sorted(pending):
                more |= self._look_at(path, real, counts)
            done |= pending
            pending = more - done
        for inode, count in counts.items():
            self._regroup(inode, count)
        changes = []
        self.before = {}
        for text, before in self._earlier.items():
            after = self.current(text)
            if not _same(before, after):
                changes.append(after or Entry(path=text, kind="absent"))
                if before is not None:
                    self.before[text] = before
        self._earlier.clear()
        return sorted(changes, key=lambda entry: entry.path)

    def _look_at(self, path: str, real: dict[str, bool], counts: dict[int, int]) -> set[str]:
        """Take in one path; returns paths that must be looked at because of it.

        ``counts`` collects, for every inode whose group may have changed, its link count (0 when unknown).
        """
        text = path_text(os.fsencode(path))
        seen = None
        if self._parents_real(path, real):
            seen = look(self.tree, path, self._uid, self._objects, self._room(text))
        before = self.current(text)
        more: set[str] = set()
        if before is not None and before.kind == "dir" and (seen is None or seen.entry.kind != "dir"):
            more |= {_raw(name) for name in self.known_below(text)}
        self._leave(text, counts)
        if seen is not None and seen.entry.kind != "dir":
            more |= self._group(path, text, seen, counts)
        if text in self._sides:
            more.add(_raw(self._sides[text]))
        self._put(text, self._with_meaning(text, seen.entry if seen else None))
        return more

    def _parents_real(self, path: str, real: dict[str, bool]) -> bool:
        """Whether all parents are real folders: nothing may be read through an agent's symlink."""
        parent = path.rpartition("/")[0]
        if parent not in real:
            try:
                is_folder = stat.S_ISDIR(os.lstat(f"{self.tree}/{parent}").st_mode)
            except (FileNotFoundError, NotADirectoryError):
                is_folder = False
            real[parent] = is_folder and self._parents_real(parent, real)
        return real[parent]

    # -- hard links -----------------------------------------------------------------------------------
    def _inode(self, path: str, shown: int) -> int:
        """What tells a file from others: where names of one file may show different numbers, its number in
        the upper layer, or minus the shown one while it has none there."""
        if self._stable:
            return shown
        try:
            found = os.lstat(f"{self.upper}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return -shown
        self._signatures[path] = _signature(found)
        return found.st_ino

    def _join(self, text: str, inode: int) -> set[str]:
        self._inode_of[text] = inode
        group = self._groups.setdefault(inode, set())
        group.add(text)
        return group

    def _leave(self, text: str, counts: dict[int, int]) -> None:
        old = self._inode_of.pop(text, None)
        if old is not None:
            self._groups[old].discard(text)
            counts.setdefault(old, 0)

    def _group(self, path: str, text: str, seen: Seen, counts: dict[int, int]) -> set[str]:
        """Put a name into its group; returns other names to look at."""
        inode = self._inode(path, seen.inode)
        group = self._join(text, inode)
        if seen.link_count < 2 and len(group) < 2:
            return set()
        counts[inode] = seen.link_count
        return {_raw(name) for name in (self._names_of(inode) | self._names_of(seen.inode)) - {text}}

    def _regroup(self, inode: int, count: int) -> None:
        """Give every member of a hard-link group the group's label and the content last seen."""
        group = self._groups.get(inode, set())
        if count > len(group):
            self._find_members(inode, group)
        if not group:
            self._groups.pop(inode, None)
            return
        label = min(group) if len(group) > 1 else None
        fresh = [text for text in group if text in self._earlier]
        model = self.current(fresh[0]) if fresh else None
        for text in group:
            entry = self.current(text)
            if model is not None:
                entry = self._with_meaning(text, msgspec.structs.replace(model, path=text, logical=None))
            if entry is not None:
                self._put(text, msgspec.structs.replace(entry, links=label))

    def _find_members(self, inode: int, group: set[str]) -> None:
        """Look for names of an inode that no event told of (a link made and used in one window)."""
        for path in candidates(self.upper, self.base.state):
            try:
                if os.lstat(f"{self.tree if self._stable else self.upper}/{path}").st_ino != inode:
                    continue
            except (FileNotFoundError, NotADirectoryError):
                continue
            text = path_text(os.fsencode(path))
            group.add(text)
            self._inode_of[text] = inode

    def _changed_in_upper(self) -> set[str]:
        """Files of the upper layer whose change time moved: something was written by a name that is gone."""
        found = set()
        for path in candidates(self.upper, {}):
            try:
                signature = _signature(status := os.lstat(f"{self.upper}/{path}"))
            except (FileNotFoundError, NotADirectoryError):
                continue
            if not stat.S_ISDIR(status.st_mode) and self._signatures.get(path) != signature:
                self._signatures[path] = signature
                found.add(path)
        return found

    # -- recording ------------------------------------------------------------------------------------
    def _with_meaning(self, text: str, entry: Entry | None) -> Entry | None:
        """Give a database's entry its logical digest; its side files have no meaning of their own."""
        if entry is None or entry.kind != "file":
            return entry
        if text in self._sides:
            return msgspec.structs.replace(entry, logical=SIDE)
        provider = self._providers.get(text)
        return (
            entry if provider is None else msgspec.structs.replace(entry, logical=provider.digest(self.tree))
        )

    def _room(self, text: str) -> int | None:
        """How many bytes a path's content may have, so that the whole state stays within its bound."""
        if self.bound is None:
            return None
        known = self._delta.get(text)
        return max(0, self.bound - self._bytes + (known.size if known else 0))

    def _put(self, text: str, entry: Entry | None) -> None:
        """Record what a path is now, as a difference from the base, in state and fingerprint."""
        known = self._delta.get(text)
        self._bytes -= known.size if known else 0
        self._earlier.setdefault(text, self.current(text))
        base = self.base.state.get(text)
        difference = entry
        if entry is None and base is not None:
            difference = Entry(path=text, kind="absent")
        elif _same(base, entry):
            difference = None
        if difference is None:
            self._delta.pop(text, None)
        else:
            self._delta[text] = difference
            self._bytes += difference.size
            self._names.add(text)
        self._print.set(text, _shown(base, None if text in self._sides else difference))


def _shown(base: Entry | None, difference: Entry | None) -> Entry | None:
    """What the fingerprint sees of a difference: nothing when it means the same as the base."""
    if base is None or difference is None:
        return difference
    return None if base.identity() == difference.identity() else difference


def _same(one: Entry | None, other: Entry | None) -> bool:
    """Whether two entries hold the same bytes and attributes; times do not count."""
    if one is None or other is None:
        return one is other
    return one.digest == other.digest and one.identity() == other.identity()


def _signature(found: os.stat_result) -> Signature:
    return found.st_ino, found.st_ctime_ns, found.st_size


def _raw(text: str) -> str:
    """A path as the file system has it."""
    return os.fsdecode(path_bytes(text))
