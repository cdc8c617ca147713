"""What a watcher reports: which paths of the overlay were touched since it was last asked.

Two implementations: a fanotify mark on the whole file system (sees everything, also inside folders the same
command made), and inotify watches per folder (without root; blind for a moment in new folders).
"""

from dataclasses import dataclass, field
from typing import Protocol

# What happened to a path, as bits of our own. Opening a file for writing counts as a write: what is done
# through a mapping raises no event of its own.
WROTE, CREATED, REMOVED, ATTRIBUTES, OPENED_FOR_WRITING, READ = 1, 2, 4, 8, 16, 32
WRITES = WROTE | CREATED | REMOVED | ATTRIBUTES | OPENED_FOR_WRITING
CONTENT = WROTE | ATTRIBUTES | OPENED_FOR_WRITING


@dataclass
class Touched:
    """Everything seen in one window. Paths are relative to the overlay's root, as the file system has them.

    Attributes:
        paths: path to the bits of what happened to it.
        trees: folders that were moved here or away: all below them may have changed.
        inodes: handles of inodes that were touched without a name, or by one that is theirs no more
            (fanotify only).
        blind: folders made in this window, in which something may have gone unseen.
        lost: a file may have been written by a name that is gone (inotify only, which has no ``inodes``).
        overflow: events were lost: only a full scan tells.
    """

    paths: dict[str, int] = field(default_factory=dict)
    trees: set[str] = field(default_factory=set)
    inodes: set[bytes] = field(default_factory=set)
    blind: set[str] = field(default_factory=set)
    lost: bool = False
    overflow: bool = False

    def note(self, path: str, what: int) -> None:
        """Add to what happened to a path."""
        self.paths[path] = self.paths.get(path, 0) | what

    def __or__(self, later: "Touched") -> "Touched":
        """Two windows as one."""
        paths = {
            path: self.paths.get(path, 0) | later.paths.get(path, 0) for path in self.paths | later.paths
        }
        return Touched(
            paths=paths,
            trees=self.trees | later.trees,
            inodes=self.inodes | later.inodes,
            blind=self.blind | later.blind,
            lost=self.lost or later.lost,
            overflow=self.overflow or later.overflow,
        )

    @property
    def empty(self) -> bool:
        """Whether nothing at all was seen."""
        return not (self.paths or self.trees or self.inodes or self.blind or self.lost or self.overflow)


class Watcher(Protocol):
    """Follows one mounted overlay."""

    name: str
    descriptor: int
    sees_everything: bool

    def collect(self) -> None:
        """Move what the kernel has queued into memory; never blocks."""

    def take(self, quiet: bool) -> Touched:
        """Collect, then hand over what was seen since the last call.

        Args:
            quiet: no process is left that could hold a file open by a name it had.
        """

    def name_inode(self, path: str) -> None:
        """Report events on the inode that is at this path now under it, whichever name they come by."""

    def inode_number(self, handle: bytes) -> int | None:
        """The inode that a handle in ``Touched.inodes`` names, or null when it is gone."""

    def mute(self, muted: bool) -> None:
        """Leave out what the harness itself does to the overlay from now on."""

    def close(self) -> None:
        """Stop watching."""
