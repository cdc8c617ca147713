"""What a subgoal declares that it reads, and which part of a state that is.

``files:`` and rows of a ``service:`` count by bytes, ``db:`` by logical content, so that a VACUUM does not
expire a verdict. With nothing declared the whole state is seen, and any write expires the verdict.
"""

import os
import tempfile
from collections.abc import Iterable, Sequence

import msgspec

from seatrial.environment.state.fingerprint import Fingerprint
from seatrial.environment.state.providers import SIDE, SqliteProvider
from seatrial.journal.entries import ROOTS, SERVICES, Entry, State, is_row, path_bytes
from seatrial.journal.objects import ObjectStore
from seatrial.spec.patterns import DATABASE_COMPANIONS, Pattern, compile_pattern, split_read


class Reads:
    """A subgoal's declaration, compiled.

    Attributes:
        declared: as written.
        whole: nothing was declared: all of the state is read.
        services: names of the services it reads.
        databases: state paths of the databases it reads by content.
        roots: those of ``VIEWED`` that it can name, in their order; always ``workspace``.
    """

    def __init__(self, declared: Sequence[str]) -> None:
        self.declared = tuple(declared)
        self.whole = not declared
        split = [(text, *split_read(text)) for text in declared]
        self.services = [rest for _, kind, rest in split if kind == "service"]
        self._files: list[Pattern] = [compile_pattern(text) for text, kind, _ in split if kind == "files"]
        bases: list[Pattern] = [compile_pattern(text) for text, kind, _ in split if kind == "db"]
        self.databases = [pattern.literal for pattern in bases if pattern.literal is not None]
        self._owner = {path + end: path for path in self.databases for end in ("", *DATABASE_COMPANIONS)}
        named = {path.partition("/")[0] for path in self.databases}
        self.roots = tuple(
            root for root in ROOTS if root == "workspace" or root in named or self._names(root)
        )
        if self.services or self.whole:
            self.roots = (*self.roots, SERVICES)

    def _names(self, root: str) -> bool:
        return self.whole or any(p.matches(root) or p.could_match_below(root) for p in self._files)

    def by_bytes(self, path: str) -> bool:
        """Whether a state path is read as a file, or as a service's row."""
        if is_row(path):
            return self.whole or path.split("/", 2)[1] in self.services
        return self.whole or any(pattern.matches(path) for pattern in self._files)

    def database_of(self, path: str) -> str | None:
        """The declared database that a state path is part of."""
        return self._owner.get(path)


class Seen:
    """The part of a state that one declaration covers, kept up to date from changes.

    Attributes:
        reads: the declaration.
        entries: what is visible, as recorded; the view is made of it.
    """

    def __init__(self, reads: Reads, objects: ObjectStore) -> None:
        self.reads, self._objects = reads, objects
        self.entries: State = {}
        self._matched: dict[str, bool] = {}
        self._print = Fingerprint("reads")
        self._meanings: dict[tuple[str | None, ...], str | None] = {}

    def apply(self, changes: Iterable[Entry]) -> set[str]:
        """Take in changes of the state; returns the visible paths among them that moved."""
        touched, stale = set(), set()
        for entry in changes:
            if not self._covers(entry.path):
                continue
            if entry.kind == "absent":
                if self.entries.pop(entry.path, None) is None:
                    continue
            elif self.entries.get(entry.path) == entry:
                continue
            else:
                self.entries[entry.path] = entry
            touched.add(entry.path)
            if self._matched[entry.path]:
                self._print.set(entry.path, _as_bytes(self.entries.get(entry.path)))
            else:
                stale.add(self.reads.database_of(entry.path) or "")
        for database in stale:
            self._digest_database(database)
        return touched

    def become(self, state: State) -> set[str]:
        """Take in a whole state; returns the visible paths that moved."""
        gone = [Entry(path=path, kind="absent") for path in self.entries if path not in state]
        return self.apply([*gone, *state.values()])

    def digest(self) -> str:
        """Of everything visible; equal parts of states have equal digests, however they came about."""
        return self._print.value()

    def _covers(self, path: str) -> bool:
        known = self._matched.get(path)
        if known is None:
            known = self._matched[path] = self.reads.by_bytes(path)
        return known or self.reads.database_of(path) is not None

    def _digest_database(self, path: str) -> None:
        """A database counts as one entry with a meaning; without one its files count as what they are."""
        parts = {name: self.entries.get(name) for name in _names_of(path)}
        main = parts[path]
        meaning = self._meaning(path, parts) if main is not None and main.kind == "file" else None
        for name, entry in parts.items():
            if self._matched.get(name):
                continue
            shown = _as_bytes(entry)
            if meaning is not None and main is not None:
                shown = msgspec.structs.replace(main, logical=meaning) if name == path else None
            self._print.set(name, shown)

    def _meaning(self, path: str, parts: dict[str, Entry | None]) -> str | None:
        main = parts[path]
        if main is not None and main.logical not in (None, SIDE):
            return main.logical
        key = tuple(entry.digest if entry and entry.kind == "file" else None for entry in parts.values())
        if key not in self._meanings:
            self._meanings[key] = _logical_digest(path, parts, self._objects)
        return self._meanings[key]


def _names_of(path: str) -> list[str]:
    return [path, *(path + end for end in DATABASE_COMPANIONS)]


def _as_bytes(entry: Entry | None) -> Entry | None:
    return entry if entry is None or entry.logical is None else msgspec.structs.replace(entry, logical=None)


def _logical_digest(path: str, parts: dict[str, Entry | None], objects: ObjectStore) -> str | None:
    """Ask the provider about the recorded bytes, on a copy under a name of ours."""
    with tempfile.TemporaryDirectory(prefix="seatrial-db-") as folder:
        for name, entry in parts.items():
            if entry is not None and entry.kind == "file" and entry.digest is not None:
                copy = b"db" + path_bytes(name)[len(path_bytes(path)) :]
                with open(os.fsencode(folder) + b"/" + copy, "wb") as file:
                    file.write(objects.get(entry.digest))
        return SqliteProvider("db").digest(folder)


def reads_digest(entries: Iterable[Entry]) -> str:
    """Digest of entries by identity, as ``Seen.digest`` gives for entries read by their bytes."""
    total = Fingerprint("reads")
    for entry in entries:
        total.set(entry.path, _as_bytes(entry))
    return total.value()
