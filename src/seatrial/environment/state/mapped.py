"""Files that living processes have mapped shared and writable: stores to them raise no event."""

import os
from dataclasses import dataclass, field

from seatrial.environment.confine.inside import descendants
from seatrial.journal.entries import ROOTS

_INSIDE = sorted(((os.fsencode(path), os.fsencode(root)) for root, path in ROOTS.items()), reverse=True)
_GONE = b" (deleted)"
_LONGEST_NAME = 255


@dataclass
class Mapped:
    """What is mapped ``rw-s`` now.

    Attributes:
        paths: root-relative, as the file system has them; a name may be gone by now.
        inodes: their numbers, which also tell of other names of the same file.
    """

    paths: set[str] = field(default_factory=set)
    inodes: set[int] = field(default_factory=set)

    def __or__(self, other: "Mapped") -> "Mapped":
        return Mapped(self.paths | other.paths, self.inodes | other.inodes)


def writable_mappings(first_pid: int) -> Mapped:
    """Everything mapped shared and writable by any descendant of a process.

    Args:
        first_pid: the sandbox's outermost process, as this process sees it.
    """
    found = Mapped()
    for pid in descendants(first_pid):
        try:
            with open(f"/proc/{pid}/maps", "rb") as file:
                for line in file:
                    fields = line.rstrip(b"\n").split(None, 5)
                    if len(fields) == 6 and fields[1] == b"rw-s":
                        found.inodes.add(int(fields[4]))
                        found.paths |= _relative(fields[5])
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def _relative(path: bytes) -> set[str]:
    """Every path that this line can mean: only newlines are escaped, so an escape may also be literal."""
    found = set()
    for text in {path, path.removesuffix(_GONE)}:
        for inside, root in _INSIDE:
            # Seen from outside the sandbox's mounts the path begins at the overlay's root.
            for start in (inside, b"/" + root):
                if text.startswith(start + b"/") and len(text.rpartition(b"/")[2]) <= _LONGEST_NAME:
                    tail = root + text[len(start) :]
                    found |= {os.fsdecode(tail), os.fsdecode(tail.replace(b"\\012", b"\n"))}
    return found
