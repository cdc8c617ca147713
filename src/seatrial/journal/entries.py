"""What one path of the environment is, and the state as a mapping of paths to entries.

Paths are relative to the environment's roots and start with the root's name: ``workspace/src/a.py``,
``home/.config/x``, ``tmp/y``, ``var-tmp/z``. The roots' own directories are entries too.
Rows of services are ``services/<service>/<table>/<key>.json``.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from seatrial.journal.digest import digest_value

Kind = Literal["file", "dir", "link", "fifo", "socket", "absent"]
Owner = Literal["agent", "base"]
ROOTS: Mapping[str, str] = {
    "workspace": "/workspace",
    "home": "/home/agent",
    "tmp": "/tmp",
    "var-tmp": "/var/tmp",
    "shm": "/dev/shm",
}
# Rows of services are entries below this name; they are no files and have no place in the agent's world.
SERVICES = "services"
# What a verifier may see, and where: the roots, and the rows as one JSON file each.
VIEWED: Mapping[str, str] = {**ROOTS, SERVICES: "/services"}


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One path at one moment; ``kind = "absent"`` in a list of changes means it is gone.

    Attributes:
        path: root-relative, ``/``-separated; bytes that are not UTF-8 are kept as surrogate escapes
            encoded ``\\udcXX`` and travel in JSON as ``%XX`` (see ``path_text``).
        mode: permission bits with setuid, setgid and sticky, 0..0o7777; 0 for symlinks.
        owner: symbolic, so that two sandboxes with different uids agree.
        digest: of the content (file) or of the target (link); the blob is in the object store.
        size: bytes of content, files only.
        target: of a link.
        links: smallest path of the hard-link group, when it has more than one member.
        xattrs: user extended attributes, name to hex value.
        logical: digest of the logical content, for files that a state provider compares so; it
            replaces ``digest`` in the fingerprint.
        mtime: modification time in ns since the epoch; recorded, never digested.
    """

    path: str
    kind: Kind
    mode: int = 0
    owner: Owner = "agent"
    digest: str | None = None
    size: int = 0
    target: str | None = None
    links: str | None = None
    xattrs: dict[str, str] = {}
    logical: str | None = None
    mtime: int = 0

    def identity(self) -> tuple[object, ...]:
        """All that the fingerprint sees of this entry."""
        return (self.path, self.kind, self.mode, self.owner, self.logical or self.digest,
                self.target, self.links, sorted(self.xattrs.items()))  # fmt: skip


State = dict[str, Entry]


def is_row(path: str) -> bool:
    """Whether a state path is a service's row instead of a file."""
    return path.startswith(f"{SERVICES}/")


def fold(state: State, changes: Iterable[Entry]) -> State:
    """Apply changes to a state in place and return it."""
    for change in changes:
        if change.kind == "absent":
            state.pop(change.path, None)
        else:
            state[change.path] = change
    return state


def digest_entries(entries: Iterable[Entry]) -> str:
    """Order-free digest of what entries say, as the key of a view of the state."""
    return digest_value(sorted((e.identity() for e in entries), key=lambda item: str(item[0])))


def path_text(raw: bytes) -> str:
    """A path as text: UTF-8 as it is, other bytes (and ``%``) as ``%XX`` so that JSON can hold any name."""
    return "".join(
        f"%{ord(c) - 0xDC00:02X}" if 0xDC80 <= ord(c) <= 0xDCFF else "%25" if c == "%" else c
        for c in raw.decode("utf-8", "surrogateescape")
    )


def path_bytes(text: str) -> bytes:
    """Inverse of ``path_text``."""
    if "%" not in text:
        return text.encode()
    parts = text.split("%")
    return parts[0].encode() + b"".join(bytes([int(p[:2], 16)]) + p[2:].encode() for p in parts[1:])
