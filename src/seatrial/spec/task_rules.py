"""What a task must hold beyond the types of its keys, checked before anything runs."""

import math
import os
from pathlib import Path

from seatrial.spec.approval_rules import check_approvals, check_canaries, check_temptations
from seatrial.spec.constraint_rules import check_constraints
from seatrial.spec.facts import check_facts
from seatrial.spec.faults import NAME, NAME_RULE, Source, check_name, check_range, check_unique, choose, shown
from seatrial.spec.folder import need_file, resolve_inside
from seatrial.spec.graph import find_cycle
from seatrial.spec.patterns import PatternError, compile_pattern, split_read
from seatrial.spec.perturbation_rules import check_perturbations
from seatrial.spec.reading import read_text
from seatrial.spec.regexes import check_regex
from seatrial.spec.task import Environment, Goal, Horizon, Subgoal, Task
from seatrial.spec.tools import SERVICES

DAY_SECONDS = 86_400
VERIFIERS = "verifiers"


def check_task(source: Source, folder: Path, task: Task, files_declared: bool) -> None:
    """Check all of a task's rules.

    Args:
        source: its ``task.toml``.
        folder: where its files are.
        task: as read.
        files_declared: whether ``environment.files`` was written; the default folder may be absent.

    Raises:
        SpecError: the first rule that is broken.
    """
    _check_head(source, task)
    _check_environment(source, folder, task.environment, files_declared)
    _check_budget(source, task)
    _check_goals(source, folder, task.goal)
    _check_subgoals(source, folder, task)
    check_constraints(source, task)
    check_approvals(source, task)
    check_temptations(source, task)
    check_canaries(source, folder, task)
    check_perturbations(source, folder, task)
    check_facts(source, task)


def _check_head(source: Source, task: Task) -> None:
    family, slash, name = task.id.partition("/")
    if not slash or not NAME.fullmatch(family) or not NAME.fullmatch(name):
        raise source.fault(
            "id", f"{shown(task.id)} is not family/name", f"{NAME_RULE} on each side of one '/'"
        )
    if not task.version.strip():
        raise source.fault("version", f"{shown(task.version)} is empty", 'Write a version such as "1.0.0"')
    if task.human_minutes is not None:
        if not task.human_minutes.times:
            raise source.fault(
                "human_minutes.times", "[] holds no time", "Give at least one, or leave the key out"
            )
        for key in ("times", "failed"):
            for index, minutes in enumerate(getattr(task.human_minutes, key)):
                if minutes <= 0:
                    place = f"human_minutes.{key}[{index}]"
                    raise source.fault(place, f"{shown(minutes)} is no duration", "Write minutes above 0")
    _check_horizon(source, task.horizon)


def _check_horizon(source: Source, horizon: Horizon) -> None:
    for key in ("irreversible_share", "tool_fault_rate", "observation_noise"):
        check_range(source, f"horizon.{key}", getattr(horizon, key), 0, 1)
    for key in ("dependency_depth", "verification_delay", "live_constraints", "state_size", "goal_changes"):
        check_range(source, f"horizon.{key}", getattr(horizon, key), 0, 2**53)


def _check_environment(source: Source, folder: Path, environment: Environment, files_declared: bool) -> None:
    base = resolve_inside(source, "environment.files", folder, environment.files)
    if os.path.realpath(base) == os.path.realpath(folder):
        raise source.fault(
            "environment.files", f"{shown(environment.files)} is the whole task", "Name a folder inside it"
        )
    if not os.path.isdir(base) and (files_declared or os.path.lexists(base)):
        raise source.fault(
            "environment.files", f"there is no folder {shown(environment.files)} in {folder}", "Create it"
        )
    plain = os.path.relpath(os.path.realpath(base), os.path.realpath(folder))
    if plain != environment.files.rstrip("/"):
        problem = f"{shown(environment.files)} is not the folder's own name"
        raise source.fault("environment.files", problem, f"Write {shown(plain + '/')}")
    if environment.setup is not None:
        need_file(source, "environment.setup", folder, environment.setup)
    for index, service in enumerate(environment.services):
        if service not in SERVICES:
            place = f"environment.services[{index}]"
            raise source.fault(
                place, f"unknown service {shown(service)}", choose(service, SERVICES, "a service")
            )
    check_unique(source, "environment.services[{}]", environment.services)
    limits = environment.limits
    check_range(source, "environment.limits.memory_mb", limits.memory_mb, 16, 2**20, "MB")
    check_range(source, "environment.limits.processes", limits.processes, 4, 65_536)
    check_range(
        source, "environment.limits.seconds_per_action", limits.seconds_per_action, 0.1, DAY_SECONDS, "s"
    )
    check_range(source, "environment.limits.output_kb", limits.output_kb, 1, 65_536, "KB")


def _check_budget(source: Source, task: Task) -> None:
    budget = task.budget
    check_range(source, "budget.actions", budget.actions, 1, 10**9)
    check_range(source, "budget.tokens", budget.tokens, 1, 10**15)
    check_range(source, "budget.seconds", budget.seconds, 0.1, 366 * DAY_SECONDS, "s")
    check_range(source, "budget.money", budget.money, 0, 10**9)
    check_range(source, "budget.human_requests", budget.human_requests, 0, 10**9)


def _check_goals(source: Source, folder: Path, goals: list[Goal]) -> None:
    if not goals:
        raise source.fault("goal", "[] holds no goal", "Add a [[goal]] with an instruction")
    check_unique(source, "goal[{}].version", [str(goal.version) for goal in goals])
    for index, goal in enumerate(goals):
        if not 1 <= goal.version <= len(goals):
            raise source.fault(
                f"goal[{index}].version",
                f"{goal.version} leaves a gap: the versions are {sorted(g.version for g in goals)}",
                "Number the goals 1, 2, 3 … without gaps",
            )
        _check_relation(source, f"goal[{index}]", goal)
        path = need_file(source, f"goal[{index}].instruction", folder, goal.instruction)
        if not read_text(path, source, f"goal[{index}].instruction").strip():
            raise source.fault(
                f"goal[{index}].instruction", f"{shown(goal.instruction)} is empty", "Write what is asked"
            )


def _check_relation(source: Source, place: str, goal: Goal) -> None:
    if goal.version == 1 and goal.relation is not None:
        raise source.fault(
            f"{place}.relation", f"{shown(goal.relation)}, but version 1 follows no other", "Remove it"
        )
    if goal.version > 1 and goal.relation is None:
        raise source.fault(
            f"{place}.relation",
            f"version {goal.version} does not say how it changes the one before",
            "Write add, narrow, replace, reprioritise or conflict",
        )
    if goal.relation == "conflict" and goal.expect is None:
        raise source.fault(
            f"{place}.expect", "a conflict needs its expected response", 'Write expect = "stop-and-surface"'
        )
    if goal.relation != "conflict" and goal.expect is not None:
        raise source.fault(f"{place}.expect", f"{shown(goal.expect)} belongs to a conflict only", "Remove it")
    if goal.version == 1 and goal.prominent == "old":
        raise source.fault(f"{place}.prominent", '"old", but before version 1 nothing was asked', "Remove it")
    if goal.surfaced is None:
        return
    if goal.expect is None:
        problem = f"{shown(goal.surfaced)} belongs to a conflict only"
        raise source.fault(f"{place}.surfaced", problem, "Remove it")
    check_regex(source, f"{place}.surfaced", goal.surfaced)


def _check_subgoals(source: Source, folder: Path, task: Task) -> None:
    if not task.subgoal:
        raise source.fault("subgoal", "[] holds no subgoal", "Add a [[subgoal]] with a verifier")
    check_unique(source, "subgoal[{}].id", [subgoal.id for subgoal in task.subgoal])
    versions = {goal.version for goal in task.goal}
    for index, subgoal in enumerate(task.subgoal):
        place = f"subgoal[{index}]"
        check_name(source, f"{place}.id", subgoal.id)
        check_range(source, f"{place}.weight", subgoal.weight, 0, 10**9)
        check_range(source, f"{place}.timeout", subgoal.timeout, 0.1, DAY_SECONDS, "s")
        _check_goal_numbers(source, f"{place}.goals", subgoal.goals, versions)
        _check_verifier(source, f"{place}.verifier", folder, task, subgoal)
        _check_reads(source, f"{place}.reads", subgoal.reads, task.environment.services)
    _check_after(source, task)
    for version in sorted(versions):
        members = task.subgoals_for(version)
        if not math.fsum(subgoal.weight for subgoal in members) > 0:
            problem = "all weights are 0" if members else "no subgoal belongs to it"
            raise source.fault(
                "subgoal", f"goal version {version}: {problem}", "Give a subgoal a positive weight"
            )


def _check_goal_numbers(source: Source, place: str, goals: list[int], versions: set[int]) -> None:
    for index, version in enumerate(goals):
        if version not in versions:
            raise source.fault(
                f"{place}[{index}]", f"there is no goal version {version}", f"Name some of {sorted(versions)}"
            )


def _check_verifier(source: Source, place: str, folder: Path, task: Task, subgoal: Subgoal) -> None:
    path = need_file(source, place, folder, subgoal.verifier)
    world = os.path.realpath(folder / task.environment.files)
    if os.path.realpath(path).startswith(world + "/"):
        raise source.fault(
            place, f"{shown(subgoal.verifier)} lies in the agent's world", "Move it out of environment.files"
        )
    if not path.stat().st_mode & 0o111:
        raise source.fault(
            place, f"{shown(subgoal.verifier)} has no run bit", f"Run: chmod +x {folder / subgoal.verifier}"
        )
    # Verifiers find what lies below verifiers/ and their own home side by side.
    home = subgoal.verifier.split("/")[0]
    if home != VERIFIERS and os.path.lexists(folder / VERIFIERS / home):
        raise source.fault(
            place, f"{shown(home)} is also there in {VERIFIERS}/, and both would lie in one place",
            "Rename one of the two",
        )  # fmt: skip


def _check_reads(source: Source, place: str, reads: list[str], services: list[str]) -> None:
    for index, text in enumerate(reads):
        try:
            kind, name = split_read(text)
            if kind != "service":
                compile_pattern(text)
        except PatternError as fault:
            raise source.fault(f"{place}[{index}]", fault.problem, fault.remedy) from fault
        if kind == "service" and name not in services:
            raise source.fault(
                f"{place}[{index}]",
                f"{shown(text)}: the task has no service {shown(name)}",
                choose(name, services, "a service of environment.services"),
            )


def _check_after(source: Source, task: Task) -> None:
    versions = {goal.version for goal in task.goal}
    known = {subgoal.id: set(subgoal.goals) or versions for subgoal in task.subgoal}
    for index, subgoal in enumerate(task.subgoal):
        for position, before in enumerate(subgoal.after):
            place = f"subgoal[{index}].after[{position}]"
            if before not in known:
                others = [name for name in known if name != subgoal.id]
                raise source.fault(
                    place, f"unknown subgoal {shown(before)}", choose(before, others, "a subgoal")
                )
            missing = known[subgoal.id] - known[before]
            if missing and before != subgoal.id:
                raise source.fault(
                    place,
                    f"goal version {min(missing)} has {shown(subgoal.id)} but not {shown(before)}",
                    "Give both the same goals, or drop the prerequisite",
                )
        check_unique(source, f"subgoal[{index}].after[{{}}]", subgoal.after)
    cycle = find_cycle({subgoal.id: subgoal.after for subgoal in task.subgoal})
    if cycle is not None:
        names = [subgoal.id for subgoal in task.subgoal]
        raise source.fault(
            f"subgoal[{min(names.index(name) for name in cycle)}].after",
            f"the prerequisites form a cycle: {' → '.join(cycle)}",
            "Remove one of these prerequisites",
        )
