"""What is allowed in a task and still wrong with it: misdeclared difficulty, leaks, checks of nothing."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Literal, get_args

import msgspec

from seatrial.errors import SpecError
from seatrial.spec.constraining_lint import constraining_doubts
from seatrial.spec.credit import progress
from seatrial.spec.graph import depth, ordered
from seatrial.spec.interrupting import GOLD_FILE
from seatrial.spec.lint_leaks import find_leaks
from seatrial.spec.loading import LoadedTask
from seatrial.spec.patterns import compile_pattern
from seatrial.spec.perturbation_lint import doubts, world_paths
from seatrial.spec.plan_file import PLAN_FILE
from seatrial.spec.scripts import load_script
from seatrial.spec.task import Needs, Task
from seatrial.spec.verifier_startable import unstartable

SEMANTIC_VERSION = re.compile(r"\d+\.\d+\.\d+([-+].*)?")


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing lint found. An ``error`` keeps the task from being frozen; a ``warning`` asks for a look.

    Attributes:
        place: key path in ``task.toml``, or the path of another file of the task.
        problem: what is wrong, with the value shown.
        remedy: what to do about it.
    """

    level: Literal["error", "warning"]
    place: str
    problem: str
    remedy: str


def lint_task(loaded: LoadedTask) -> list[Finding]:
    """Everything lint has to say about a task, errors first."""
    parts = (
        _difficulty,
        _credit,
        _reads,
        _verifiers,
        _constraints,
        _disturbing_and_constraining,
        _world,
        _solutions,
        _plan,
        _needs,
        _leaks,
    )
    found = [finding for part in parts for finding in part(loaded)]
    return sorted(found, key=lambda finding: finding.level)


def _error(place: str, problem: str, remedy: str) -> Finding:
    return Finding(level="error", place=place, problem=problem, remedy=remedy)


def _warning(place: str, problem: str, remedy: str) -> Finding:
    return Finding(level="warning", place=place, problem=problem, remedy=remedy)


def dependency_depth(task: Task) -> int:
    """Longest chain of subgoals that need one another, in nodes (A6)."""
    return depth({subgoal.id: subgoal.after for subgoal in task.subgoal})


def _difficulty(loaded: LoadedTask) -> Iterator[Finding]:
    task = loaded.spec
    measured = {
        "dependency_depth": (dependency_depth(task), "the longest chain of subgoals has"),
        "live_constraints": (len(task.constraint), "the task's constraints number"),
        "goal_changes": (len(task.goal) - 1, "the goal versions after the first number"),
    }
    for key, (value, meaning) in measured.items():
        declared = getattr(task.horizon, key)
        if declared is not None and declared != value:
            yield _error(f"horizon.{key}", f"{declared} is declared, but {meaning} {value}", f"Write {value}")
    if task.horizon.dependency_depth is None:
        value = measured["dependency_depth"][0]
        yield _warning(
            "horizon.dependency_depth", "the depth is not declared", f"Write dependency_depth = {value}"
        )
    if not SEMANTIC_VERSION.fullmatch(task.version):
        yield _warning(
            "version",
            f"{task.version!r} cannot tell a repair from a change of meaning",
            'Number it like "1.0.0": last place for repairs, first for changes of meaning',
        )


def _credit(loaded: LoadedTask) -> Iterator[Finding]:
    """A17 on this task: completing subgoals only raises the score, and none scores before its time."""
    task = loaded.spec
    order = ordered({subgoal.id: subgoal.after for subgoal in task.subgoal})
    for goal in task.goal:
        for name in order:
            subgoal = next(s for s in task.subgoal if s.id == name)
            if subgoal.after and progress(task, {name}, goal.version) > 0:
                yield _error(
                    "subgoal", f"{name!r} scores without its prerequisites", "Report this as a fault"
                )
        for sequence in (order, order[::-1]):
            scores = [progress(task, set(sequence[:n]), goal.version) for n in range(len(sequence) + 1)]
            if scores != sorted(scores) or scores[-1] != 1.0:
                problem = f"goal version {goal.version}: the score goes {scores} while subgoals are completed"
                yield _error("subgoal", problem, "Report this as a fault")


def _reads(loaded: LoadedTask) -> Iterator[Finding]:
    for index, subgoal in enumerate(loaded.spec.subgoal):
        if not subgoal.reads:
            yield _warning(
                f"subgoal[{index}].reads",
                f"{subgoal.id!r} declares no reads: its verifier sees all, any write expires its verdict",
                'Name what the verifier reads, such as reads = ["files:report.txt"]',
            )


def _verifiers(loaded: LoadedTask) -> Iterator[Finding]:
    for fault in unstartable(loaded):
        yield _error(*fault)


def _constraints(loaded: LoadedTask) -> Iterator[Finding]:
    initial = world_paths(loaded)
    for index, constraint in enumerate(loaded.spec.constraint):
        place = f"constraint[{index}].forbid"
        for key, patterns in (("write", constraint.forbid.write), ("read", constraint.forbid.read)):
            for position, text in enumerate(patterns):
                pattern = compile_pattern(text)
                if pattern.literal is not None and not any(map(pattern.matches, initial)):
                    yield _warning(
                        f"{place}.{key}[{position}]",
                        f"{text!r} names nothing in the initial environment, so it may never match",
                        "Correct the path, unless it forbids what the agent might create",
                    )


def _disturbing_and_constraining(loaded: LoadedTask) -> Iterator[Finding]:
    for doubt in (*doubts(loaded), *constraining_doubts(loaded)):
        yield (_error if doubt.certain else _warning)(doubt.place, doubt.problem, doubt.remedy)


def _world(loaded: LoadedTask) -> Iterator[Finding]:
    environment = loaded.spec.environment
    if not world_paths(loaded) and environment.setup is None:
        yield _warning(
            "environment.files",
            f"{environment.files!r} holds no file, so the agent begins with nothing",
            "Put the initial files there, unless that is meant",
        )


def _solutions(loaded: LoadedTask) -> Iterator[Finding]:
    scripts = [path for path in loaded.files if PurePosixPath(path).match("solutions/*.toml")]
    if "solutions/reference.toml" not in scripts:
        others = f"; there are only {', '.join(scripts)}" if scripts else ""
        yield _error(
            "solutions/reference.toml",
            f"there is no reference solution{others}",
            "Write a script that solves the task, so that the task can be shown to be solvable",
        )
    for path in scripts:
        try:
            load_script(loaded.folder / path, loaded.spec.environment.services)
        except SpecError as fault:
            yield _error(f"{path}: {fault.place}" if fault.place else path, fault.problem, fault.remedy)


def _plan(loaded: LoadedTask) -> Iterator[Finding]:
    try:
        plan = loaded.plan
    except SpecError as fault:
        place = f"{PLAN_FILE}: {fault.place}" if fault.place else PLAN_FILE
        yield _error(place, fault.problem, fault.remedy)
        return
    if plan is None:
        return
    planned = {step.subgoal for step in plan.step}
    for subgoal in loaded.spec.subgoal:
        if subgoal.required and subgoal.id not in planned:
            yield _warning(
                f"{PLAN_FILE}: step",
                f"no step does {subgoal.id!r}, so that no simulated agent succeeds unless it passes anyway",
                "Add a step for it, unless it passes from the start",
            )
    hard = any(constraint.kind == "hard" for constraint in loaded.spec.constraint)
    for index, step in enumerate(plan.step):
        if step.shortcut is not None and not hard:
            yield _error(
                f"{PLAN_FILE}: step[{index}].shortcut",
                "the task has no hard constraint that it could break",
                "Declare the constraint, or remove the shortcut",
            )


def _needs(loaded: LoadedTask) -> Iterator[Finding]:
    """D15: a task made for compactions must miss what they can lose."""
    task = loaded.spec
    triggers = any("compaction" in perturbation.when for perturbation in task.perturbation)
    if GOLD_FILE not in loaded.files and not triggers:
        return
    missing = [kind for kind in get_args(Needs) if all(subgoal.needs != kind for subgoal in task.subgoal)]
    if missing:
        yield _warning(
            "subgoal",
            f"the task is made for compactions, and no subgoal says that it needs {', '.join(missing)}",
            f'Add needs = "{missing[0]}" to the subgoal that fails when that is forgotten, or add such a one',
        )


def _leaks(loaded: LoadedTask) -> Iterator[Finding]:
    for certain, place, problem, remedy in find_leaks(loaded):
        yield (_error if certain else _warning)(place, problem, remedy)
