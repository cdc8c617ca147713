"""Work that was taken back: "done, then undone" differs from "never done" (E3, C1)."""

from collections import Counter
from collections.abc import Iterable, Mapping

from seatrial.journal.entries import Entry
from seatrial.measure.deeds import Deed, Drift

# Files here are means, not work: clearing them away takes nothing back.
SCRATCH = frozenset({"tmp", "var-tmp", "shm"})
Version = tuple[object, ...] | None


class _Path:
    """One path's course: the version it was reset to, then one for each change.

    Attributes:
        restores: for each version, whether the agent brought it about by other means than moving the file.
    """

    def __init__(self, base: Version) -> None:
        self.versions, self.restores = [base], [False]

    def taken_back(self) -> list[bool]:
        """For each version: whether the agent later returned to one before it, and it does not stand.

        Returning past it, to a version older than the one before, takes it back too.
        """
        first: dict[Version, int] = {}
        for index, version in enumerate(self.versions):
            first.setdefault(version, index)
        found = [False] * len(self.versions)
        oldest = len(self.versions)
        for index in reversed(range(1, len(self.versions))):
            stands = self.versions[index] == self.versions[-1]
            found[index] = oldest < index and not stands
            if self.restores[index]:
                oldest = min(oldest, first[self.versions[index]])
        return found


def undone_steps(course: Iterable[Deed | Drift], base: Mapping[str, Entry]) -> list[int] | None:
    """Steps of actions all of whose files the agent later put back as they were; nothing of them stands.

    As they were: content, mode, owner and kind of before the action, or of a still earlier time. Put back by
    background processes or by the harness is not taken back. A file moved away is not taken back either: its
    content stands at another path. Folders and files in scratch places are not looked at.

    Args:
        course: actions and what happened between them.
        base: the proven reset, by path.

    Returns:
        Null when an action never finished, since it may have put anything back.
    """
    paths: dict[str, _Path] = {}
    current: dict[str, Entry] = {}
    contents: Counter[str] = Counter()
    written: dict[int, list[tuple[str, int]]] = {}
    for move in course:
        if isinstance(move, Deed) and move.finished is None and not move.talk:
            return None
        before = {entry.path: current.get(entry.path, base.get(entry.path)) for entry in move.changes}
        work = [entry for entry in move.changes if is_work(before[entry.path], entry)]
        for entry in work:
            contents.subtract(content_of(current.get(entry.path)))
            contents.update(content_of(entry))
            current[entry.path] = entry
        places = []
        for entry in work:
            was, path = before[entry.path], paths.get(entry.path)
            if path is None:
                path = paths[entry.path] = _Path(version_of(was))
            if version_of(entry) != path.versions[-1]:
                moved = entry.kind == "absent" and any(contents[digest] > 0 for digest in content_of(was))
                path.versions.append(version_of(entry))
                path.restores.append(isinstance(move, Deed) and not moved)
                places.append((entry.path, len(path.versions) - 1))
        if isinstance(move, Deed) and places:
            written[move.step] = places
    back = {name: path.taken_back() for name, path in paths.items()}
    return [step for step, places in written.items() if all(back[name][index] for name, index in places)]


def is_work(before: Entry | None, after: Entry) -> bool:
    """Whether a change is of a file, or of what is no folder, outside of scratch places."""
    kinds = {after.kind, "absent" if before is None else before.kind}
    return not kinds <= {"dir", "absent"} and after.path.split("/", 1)[0] not in SCRATCH


def version_of(entry: Entry | None) -> Version:
    """All that tells one state of a path from another; null where it is absent."""
    if entry is None or entry.kind == "absent":
        return None
    _, *rest, xattrs = entry.identity()
    return (*rest, repr(xattrs))


def content_of(entry: Entry | None) -> list[str]:
    """Digest of a file's content, if there is any."""
    return [entry.digest] if entry is not None and entry.digest is not None and entry.size > 0 else []
