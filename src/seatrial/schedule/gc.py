"""What a run takes on disk, and which of it nothing refers to any more.

An object is kept when anything that is kept holds its name: the manifest, the index, a journal, a derived
file, or another object that is kept. Names are looked for in the bytes, whatever they mean there, so that a
kind of reference this release does not know keeps its object as well.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from seatrial.environment.state.overlay import remove_tree
from seatrial.journal.run import RunFolder
from seatrial.schedule.leftovers import stale_scratch

PARTS = {
    "trials": "journals",
    "objects": "objects",
    "verdicts": "verdicts",
    "scratch": "scratch",
    "report": "report",
}
OTHER = "other"
_DIGEST_DIGITS = 64
_NAME = re.compile(rb"[0-9a-f]{64,}")
_SHELF, _REST = re.compile(r"[0-9a-f]{2}"), re.compile(r"[0-9a-f]{62}")
_UNFINISHED = ".tmp"
_PIECE = 1 << 20
# Bytes of a disk block as stat counts them, whatever the file system's own are.
_BLOCK = 512


@dataclass(frozen=True)
class Garbage:
    """What can be deleted.

    Attributes:
        objects: unreachable ones, by name.
        unfinished: objects that a killed process began to write.
        scratch: what killed processes left in the scratch folder.
        bytes: on disk, all together.
    """

    objects: list[str] = field(default_factory=list)
    unfinished: list[Path] = field(default_factory=list)
    scratch: list[Path] = field(default_factory=list)
    bytes: int = 0


def disk_use(folder: Path) -> dict[str, int]:
    """Bytes on disk by part of a run: journals, objects, verdicts, scratch, report, other."""
    use = dict.fromkeys([*PARTS.values(), OTHER], 0)
    for entry in folder.iterdir():
        use[PARTS.get(entry.name, OTHER)] += size_on_disk(entry)
    return use


def size_on_disk(path: Path) -> int:
    """Bytes on disk of a file, or of a folder with all below it; a file of several names counts once."""
    seen: dict[tuple[int, int], int] = {}
    pending = [os.fspath(path)]
    while pending:
        at = pending.pop()
        try:
            found = os.lstat(at)
            seen[found.st_dev, found.st_ino] = found.st_blocks * _BLOCK
            if os.path.isdir(at) and not os.path.islink(at):
                pending += [entry.path for entry in os.scandir(at)]
        except FileNotFoundError:
            continue
    return sum(seen.values())


def find_garbage(run: RunFolder) -> Garbage:
    """Look for what nothing refers to; hold the run's lock, or what is being written looks like garbage.

    Raises:
        OSError: a file cannot be read. What it refers to is not known, so nothing may be deleted.
    """
    stored = dict(_stored(run))
    kept = _reachable(run, set(stored))
    objects = sorted(set(stored) - kept)
    unfinished = sorted(Path(run.objects.folder).glob(f"**/*{_UNFINISHED}"))
    scratch = sorted(stale_scratch(run.folder / "scratch"))
    paths = [*(stored[name] for name in objects), *unfinished, *scratch]
    return Garbage(objects, unfinished, scratch, sum(map(size_on_disk, paths)))


def delete(run: RunFolder, garbage: Garbage) -> None:
    """Delete what ``find_garbage`` found, under the same lock."""
    for name in garbage.objects:
        os.unlink(run.objects.path(name))
    for path in garbage.unfinished:
        path.unlink()
    for path in garbage.scratch:
        remove_tree(str(path))


def _stored(run: RunFolder) -> Iterator[tuple[str, Path]]:
    """Every object by name; other files in the store are left alone."""
    store = Path(run.objects.folder)
    for shelf in store.iterdir() if store.is_dir() else ():
        if _SHELF.fullmatch(shelf.name) and shelf.is_dir():
            for path in shelf.iterdir():
                if _REST.fullmatch(path.name):
                    yield shelf.name + path.name, path


def _reachable(run: RunFolder, stored: set[str]) -> set[str]:
    """Objects named by a file outside the store, or by an object so named."""
    kept = set[str]()
    pending = list(_roots(run))
    while pending:
        new = set(_names_in(pending.pop(), stored)) - kept
        kept |= new
        pending += [Path(run.objects.path(name)) for name in new]
    return kept


def _roots(run: RunFolder) -> Iterator[Path]:
    """Files that may name objects: all but the store, and of scratch only the bases' own listings."""
    for entry in run.folder.iterdir():
        if entry.name == "scratch":
            yield from entry.glob("bases/*.index")
        elif entry.name != "objects":
            yield from _files(entry)


def _files(path: Path) -> Iterable[Path]:
    return (found for found in (path, *path.rglob("*")) if found.is_file())


def _names_in(path: Path, stored: set[str]) -> Iterator[str]:
    """Every name of an object in a file, which is read in pieces; in a long run of digits at any place."""
    tail = b""
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            data = tail + piece
            for match in _NAME.finditer(data):
                digits = match.group().decode()
                for at in range(len(digits) - _DIGEST_DIGITS + 1):
                    if (name := digits[at : at + _DIGEST_DIGITS]) in stored:
                        yield name
            tail = data[-(_DIGEST_DIGITS - 1) :]
