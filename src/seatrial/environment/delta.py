"""How one command ended, and what one window changed."""

import os
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from seatrial.environment.watching.touched import READ, Touched
from seatrial.journal.entries import Entry, State, path_text


@dataclass(frozen=True)
class Result:
    """How one command or file tool ended.

    Attributes:
        exit_code: as the shell would say: 128 + n for signal n; null when it could not be learned.
        output: what is shown: first and last part, with the omitted count between.
        timed_out: the time limit ended it.
        interrupted: it was ended by ``interrupt``.
        out_of_memory: the kernel killed a process of the sandbox for memory meanwhile.
        tool_us, cpu_us: wall and processor time.
        alive: processes left in the sandbox.
    """

    exit_code: int | None
    output: bytes
    timed_out: bool = False
    interrupted: bool = False
    out_of_memory: bool = False
    tool_us: int = 0
    cpu_us: int | None = None
    alive: int = 0

    def how_it_ended(self, seconds: float) -> str:
        """In words, for whoever wrote what was run within so many seconds."""
        if self.timed_out:
            return f"it was stopped after {seconds:g} seconds"
        return "its exit code is unknown" if self.exit_code is None else f"exit code {self.exit_code}"


@dataclass(frozen=True)
class Delta:
    """What one window changed.

    Attributes:
        changes: entries by path, ``absent`` for what is gone.
        touched: what the watcher saw, also of things undone since.
        fingerprint: of the state now.
        before: entries as they were, for changed paths that existed.
        reads_seen: whether this host shows reads.
    """

    changes: list[Entry]
    touched: Touched
    fingerprint: str
    before: State = field(default_factory=dict)
    reads_seen: bool = True

    def reads(self) -> list[str] | None:
        """Files of the state that were read in the window, sorted; null where reads cannot be seen."""
        if not self.reads_seen or self.touched.overflow:
            return None
        return sorted(path_text(os.fsencode(p)) for p, what in self.touched.paths.items() if what & READ)


def net(first: Delta, second: Delta) -> Delta:
    """Two windows as one: what the second put back is no change."""
    last = {entry.path: entry for entry in (*first.changes, *second.changes)}
    made = {entry.path for entry in first.changes if entry.path not in first.before}
    before = {**{p: e for p, e in second.before.items() if p not in made}, **first.before}
    kept = [entry for path, entry in sorted(last.items()) if not _same(before.get(path), entry)]
    return replace(first, changes=kept, fingerprint=second.fingerprint, before=before)


def joined(first: Delta, second: Delta) -> Delta:
    """Two windows of one action, each with its own changes, also those that the second took back."""
    last = {entry.path: entry for entry in (*first.changes, *second.changes)}
    return replace(
        second,
        changes=[last[path] for path in sorted(last)],
        touched=first.touched | second.touched,
        before={**second.before, **first.before},
        reads_seen=first.reads_seen and second.reads_seen,
    )


def without(delta: Delta, paths: Collection[str]) -> Delta:
    """A window without its changes of some paths, which somebody else has changed since."""
    changes = [entry for entry in delta.changes if entry.path not in paths]
    before = {path: entry for path, entry in delta.before.items() if path not in paths}
    return replace(delta, changes=changes, before=before)


def _same(before: Entry | None, after: Entry) -> bool:
    return after.kind == "absent" if before is None else before.identity() == after.identity()
