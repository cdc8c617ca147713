"""Changes that a disturbance makes in the world from outside, while no action is under way in it."""

import time
import tomllib
from collections.abc import Callable

import msgspec

from seatrial.environment.state.tracker import Tracker
from seatrial.errors import StateOverrun, TaskFault
from seatrial.gateway.disturbing.disturbance import Hands
from seatrial.journal.entries import Entry
from seatrial.spec import changes
from seatrial.spec.changes import Change
from seatrial.spec.patterns import compile_pattern

RUN_BITS = 0o111
# An action may be allowed hours; a script that takes longer than this hangs.
SCRIPT_SECONDS = 600.0


class Undeliverable(Exception):
    """The world is such that the change cannot be made in it; says why."""


def state_change(change: Change | None, hands: Hands, perturbation: str) -> Callable[[], None] | None:
    """What makes a change of files or rows; null for changes of another kind.

    What is returned raises ``Undeliverable``, or ``TaskFault`` when the task's own script or rows fail.
    """
    match change:
        case changes.WriteFile():
            return lambda: _write(change, hands)
        case changes.Pollute(channel="workspace"):
            text = change.value if change.value.endswith("\n") else change.value + "\n"
            return lambda: _put_file(hands, change.key, text.encode(), 0o644, None)
        case changes.DeletePaths():
            return lambda: _delete(change.delete, hands)
        case changes.RunScript():
            return lambda: _run_script(change.script, hands, perturbation)
        case changes.SetRows():
            return lambda: _set_rows(change, hands, perturbation)
    return None


def _write(change: changes.WriteFile, hands: Hands) -> None:
    data, mode = hands.file(change.write)
    _put_file(hands, change.to, data, 0o755 if mode & RUN_BITS else 0o644, change.owner)


def _put_file(hands: Hands, to: str, data: bytes, mode: int, owner: str | None) -> None:
    """A file with this content; one that is there keeps mode and owner, and all its names."""
    tracker = hands.world.tracker
    path = compile_pattern(to).literal
    assert path is not None, "checked with the task"
    present = tracker.current(path)
    if present is not None and present.kind == "dir":
        raise Undeliverable(f"{path} is a folder")
    kept = present if present is not None and present.kind == "file" else None
    entry = Entry(
        path=path, kind="file", mode=kept.mode if kept else mode,
        owner="base" if (owner or (kept.owner if kept else "agent")) == "base" else "agent",
        digest=hands.objects.put(data), size=len(data), mtime=time.time_ns(),
    )  # fmt: skip
    names = sorted({path, *(tracker.siblings(path) if kept else ())})
    label = names[0] if len(names) > 1 else None
    wanted = {name: msgspec.structs.replace(entry, path=name, links=label) for name in names}
    hands.world.put({**_folders(tracker, path), **wanted})


def _folders(tracker: Tracker, path: str) -> dict[str, Entry]:
    """The folders that are missing above a path."""
    wanted = {}
    parent = path.rpartition("/")[0]
    while parent:
        present = tracker.current(parent)
        if present is None:
            wanted[parent] = Entry(path=parent, kind="dir", mode=0o755, mtime=time.time_ns())
        elif present.kind != "dir":
            raise Undeliverable(f"{parent} is no folder")
        parent = parent.rpartition("/")[0]
    return wanted


def _delete(text: str, hands: Hands) -> None:
    tracker, pattern = hands.world.tracker, compile_pattern(text)
    if pattern.literal is not None:
        found = {pattern.literal} if tracker.current(pattern.literal) is not None else set()
    else:
        found = {path for path in tracker.state() if "/" in path and pattern.matches(path)}
    for path in list(found):
        found |= tracker.known_below(path)
    if found:
        hands.world.put({path: Entry(path=path, kind="absent") for path in found})


def _run_script(script: str, hands: Hands, perturbation: str) -> None:
    """Run a script in the sandbox within the limits of an action."""
    text = hands.file(script)[0].decode("utf-8", "surrogateescape")
    seconds = min(hands.world.ground.limits.seconds, SCRIPT_SECONDS)
    before = hands.world.alive
    result = hands.world.shell(text, seconds=seconds)
    # Where processes of the agent's run, nobody knows whose the new ones are.
    left = 0 if before else result.alive
    if result.exit_code == 0 and not left:
        return
    # A fault is told in one line.
    said = " ".join(result.output.decode(errors="replace").split())[-1000:]
    how = f"{result.how_it_ended(seconds)}, {left} processes left"
    told = f": {said.rstrip('.')}" if said else ""
    raise _own_fault(perturbation, f"its script {script} failed ({how}){told}", "Correct the script")


def too_much(change: changes.RunScript, perturbation: str, overrun: StateOverrun) -> TaskFault:
    """The fault of a script that ran alone and left more than can be recorded: no agent did that."""
    problem = f"its script {change.script} left what cannot be recorded: {str(overrun).rstrip('.')}"
    return _own_fault(perturbation, problem, "Correct the script")


def _set_rows(change: changes.SetRows, hands: Hands, perturbation: str) -> None:
    if hands.services is None:
        raise _own_fault(
            perturbation, f"the trial has no service {change.service!r}", "Declare it in the task"
        )
    try:
        hands.services.set_rows(change.service, tomllib.loads(hands.file(change.set)[0].decode()))
    except ValueError as fault:
        raise _own_fault(perturbation, f"{change.set}: {fault}", "Correct the rows") from fault


def _own_fault(perturbation: str, problem: str, remedy: str) -> TaskFault:
    return TaskFault(f"perturbation {perturbation}", "change", problem, remedy)
