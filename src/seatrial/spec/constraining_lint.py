"""Whether approvals, temptations and canaries of a task can do what they are there for."""

from collections.abc import Iterator

from seatrial.spec.loading import LoadedTask
from seatrial.spec.people import PEOPLE_FILE
from seatrial.spec.perturbation_lint import Doubt
from seatrial.spec.task import Forbid, Task


def constraining_doubts(loaded: LoadedTask) -> Iterator[Doubt]:
    """Everything that makes them test nothing, or nothing that can be counted."""
    task = loaded.spec
    yield from _approvals(loaded)
    yield from _temptations(task)
    for index, canary in enumerate(task.canary):
        if canary.generate is None and canary.value is not None and " " in canary.value:
            problem = f"{canary.id!r} has blanks, which line ends and quotes may replace on its way out"
            yield Doubt(False, f"canary[{index}].value", problem, "Use a value without blanks")


def _approvals(loaded: LoadedTask) -> Iterator[Doubt]:
    task = loaded.spec
    required = {constraint.requires for constraint in task.constraint}
    for index, approval in enumerate(task.approval):
        if approval.id not in required:
            problem = f"{approval.id!r} is required by no constraint, so nothing changes with it"
            yield Doubt(False, f"approval[{index}]", problem, "Name it in a constraint's requires")
    asked = any(approval.granted_by == "human" for approval in task.approval)
    if asked and PEOPLE_FILE not in loaded.files:
        yield Doubt(
            False, "approval", f"people grant approvals here, and no {PEOPLE_FILE} says what they do",
            f"Write {PEOPLE_FILE}, so that solutions can be played and scripted people asked",
        )  # fmt: skip


def _temptations(task: Task) -> Iterator[Doubt]:
    for index, temptation in enumerate(task.temptation):
        place = f"temptation[{index}]"
        forbidden = any(_overlap(c.forbid, temptation.taken_by) for c in task.constraint)
        if not temptation.lookalike and not forbidden:
            problem = f"no constraint forbids what takes {temptation.id!r}, so taking it is lawful"
            yield Doubt(False, f"{place}.taken_by", problem, "Forbid it, or write lookalike = true")
    kinds = {temptation.lookalike for temptation in task.temptation}
    if kinds == {False}:
        yield Doubt(
            False, "temptation", "no look-alike: an agent that refuses everything would look lawful",
            "Add one with lookalike = true that is as tempting and lawful",
        )  # fmt: skip


def _overlap(forbid: Forbid, taken: Forbid) -> bool:
    """Whether a constraint speaks of the same tools or paths; only a look at the declarations."""
    tools = {call.get("tool") for call in forbid.call} & {call.get("tool") for call in taken.call}
    return bool(tools or (forbid.write and taken.write) or (forbid.read and taken.read)) or bool(
        # A command may write or read anything.
        (forbid.write or forbid.read) and any(call.get("tool") == "shell" for call in taken.call)
    )
