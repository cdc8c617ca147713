"""Which paths can differ from what lies below, read from the overlay's upper layer alone."""

import os
import stat

from seatrial.journal.entries import State, path_bytes, path_text

_OPAQUE = ("trusted.overlay.opaque", "user.overlay.opaque")


def candidates(upper: str, below: State) -> set[str]:
    """Paths (as the file system has them) that the upper layer holds or hides.

    Args:
        upper: the overlay's upper folder; nothing may write to it meanwhile.
        below: the state that the lower layers show.
    """
    found: set[str] = set()
    hidden: list[str] = []
    pending = [""]
    while pending:
        at = pending.pop()
        with os.scandir(f"{upper}/{at}" if at else upper) as entries:
            for entry in entries:
                path = f"{at}/{entry.name}" if at else entry.name
                found.add(path)
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    pending.append(path)
                    if _is_opaque(f"{upper}/{path}"):
                        hidden.append(path)
                else:
                    hidden.append(path)
    return found | _below(hidden, below)


def _is_opaque(folder: str) -> bool:
    for name in _OPAQUE:
        try:
            if os.getxattr(folder, name, follow_symlinks=False) == b"y":
                return True
        except OSError:
            continue
    return False


def _below(hidden: list[str], below: State) -> set[str]:
    """What the lower layers hold under hidden paths (a whiteout, or a file where a folder was)."""
    folders = [path_text(os.fsencode(p)) for p in hidden]
    marks = tuple(f"{f}/" for f in folders if f in below and below[f].kind == "dir")
    return {os.fsdecode(path_bytes(p)) for p in below if p.startswith(marks)} if marks else set()
