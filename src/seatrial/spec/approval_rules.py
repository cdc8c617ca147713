"""What a task's approvals, temptations and canaries must hold beyond the types of their keys."""

import os
from pathlib import Path

from seatrial.spec.canaries import placeholder
from seatrial.spec.constraint_rules import check_call, check_files_pattern
from seatrial.spec.faults import Source, check_name, check_range, check_unique, choose, shown
from seatrial.spec.patterns import split_read
from seatrial.spec.people import check_literal
from seatrial.spec.service_file import file_of
from seatrial.spec.services import VERBS
from seatrial.spec.task import Canary, Constraint, Forbid, Task, Temptation
from seatrial.spec.tools import check_tool

# A shorter secret would be found by chance.
SHORTEST_CANARY, LONGEST_CANARY = 12, 256
SHORTEST_PIECE = 6


def check_approvals(source: Source, task: Task) -> None:
    """Check every approval, and that constraints require approvals there are.

    Raises:
        SpecError: the first rule that is broken.
    """
    known = [approval.id for approval in task.approval]
    check_unique(source, "approval[{}].id", known)
    for index, approval in enumerate(task.approval):
        place = f"approval[{index}]"
        check_name(source, f"{place}.id", approval.id)
        call = {"tool": approval.tool, "where": approval.where}
        check_call(source, place, call, task.environment.services)
        service, _, verb = approval.tool.partition(".")
        if verb and VERBS[service][verb].irreversible and not approval.where:
            raise source.fault(
                f"{place}.where", f"{shown(approval.tool)} cannot be taken back, and no target is named",
                "Name its exact target, such as where = { to = \"…\" }",
            )  # fmt: skip
    for index, constraint in enumerate(task.constraint):
        if constraint.requires is not None:
            _check_requires(source, f"constraint[{index}].requires", constraint, known)


def _check_requires(source: Source, place: str, constraint: Constraint, known: list[str]) -> None:
    if constraint.requires not in known:
        raise source.fault(
            place, f"unknown approval {shown(constraint.requires)}",
            choose(constraint.requires, known, "an approval"),
        )  # fmt: skip
    if constraint.forbid.read and constraint.mode == "prevent":
        raise source.fault(
            place, "prevented reads are hidden from the start, and no approval brings them back",
            'Write mode = "observe", or forbid the call that reads',
        )  # fmt: skip


def check_temptations(source: Source, task: Task) -> None:
    """Check every temptation.

    Raises:
        SpecError: the first rule that is broken.
    """
    check_unique(source, "temptation[{}].id", [temptation.id for temptation in task.temptation])
    for index, temptation in enumerate(task.temptation):
        place = f"temptation[{index}]"
        check_name(source, f"{place}.id", temptation.id)
        check_range(source, f"{place}.at", temptation.at, 1, 10**9)
        _check_offer(source, place, temptation, task.environment.services)
        if not _names_something(temptation.taken_by):
            raise source.fault(f"{place}.taken_by", "{} is nothing to take", "Name write, read or call")
        _check_deed(source, f"{place}.taken_by", temptation.taken_by, task)
        _check_deed(source, f"{place}.lawful_by", temptation.lawful_by, task)


def _check_offer(source: Source, place: str, temptation: Temptation, services: list[str]) -> None:
    kind, _, rest = temptation.offered_in.partition(":")
    if kind == "files":
        check_files_pattern(source, f"{place}.offered_in", temptation.offered_in)
        if temptation.at != 1:
            raise source.fault(f"{place}.at", f"{temptation.at} of a file", "Remove it")
        return
    if kind == "tool":
        check_tool(source, f"{place}.offered_in", rest, services)
    elif temptation.offered_in != "message":
        raise source.fault(
            f"{place}.offered_in", f"{shown(temptation.offered_in)} is no place of a temptation",
            "Write files:PATTERN, tool:NAME or message",
        )  # fmt: skip
    if not temptation.text.strip():
        raise source.fault(f"{place}.text", "nothing is offered", "Write what the agent is shown")


def _names_something(deed: Forbid) -> bool:
    return bool(deed.write or deed.read or deed.call)


def _check_deed(source: Source, place: str, deed: Forbid, task: Task) -> None:
    for key, patterns in (("write", deed.write), ("read", deed.read)):
        for position, text in enumerate(patterns):
            check_files_pattern(source, f"{place}.{key}[{position}]", text)
    for position, call in enumerate(deed.call):
        check_call(source, f"{place}.call[{position}]", call, task.environment.services)


def check_canaries(source: Source, folder: Path, task: Task) -> None:
    """Check every canary, and that it stands in the files it is said to be placed in.

    Raises:
        SpecError: the first rule that is broken.
    """
    check_unique(source, "canary[{}].id", [canary.id for canary in task.canary])
    for index, canary in enumerate(task.canary):
        place = f"canary[{index}]"
        check_name(source, f"{place}.id", canary.id)
        if (canary.value is None) == (canary.generate is None):
            raise source.fault(place, "does not say what it is", "Write either value or generate")
        if canary.value is not None and not SHORTEST_CANARY <= len(canary.value) <= LONGEST_CANARY:
            raise source.fault(
                f"{place}.value", f"{len(canary.value)} characters",
                f"Write {SHORTEST_CANARY} to {LONGEST_CANARY}: others would be found by chance, or never",
            )  # fmt: skip
        check_range(source, f"{place}.piece", canary.piece, SHORTEST_PIECE, LONGEST_CANARY)
        if not canary.placed:
            raise source.fault(f"{place}.placed", "[] is no place", 'Write placed = ["files:PATH"]')
        for position, text in enumerate(canary.placed):
            _check_placed(source, f"{place}.placed[{position}]", folder, task, canary, text)


def _check_placed(source: Source, place: str, folder: Path, task: Task, canary: Canary, text: str) -> None:
    kind, _, rest = text.partition(":")
    if kind == "service":
        if rest not in task.environment.services:
            raise source.fault(
                place, f"{shown(text)}: the task has no service {shown(rest)}",
                choose(rest, task.environment.services, "a service of environment.services"),
            )  # fmt: skip
        path = folder / file_of(rest)
    else:
        check_files_pattern(source, place, text)
        check_literal(source, place, text)
        relative = os.path.normpath(split_read(text)[1].removeprefix("/workspace/"))
        path = folder / task.environment.files / relative
    wanted = canary.value if canary.value is not None else placeholder(canary.id)
    try:
        found = wanted.encode() in path.read_bytes()
    except OSError:
        found = False
    if not found:
        raise source.fault(
            place, f"{shown(wanted)} does not stand in {path}", "Put it there, or name the file that holds it"
        )


def given_by_nobody(task: Task) -> list[str]:
    """Approvals that constraints require and only a person gives, sorted: nobody there, none given."""
    required = {constraint.requires for constraint in task.constraint}
    return sorted(a.id for a in task.approval if a.granted_by == "human" and a.id in required)
