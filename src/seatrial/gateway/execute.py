"""Runs the sandbox's own tools: what an action becomes in the world, as a window not yet settled."""

import posixpath

from seatrial.environment.world import World
from seatrial.gateway.attend import Asked, Window
from seatrial.gateway.meter import Meter
from seatrial.journal.entries import ROOTS
from seatrial.journal.events import Outcome

LEAST_SECONDS = 0.05


def execute(world: World, meter: Meter, asked: Asked) -> Window:
    """Carry out ``shell`` or a file tool, within the action's and the trial's time.

    Raises:
        EnvironmentFault: the world broke.
    """
    arguments = asked.arguments
    seconds = world.ground.limits.seconds
    left = meter.seconds_left()
    if left is not None:
        seconds = max(LEAST_SECONDS, min(seconds, left))
    if asked.tool == "shell":
        result = world.shell(arguments["command"], arguments.get("cwd") or "/workspace", seconds)
    else:
        parts = {
            name: str(arguments[name]).encode("utf-8", "surrogatepass")
            for name in ("content", "old", "new")
            if arguments.get(name) is not None
        }
        result = world.file_tool(asked.tool, arguments["path"], **parts)
    meter.tool_worked(result.tool_us)
    window = Window(
        "ok" if result.exit_code == 0 else "failed",
        result.output.decode("utf-8", "replace"),
        result.exit_code,
        result,
    )
    if result.timed_out:
        # What is left of the whole budget is not the agent's to know.
        after = f" after {seconds:g} seconds" if seconds == world.ground.limits.seconds else ""
        _note(window, "timed_out", f"\n[stopped{after}]", "partial")
    if result.interrupted:
        _note(window, "interrupted", "\n[interrupted]", "partial")
    if result.out_of_memory:
        _note(window, "out_of_memory", "\n[a process was stopped for using too much memory]")
    if result.exit_code is None:
        window.outcome = "unknown"
    return window


def _note(window: Window, name: str, said: str, outcome: Outcome | None = None) -> None:
    window.notes[name] = True
    window.text += said
    window.outcome = outcome or window.outcome


def state_path(path: str) -> str:
    """A path as an agent writes it, as a path of the state (symlinks are not resolved)."""
    full = posixpath.normpath(posixpath.join("/workspace", path))
    for root, place in ROOTS.items():
        if full == place or full.startswith(place + "/"):
            return root + full[len(place) :]
    return full
