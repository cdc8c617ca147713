"""The verifiers of a repair task. Product code runs behind ``probe``; verdicts are made here, from bytes.

Called as ``judge FOLDER KIND NAME`` with the view as working directory; the record goes to descriptor 3.
"""

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from .observe import content, read_stream

BOOT = (
    "import json, sys; p = json.loads(sys.stdin.buffer.read()); m = {'__name__': 'observe'}; "
    "exec(compile(p['runtime'], 'observe', 'exec'), m); m['main'](p)"
)
PYTHON = ["python3", "-I", "-S", "-B", "-c", BOOT]
SECONDS = 20
AT_ONCE = 2
TIMED_OUT, REFUSED = 124, 125
MAX_PRODUCT = 4_000_000
NAMED = 5
RUNTIME = Path(__file__).with_name("observe.py")

Record = dict[str, Any]


def ask(payload: dict[str, Any]) -> tuple[dict[str, list[str]], str]:
    """Observations of the product under one payload, and why they are incomplete (empty if they are not)."""
    nonce = os.urandom(8).hex()
    sent = json.dumps({**payload, "nonce": nonce, "runtime": RUNTIME.read_text("utf-8")})
    command = ["probe", "--timeout", str(SECONDS), "--", *PYTHON]
    done = subprocess.run(command, input=sent.encode(), capture_output=True)
    found, ended = read_stream(done.stdout, nonce)
    if ended:
        return found, ""
    if done.returncode == TIMED_OUT:
        return found, "timed out"
    note = (done.stderr.decode("utf-8", "replace").splitlines() or [""])[-1]
    if done.returncode == REFUSED and note.startswith("probe: ") and "of output" not in note:
        # The probe did not run the product at all: that is for nobody to be judged by.
        raise RuntimeError(note)
    return found, f"ended early with code {done.returncode}"


def ask_all(payloads: list[Record]) -> list[tuple[dict[str, list[str]], str]]:
    """The answers to several payloads, two probes at a time.

    Plain threads: importing an executor costs as much as a probe.
    """
    answers: dict[int, tuple[dict[str, list[str]], str]] = {}

    def work(first: int) -> None:
        for index in range(first, len(payloads), AT_ONCE):
            answers[index] = ask(payloads[index])

    threads = [threading.Thread(target=work, args=(first,)) for first in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # A thread that failed left a gap: the verifier ends with an error, without a record.
    return [answers[index] for index in range(len(payloads))]


def differing(expected: dict[str, list[str | None]], found: dict[str, list[str]]) -> list[str]:
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


def conclude(wrong: list[str], compared: int, why: list[str]) -> Record:
    """A verdict with its evidence."""
    evidence: Record = {"observations_compared": compared, "differing": len(wrong)}
    if wrong:
        evidence["first_differing"] = wrong[:NAMED]
    if why:
        evidence["incomplete"] = why
    return {"verdict": "fail" if wrong or why else "pass", "evidence": evidence}


def focused(folder: Path, name: str) -> Record:
    """One function on inputs of our choice."""
    payload = json.loads((folder / "cases" / f"{name}.json").read_text("utf-8"))
    expected = json.loads((folder / "expected" / f"{name}.json").read_text("utf-8"))
    found, why = ask({"kind": "cases", **payload})
    wrong = differing(expected, found)
    return conclude(wrong, counted(expected), [why] if why else [])


def read_product(path: Path) -> str | None:
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


def product(folder: Path, name: str) -> Record:
    """One stage's product, by content."""
    expected = json.loads((folder / "expected" / f"{name}.json").read_text("utf-8"))
    text = read_product(Path(expected["path"]))
    if text is None:
        return {"verdict": "fail", "evidence": {"product": "not a readable text file"}}
    wanted, got = expected["lines"], content(text)
    longest = max(len(wanted), len(got))
    wrong = [n for n in range(longest) if n >= len(wanted) or n >= len(got) or wanted[n] != got[n]]
    return conclude([f"line {n + 1}" for n in wrong], longest, [])


def final(folder: Path, name: str) -> Record:
    """The package's whole suite, and the pipeline's programs on other data."""
    jobs = json.loads((folder / "expected" / f"{name}.json").read_text("utf-8"))
    payloads = [json.loads((folder / "cases" / f"{job['name']}.json").read_text("utf-8")) for job in jobs]
    answers = ask_all(payloads)
    wrong, whys, compared = [], [], 0
    for job, (found, why) in zip(jobs, answers, strict=True):
        wrong += [f"{job['name']}::{test}" for test in differing(job["expected"], found)]
        whys += [f"{job['name']} {why}"] if why else []
        compared += counted(job["expected"])
    return conclude(wrong, compared, whys)


def main(argv: list[str]) -> None:
    folder, kind, name = argv
    record = {"focused": focused, "product": product, "final": final}[kind](Path(folder), name)
    os.write(3, json.dumps(record).encode())


if __name__ == "__main__":
    main(sys.argv[1:])
