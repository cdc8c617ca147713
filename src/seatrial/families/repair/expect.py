"""Expected values: what the pristine package does, found in a child process outside any sandbox."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from seatrial.errors import SpecError
from seatrial.families.repair.judging.judge import BOOT, RUNTIME
from seatrial.families.repair.judging.observe import read_stream
from seatrial.families.repair.package import Pipeline

# Each under another order of sets; what differs between any two is no property of the package.
HASH_SEEDS = (0, 1, 2, 3)
SECONDS = 20
# A fault may loop or grow for ever; the shell sets bounds (KiB, seconds) before the child starts.
BOUNDED = ["sh", "-c", 'ulimit -v 2097152 -t 20; exec "$@"', "sh"]

Stream = dict[str, list[str]]
Expected = dict[str, list[str | None]]


def lay(files: Mapping[str, str], folder: Path) -> None:
    """Writes text files below a folder."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def environment(hash_seed: int) -> dict[str, str]:
    """All that a child is told: nothing of the caller's environment."""
    return {
        "PYTHONHASHSEED": str(hash_seed),
        "PATH": os.defpath,
        "LC_ALL": "C.UTF-8",
        "RUN": f"run-{hash_seed}",
    }


def observe(
    payload: Mapping[str, Any], view: Path, hash_seed: int = 0, seconds: int = SECONDS
) -> tuple[Stream, bool]:
    """Observations of the package that lies in a folder, and whether they are complete.

    ``-I`` would ignore the hash seed; ``-P -s -S`` and an environment of our own isolate as well.
    """
    nonce = f"observed-{hash_seed}"
    sent = json.dumps({**payload, "nonce": nonce, "runtime": RUNTIME.read_text(encoding="utf-8")})
    command = [*BOUNDED, sys.executable, "-P", "-s", "-S", "-B", "-c", BOOT]
    try:
        done = subprocess.run(
            command, input=sent.encode(), cwd=view, env=environment(hash_seed), capture_output=True,
            timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {}, False
    return read_stream(done.stdout, nonce)


def steady(payload: Mapping[str, Any], view: Path) -> tuple[Expected, int]:
    """Observations that agree under every hash seed and in every place, and how many do not.

    None stands where an observation does not.
    """
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        elsewhere = Path(name, "another", "place")
        shutil.copytree(view, elsewhere)
        places = [elsewhere if seed % 2 else view for seed in HASH_SEEDS]
        answers = list(pool.map(lambda place, seed: observe(payload, place, seed), places, HASH_SEEDS))
    if not all(complete for _, complete in answers):
        raise SpecError(
            str(payload.get("kind")), "", "the pristine package did not finish", "Leave that test out"
        )
    return agreeing([stream for stream, _ in answers])


def agreeing(streams: list[Stream]) -> tuple[Expected, int]:
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


def stage_payload(pipeline: Pipeline, index: int, files: Mapping[str, str]) -> dict[str, Any]:
    """The payload that runs one stage on given files."""
    stage = pipeline.stages[index]
    return {"kind": "stage", "module": stage.module, "inputs": [[path, files[path]] for path in stage.inputs]}


def run_pipeline(pipeline: Pipeline, data: Mapping[str, str], view: Path) -> dict[str, str]:
    """Runs the programs in order, as a person would, and returns the data with all products."""
    files = dict(data)
    for stage in pipeline.stages:
        lay({path: files[path] for path in stage.inputs}, view)
        command = [sys.executable, "-s", "-S", "-B", "-m", stage.module, *stage.inputs, stage.product]
        done = subprocess.run(
            command,
            cwd=view,
            env=environment(0),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode != 0:
            said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
            raise SpecError(
                stage.module, "", f"fails on the pristine package: {said}", "Correct the pipeline"
            )
        files[stage.product] = (view / stage.product).read_text(encoding="utf-8")
    return files
