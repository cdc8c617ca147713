"""The verifiers of a repair task. Product code runs behind ``probe``; verdicts are made here, from bytes.

Called as ``judge FOLDER KIND NAME`` with the view as working directory; the record goes to descriptor 3.
It starts anew for every verdict, so it imports as little as it can.
"""

from __future__ import annotations

import json
import os
import stat
import sys

from .observe import content, read_stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Record = dict[str, Any]
    Stream = dict[str, list[str]]
    Ask = Callable[[Record], tuple[Stream, str]]

BOOT = (
    "import json, sys; p = json.loads(sys.stdin.buffer.read()); m = {'__name__': 'observe'}; "
    "exec(compile(p['runtime'], 'observe', 'exec'), m); m['main'](p)"
)
PYTHON = ["python3", "-I", "-S", "-B", "-c", BOOT]
SECONDS = 20
TIMED_OUT, REFUSED = 124, 125
MAX_PRODUCT = 4_000_000
NAMED = 5
RUNTIME = f"{os.path.dirname(os.path.abspath(__file__))}/observe.py"


def read_text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def run(command: list[str], sent: bytes) -> tuple[int, bytes, bytes]:
    """A command's exit code, output and error output.

    Files in memory stand for its streams: nothing can fill up, and ``subprocess`` is slow to import.
    """
    streams = [os.memfd_create(name) for name in ("in", "out", "err")]
    try:
        os.write(streams[0], sent)
        os.lseek(streams[0], 0, os.SEEK_SET)
        actions = [(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)]
        child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = [os.pread(stream, os.fstat(stream).st_size, 0) for stream in streams[1:]]
    finally:
        for stream in streams:
            os.close(stream)
    return code, said[0], said[1]


def ask(payload: Record) -> tuple[Stream, str]:
    """Observations of the product under one payload, and why they are incomplete (empty if they are not)."""
    nonce = os.urandom(8).hex()
    sent = json.dumps({**payload, "nonce": nonce, "runtime": read_text(RUNTIME)})
    code, output, errors = run(["probe", "--timeout", str(SECONDS), "--", *PYTHON], sent.encode())
    found, ended = read_stream(output, nonce)
    if ended:
        return found, ""
    if code == TIMED_OUT:
        return found, "timed out"
    note = (errors.decode("utf-8", "replace").splitlines() or [""])[-1]
    if code == REFUSED and note.startswith("probe: ") and "of output" not in note:
        # The probe did not run the product at all: that is for nobody to be judged by.
        raise RuntimeError(note)
    return found, f"ended early with code {code}"


def differing(expected: dict[str, list[str | None]], found: Stream) -> list[str]:
    """Tests whose observations are not the expected ones; None expects nothing in particular."""
    wrong = []
    for test, wanted in expected.items():
        got = found.get(test)
        if (
            got is None
            or len(got) != len(wanted)
            or any(want is not None and want != saw for want, saw in zip(wanted, got, strict=True))
        ):
            wrong.append(test)
    return wrong


def counted(expected: dict[str, list[str | None]]) -> int:
    return sum(each is not None for wanted in expected.values() for each in wanted)


def conclude(wrong: list[str], compared: int, why: str) -> Record:
    """A verdict with its evidence."""
    evidence: Record = {"observations_compared": compared, "differing": len(wrong)}
    if wrong:
        evidence["first_differing"] = wrong[:NAMED]
    if why:
        evidence["incomplete"] = why
    return {"verdict": "fail" if wrong or why else "pass", "evidence": evidence}


def focused(folder: str, name: str, view: str = ".", asked: Ask = ask) -> Record:
    """One function on inputs of our choice, and the upstream tests of its module."""
    payload = json.loads(read_text(f"{folder}/cases/{name}.json"))
    expected = json.loads(read_text(f"{folder}/expected/{name}.json"))
    found, why = asked(payload)
    return conclude(differing(expected, found), counted(expected), why)


def read_product(path: str) -> str | None:
    """A regular file's text; None for anything else (a link, a FIFO, a device, too much, not text)."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return None
    with open(handle, "rb") as file:
        data = file.read(MAX_PRODUCT + 1)
    try:
        return data.decode("utf-8") if len(data) <= MAX_PRODUCT else None
    except UnicodeDecodeError:
        return None


def product(folder: str, name: str, view: str = ".", asked: Ask = ask) -> Record:
    """One stage's product, by content."""
    expected = json.loads(read_text(f"{folder}/expected/{name}.json"))
    text = read_product(f"{view}/{expected['path']}")
    if text is None:
        return {"verdict": "fail", "evidence": {"product": "not a readable text file"}}
    wanted, got = expected["lines"], content(text)
    longest = max(len(wanted), len(got))
    wrong = [n for n in range(longest) if n >= len(wanted) or n >= len(got) or wanted[n] != got[n]]
    return conclude([f"line {n + 1}" for n in wrong], longest, "")


KINDS = {"focused": focused, "product": product}


def main(argv: list[str]) -> None:
    folder, kind, name = argv
    os.write(3, json.dumps(KINDS[kind](folder, name)).encode())


if __name__ == "__main__":
    main(sys.argv[1:])
