"""Reads the scripts that drive scripted agents, and every task's solutions."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from seatrial.spec.experiment import Script, Step
from seatrial.spec.faults import Source, check_range, choose, shown
from seatrial.spec.reading import Plain, convert, read_toml
from seatrial.spec.tools import TOOLS, check_tool

# Keys of a step that are not arguments of its tool.
STEERING = ("tool", "when_shown", "patience", "belief")


def load_script(path: Path, services: Collection[str] | None = None) -> Script:
    """Read and check one script.

    Args:
        path: the file; errors name it so.
        services: those the task declares; null when the script is read without a task.

    Raises:
        SpecError: the first thing that is wrong with it.
    """
    source = Source(str(path))
    script = convert(source, _gather(read_toml(path)), Script)
    for index, step in enumerate(script.step):
        check_step(source, f"step[{index}]", step, services)
    return script


def _gather(plain: Plain) -> Plain:
    """Collect the arguments of ``service.verb`` steps, whose names are the service's own."""
    steps = plain.get("step")
    if not isinstance(steps, list):
        return plain
    return {**plain, "step": [gather_step(step) for step in steps]}


def gather_step(step: Any) -> Any:
    """A step's table with the arguments of a ``service.verb`` under ``arguments``; others as they are."""
    if not isinstance(step, dict) or "." not in str(step.get("tool", "")):
        return step
    kept = {key: value for key, value in step.items() if key in STEERING}
    return {**kept, "arguments": {key: value for key, value in step.items() if key not in STEERING}}


def check_step(source: Source, place: str, step: Step, services: Collection[str] | None) -> None:
    """Check what the types of one step's keys do not say.

    Args:
        source: the file.
        place: key path of the step.
        step: as converted.
        services: those the task declares; null when it is not known.

    Raises:
        SpecError: the first thing that is wrong with it.
    """
    check_tool(source, f"{place}.tool", step.tool, services)
    check_range(source, f"{place}.confidence", step.confidence, 0, 1)
    check_range(source, f"{place}.patience", step.patience, 0, 86_400, "s")
    if step.when_shown is not None:
        try:
            re.compile(step.when_shown)
        except (re.error, RecursionError, OverflowError) as fault:
            raise source.fault(
                f"{place}.when_shown",
                f"{shown(step.when_shown)} is no regular expression: {fault}",
                "Correct it",
            ) from fault
    if step.tool in TOOLS:
        _check_arguments(source, place, step)


def _check_arguments(source: Source, place: str, step: Step) -> None:
    tool = TOOLS[step.tool]
    # An argument that is null was not written: TOML has no null.
    given = {
        name
        for name, value in msgspec.structs.asdict(step).items()
        if name not in STEERING and value not in (None, {})
    }
    for name in sorted(given - set(tool.arguments)):
        raise source.fault(
            f"{place}.{name}", f"{shown(step.tool)} has no argument {shown(name)}",
            choose(name, tool.arguments, f"an argument of {step.tool}"),
        )  # fmt: skip
    for name in tool.required:
        if name not in given:
            raise source.fault(f"{place}.{name}", f"{shown(step.tool)} needs it", f"Add {name} = …")
    if tool.any_of and not given:
        names = ", ".join(tool.any_of)
        raise source.fault(place, f"{shown(step.tool)} reports nothing", f"Add at least one of {names}")
