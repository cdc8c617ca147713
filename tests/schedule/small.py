"""A small real experiment: one subgoal, scripts of shell commands, a trial in about a second."""

import glob
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.waiting import until

COMMAND = [sys.executable, "-c", "from seatrial.cli.main import main; main()"]
TASK = """
schema = "seatrial/task@1"
id = "small/{name}"
version = "1.0.0"
[environment]
files = "environment/"
limits = {{ memory_mb = 512, processes = 64, seconds_per_action = 120 }}
[budget]
actions = 100
[[goal]]
version = 1
instruction = "instruction.md"
[[subgoal]]
id = "done"
verifier = "verifiers/done.sh"
reads = ["files:**"]
"""
DONE = "echo yes > done"


def experiment(
    folder: Path,
    scripts: Mapping[str, Sequence[str]],
    repeats: int = 1,
    tasks: Sequence[str] = ("one",),
    head: str = "",
) -> Path:
    """Write tasks and an experiment file.

    Args:
        scripts: shell commands by the name of the system that gives them; ``finish`` follows.
        head: more lines for the experiment.

    Returns:
        The experiment file.
    """
    for name in tasks:
        _task(folder / "tasks" / name, name, scripts)
    systems = "".join(
        f'[[system]]\nname = "{system}"\nagent = "scripted"\nscript = "solutions/{system}.toml"\n'
        for system in scripts
    )
    path = folder / "experiment.toml"
    path.write_text(
        f'schema = "seatrial/experiment@1"\nname = "small"\ntasks = ["tasks/*"]\n'
        f"trials_per_task = {repeats}\nseed = 7\nfinal_verdicts = 1\n{head}\n{systems}"
    )
    return path


def _task(folder: Path, name: str, scripts: Mapping[str, Sequence[str]]) -> None:
    for part in ("environment", "verifiers", "solutions"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "task.toml").write_text(TASK.format(name=name))
    (folder / "instruction.md").write_text("Write yes to the file done.\n")
    (folder / "environment" / "start.txt").write_text(f"{name}\n")
    verifier = folder / "verifiers" / "done.sh"
    verifier.write_text('#!/bin/sh\nif [ "$(cat done)" = yes ]; then echo pass >&3; else echo fail >&3; fi\n')
    verifier.chmod(0o755)
    for system, commands in scripts.items():
        steps = "".join(f"[[step]]\ntool = \"shell\"\ncommand = '''{each}'''\n" for each in commands)
        (folder / "solutions" / f"{system}.toml").write_text(f'{steps}[[step]]\ntool = "finish"\n')


def start(file: Path, run: Path, *options: str) -> subprocess.Popen[str]:
    """``seatrial run`` in a session of its own."""
    return subprocess.Popen(
        [*COMMAND, "run", str(file), "-o", str(run), *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def ask_twice(runner: subprocess.Popen[str], number: signal.Signals) -> None:
    """Ask a run to stop, and again when it has heard that: two at once are one to the kernel."""
    assert runner.stdout is not None
    runner.send_signal(number)
    while "it was asked to stop" not in (line := runner.stdout.readline()):
        assert line, "it ended by itself"
    runner.send_signal(number)


def seatrial(*words: str, status: int = 0) -> str:
    """Run a command to its end; returns what it printed on both streams."""
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def go_on(file: Path, run: Path, *options: str, status: int = 0) -> str:
    """``seatrial run`` to its end."""
    return seatrial("run", str(file), "-o", str(run), *options, status=status)


def shown(run: Path) -> list[dict[str, Any]]:
    """What ``seatrial show`` says of the trials."""
    done = subprocess.run([*COMMAND, "show", str(run), "--json"], capture_output=True, text=True, check=True)
    trials: list[dict[str, Any]] = json.loads(done.stdout)["trials"]
    return trials


def plan(run: Path) -> list[str]:
    """Names of the planned trials, in the plan's order."""
    return [cell["trial"] for cell in json.loads((run / "manifest.json").read_bytes())["plan"]]


def journals(run: Path) -> dict[str, bytes]:
    """Every journal's bytes by its path inside the run, which may be under way."""
    found = glob.glob("trials/*/*/journal.jsonl", root_dir=run)
    return {path: (run / path).read_bytes() for path in found}


def lines(path: Path) -> list[bytes]:
    """The whole lines of a file that may not be there."""
    return path.read_bytes().split(b"\n")[:-1] if os.path.exists(path) else []


def await_steps(run: Path, count: int, journals: int = 1) -> None:
    """Wait until so many journals of first attempts hold so many requests each."""

    def are_there() -> bool:
        found = [Path(path).read_bytes() for path in glob.glob(f"{run}/trials/*/1/journal.jsonl")]
        return sum(data.count(b'{"kind":"action.requested"') >= count for data in found) >= journals

    until(are_there, f"{journals} journals with {count} requests")
