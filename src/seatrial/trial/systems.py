"""Turns a frozen system into the program its agent's process runs."""

import stat
import tomllib
from typing import Any

import msgspec

from seatrial.agents.process import AgentProgram
from seatrial.errors import SpecError
from seatrial.journal.run import Manifest, RunFolder, TaskFrozen
from seatrial.spec.experiment import Script


def agent_program(run: RunFolder, manifest: Manifest, task: TaskFrozen, system: str) -> AgentProgram:
    """What to start for a system on a task.

    Raises:
        SpecError: an agent kind that this release cannot run.
    """
    frozen = manifest.systems[system]
    kind = frozen["agent"]
    if kind == "scripted":
        return AgentProgram(None, {"steps": _steps(run, task, frozen["script"])})
    if kind == "python":
        files = {
            relative: run.objects.get(digest)
            for relative, (digest, mode) in frozen["files"].items()
            if not stat.S_ISLNK(mode)
        }
        return AgentProgram(frozen["code"], dict(frozen.get("options") or {}), files)
    raise SpecError(
        manifest.name,
        f"system {system!r}",
        f"agents of kind {kind!r} cannot be run yet",
        "Use scripted or python",
    )


def _steps(run: RunFolder, task: TaskFrozen, script: str) -> list[dict[str, Any]]:
    """A script's steps as plain data."""
    plain = tomllib.loads(run.objects.get(task.files[script][0]).decode())
    return [
        {
            "tool": step.tool,
            "arguments": step.call(),
            "when_shown": step.when_shown,
            "patience": step.patience,
            "belief": step.belief,
        }
        for step in msgspec.convert(plain, Script).step
    ]
