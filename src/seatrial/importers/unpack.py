"""Files out of gzip, tar and zip, in memory only: nothing of an archive is ever written to disk."""

import fnmatch
import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from seatrial.errors import SpecError
from seatrial.importers.request import Piece

# Bytes a source may have once it is unpacked: far beyond any table of results, and what memory can hold.
MOST_BYTES = 1 << 30
# Bytes of a gzip member that are read at first, and at most, at a time.
_FIRST_STEP, _LAST_STEP = 256, 1 << 20
_ZEROS = re.compile(rb"\0*")
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_TAR_MARK, _TAR_AT, _BLOCK = b"ustar", 257, 512
_WHOLE = "Get the file again: it is cut off or damaged"


def unpack(name: str, data: bytes, source: int, wanted: Sequence[str]) -> list[Piece]:
    """The files of one source; of an archive those whose name matches a pattern, in the archive's order.

    Args:
        name: of the source, without the place where it lies.
        data: its bytes; gzip, tar and zip are told by their content, not by their name.
        source: its number.
        wanted: patterns of file names, such as ``*.json``.

    Raises:
        SpecError: damaged, too large, a member that would leave the folder, or no member that is wanted.
    """
    if data.startswith(_GZIP):
        data = _gunzip(name, data)
    if data[_TAR_AT:].startswith(_TAR_MARK):
        members = list(_tar_members(name, data, wanted))
    elif data.startswith(_ZIP):
        members = list(_zip_members(name, data, wanted))
    else:
        return [Piece(name, name, data, source)]
    if not members:
        raise SpecError(name, "", f"holds no {' or '.join(wanted)}", "Give an archive that does")
    _refuse_twice(name, [path for path, _ in members])
    return [Piece(f"{name}/{path}", path, content, source) for path, content in members]


def _gunzip(name: str, data: bytes) -> bytes:
    """All members of a gzip file, one after another."""
    found, size, place = [], 0, 0
    view = memoryview(data)
    while place < len(data):
        reader, step = zlib.decompressobj(wbits=31), _FIRST_STEP
        while not reader.eof:
            if place == len(data):
                raise SpecError(name, f"byte {size} of its content", "the gzip data ends early", _WHOLE)
            # In growing steps, since what a short member leaves of a step is copied each time.
            fed = view[place : place + step]
            try:
                found.append(reader.decompress(fed, MOST_BYTES + 1 - size))
            except zlib.error as fault:
                raise SpecError(name, "", f"is no readable gzip data: {fault}", _WHOLE) from fault
            size, place, step = size + len(found[-1]), place + len(fed), min(2 * step, _LAST_STEP)
            if size > MOST_BYTES:
                raise _too_large(name)
        place -= len(reader.unused_data)
        # Padding with zeros after the last member is common, and no data.
        padding = _ZEROS.match(data, place)
        place = padding.end() if padding else place
    return b"".join(found)


def _tar_members(name: str, data: bytes, wanted: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    try:
        # The mode with a colon takes no compressed data: how large it may grow was checked before.
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            end = 0
            for member in archive:
                _refuse_escape(name, member.name)
                end = member.offset_data + (-(-member.size // _BLOCK) * _BLOCK if member.isreg() else 0)
                if not _is_wanted(member.name, wanted) or member.isdir():
                    continue
                if not member.isreg():
                    raise SpecError(name, member.name, "is a link or device, no file", "Pack the file itself")
                file = archive.extractfile(member)
                assert file is not None, "a regular member always has content"
                content = file.read()
                if len(content) < member.size:
                    raise SpecError(name, member.name, "the archive ends within it", _WHOLE)
                yield member.name, content
    except (tarfile.TarError, EOFError, ValueError) as fault:
        raise SpecError(name, "", f"is no readable tar archive: {fault}", _WHOLE) from fault
    # A whole archive ends with blocks of zeros; without them members may be missing unseen.
    if data[end : end + _BLOCK] != bytes(_BLOCK):
        raise SpecError(name, "", "the tar archive ends early", _WHOLE)


def _zip_members(name: str, data: bytes, wanted: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > MOST_BYTES:
                raise _too_large(name)
            for member in members:
                _refuse_escape(name, member.filename)
                if _is_wanted(member.filename, wanted) and not member.is_dir():
                    yield member.filename, archive.read(member)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as fault:
        raise SpecError(name, "", f"is no readable zip archive: {fault}", _WHOLE) from fault


def _is_wanted(path: str, wanted: Sequence[str]) -> bool:
    name = PurePosixPath(path).name
    # Archivers of macOS add a file of this name beside each one, with what is no part of its content.
    return not name.startswith("._") and any(fnmatch.fnmatchcase(name, pattern) for pattern in wanted)


def _refuse_escape(name: str, path: str) -> None:
    """Nothing is written to disk, but an archive with such names was not made to be read."""
    if path.startswith("/") or ".." in PurePosixPath(path).parts or "\\" in path:
        raise SpecError(name, path, "this name leaves the archive's folder", "Do not trust this archive")


def _refuse_twice(name: str, paths: Sequence[str]) -> None:
    seen: set[str] = set()
    for path in paths:
        if path in seen:
            raise SpecError(name, path, "is there twice", "Pack each file once")
        seen.add(path)


def _too_large(name: str) -> SpecError:
    return SpecError(
        name, "", f"holds more than {MOST_BYTES >> 20} MB", "Split it, or leave out what is not read"
    )
