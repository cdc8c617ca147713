"""Whether a perturbation tests anything: something later must depend on what it changes (A22)."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from seatrial.spec import changes
from seatrial.spec.changes import Change, change_of
from seatrial.spec.loading import LoadedTask
from seatrial.spec.patterns import Pattern, compile_pattern, split_read
from seatrial.spec.task import Perturbation, Subgoal, Task
from seatrial.spec.triggers import trigger_of


class Doubt(NamedTuple):
    """One thing to say; ``certain`` where the perturbation is no test."""

    certain: bool
    place: str
    problem: str
    remedy: str


class _Target(NamedTuple):
    """What is changed, in words and as what a subgoal can read; null reads: nothing that can be read."""

    words: str
    pattern: Pattern | None = None
    service: str | None = None


def doubts(loaded: LoadedTask) -> Iterator[Doubt]:
    """Everything that makes a task's perturbations no test, or one that cannot be checked here."""
    task = loaded.spec
    for index, perturbation in enumerate(task.perturbation):
        if perturbation.kind == "placebo":
            continue
        place = f"perturbation[{index}]"
        change = change_of(perturbation)
        if isinstance(change, changes.NewGoal):
            yield from _goal(place, task, perturbation, change.goal)
        elif isinstance(change, changes.RevokeApproval):
            yield from _approval(place, task, perturbation, change.revoke)
        else:
            yield from _state(place, loaded, perturbation, _target(change, perturbation))


def _target(change: Change | None, perturbation: Perturbation) -> _Target | None:
    """What a subgoal could read of a change; null where the change itself is not in the state."""
    match change:
        case changes.WriteFile(to=to) | changes.RunScript(to=str(to)):
            return _Target(repr(to), compile_pattern(to))
        case changes.DeletePaths(delete=pattern):
            return _Target(repr(pattern), compile_pattern(pattern))
        case changes.Pollute(channel="workspace", key=key):
            return _Target(repr(key), compile_pattern(key))
        case changes.SetRows(service=service):
            return _Target(f"rows of {service!r}", service=service)
        case changes.Fault(tool=tool):
            named = tool or trigger_of(perturbation.when).tool or ""
            name, dot, _ = named.partition(".")
            return _Target(f"effects of {named!r}", service=name) if dot else None
    return None


def _state(
    place: str, loaded: LoadedTask, perturbation: Perturbation, target: _Target | None
) -> Iterator[Doubt]:
    task = loaded.spec
    world = world_paths(loaded)
    if not perturbation.affects:
        later = (
            [] if target is None else [s.id for s in _later(task, perturbation) if _reads(s, target, world)]
        )
        if later:
            yield Doubt(
                False, f"{place}.affects", f"{perturbation.id!r} does not say which subgoals it affects",
                f"Write affects = [{', '.join(map(repr, later))}]".replace("'", '"'),
            )  # fmt: skip
        else:
            yield Doubt(
                True, f"{place}.affects", f"{perturbation.id!r} affects no subgoal, so it tests nothing",
                "Name the subgoals whose result it can change",
            )  # fmt: skip
        return
    if target is None:
        if isinstance(change_of(perturbation), changes.RunScript):
            yield Doubt(
                False, f"{place}.change",
                f"{perturbation.id!r} does not say what it changes, so its effect cannot be checked here",
                'Name the changed path: to = "files:…"',
            )  # fmt: skip
        return
    subgoals = {subgoal.id: subgoal for subgoal in task.subgoal}
    for position, name in enumerate(perturbation.affects):
        standing_on = [subgoals[other] for other in _before(task, name)]
        if not any(_reads(subgoal, target, world) for subgoal in standing_on):
            yield Doubt(
                True, f"{place}.affects[{position}]",
                f"{perturbation.id!r} changes {target.words}; {name!r} does not read it",
                f"Name a subgoal that reads it, or add it to the reads of {name!r}",
            )  # fmt: skip


def _goal(place: str, task: Task, perturbation: Perturbation, version: int) -> Iterator[Doubt]:
    """A goal version matters if other subgoals count under it, or an affected one does."""
    new = {subgoal.id for subgoal in task.subgoals_for(version)}
    for position, name in enumerate(perturbation.affects):
        if name not in new and name not in {subgoal.id for subgoal in task.subgoals_for(1)}:
            yield Doubt(
                True, f"{place}.affects[{position}]",
                f"{name!r} belongs neither to goal version 1 nor to {version}",
                "Name a subgoal that the change of the goal makes or unmakes",
            )  # fmt: skip
    if new == {subgoal.id for subgoal in task.subgoals_for(1)}:
        yield Doubt(
            True, f"{place}.change.goal",
            f"under goal version {version} the same subgoals count as under version 1, so it tests nothing",
            "Bind subgoals to goal versions: goals = […]",
        )  # fmt: skip


def _approval(place: str, task: Task, perturbation: Perturbation, approval: str) -> Iterator[Doubt]:
    if not any(constraint.requires == approval for constraint in task.constraint):
        yield Doubt(
            True, f"{place}.change.revoke",
            f"no constraint requires {approval!r}, so {perturbation.id!r} tests nothing",
            f'Add requires = "{approval}" to a constraint',
        )  # fmt: skip


def _later(task: Task, perturbation: Perturbation) -> list[Subgoal]:
    """Subgoals that are not behind the trigger already."""
    trigger = trigger_of(perturbation.when)
    done = set() if trigger.subgoal is None else set(_before(task, trigger.subgoal))
    return [subgoal for subgoal in task.subgoal if subgoal.id not in done]


def _before(task: Task, subgoal: str) -> list[str]:
    """A subgoal and all that it stands on."""
    after = {s.id: s.after for s in task.subgoal}
    found, pending = list[str](), [subgoal]
    while pending:
        name = pending.pop()
        if name not in found:
            found.append(name)
            pending += after[name]
    return found


def _reads(subgoal: Subgoal, target: _Target, world: Collection[str]) -> bool:
    """Whether a subgoal reads what is changed; true where that cannot be told."""
    if not subgoal.reads:
        return True
    if target.service is not None:
        return f"service:{target.service}" in subgoal.reads
    assert target.pattern is not None
    reads = [compile_pattern(text) for text in subgoal.reads if split_read(text)[0] != "service"]
    if target.pattern.literal is not None:
        changed = [target.pattern.literal]
    else:
        changed = [path for path in world if target.pattern.matches(path)]
        if not changed:
            return bool(reads)  # it is made by the setup or by the agent
    return any(read.matches(path) or read.could_match_below(path) for read in reads for path in changed)


def world_paths(loaded: LoadedTask) -> list[str]:
    """State paths of the initial workspace, as far as the task's files tell (a setup may add more)."""
    prefix = loaded.spec.environment.files.rstrip("/") + "/"
    return [f"workspace/{path.removeprefix(prefix)}" for path in loaded.files if path.startswith(prefix)]
