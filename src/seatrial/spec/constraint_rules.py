"""What a task's constraints must hold beyond the types of their keys."""

from collections.abc import Collection
from typing import Any

from seatrial.spec.conditions import ConditionError, compile_condition
from seatrial.spec.faults import Source, check_name, check_range, check_unique, choose, shown
from seatrial.spec.patterns import PatternError, compile_pattern, split_read
from seatrial.spec.task import Constraint, Task
from seatrial.spec.tools import arguments_of, check_tool

CALL_KEYS = ("tool", "where")


def check_constraints(source: Source, task: Task) -> None:
    """Check every constraint of a task.

    Raises:
        SpecError: the first rule that is broken.
    """
    check_unique(source, "constraint[{}].id", [constraint.id for constraint in task.constraint])
    for index, constraint in enumerate(task.constraint):
        place = f"constraint[{index}]"
        check_name(source, f"{place}.id", constraint.id)
        _check_severity(source, place, constraint)
        forbid = constraint.forbid
        if not (forbid.write or forbid.read or forbid.call):
            raise source.fault(f"{place}.forbid", "{} forbids nothing", "Name write, read or call")
        for key, patterns in (("write", forbid.write), ("read", forbid.read)):
            for position, text in enumerate(patterns):
                check_files_pattern(source, f"{place}.forbid.{key}[{position}]", text)
        for position, call in enumerate(forbid.call):
            check_call(source, f"{place}.forbid.call[{position}]", call, task.environment.services)


def _check_severity(source: Source, place: str, constraint: Constraint) -> None:
    place = f"{place}.severity"
    if constraint.kind == "hard" and constraint.severity is not None:
        raise source.fault(
            place, f"{shown(constraint.severity)} on a hard constraint, which nothing offsets",
            'Remove it, or write kind = "soft"',
        )  # fmt: skip
    if constraint.kind == "soft" and constraint.severity is None:
        raise source.fault(place, "a soft constraint needs its cost", "Write severity = 0.0 … 1.0")
    check_range(source, place, constraint.severity, 0, 1)


def check_files_pattern(source: Source, place: str, text: str) -> None:
    """Refuse anything but a ``files:`` pattern.

    Raises:
        SpecError: another prefix, or a pattern that means nothing.
    """
    try:
        kind, _ = split_read(text)
        if kind != "files":
            raise PatternError(f"{text!r} names no files", "Write files:PATTERN here")
        compile_pattern(text)
    except PatternError as fault:
        raise source.fault(place, fault.problem, fault.remedy) from fault


def check_call(
    source: Source, place: str, call: dict[str, Any], services: list[str],
    known: Collection[str] | None = None,
) -> None:  # fmt: skip
    """Check a table ``{ tool = …, where = { argument = condition } }``.

    Args:
        known: arguments that ``where`` may name, if not those of the tool.

    Raises:
        SpecError: an unknown key, tool, service or argument, or a condition that means nothing.
    """
    for key in call:
        if key not in CALL_KEYS:
            raise source.fault(
                f"{place}.{key}", f"unknown key {shown(key)}", choose(key, CALL_KEYS, "a known key")
            )
    tool, where = call.get("tool"), call.get("where", {})
    if not isinstance(tool, str):
        problem = "the key is missing" if tool is None else f"{shown(tool)} has the wrong type"
        raise source.fault(f"{place}.tool", problem, "Write the name of a tool")
    check_tool(source, f"{place}.tool", tool, services)
    if not isinstance(where, dict):
        raise source.fault(
            f"{place}.where", f"{shown(where)} has the wrong type", "Write a table of arguments"
        )
    known = arguments_of(tool) if known is None else known
    for argument, condition in where.items():
        if argument not in known:
            problem = f"{shown(tool)} has no argument {shown(argument)}"
            raise source.fault(f"{place}.where.{argument}", problem, choose(argument, known, "an argument"))
        try:
            compile_condition(condition)
        except ConditionError as fault:
            raise source.fault(f"{place}.where.{argument}", fault.problem, fault.remedy) from fault
