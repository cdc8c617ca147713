"""What an action changed, path by path: a unified diff for text, sizes for everything else."""

import difflib
from collections.abc import Iterable
from typing import Literal

import msgspec

from seatrial.journal.entries import Entry, State
from seatrial.journal.objects import ObjectStore

# Larger texts are told by their sizes: a diff of them takes seconds and nobody reads it.
DIFF_BYTES = 256 * 1024
CONTEXT_LINES = 2


class PathChange(msgspec.Struct, frozen=True, kw_only=True):
    """One changed path.

    Attributes:
        change: what happened to it; ``attributes`` is a new mode, owner, link group or extended attribute.
        before, after: size in bytes of a file's content; null where there is no file.
        diff: unified diff for text files; empty when the content is not text, is large, or is the same.
        note: mode, owner or target in words, where they changed.
        background: changed between actions rather than by one.
        actor: who changed it between actions: ``background`` (a process that runs on), ``environment`` (a
            perturbation) or ``harness``; null for what an action changed.
    """

    path: str
    kind: str
    change: Literal["added", "modified", "removed", "attributes"]
    before: int | None = None
    after: int | None = None
    diff: str = ""
    note: str = ""
    background: bool = False
    actor: str | None = None


def describe_changes(
    state: State, changes: Iterable[Entry], objects: ObjectStore, actor: str | None = None
) -> list[PathChange]:
    """Describe changes against the state they were made to, by path. The state is not touched.

    Args:
        state: before the changes.
        changes: what changed.
        objects: the run's.
        actor: who made them between actions; null for an action's own.
    """
    return [
        describe_change(state.get(change.path), change, objects, actor)
        for change in sorted(changes, key=lambda entry: entry.path)
    ]


def describe_change(
    before: Entry | None, change: Entry, objects: ObjectStore, actor: str | None
) -> PathChange:
    """Describe one changed path."""
    after = None if change.kind == "absent" else change
    same_content = before is not None and after is not None and content_of(before) == content_of(after)
    return PathChange(
        path=change.path,
        kind=after.kind if after is not None else (before.kind if before is not None else "absent"),
        change=what_happened(before, after, same_content),
        before=size_of(before),
        after=size_of(after),
        diff="" if same_content else text_diff(change.path, before, after, objects),
        note=attribute_note(before, after),
        background=actor is not None,
        actor=actor,
    )


def what_happened(
    before: Entry | None, after: Entry | None, same_content: bool
) -> Literal["added", "modified", "removed", "attributes"]:
    """The change in one word."""
    if after is None:
        return "removed"
    if before is None:
        return "added"
    return "attributes" if same_content else "modified"


def content_of(entry: Entry) -> tuple[object, ...]:
    """What makes two entries hold the same."""
    return (entry.kind, entry.digest, entry.target)


def size_of(entry: Entry | None) -> int | None:
    """Bytes of a file's content; null for anything else."""
    return entry.size if entry is not None and entry.kind == "file" else None


def attribute_note(before: Entry | None, after: Entry | None) -> str:
    """Mode, owner and link target in words where they matter."""
    if after is None:
        return ""
    notes = [f"-> {after.target}"] if after.kind == "link" else []
    if before is not None and before.mode != after.mode and after.kind != "link":
        notes.append(f"mode {before.mode:04o} to {after.mode:04o}")
    if before is not None and before.owner != after.owner:
        notes.append(f"owner {before.owner} to {after.owner}")
    if before is not None and before.links != after.links:
        notes.append("hard links changed")
    if before is not None and before.xattrs != after.xattrs:
        notes.append("extended attributes changed")
    return ", ".join(notes)


def text_diff(path: str, before: Entry | None, after: Entry | None, objects: ObjectStore) -> str:
    """Unified diff of two versions; empty unless both are small text."""
    old, new = text_of(before, objects), text_of(after, objects)
    if old is None or new is None:
        return ""
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), f"a/{path}", f"b/{path}", n=CONTEXT_LINES, lineterm=""
    )
    return "\n".join(lines)


def text_of(entry: Entry | None, objects: ObjectStore) -> str | None:
    """A file's text; empty when there is no file; null when it is large, binary, or not stored."""
    if entry is None or entry.kind != "file":
        return ""
    if entry.size > DIFF_BYTES or entry.digest is None or not objects.has(entry.digest):
        return None
    data = objects.get(entry.digest)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
