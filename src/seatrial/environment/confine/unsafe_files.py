"""The file tools on a host without a sandbox: a child process of its own, standard library only.

Reads one JSON object from standard input: ``tool``, ``path`` as the agent named it, ``place`` where that
really is, and ``content``, ``old``, ``new`` in base64.
"""

import base64
import json
import os
import stat
import sys

FILE_LIMIT = 64 << 20


def read(place: str) -> bytes:
    """The content of a regular file, up to a limit; a FIFO must not be waited for."""
    with open(os.open(place, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("is not a regular file")
        return file.read(FILE_LIMIT)


def write(place: str, content: bytes) -> bytes:
    """Write a whole file, with the folders it needs."""
    os.makedirs(os.path.dirname(place), exist_ok=True)
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK, 0o644)
    with open(handle, "wb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("is not a regular file")
        os.ftruncate(handle, 0)
        file.write(content)
    return f"wrote {len(content)} bytes".encode()


def edit(place: str, old: bytes, new: bytes) -> bytes:
    """Replace a text that occurs exactly once."""
    text = read(place)
    found = text.count(old) if old else 0
    if found != 1:
        raise ValueError(f"the old text occurs {found} times; it must occur exactly once")
    if len(text) >= FILE_LIMIT:
        raise ValueError("is too large to be edited")
    write(place, text.replace(old, new))
    return b"edited"


def main() -> int:
    """Do what is asked; what went wrong goes to standard output, as inside a sandbox."""
    asked = json.load(sys.stdin)
    content, old, new = (base64.b64decode(asked[name]) for name in ("content", "old", "new"))
    try:
        if asked["tool"] == "read_file":
            answer = read(asked["place"])
        elif asked["tool"] == "write_file":
            answer = write(asked["place"], content)
        else:
            answer = edit(asked["place"], old, new)
    except (OSError, ValueError) as fault:
        said = fault.strerror if isinstance(fault, OSError) else str(fault)
        sys.stdout.buffer.write(f"{asked['path']}: {said}".encode(errors="replace"))
        return 1
    sys.stdout.buffer.write(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
