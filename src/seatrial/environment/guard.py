"""What happened to constrained paths in one window, also when it was undone before the window closed."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from seatrial.environment.delta import Delta
from seatrial.environment.watching.touched import CREATED, READ, REMOVED, WRITES
from seatrial.environment.world import World
from seatrial.journal.entries import Entry, path_bytes, path_text


@dataclass(frozen=True)
class Rule:
    """One constraint's interest in paths of the state (as text).

    Attributes:
        constraint: its id.
        matches: whether a path is meant.
        could_match_below: whether some path below a folder could be.
        kind: which use of the path is a sighting.
    """

    constraint: str
    matches: Callable[[str], bool]
    could_match_below: Callable[[str], bool]
    kind: Literal["write", "read"]


@dataclass(frozen=True)
class Sighting:
    """A constrained path was used.

    Attributes:
        constraint: the rule's.
        path: the constrained path; where that cannot be told, a folder it may lie in, or empty for anywhere.
        what: the rule's kind.
        certain: false where the window could not be watched: it may or may not have been used.
    """

    constraint: str
    path: str
    what: str
    certain: bool


class Guard:
    """Watches constrained paths of one sandbox; the cost of a window follows what was touched in it.

    Opening a constrained file for writing counts as a write: a store through a memory mapping raises no
    event of its own. So does moving it, or a folder it lies in, away and back. To give a file one more name
    is no write; what is done by that name is.

    Without fanotify a file can be used by a name that lived only inside one window. Its change time tells
    that it was linked, not whether it was used, so such a sighting is not certain.
    """

    def __init__(self, rules: Sequence[Rule], sandbox: World) -> None:
        self._rules, self._sandbox = list(rules), sandbox
        self._known: dict[str, tuple[int, int]] = {}
        self._learn(sandbox.tracker.state())
        sandbox.after_undo.append(lambda raw: self._learn(path_text(os.fsencode(path)) for path in raw))

    def inspect(self, delta: Delta) -> list[Sighting]:
        """Sightings of one window, at most one for each rule and path."""
        window = _Window(self._rules)
        touched, watcher = delta.touched, self._sandbox.watcher
        used = self._used(delta)
        for path, what in used.items():
            window.see(path, what)
        if touched.overflow or watcher is None:
            window.doubt("", lambda _rule, _path: True)
        elif not watcher.sees_everything:
            for raw in touched.blind:
                folder = path_text(os.fsencode(raw))
                window.doubt(folder, lambda rule, path: rule.could_match_below(path))
            if touched.lost:
                self._compare_times(window)
        remade = {path for path, what in used.items() if what & (CREATED | REMOVED)}
        self._learn(remade | {entry.path for entry in delta.changes})
        return window.sightings()

    def _used(self, delta: Delta) -> dict[str, int]:
        """Bits of what happened, by every name that the files concerned have."""
        used = {path_text(os.fsencode(path)): what for path, what in delta.touched.paths.items()}
        tracker = self._sandbox.tracker
        for path, what in list(used.items()):
            for name in tracker.siblings(path):
                used[name] = used.get(name, 0) | what & ~(CREATED | REMOVED)
        for entry in delta.changes:
            if _more_than_a_name(delta.before.get(entry.path), entry):
                used[entry.path] = used.get(entry.path, 0) | WRITES
        for raw in delta.touched.trees:
            for path in tracker.known_below(path_text(os.fsencode(raw))):
                used[path] = used.get(path, 0) | CREATED | REMOVED
        return used

    def _compare_times(self, window: "_Window") -> None:
        """Doubt every constrained file that was linked or changed unseen."""
        for path, before in list(self._known.items()):
            if self._stamp(path) != before:
                window.doubt(path, lambda rule, path: rule.matches(path))
                self._learn([path])

    def _learn(self, paths: Iterable[str]) -> None:
        """Know constrained files by their inodes and change times from now on."""
        for path in paths:
            if not any(rule.matches(path) for rule in self._rules):
                continue
            if self._sandbox.watcher is not None:
                self._sandbox.watcher.name_inode(os.fsdecode(path_bytes(path)))
            stamp = self._stamp(path)
            if stamp is None:
                self._known.pop(path, None)
            else:
                self._known[path] = stamp

    def _stamp(self, path: str) -> tuple[int, int] | None:
        try:
            found = os.lstat(os.fsencode(self._sandbox.tree) + b"/" + path_bytes(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_ino, found.st_ctime_ns


class _Window:
    """Collects the sightings of one window."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._seen: dict[tuple[str, str, str], Sighting] = {}

    def see(self, path: str, what: int) -> None:
        """Something was done to a path."""
        for rule in self._rules:
            if what & (WRITES if rule.kind == "write" else READ) and rule.matches(path):
                self._seen[rule.constraint, rule.kind, path] = Sighting(
                    rule.constraint, path, rule.kind, True
                )

    def doubt(self, path: str, concerns: Callable[[Rule, str], bool]) -> None:
        """Something may have been done to a path, or below it."""
        for rule in self._rules:
            if concerns(rule, path):
                sighting = Sighting(rule.constraint, path, rule.kind, False)
                self._seen.setdefault((rule.constraint, rule.kind, path), sighting)

    def sightings(self) -> list[Sighting]:
        """In a stable order."""
        return [self._seen[key] for key in sorted(self._seen)]


def _more_than_a_name(before: Entry | None, after: Entry) -> bool:
    """Whether a change is more than one name more or less for the same file."""
    if before is None or after.kind == "absent":
        return True
    return msgspec.structs.replace(before, links=None, mtime=0) != msgspec.structs.replace(
        after, links=None, mtime=0
    )
