"""What a task's perturbations must hold beyond the types of their keys."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from seatrial.spec import changes
from seatrial.spec.changes import TASK_FILES, UNALTERABLE, Change, read_change
from seatrial.spec.constraint_rules import check_call, check_files_pattern
from seatrial.spec.faults import Source, check_name, check_range, check_unique, choose, shown
from seatrial.spec.folder import need_file
from seatrial.spec.patterns import Pattern, compile_pattern
from seatrial.spec.reading import read_text, read_toml
from seatrial.spec.services import TABLES, VERBS
from seatrial.spec.task import Perturbation, Task
from seatrial.spec.tools import TOOLS, check_tool
from seatrial.spec.triggers import BEFORE, TRIGGERS, trigger_of

MAX_TIMES = 10_000
MAX_DELAY_SECONDS = 3600
MAX_SHOWN_BYTES = 2**30
# What Linux takes, less what stands before a state path on the host.
LONGEST_NAME, LONGEST_PATH = 255, 3500
DIGEST = re.compile(r"[0-9a-f]{64}")


def check_perturbations(source: Source, folder: Path, task: Task) -> None:
    """Check every perturbation of a task.

    Raises:
        SpecError: the first rule that is broken.
    """
    check_unique(source, "perturbation[{}].id", [perturbation.id for perturbation in task.perturbation])
    subgoals = [subgoal.id for subgoal in task.subgoal]
    for index, perturbation in enumerate(task.perturbation):
        place = f"perturbation[{index}]"
        check_name(source, f"{place}.id", perturbation.id)
        check_range(source, f"{place}.version", perturbation.version, 1, 10**6)
        if perturbation.scenario is not None:
            check_name(source, f"{place}.scenario", perturbation.scenario)
        _check_trigger(source, f"{place}.when", perturbation.when, task)
        change = read_change(source, f"{place}.change", perturbation)
        _check_change(source, f"{place}.change", folder, task, change)
        _check_together(source, place, perturbation, change)
        for position, name in enumerate(perturbation.affects):
            _check_subgoal(source, f"{place}.affects[{position}]", name, subgoals)
        _check_observed(source, f"{place}.observed_when", perturbation.observed_when, task)
        _check_recovered(source, f"{place}.recovered_when", folder, task, perturbation.recovered_when)
        _check_oracle(source, f"{place}.oracle", perturbation.oracle)
    _check_conflicts(source, task.perturbation)


# -- when -----------------------------------------------------------------------------------------------
def _check_trigger(source: Source, place: str, when: dict[str, Any], task: Task) -> None:
    for key in when:
        if key not in TRIGGERS:
            raise source.fault(
                f"{place}.{key}", f"unknown trigger {shown(key)}", choose(key, TRIGGERS, "a trigger")
            )
    if len(when) != 1:
        raise source.fault(place, f"{len(when)} triggers", f"Write exactly one of {', '.join(TRIGGERS)}")
    ((key, value),) = when.items()
    inside = f"{place}.{key}"
    if key == "subgoal_verified":
        _check_subgoal(source, inside, value, [subgoal.id for subgoal in task.subgoal])
    elif key == "file_read":
        _check_pattern(source, inside, value)
    elif key == "action":
        if not isinstance(value, dict):
            raise source.fault(inside, f"{shown(value)} is no table", "Write { tool = … }")
        check_call(source, inside, value, task.environment.services)
    elif key == "effect_attempted":
        _check_attempted(source, inside, value, task)
    elif value is not True:
        raise source.fault(inside, f"{shown(value)} says nothing", f"Write {key} = true")


def _check_attempted(source: Source, place: str, value: object, task: Task) -> None:
    """``true``, or a call of a service whose tool may be left out."""
    services = task.environment.services
    if not services:
        raise source.fault(
            place, "the task has no service, so no effect is ever attempted",
            "Declare one in environment.services, or use action = { tool = … }",
        )  # fmt: skip
    if isinstance(value, dict):
        tool = value.get("tool", f"{services[0]}.renew")
        known = None if "tool" in value else _arguments(services)
        check_call(source, place, {**value, "tool": tool}, services, known)
        if "." not in str(tool):
            raise source.fault(
                f"{place}.tool", f"{shown(tool)} is no call of a service", "Write SERVICE.VERB"
            )
        service, _, verb = str(tool).partition(".")
        if "tool" in value and not VERBS[service][verb].writes:
            raise source.fault(
                f"{place}.tool", f"{shown(tool)} only looks, and attempts no effect",
                "Name a verb that writes, or use action = { tool = … }",
            )  # fmt: skip
    elif value is not True:
        raise source.fault(place, f"{shown(value)} says nothing", "Write true, or { tool = …, where = … }")


def _arguments(services: Collection[str]) -> list[str]:
    """Arguments of all verbs of these services that may write."""
    verbs = [verb for service in services for verb in VERBS[service].values() if verb.writes]
    return sorted({argument for verb in verbs for argument in verb.arguments})


# -- change ---------------------------------------------------------------------------------------------
def _check_change(source: Source, place: str, folder: Path, task: Task, change: Change | None) -> None:
    for key in TASK_FILES:
        named = getattr(change, key, None)
        if named is not None:
            need_file(source, f"{place}.{key}", folder, named)
    match change:
        case changes.WriteFile(to=to):
            _check_path(source, f"{place}.to", to)
        case changes.DeletePaths(delete=pattern):
            _check_pattern(source, f"{place}.delete", pattern)
        case changes.RunScript(to=str(to)):
            _check_pattern(source, f"{place}.to", to)
        case changes.SetRows(service=service, set=rows):
            _check_known(
                source, f"{place}.service", service, task.environment.services, "a service of the task"
            )
            _check_rows(source, f"{place}.set", folder / rows, service)
        case changes.RevokeApproval(revoke=name):
            approvals = [approval.id for approval in task.approval]
            _check_known(source, f"{place}.revoke", name, approvals, "an approval of the task")
        case changes.Pollute(channel="workspace", key=key):
            _check_path(source, f"{place}.key", key)
        case changes.NewGoal(goal=version):
            _check_goal(source, f"{place}.goal", task, version)
        case changes.Truncate(truncate=count):
            check_range(source, f"{place}.truncate", count, 0, MAX_SHOWN_BYTES, "bytes")
        case changes.Delay(delay=seconds):
            check_range(source, f"{place}.delay", seconds, 0, MAX_DELAY_SECONDS, "s")
        case changes.Append(append=file):
            read_text(folder / file, source, f"{place}.append")
    if isinstance(change, changes.Alteration):
        check_range(source, f"{place}.times", change.times, 1, MAX_TIMES)
        if change.tool is not None:
            check_tool(source, f"{place}.tool", change.tool, task.environment.services)
            _check_alterable(source, f"{place}.tool", change.tool)


def _check_rows(source: Source, place: str, path: Path, service: str) -> None:
    """A file of rows: tables by name, each a list of rows. Those of ``sql`` are the task's own."""
    known = [name for name, table in TABLES[service].items() if not table.hidden]
    for table, rows in read_toml(path).items():
        if service != "sql" and table not in known:
            problem = f"{path.name}: {shown(service)} has no table {shown(table)}"
            raise source.fault(place, problem, choose(table, known, "a table"))
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise source.fault(
                place, f"{path.name}: {shown(table)} is no list of rows", f"Write [[{table}]] for each row"
            )


def _check_goal(source: Source, place: str, task: Task, version: int) -> None:
    versions = sorted(goal.version for goal in task.goal)
    if version not in versions or version == 1:
        raise source.fault(
            place, f"{version} is no goal version after the first",
            f"Name one of {versions[1:]}" if versions[1:] else "Add a [[goal]] with version = 2",
        )  # fmt: skip


def _check_together(source: Source, place: str, perturbation: Perturbation, change: Change | None) -> None:
    """What trigger and change ask of each other."""
    if not isinstance(change, changes.Alteration):
        return
    trigger = trigger_of(perturbation.when)
    if trigger.kind in BEFORE:
        if change.tool is not None:
            raise source.fault(
                f"{place}.change.tool", f"{shown(change.tool)} beside a trigger that names the action",
                "Remove it",
            )  # fmt: skip
        if trigger.tool is not None:
            _check_alterable(source, f"{place}.when.{trigger.kind}.tool", trigger.tool)
    if trigger.kind == "file_read" and isinstance(change, changes.FailOnce):
        raise source.fault(
            f"{place}.change.error", "an action that has read a file can no longer be kept from running",
            'Use when = { action = { tool = "read_file", where = { path = … } } }, or truncate',
        )  # fmt: skip
    if isinstance(change, changes.Fault):
        tool = trigger.tool if trigger.kind in BEFORE else change.tool
        _check_fault(source, f"{place}.change", change, trigger.kind, tool)


def _check_fault(source: Source, place: str, change: changes.Fault, trigger: str, tool: str | None) -> None:
    if tool is None and trigger not in BEFORE:
        raise source.fault(
            f"{place}.tool", "the key is missing: nothing says whose execution goes wrong",
            'Add tool = "shell" or a service\'s tool',
        )  # fmt: skip
    if tool is not None and "." not in tool:
        if change.fault not in changes.SHELL_FAULTS:
            raise source.fault(
                f"{place}.fault", f"{shown(change.fault)} happens to services, not to {shown(tool)}",
                f"Write one of {', '.join(changes.SHELL_FAULTS)}, or name a service's tool",
            )  # fmt: skip
        if change.fault == "partly" and tool != "shell":
            raise source.fault(
                f"{place}.fault", f"{shown(tool)} changes one file, which cannot be half done",
                'Use tool = "shell"',
            )  # fmt: skip
    if tool is not None and "." in tool:
        service, _, verb = tool.partition(".")
        declared = VERBS[service].get(verb)
        if declared is not None and change.fault == ("partial" if declared.writes else "partly"):
            raise source.fault(
                f"{place}.fault", f"{shown(change.fault)} cannot happen to {shown(tool)}",
                "partial is for verbs that read, partly for those that write",
            )  # fmt: skip
    if (change.fault == "delay") != (change.seconds is not None):
        raise source.fault(
            f"{place}.seconds", f"{shown(change.seconds)} with fault = {shown(change.fault)}",
            "A delay needs its seconds, and nothing else has any",
        )  # fmt: skip
    check_range(source, f"{place}.seconds", change.seconds, 0, MAX_DELAY_SECONDS, "s")


def _check_alterable(source: Source, place: str, tool: str) -> None:
    if tool in UNALTERABLE:
        open_to = ", ".join(name for name in TOOLS if name not in UNALTERABLE)
        raise source.fault(
            place, f"{shown(tool)} runs nothing that could be altered", f"Name {open_to} or a service's tool"
        )


# -- what tells its course ------------------------------------------------------------------------------
def _check_observed(source: Source, place: str, observed: dict[str, Any], task: Task) -> None:
    _check_keys(source, place, observed, ("reads", "call"), (), 1)
    if "reads" in observed:
        _check_pattern(source, f"{place}.reads", observed["reads"])
    if "call" in observed:
        call = observed["call"]
        if not isinstance(call, dict):
            raise source.fault(f"{place}.call", f"{shown(call)} is no table", "Write { tool = … }")
        check_call(source, f"{place}.call", call, task.environment.services)


def _check_recovered(source: Source, place: str, folder: Path, task: Task, recovered: dict[str, Any]) -> None:
    _check_keys(source, place, recovered, ("subgoal", "files"), ("equal", "digest"), 1)
    if "subgoal" in recovered:
        subgoals = [subgoal.id for subgoal in task.subgoal]
        _check_subgoal(source, f"{place}.subgoal", recovered["subgoal"], subgoals)
    given = [key for key in ("equal", "digest") if key in recovered]
    if len(given) != (1 if "files" in recovered else 0):
        raise source.fault(
            place, f"{shown(recovered)} says nothing that can be checked",
            "Write { subgoal = … }, or files with what it must be: equal = FILE, or digest = …",
        )  # fmt: skip
    if "files" in recovered:
        _check_path(source, f"{place}.files", recovered["files"])
    if "equal" in recovered:
        if not isinstance(recovered["equal"], str):
            raise source.fault(f"{place}.equal", f"{shown(recovered['equal'])} is no path", "Name a file")
        need_file(source, f"{place}.equal", folder, recovered["equal"])
    if "digest" in recovered and not DIGEST.fullmatch(str(recovered["digest"])):
        problem = f"{shown(recovered['digest'])} is no digest"
        raise source.fault(f"{place}.digest", problem, "Write 64 hex digits, or use equal = FILE")


def _check_oracle(source: Source, place: str, oracle: dict[str, Any]) -> None:
    """The cost of the reference recovery in actions: what amplification is measured against."""
    _check_keys(source, place, oracle, ("actions",), (), 1)
    actions = oracle.get("actions", 1)
    if isinstance(actions, bool) or not isinstance(actions, int | float) or actions <= 0:
        raise source.fault(
            f"{place}.actions", f"{shown(actions)} is no cost of a recovery",
            "Write a number above 0, as seatrial calibrate measures it, or leave the key out",
        )  # fmt: skip
    check_range(source, f"{place}.actions", actions, 0, 10**6)


def _check_keys(
    source: Source, place: str, table: dict[str, Any], leading: tuple[str, ...], others: tuple[str, ...],
    at_most: int,
) -> None:  # fmt: skip
    for key in table:
        if key not in (*leading, *others):
            known = choose(key, (*leading, *others), "a known key")
            raise source.fault(f"{place}.{key}", f"unknown key {shown(key)}", known)
    if sum(key in table for key in leading) > at_most:
        raise source.fault(place, f"{shown(table)} says two things", f"Write one of {', '.join(leading)}")


# -- two of them ----------------------------------------------------------------------------------------
def _check_conflicts(source: Source, perturbations: list[Perturbation]) -> None:
    """Two that would change the same thing at the same moment in two ways, unless they are two strengths."""
    strengths: dict[tuple[str, str], int] = {}
    for index, perturbation in enumerate(perturbations):
        if perturbation.kind == "placebo":
            continue
        if perturbation.scenario is not None:
            level = (perturbation.scenario, perturbation.strength)
            if level in strengths:
                raise source.fault(
                    f"perturbation[{index}].strength",
                    f"{shown(perturbation.strength)} of the scenario {shown(perturbation.scenario)} is "
                    f"perturbation[{strengths[level]}] already",
                    "Give it another strength or another scenario",
                )  # fmt: skip
            strengths[level] = index
        for same in perturbations[:index]:
            strengths_of_one = perturbation.scenario is not None and same.scenario == perturbation.scenario
            if not strengths_of_one and _collide(perturbation, same):
                raise source.fault(
                    f"perturbation[{index}]",
                    f"{shown(perturbation.id)} and {shown(same.id)} change the same thing at the same moment",
                    "Give both one scenario and two strengths, or change a trigger",
                )  # fmt: skip


def _collide(one: Perturbation, other: Perturbation) -> bool:
    if one.when != other.when or one.kind != other.kind:
        return False
    target, same = target_of(one), target_of(other)
    if isinstance(target, Pattern) and isinstance(same, Pattern):
        return target.text == same.text or _covers(target, same) or _covers(same, target)
    return target == same


def _covers(pattern: Pattern, other: Pattern) -> bool:
    return other.literal is not None and pattern.matches(other.literal)


def target_of(perturbation: Perturbation) -> Pattern | str:
    """What a perturbation changes: paths of the state, or words that are equal for equal targets."""
    change = perturbation.change
    named = change.get("to", change.get("delete"))
    if change.get("channel") == "workspace":
        named = change.get("key")
    if named is not None:
        return compile_pattern(str(named))
    if "channel" in change:
        return f"{change['channel']} {change.get('key')}"
    names = ("service", "revoke", "script", "goal", "tool")
    return " ".join([next(iter(change), ""), *(f"{name} {change[name]}" for name in names if name in change)])


# -- parts ----------------------------------------------------------------------------------------------
def _check_path(source: Source, place: str, text: object) -> None:
    """A ``files:`` path: one place in the state, below a root."""
    _check_pattern(source, place, text)
    literal = compile_pattern(str(text)).literal
    if literal is None or "/" not in literal or str(text).endswith("/"):
        raise source.fault(place, f"{shown(text)} is not the path of one file", "Write files:PATH/TO/FILE")
    parts = [len(part.encode()) for part in literal.split("/")]
    if max(parts) > LONGEST_NAME or sum(parts) + len(parts) > LONGEST_PATH:
        raise source.fault(
            place, f"{shown(text)} is too long for a path",
            f"Use names up to {LONGEST_NAME} bytes, {LONGEST_PATH} in all",
        )  # fmt: skip


def _check_pattern(source: Source, place: str, text: object) -> None:
    if not isinstance(text, str):
        raise source.fault(place, f"{shown(text)} has the wrong type", "Write files:PATTERN")
    check_files_pattern(source, place, text)


def _check_subgoal(source: Source, place: str, name: object, subgoals: Collection[str]) -> None:
    _check_known(source, place, name, subgoals, "a subgoal")


def _check_known(source: Source, place: str, name: object, known: Collection[str], what: str) -> None:
    if name not in known:
        word = what.split()[1]
        raise source.fault(place, f"unknown {word} {shown(name)}", choose(name, known, what))
