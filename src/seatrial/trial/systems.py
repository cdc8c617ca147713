"""Turns a frozen system into the program its agent's process runs."""

import stat
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from seatrial.agents import simulated
from seatrial.agents.chat import chat_program
from seatrial.agents.process import AgentProgram
from seatrial.errors import SpecError
from seatrial.journal.run import Manifest, RunFolder, TaskFrozen
from seatrial.spec.chat import ChatOptions
from seatrial.spec.experiment import Script
from seatrial.spec.faults import Source
from seatrial.spec.frozen import frozen_task
from seatrial.spec.plan_file import PLAN_FILE, read_plan
from seatrial.spec.scripts import gather
from seatrial.spec.simulated import SimulatedOptions, agent_config

SIMULATED_FOLDER = Path(simulated.__file__).parent
SIMULATED_CODE = f"{SIMULATED_FOLDER.name}:{simulated.SimulatedAgent.__name__}"


def agent_program(run: RunFolder, manifest: Manifest, task: TaskFrozen, system: str) -> AgentProgram:
    """What to start for a system on a task.

    Raises:
        SpecError: an agent kind that this release cannot run.
    """
    frozen = manifest.systems[system]
    kind = frozen["agent"]
    if kind == "scripted":
        return AgentProgram(None, _script(run, task, frozen["script"]))
    if kind == "simulated":
        return AgentProgram(
            SIMULATED_CODE,
            _simulated_config(run, task, frozen["options"]),
            {
                f"{SIMULATED_FOLDER.name}/{file.name}": file.read_bytes()
                for file in SIMULATED_FOLDER.glob("*.py")
            },
        )
    if kind == "python":
        files = {
            relative: run.objects.get(digest)
            for relative, (digest, mode) in frozen["files"].items()
            if not stat.S_ISLNK(mode)
        }
        return AgentProgram(frozen["code"], dict(frozen.get("options") or {}), files)
    if kind == "chat":
        return chat_program(msgspec.convert(frozen["options"], ChatOptions))
    raise SpecError(
        manifest.name,
        f"system {system!r}",
        f"agents of kind {kind!r} cannot be run yet",
        "Use scripted, simulated, python or chat",
    )


def _simulated_config(run: RunFolder, task: TaskFrozen, options: dict[str, Any]) -> dict[str, Any]:
    """The knobs and the steps of the task's plan."""
    plain = tomllib.loads(run.objects.get(task.files[PLAN_FILE][0]).decode())
    plan = read_plan(Source(PLAN_FILE), plain)
    return agent_config(msgspec.convert(options, SimulatedOptions), frozen_task(task, run.folder), plan)


def _script(run: RunFolder, task: TaskFrozen, path: str) -> dict[str, Any]:
    """A script as plain data."""
    plain = tomllib.loads(run.objects.get(task.files[path][0]).decode())
    script = msgspec.convert(gather(plain), Script)
    steps = [
        {
            "tool": step.tool,
            "arguments": step.call(),
            "when_shown": step.when_shown,
            "patience": step.patience,
            "belief": step.belief,
            "check": step.check and _check(step.check),
        }
        for step in script.step
    ]
    return {"steps": steps, "retry": script.retry}


def _check(check: dict[str, Any]) -> dict[str, Any]:
    """A step's check: a call, and the pattern of what it shows once the step is done."""
    call = {name: value for name, value in check.items() if name not in ("tool", "shows")}
    return {"tool": check["tool"], "arguments": call, "shows": check["shows"]}
