"""What a scripted person does: ``human.toml`` of a task, for experiments with ``[human] by = "scripted"``.

What is in no table is refused: a person who was not told what to say gives nothing away.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

from seatrial.spec.conditions import ConditionError, compile_condition
from seatrial.spec.constraint_rules import check_call, check_files_pattern
from seatrial.spec.experiment import Experiment, Human, Step
from seatrial.spec.faults import Source, check_range, choose, shown
from seatrial.spec.folder import need_file
from seatrial.spec.reading import Plain, convert, parse_toml, read_toml
from seatrial.spec.scripts import check_step, gather_step
from seatrial.spec.task import Strict, Task

# What people can be asked in each tier.
ASKABLE: dict[str, tuple[str, ...]] = {
    "none": (),
    "approval": ("request_approval",),
    "facts": ("request_approval", "ask_human"),
    "takeover": ("request_approval", "ask_human"),
}
LONGEST_SECONDS = 86_400
# Where a task keeps it; solutions are played, and people at `seatrial shell` work, with this person beside.
PEOPLE_FILE = "human.toml"


class Said(Strict, frozen=True, kw_only=True):
    """How a request for approval is answered. The first table that fits and is not used up counts.

    Attributes:
        approval: id of the approval it is for; any without one.
        tool, where: which call it must be; any without them.
        decision: ``edit`` approves the call with ``arguments`` in place of those asked for; ``stop`` ends
            the trial for safety; ``silent`` never answers.
        reason: said to the agent.
        seconds: how long the person takes, on the trial clock; nobody really waits.
        times: how often it answers; without end by default.
    """

    decision: Literal["approve", "refuse", "edit", "stop", "silent"]
    approval: str | None = None
    tool: str | None = None
    where: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    reason: str = ""
    seconds: float = 0.0
    times: int | None = None


class Fact(Strict, frozen=True, kw_only=True):
    """How a question is answered: ``question`` is a condition on its text, such as ``~ (?i)port``."""

    question: str
    answer: str = ""
    decision: Literal["answer", "stop", "silent"] = "answer"
    seconds: float = 0.0
    times: int | None = None


class Takeover(Strict, frozen=True, kw_only=True):
    """The person acts: when a question fits, or after a step. Each happens once."""

    step: list[Step]
    question: str | None = None
    after_step: int | None = None
    seconds: float = 0.0


class Repair(Strict, frozen=True, kw_only=True):
    """The evaluator mends the environment after a step: no help of a user's, and told apart from it."""

    after_step: int
    write: str
    to: str


class PeopleScript(Strict, frozen=True, kw_only=True):
    approval: list[Said] = []
    fact: list[Fact] = []
    takeover: list[Takeover] = []
    repair: list[Repair] = []


def people_beside(files: Collection[str]) -> Human:
    """Who is there when a task is tried out: the person of its script, when it has one."""
    return Human(tier="takeover", script=PEOPLE_FILE) if PEOPLE_FILE in files else Human()


def read_people(text: str, file: str) -> PeopleScript:
    """The script as it was frozen.

    Raises:
        SpecError: it is not what it was when it was checked.
    """
    return convert(Source(file), _gathered(parse_toml(file, text)), PeopleScript)


def check_human(source: Source, spec: Experiment, tasks: list[tuple[Path, Task]]) -> None:
    """Check an experiment's ``[human]`` and every task's script of a person.

    Args:
        tasks: with the folder of each.

    Raises:
        SpecError: the first thing that is wrong.
    """
    human = spec.human
    check_range(source, "human.timeout_seconds", human.timeout_seconds, 0.1, LONGEST_SECONDS, "s")
    scripted = human.tier != "none" and human.by == "scripted"
    if human.script is not None and not scripted:
        problem = f"{shown(human.script)}, but no scripted person is there to follow it"
        raise source.fault("human.script", problem, "Remove it, or set tier and by")
    if scripted and human.script is None:
        raise source.fault("human.script", "a scripted person needs it", 'Write script = "human.toml"')
    for folder, task in tasks:
        if human.script is not None:
            _check_script(source, folder, task, human.script)


def _check_script(source: Source, folder: Path, task: Task, relative: str) -> None:
    path = need_file(source, "human.script", folder, relative)
    world = task.environment.files.rstrip("/") + "/"
    if relative.startswith(world):
        raise source.fault("human.script", f"{shown(relative)} lies in the agent's world", "Move it out")
    check_people(path, folder, task)


def check_people(path: Path, folder: Path, task: Task) -> None:
    """Check a script of a person.

    Args:
        path: the script.
        folder: of the task.

    Raises:
        SpecError: the first thing that is wrong with it.
    """
    own = Source(str(path))
    script = convert(own, _gathered(read_toml(path)), PeopleScript)
    services = task.environment.services
    approvals = [approval.id for approval in task.approval]
    for index, said in enumerate(script.approval):
        _check_said(own, f"approval[{index}]", said, approvals, services)
    for index, fact in enumerate(script.fact):
        _check_times(own, f"fact[{index}]", fact.seconds, fact.times)
        _check_question(own, f"fact[{index}]", fact.question)
    for index, takeover in enumerate(script.takeover):
        _check_takeover(own, f"takeover[{index}]", takeover, services)
    for index, repair in enumerate(script.repair):
        check_range(own, f"repair[{index}].after_step", repair.after_step, 1, 10**9)
        need_file(own, f"repair[{index}].write", folder, repair.write)
        check_files_pattern(own, f"repair[{index}].to", repair.to)
        check_literal(own, f"repair[{index}].to", repair.to)


def check_literal(source: Source, place: str, text: str) -> None:
    """Refuse a pattern with wildcards where one path is meant.

    Raises:
        SpecError: it has some.
    """
    if any(sign in text for sign in "*?["):
        raise source.fault(place, f"{shown(text)} is a pattern", "Name one path")


def _check_said(
    source: Source, place: str, said: Said, approvals: Collection[str], services: list[str]
) -> None:
    _check_times(source, place, said.seconds, said.times)
    if said.approval is not None and said.approval not in approvals:
        raise source.fault(
            f"{place}.approval", f"unknown approval {shown(said.approval)}",
            choose(said.approval, approvals, "an approval"),
        )  # fmt: skip
    if said.tool is not None:
        check_call(source, place, {"tool": said.tool, "where": said.where}, services)
    elif said.where:
        raise source.fault(f"{place}.where", "arguments of no tool", "Add tool = …")
    if said.decision == "edit" and not said.arguments:
        raise source.fault(f"{place}.arguments", "nothing is edited", "Write the arguments that change")
    if said.decision != "edit" and said.arguments:
        problem = f"{shown(said.arguments)} with the decision {shown(said.decision)}"
        raise source.fault(f"{place}.arguments", problem, 'Remove them, or write decision = "edit"')


def _check_times(source: Source, place: str, seconds: float, times: int | None) -> None:
    check_range(source, f"{place}.seconds", seconds, 0, LONGEST_SECONDS, "s")
    check_range(source, f"{place}.times", times, 1, 10**9)


def _check_question(source: Source, place: str, question: str) -> None:
    try:
        compile_condition(question)
    except ConditionError as fault:
        raise source.fault(f"{place}.question", fault.problem, fault.remedy) from fault


def _check_takeover(source: Source, place: str, takeover: Takeover, services: list[str]) -> None:
    check_range(source, f"{place}.seconds", takeover.seconds, 0, LONGEST_SECONDS, "s")
    check_range(source, f"{place}.after_step", takeover.after_step, 1, 10**9)
    if (takeover.question is None) == (takeover.after_step is None):
        raise source.fault(place, "does not say when", "Write either question or after_step")
    if takeover.question is not None:
        _check_question(source, place, takeover.question)
    if not takeover.step:
        raise source.fault(f"{place}.step", "[] does nothing", "Add a step")
    for index, step in enumerate(takeover.step):
        check_step(source, f"{place}.step[{index}]", step, services)


def _gathered(plain: Plain) -> Plain:
    """Steps with the arguments of a ``service.verb`` under ``arguments``, as in any script."""
    takeovers = plain.get("takeover")
    if not isinstance(takeovers, list):
        return plain
    return {**plain, "takeover": [_gathered_takeover(takeover) for takeover in takeovers]}


def _gathered_takeover(takeover: Any) -> Any:
    steps = takeover.get("step") if isinstance(takeover, dict) else None
    if not isinstance(steps, list):
        return takeover
    return {**takeover, "step": [gather_step(step) for step in steps]}
