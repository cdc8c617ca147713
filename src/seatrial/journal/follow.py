"""Files that grow by lines while somebody follows them: journals under way, the index of a run."""

from pathlib import Path

import msgspec

from seatrial.journal.events import ActionRequested, Event


class LineFollower:
    """A file that grows by whole lines; each byte is read once. It need not be there yet."""

    def __init__(self, path: Path) -> None:
        self.path, self._offset = path, 0

    def look(self) -> list[bytes]:
        """Lines added since the last look, the oldest first; an unfinished one waits for the next look."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                *lines, torn = file.read().split(b"\n")
                self._offset = file.tell() - len(torn)
        except FileNotFoundError:
            return []
        return lines


class JournalFollower:
    """A journal that is being written: counts its steps and hands on lines of the kinds wanted.

    Kinds are told by how lines begin and nothing is checked: a damaged line is for ``read_journal`` to name.

    Args:
        path: of the journal.
        kinds: classes of events.

    Attributes:
        steps: requested so far.
    """

    def __init__(self, path: Path, *kinds: type[Event]) -> None:
        self._lines = LineFollower(path)
        self._wanted = tuple(_beginning(kind) for kind in kinds)
        self.steps = 0

    def look(self) -> list[bytes]:
        """Lines of the kinds wanted that were added since the last look."""
        lines = self._lines.look()
        self.steps += sum(line.startswith(_REQUESTED) for line in lines)
        return [line for line in lines if line.startswith(self._wanted)]


def _beginning(kind: type[msgspec.Struct]) -> bytes:
    return b'{"kind":%s' % msgspec.json.encode(kind.__struct_config__.tag)


_REQUESTED = _beginning(ActionRequested)
