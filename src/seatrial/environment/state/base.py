"""The base of an environment: what every trial of a task starts from, indexed once and then only read."""

import os
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec

from seatrial.environment.state.below import Below
from seatrial.environment.state.look import look
from seatrial.environment.state.providers import SIDE, StateProvider
from seatrial.errors import EnvironmentFault, SpecError
from seatrial.journal.entries import ROOTS, Entry, State, digest_entries
from seatrial.journal.objects import ObjectStore

_STICKY = {"tmp", "var-tmp", "shm"}
Signature = tuple[int, int, int, int, int]


@dataclass
class Base:
    """An indexed base folder.

    Attributes:
        folder: holds one folder per root; never written after indexing.
        digest: of what the entries say; equal bases have equal digests whenever they were laid out.
        listing: object that holds the list of entries.
        inodes: inode number to path, for all but folders (a base has no hard links).
        signatures: what stat says of each path, to prove later that nothing moved.
        databases: of the services whose rows are part of the state: file name to digest.
    """

    folder: str
    digest: str
    state: State
    listing: str = ""
    inodes: dict[int, str] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)
    databases: dict[str, str] = field(default_factory=dict)

    @cached_property
    def below(self) -> Below:
        """The paths by folder."""
        return Below(self.state)

    def give_meaning(self, providers: Sequence[StateProvider]) -> None:
        """Let databases count by their logical content from the start."""
        for provider in providers:
            entry = self.state.get(provider.path)
            if entry is not None and entry.kind == "file" and entry.logical is None:
                meaning = provider.digest(self.folder)
                self.state[provider.path] = msgspec.structs.replace(entry, logical=meaning)
            for side in provider.sides:
                if side in self.state and self.state[side].kind == "file":
                    self.state[side] = msgspec.structs.replace(self.state[side], logical=SIDE)

    @cached_property
    def folders(self) -> list[str]:
        """Paths of all folders, root-relative, sorted."""
        return sorted(path for path, entry in self.state.items() if entry.kind == "dir")


def lay_out(files: Path | None, folder: Path, uid: int | None) -> None:
    """Copy a task's files into a new base folder.

    Hard links become files of their own: the overlay cannot keep links between base files once one of
    them is written.

    Args:
        files: becomes /workspace; null for an empty one.
        folder: new folder to fill.
        uid: owner of everything inside (root mode); null keeps the caller's.

    Raises:
        SpecError: the files hold a socket or a device, or cannot be read.
    """
    folder.mkdir(parents=True)
    for root in ROOTS:
        place = folder / root
        if root == "workspace" and files is not None:
            _copy(files, place)
        else:
            place.mkdir()
        place.chmod(0o1777 if root in _STICKY else 0o755)
    if uid is not None:
        for path in [folder, *folder.rglob("*")]:
            os.lchown(path, uid, uid)


def _copy(source: Path, target: Path) -> None:
    for path in source.rglob("*"):
        mode = path.lstat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
            raise SpecError(str(path), "", "is neither a file, a folder nor a symlink", "Remove it")
    try:
        shutil.copytree(source, target, symlinks=True)
    except (OSError, shutil.Error) as fault:
        raise SpecError(str(source), "", f"cannot be copied: {fault}", "Make every file readable") from fault


def index_base(
    folder: str, objects: ObjectStore, agent_uid: int, providers: Sequence[StateProvider] = (),
    rows: State | None = None, databases: dict[str, str] | None = None,
) -> Base:  # fmt: skip
    """Read a laid-out base once: entries, blobs, inode numbers.

    Args:
        folder: as ``lay_out`` left it.
        objects: where contents and the listing go.
        agent_uid: the uid that counts as the agent's.
        providers: databases that count by their logical content.
        rows: of services, with the bytes stored.
        databases: that hold the rows.

    Raises:
        EnvironmentFault: it cannot be read, or changes meanwhile.
    """
    state: State = dict(rows or {})
    base = Base(folder, "", state, databases=dict(databases or {}))
    for path in _walk(folder):
        seen = look(folder, path, agent_uid, objects)
        if seen is None:
            raise EnvironmentFault(f"base changed while it was read: {path}.")
        state[seen.entry.path] = seen.entry
        if seen.entry.kind != "dir":
            base.inodes[seen.inode] = seen.entry.path
        base.signatures[path] = _signature(f"{folder}/{path}")
    base.give_meaning(providers)
    listing = msgspec.json.encode([state[path] for path in sorted(state)])
    base.listing = objects.put(listing)
    base.digest = digest_entries(state.values())
    return base


def _walk(folder: str) -> list[str]:
    found, pending = [], [""]
    while pending:
        at = pending.pop()
        with os.scandir(f"{folder}/{at}" if at else folder) as entries:
            for entry in entries:
                path = f"{at}/{entry.name}" if at else entry.name
                found.append(path)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(path)
    return sorted(found)


def _signature(path: str) -> Signature:
    found = os.lstat(path)
    return (found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def prove_untouched(base: Base) -> None:
    """Compare every path of the base with what stat said when it was indexed.

    Raises:
        EnvironmentFault: something was changed, added or removed; the base must not be used again.
    """
    paths = _walk(base.folder)
    if len(paths) != len(base.signatures):
        raise EnvironmentFault(
            f"the base holds {len(paths)} paths instead of {len(base.signatures)}. Build it anew."
        )
    for path in paths:
        if base.signatures.get(path) != _signature(f"{base.folder}/{path}"):
            raise EnvironmentFault(f"the base was changed at {path}. Build it anew.")


def plain_entries(state: State) -> list[Entry]:
    """Entries sorted by path."""
    return [state[path] for path in sorted(state)]
