"""An independent look at a live tree, written without the code under test."""

import hashlib
import os
import sqlite3
import stat
import tempfile
from pathlib import Path

from blake3 import blake3

KINDS = {
    stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "link", stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
}  # fmt: skip
Facts = tuple[object, ...]


def text_of(raw: bytes) -> str:
    """UTF-8 where it is, every other byte and the percent sign as %XX."""
    out = []
    for char in raw.decode("utf-8", "surrogateescape"):
        number = ord(char)
        if 0xDC80 <= number <= 0xDCFF:
            out.append("%" + format(number - 0xDC00, "02X"))
        else:
            out.append("%25" if char == "%" else char)
    return "".join(out)


def walk(tree: str, upper: str, agent_uid: int, stable: bool) -> dict[str, Facts]:
    """Path to kind, mode, owner, digest, target, links, xattrs."""
    found: dict[str, list[object]] = {}
    inodes: dict[object, list[str]] = {}
    pending = [b""]
    root = os.fsencode(tree)
    while pending:
        folder = pending.pop()
        for name in os.listdir(root + b"/" + folder):
            path = folder + b"/" + name if folder else name
            full = root + b"/" + path
            status = os.lstat(full)
            kind = KINDS[stat.S_IFMT(status.st_mode)]
            text = text_of(path)
            if kind == "dir":
                pending.append(path)
            else:
                number: object = status.st_ino
                if not stable:
                    above = os.fsencode(upper) + b"/" + path
                    number = os.lstat(above).st_ino if os.path.lexists(above) else text
                inodes.setdefault(number, []).append(text)
            found[text] = _facts(full, kind, status, agent_uid)
    for names in inodes.values():
        if len(names) > 1:
            for name in names:
                found[name][5] = min(names)
    return {path: tuple(facts) for path, facts in found.items()}


def _facts(full: bytes, kind: str, status: os.stat_result, agent_uid: int) -> list[object]:
    digest = target = None
    xattrs = []
    if kind == "file":
        digest = blake3(Path(os.fsdecode(full)).read_bytes()).hexdigest()
    if kind == "link":
        target = text_of(os.readlink(full))
    else:
        for name in os.listxattr(full):
            if name.startswith("user.") and not name.startswith("user.overlay."):
                xattrs.append((text_of(os.fsencode(name)), os.getxattr(full, name).hex()))
    mode = 0 if kind == "link" else stat.S_IMODE(status.st_mode)
    owner = "agent" if status.st_uid == agent_uid else "base"
    return [kind, mode, owner, digest, target, None, tuple(sorted(xattrs))]


def meaning(tree: str, facts: dict[str, Facts], database: str) -> str:
    """One text for one state: a database counts by its dump, its side files not at all."""
    seen = dict(facts)
    for ending in ("-wal", "-shm", "-journal"):
        seen.pop(database + ending, None)
    if database in seen and seen[database][0] == "file":
        dump = _dump(tree, database)
        if dump is not None:
            seen[database] = (*seen[database][:3], dump, *seen[database][4:])
    return hashlib.sha256(repr(sorted(seen.items())).encode()).hexdigest()


def _dump(tree: str, database: str) -> str | None:
    with tempfile.TemporaryDirectory() as copy:
        for ending in ("", "-wal", "-journal"):
            source = Path(tree) / (database + ending)
            if source.is_file() and not source.is_symlink():
                (Path(copy) / ("x" + ending)).write_bytes(source.read_bytes())
        connection = sqlite3.connect(f"{copy}/x")
        try:
            schema = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
            tables = [name for kind, name, _ in schema if kind == "table"]
            rows = [sorted(map(repr, connection.execute(f'SELECT * FROM "{t}"'))) for t in tables]
            return repr((sorted(map(repr, schema)), sorted(zip(tables, rows, strict=True))))
        except sqlite3.Error:
            return None
        finally:
            connection.close()
