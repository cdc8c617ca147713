"""What happened to constrained paths in one window, also when it was undone before the window closed."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from seatrial.environment.sandbox import BubblewrapSandbox, Delta
from seatrial.environment.watch import READ, WRITES
from seatrial.journal.entries import path_bytes, path_text


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
    """A constrained path was used. ``certain`` is false where the window could not be watched."""

    constraint: str
    path: str
    what: str
    certain: bool


class Guard:
    """Watches constrained paths of one sandbox.

    Opening a constrained file for writing counts as a write: a store through a memory mapping raises no
    event of its own.
    """

    def __init__(self, rules: Sequence[Rule], sandbox: BubblewrapSandbox) -> None:
        self._rules, self._sandbox = list(rules), sandbox
        self._known: dict[str, tuple[int, int]] = {}
        for path in sandbox.tracker.state():
            self._learn(path)

    def inspect(self, delta: Delta) -> list[Sighting]:
        """Sightings of one window, at most one for each rule and path."""
        seen: dict[tuple[str, str, str], Sighting] = {}
        sees_all = bool(self._sandbox.watcher and self._sandbox.watcher.sees_everything)
        touched = delta.touched
        paths = {path_text(os.fsencode(path)): what for path, what in touched.paths.items()}
        for entry in delta.changes:
            paths[entry.path] = paths.get(entry.path, 0) | WRITES
        for rule in self._rules:
            wanted = WRITES if rule.kind == "write" else READ
            for path, what in paths.items():
                if what & wanted and rule.matches(path):
                    self._add(seen, rule, path, True)
            self._moved(seen, rule, touched.trees)
            if touched.overflow or self._sandbox.watcher is None:
                self._add(seen, rule, "", False)
            elif not sees_all:
                self._blind(seen, rule, touched.blind, paths)
        for path in [entry.path for entry in delta.changes]:
            self._learn(path)
        return list(seen.values())

    def relearn(self, paths: Sequence[str]) -> None:
        """Know paths anew that the harness itself has put back."""
        for path in paths:
            self._learn(path)

    def _moved(self, seen: dict[tuple[str, str, str], Sighting], rule: Rule, trees: set[str]) -> None:
        """A folder that was moved to or from a place where constrained paths lie."""
        if rule.kind == "write":
            for tree in trees:
                path = path_text(os.fsencode(tree))
                if any(known.startswith(f"{path}/") and rule.matches(known) for known in self._known):
                    self._add(seen, rule, path, True)

    def _blind(
        self, seen: dict[tuple[str, str, str], Sighting], rule: Rule, blind: set[str], paths: dict[str, int]
    ) -> None:
        """Without whole-file-system events: new folders, and files changed through another name."""
        for folder in blind:
            path = path_text(os.fsencode(folder))
            if rule.could_match_below(path):
                self._add(seen, rule, path, False)
        if rule.kind == "write":
            for path, before in self._known.items():
                if path not in paths and rule.matches(path) and self._stamp(path) != before:
                    self._add(seen, rule, path, False)
                    self._learn(path)

    @staticmethod
    def _add(seen: dict[tuple[str, str, str], Sighting], rule: Rule, path: str, certain: bool) -> None:
        key = (rule.constraint, rule.kind, path)
        if key not in seen or (certain and not seen[key].certain):
            seen[key] = Sighting(rule.constraint, path, rule.kind, certain)

    def _learn(self, path: str) -> None:
        """Know a constrained file by its inode and change time from now on."""
        if not any(rule.matches(path) for rule in self._rules):
            return
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
