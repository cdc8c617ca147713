"""Reads the scripts that drive scripted agents, and every task's solutions."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from seatrial.errors import SpecError
from seatrial.spec.experiment import Script, Step
from seatrial.spec.faults import Source, check_range, choose, shown
from seatrial.spec.reading import Plain, convert, read_toml
from seatrial.spec.regexes import check_regex
from seatrial.spec.services import VERBS
from seatrial.spec.tools import TOOLS, check_tool

# Keys of a step that are not arguments of its tool.
STEERING = ("tool", "when_shown", "patience", "belief", "check")


def load_script(path: Path, services: Collection[str] | None = None) -> Script:
    """Read and check one script.

    Args:
        path: the file; errors name it so.
        services: those the task declares; null when the script is read without a task.

    Raises:
        SpecError: the first thing that is wrong with it.
    """
    source = Source(str(path))
    script = convert(source, gather(read_toml(path)), Script)
    for index, step in enumerate(script.step):
        check_step(source, f"step[{index}]", step, services)
    return script


def gather(plain: Plain) -> Plain:
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
        check_regex(source, f"{place}.when_shown", step.when_shown)
    if step.tool in TOOLS:
        _check_arguments(source, place, step)
    elif "." in step.tool:
        _check_verb_arguments(source, place, step)
    if step.check is not None:
        _check_check(source, f"{place}.check", step.check, services)


def _check_check(source: Source, place: str, check: dict[str, Any], services: Collection[str] | None) -> None:
    """A call that shows whether a step is done: checked like a step, with the pattern of what it shows."""
    shows = check.get("shows")
    if not isinstance(shows, str):
        raise source.fault(f"{place}.shows", "a check needs it", 'Add shows = "…", a regular expression')
    check_regex(source, f"{place}.shows", shows)
    call = {name: value for name, value in check.items() if name != "shows"}
    for name in (*STEERING[1:], "arguments"):
        if name in call:
            raise source.fault(f"{place}.{name}", "does not belong to a check", "Remove it")
    try:
        step = convert(source, gather_step(call), Step)
    except SpecError as fault:
        raise source.fault(f"{place}.{fault.place}", fault.problem, fault.remedy) from fault
    check_step(source, place, step, services)


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


def _check_verb_arguments(source: Source, place: str, step: Step) -> None:
    service, _, verb = step.tool.partition(".")
    known = VERBS[service][verb].arguments
    for name in sorted(step.arguments.keys() - known.keys()):
        raise source.fault(
            f"{place}.{name}", f"{shown(step.tool)} has no argument {shown(name)}",
            choose(name, known, f"an argument of {step.tool}"),
        )  # fmt: skip
    for name, argument in known.items():
        if argument.required and name not in step.arguments:
            raise source.fault(f"{place}.{name}", f"{shown(step.tool)} needs it", f"Add {name} = …")
