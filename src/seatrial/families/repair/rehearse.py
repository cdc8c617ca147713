"""Plays scripts and verifiers of a fresh task on this machine, before any agent has touched it."""

import json
import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from seatrial.errors import SpecError, VerifierFault
from seatrial.families.repair.expect import environment
from seatrial.spec.patterns import compile_pattern

PROBE = Path(__file__).with_name("local_probe.py")
SECONDS = 120


@contextmanager
def commands() -> Iterator[str]:
    """A PATH on which ``probe`` is the one without walls and ``python3`` is this interpreter."""
    with TemporaryDirectory() as name:
        python = shlex.quote(sys.executable)
        for command, line in {
            "python3": python,
            "probe": f"{python} -I -S -B {shlex.quote(str(PROBE))}",
        }.items():
            path = Path(name, command)
            path.write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding="utf-8")
            path.chmod(0o755)
        yield f"{name}:{os.defpath}"


def play(script: Path, workspace: Path, path: str) -> None:
    """Applies a script's steps that change files.

    Raises:
        SpecError: an edit does not fit, or a command fails.
    """
    for index, step in enumerate(tomllib.loads(script.read_text(encoding="utf-8"))["step"]):
        place = f"step[{index}]"
        if step["tool"] == "edit_file":
            target = workspace / step["path"]
            text = target.read_text(encoding="utf-8")
            if text.count(step["old"]) != 1:
                raise SpecError(
                    str(script), place, f"`old` occurs {text.count(step['old'])} times", "Correct the edit"
                )
            target.write_text(text.replace(step["old"], step["new"]), encoding="utf-8")
        elif step["tool"] == "write_file":
            target = workspace / step["path"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(step["content"], encoding="utf-8")
        elif step["tool"] == "shell":
            _shell(step["command"], workspace, path, f"{script}: {place}")


def _shell(command: str, workspace: Path, path: str, place: str) -> None:
    """Run one of our own commands with a home of its own: it must not touch the caller's."""
    home = workspace.with_name(f"{workspace.name}-home")
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        ["bash", "-c", command], cwd=workspace, env={**environment(0), "PATH": path, "HOME": str(home)},
        timeout=SECONDS, capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()[-300:]
        raise SpecError(place, "", f"the command fails with {done.returncode}: {said}", "Correct it")


def view_of(workspace: Path, reads: list[str], view: Path) -> None:
    """Copies what a verifier declares it reads."""
    patterns = [compile_pattern(text) for text in reads]
    for path in sorted(workspace.rglob("*")):
        inside = path.relative_to(workspace)
        if path.is_file() and any(pattern.matches(f"workspace/{inside.as_posix()}") for pattern in patterns):
            target = view / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())


def verdict(task: Path, subgoal: Mapping[str, Any], workspace: Path, path: str) -> dict[str, Any]:
    """One verifier's record.

    Raises:
        VerifierFault: it did not give one.
    """
    with TemporaryDirectory() as name:
        view, record = Path(name, "view"), Path(name, "record")
        view.mkdir()
        view_of(workspace, subgoal["reads"], view)
        verifier = task.resolve() / subgoal["verifier"]
        done = subprocess.run(
            ["bash", "-c", 'exec "$0" 3>"$1"', str(verifier), str(record)], cwd=view, env={"PATH": path},
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise VerifierFault(f"{verifier} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        found = json.loads(record.read_text(encoding="utf-8"))
        assert isinstance(found, dict)
        return found


def verdicts(task: Path, workspace: Path, path: str, only: str = "") -> dict[str, dict[str, Any]]:
    """The records of subgoals on a workspace: all, or those whose id begins with a text."""
    nodes = tomllib.loads((task / "task.toml").read_text(encoding="utf-8"))["subgoal"]
    return {node["id"]: verdict(task, node, workspace, path) for node in nodes if node["id"].startswith(only)}
