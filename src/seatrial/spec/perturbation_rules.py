"""What a task's perturbations must hold beyond the types of their keys."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from seatrial.spec.constraint_rules import check_call, check_files_pattern
from seatrial.spec.faults import Source, check_name, check_range, check_unique, choose, shown
from seatrial.spec.folder import need_file
from seatrial.spec.task import Perturbation, Task

TRIGGERS = ("action", "checkpoint", "compaction", "effect_attempted", "file_read", "subgoal_verified")


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
        _check_trigger(source, f"{place}.when", perturbation.when, task)
        _check_change(source, f"{place}.change", folder, perturbation)
        for position, name in enumerate(perturbation.affects):
            _check_subgoal(source, f"{place}.affects[{position}]", name, subgoals)
        if "reads" in perturbation.observed_when:
            _check_pattern(source, f"{place}.observed_when.reads", perturbation.observed_when["reads"])
        if "subgoal" in perturbation.recovered_when:
            name = perturbation.recovered_when["subgoal"]
            _check_subgoal(source, f"{place}.recovered_when.subgoal", name, subgoals)


def _check_trigger(source: Source, place: str, when: dict[str, Any], task: Task) -> None:
    for key in when:
        if key not in TRIGGERS:
            raise source.fault(
                f"{place}.{key}", f"unknown trigger {shown(key)}", choose(key, TRIGGERS, "a trigger")
            )
    if len(when) != 1:
        raise source.fault(place, f"{len(when)} triggers", f"Write exactly one of {', '.join(TRIGGERS)}")
    if "subgoal_verified" in when:
        subgoals = [subgoal.id for subgoal in task.subgoal]
        _check_subgoal(source, f"{place}.subgoal_verified", when["subgoal_verified"], subgoals)
    if "file_read" in when:
        _check_pattern(source, f"{place}.file_read", when["file_read"])
    if "action" in when:
        if not isinstance(when["action"], dict):
            raise source.fault(
                f"{place}.action", f"{shown(when['action'])} is no table", "Write { tool = … }"
            )
        check_call(source, f"{place}.action", when["action"], task.environment.services)


def _check_change(source: Source, place: str, folder: Path, perturbation: Perturbation) -> None:
    change = perturbation.change
    if perturbation.kind == "placebo" and change:
        raise source.fault(place, f"{shown(change)} in a placebo, which changes nothing", "Remove it")
    if perturbation.kind == "state" and not change:
        raise source.fault(place, "a state perturbation changes nothing", "Write what is changed")
    for key in ("write", "script"):
        if key in change:
            if not isinstance(change[key], str):
                raise source.fault(
                    f"{place}.{key}", f"{shown(change[key])} is no path", "Name a file of the task"
                )
            need_file(source, f"{place}.{key}", folder, change[key])
    if "to" in change:
        _check_pattern(source, f"{place}.to", change["to"])


def _check_pattern(source: Source, place: str, text: object) -> None:
    if not isinstance(text, str):
        raise source.fault(place, f"{shown(text)} has the wrong type", "Write files:PATTERN")
    check_files_pattern(source, place, text)


def _check_subgoal(source: Source, place: str, name: object, subgoals: Collection[str]) -> None:
    if name not in subgoals:
        raise source.fault(place, f"unknown subgoal {shown(name)}", choose(name, subgoals, "a subgoal"))
