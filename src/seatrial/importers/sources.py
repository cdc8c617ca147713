"""The edge where sources are read from disk, as bytes and names without the place where they lay."""

import fnmatch
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seatrial.errors import SpecError
from seatrial.importers.unpack import MOST_BYTES
from seatrial.spec.reading import read_bytes

_ENDINGS = (".gz", ".tar", ".tgz", ".zip", ".jsonl", ".json", ".csv", ".parquet")


@dataclass(frozen=True)
class SourceFile:
    """One file as given or found.

    Attributes:
        name: the file's name, or its path below a given folder, that folder's name first.
        group: number of the source on the command line, from 0.
    """

    name: str
    data: bytes
    group: int


def read_sources(paths: Sequence[Path], wanted: Sequence[str]) -> list[SourceFile]:
    """Read files, and of folders every file whose name matches a pattern.

    Raises:
        SpecError: a source is missing, given twice, too large, or a folder holds nothing that is wanted.
    """
    found: list[SourceFile] = []
    seen: dict[str, Path] = {}
    for group, path in enumerate(paths):
        real = os.path.realpath(path)
        if real in seen:
            raise SpecError(str(path), "", f"is given twice, before as {seen[real]}", "Give each source once")
        seen[real] = path
        if path.is_dir():
            found += _folder(path, group, wanted)
        else:
            found.append(SourceFile(path.name, read_bytes(path), group))
    return found


def _folder(folder: Path, group: int, wanted: Sequence[str]) -> list[SourceFile]:
    name = Path(os.path.realpath(folder)).name
    found, size = [], 0
    for path in _walk(folder):
        if any(fnmatch.fnmatchcase(path.name, pattern) for pattern in wanted):
            data = read_bytes(path)
            size += len(data)
            if size > MOST_BYTES:
                raise SpecError(str(folder), "", f"holds more than {MOST_BYTES >> 20} MB to read", "Split it")
            found.append(SourceFile(f"{name}/{path.relative_to(folder).as_posix()}", data, group))
    if not found:
        raise SpecError(str(folder), "", f"holds no {' or '.join(wanted)}", "Give a folder that does")
    return found


def _walk(folder: Path) -> list[Path]:
    """Regular files below a folder, by path; links are not followed out of it."""
    found = []
    for at, names, files in os.walk(folder):
        names.sort()
        found += [Path(at, file) for file in sorted(files) if not Path(at, file).is_symlink()]
    return found


def label_of(name: str) -> str:
    """A source's name without folders below it and without its endings."""
    label = name.split("/")[0]
    while any(label.endswith(ending) and label != ending for ending in _ENDINGS):
        label = label.rpartition(".")[0]
    return label
