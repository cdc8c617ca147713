"""Answers of a package of our own, found quickly: one interpreter, a fork for every question.

Nothing an agent made ever runs here. What is found is proved once more with the verifiers themselves.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from seatrial.environment.scratch import scratch_folder
from seatrial.errors import EnvironmentFault, SpecError
from seatrial.families.repair.judging.judge import RUNTIME, read_text
from seatrial.families.repair.judging.observe import read_stream

SERVER = Path(__file__).with_name("bench_server.py")
SCRATCH = "seatrial-repair-"
# Each under another order of sets; what differs between any two is no property of the package.
HASH_SEEDS = (0, 1, 2)
# Of processor time for one question; the pristine package needs a tenth of it.
CPU_SECONDS = 0.3

Stream = dict[str, list[str]]
Expected = dict[str, list[str | None]]
Patch = tuple[str, str]


def lay(files: Mapping[str, str], folder: Path) -> None:
    """Writes text files below a folder."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def environment(hash_seed: int, scratch: Path) -> dict[str, str]:
    """All that a child is told: nothing of the caller's environment.

    Args:
        hash_seed: orders its sets.
        scratch: for its temporary files; whoever owns it also removes what a child that was killed left.
    """
    seed = str(hash_seed)
    return {"PYTHONHASHSEED": seed, "PATH": os.defpath, "LC_ALL": "C.UTF-8", "TMPDIR": str(scratch)}


class Server:
    """One interpreter with the package in it.

    Args:
        view: folder with the files of the package, and of programs. Beside it the child keeps temporary
            files.
        modules: what is imported once and may be patched for a question.
        hash_seed: orders its sets.
        seconds: of processor time for one question.
    """

    def __init__(
        self, view: Path, modules: Iterable[str], hash_seed: int, seconds: float = CPU_SECONDS
    ) -> None:
        self._seconds = seconds
        self._nonce = f"observed-{hash_seed}"
        # ``-I`` would ignore the hash seed; ``-P -s -S`` and an environment of our own isolate as well.
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-s", "-S", "-B", str(SERVER)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env=environment(hash_seed, view.parent),
        )  # fmt: skip
        self._send({"view": str(view), "modules": list(modules), "runtime": read_text(RUNTIME)})

    def close(self) -> None:
        """Ends the child."""
        assert self._child.stdin is not None and self._child.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.close()
        self._child.stdout.close()
        self._child.wait()

    def observe(self, payload: Mapping[str, Any], patches: Sequence[Patch] = ()) -> tuple[Stream, bool]:
        """Observations under a payload, and whether they are complete."""
        said = self._ask({"payload": {**payload, "nonce": self._nonce}, "patches": patches})
        return read_stream(said.encode(), self._nonce)

    def programs(
        self,
        files: Mapping[str, str],
        runs: Sequence[tuple[str, Sequence[str]]],
        patches: Sequence[Patch] = (),
    ) -> dict[str, str | None]:
        """Runs programs in order; what each wrote, by path, None where it failed.

        Args:
            files: what they read, by path.
            runs: module and arguments of each, the product last.
            patches: other functions in the place of the package's.
        """
        said = self._ask({"files": files, "runs": runs, "patches": patches})
        made: dict[str, str | None] = json.loads(said) if said else {}
        return made

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(message) + "\n")
        self._child.stdin.flush()

    def _ask(self, job: Mapping[str, Any]) -> str:
        assert self._child.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._send({**job, "seconds": self._seconds})
        line = self._child.stdout.readline()
        if not line:
            raise EnvironmentFault("the interpreter that tries the package out ended. Generate again")
        said = json.loads(line)
        assert isinstance(said, str)
        return said


class Bench:
    """A package in several interpreters, which differ in what must not matter: hash seed and place.

    Args:
        files: the package's files and programs, by path.
        modules: see ``Server``.
    """

    def __init__(self, files: Mapping[str, str], modules: Sequence[str]) -> None:
        self._open = contextlib.ExitStack()
        folder = self._open.enter_context(scratch_folder(SCRATCH))
        places = [folder / name for name in ("view", "another/place")]
        lay(files, places[0])
        shutil.copytree(places[0], places[1])
        self._servers = [Server(places[seed % 2], modules, seed) for seed in HASH_SEEDS]
        self.first = self._servers[0]

    def __enter__(self) -> "Bench":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.close()
        self._open.close()

    def steady(self, payload: Mapping[str, Any]) -> tuple[Expected, int]:
        """Observations that agree in every interpreter, and how many do not; None stands for these.

        Raises:
            SpecError: the package did not come to the end.
        """
        answers = [server.observe(payload) for server in self._servers]
        if not all(complete for _, complete in answers):
            raise SpecError(
                str(payload.get("kind")), "", "the pristine package did not finish", "Leave that test out"
            )
        return agreeing([stream for stream, _ in answers])


def agreeing(streams: Sequence[Stream]) -> tuple[Expected, int]:
    """What several streams have in common; a test whose observations differ in number is left out."""
    expected: Expected = {}
    dropped = 0
    for test, seen in streams[0].items():
        others = [stream.get(test, []) for stream in streams]
        if any(len(other) != len(seen) for other in others):
            dropped += len(seen)
            continue
        rows = zip(*others, strict=True)
        expected[test] = [row[0] if len(set(row)) == 1 else None for row in rows]
        dropped += expected[test].count(None)
    return expected, dropped
