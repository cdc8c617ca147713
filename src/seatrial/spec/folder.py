"""A task's folder as frozen: every file by relative path, and paths that must not leave it."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from seatrial.errors import SpecError
from seatrial.journal.digest import digest_bytes
from seatrial.spec.faults import Source, shown

# Relative path to (digest of the bytes, mode). Modes are those git keeps, so that two checkouts agree:
# 0o644 or 0o755 for a file; for a symlink S_IFLNK | 0o777, with the digest of its target.
FileMap = dict[str, tuple[str, int]]

LINK_MODE = stat.S_IFLNK | 0o777
# Made by running or keeping the task, never part of it; below `keep` they belong to the agent's world.
LEFT_OUT = {"__pycache__", ".git"}


def scan_folder(folder: Path, keep: str | None = None) -> FileMap:
    """Every file below a folder, sorted by path; links are kept as links. Empty folders leave no trace.

    Args:
        folder: the folder.
        keep: relative path of a part in which nothing is left out.

    Raises:
        SpecError: a link leaves the folder, a name is not UTF-8, or something is neither file nor folder
            or cannot be read.
    """
    root = os.path.realpath(folder)
    return {relative: _entry(folder, root, relative) for relative in sorted(_walk(folder, "", keep))}


def _walk(folder: Path, inside: str, keep: str | None) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder / inside), key=lambda entry: entry.name)
    except OSError as fault:
        raise SpecError(
            str(folder / inside), "", f"cannot be listed: {fault.strerror}", "Check it"
        ) from fault
    for entry in entries:
        relative = f"{inside}/{entry.name}" if inside else entry.name
        kept = keep is not None and (relative == keep or relative.startswith(f"{keep}/"))
        if not entry.is_dir(follow_symlinks=False):
            yield relative
        elif kept or entry.name not in LEFT_OUT:
            yield from _walk(folder, relative, keep)


def _entry(folder: Path, root: str, relative: str) -> tuple[str, int]:
    path = folder / relative
    name = os.fsencode(relative)
    try:
        name.decode()
    except UnicodeDecodeError:
        raise SpecError(str(folder), "", f"the file name {name!r} is not UTF-8", "Rename the file") from None
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        target = os.readlink(path)
        if os.path.isabs(target) or not _within(root, os.path.realpath(path)):
            raise SpecError(
                str(path),
                "",
                f"the link leads out of the folder, to {shown(target)}",
                "Copy what it points to",
            )
    elif not stat.S_ISREG(mode):
        raise SpecError(str(path), "", "is neither a file, a folder nor a link", "Remove it")
    bits = LINK_MODE if stat.S_ISLNK(mode) else 0o755 if mode & 0o111 else 0o644
    return digest_bytes(content(folder, relative)), bits


def content(folder: Path, relative: str) -> bytes:
    """The bytes a file map's digest is of: a file's content, or a link's target.

    Raises:
        SpecError: it cannot be read.
    """
    path = folder / relative
    try:
        return os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
    except OSError as fault:
        raise SpecError(
            str(path), "", f"cannot be read: {fault.strerror}", "Check its permissions"
        ) from fault


def _within(root: str, path: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def resolve_inside(source: Source, place: str, folder: Path, relative: str) -> Path:
    """The path that a key of a file names, which must lie in the file's folder.

    Args:
        source: the file.
        place: the key.
        folder: what the path is relative to and must not leave.
        relative: as written.

    Raises:
        SpecError: it is empty, absolute, or leaves the folder by ``..`` or by a symlink.
    """
    if not relative.strip() or "\0" in relative:
        raise source.fault(place, f"{shown(relative)} is no path", "Name a file of the task's folder")
    if os.path.isabs(relative) or os.path.normpath(relative).split("/")[0] == "..":
        raise source.fault(
            place, f"{shown(relative)} lies outside {folder}", "Name a path inside it, relative to it"
        )
    path = folder / relative
    if not _within(os.path.realpath(folder), os.path.realpath(path)):
        raise source.fault(
            place, f"{shown(relative)} leads out of {folder} by a link", "Copy the file into the folder"
        )
    return path


def need_file(source: Source, place: str, folder: Path, relative: str) -> Path:
    """Like ``resolve_inside``, and it must be an existing regular file under its plain name.

    Plain, so that the path as written is its key in the file map.

    Raises:
        SpecError: as above, or there is no such file, or it is named in a roundabout way.
    """
    path = resolve_inside(source, place, folder, relative)
    if not os.path.isfile(path):
        what = "is no file" if os.path.lexists(path) else "does not exist"
        raise source.fault(place, f"{shown(relative)} {what} in {folder}", "Create it or correct the path")
    if LEFT_OUT & set(relative.split("/")):
        raise source.fault(place, f"{shown(relative)} is left out of the task", "Move it to another folder")
    plain = os.path.relpath(os.path.realpath(path), os.path.realpath(folder))
    if plain != relative:
        raise source.fault(place, f"{shown(relative)} is not the file's own name", f"Write {shown(plain)}")
    return path
