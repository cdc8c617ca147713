"""The terminal's view of a trial's steps."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from seatrial.cli.visible import visible, visible_line

OBSERVATION_LINES = 8
DIFF_LINES = 60
CHANGES = 200
OUTCOMES = {"ok": "green", "failed": "red", "partial": "yellow", "unknown": "yellow", "denied": "magenta"}
WASTE = {
    "idle": "idle: changed nothing and showed nothing new",
    "unread": "wasted: this stood already, and nobody had looked",
    "undone": "wasted: taken back later",
}
VERDICTS = {"pass": "green", "fail": "red", "error": "yellow", "unknown": "yellow"}


def print_steps(console: Console, steps: list[dict[str, Any]]) -> None:
    """Print every step in turn."""
    for step in steps:
        console.print()
        print_head(console, step)
        print_observation(console, step.get("observation"))
        for change in step["changes"][:CHANGES]:
            print_change(console, change)
        if len(step["changes"]) > CHANGES:
            more = len(step["changes"]) - CHANGES
            console.print(Text(f"  … {more} more changed paths; --json has them all", style="cyan"))
        for moved in step["verdicts"]:
            before = f"{moved['before']} to " if moved["before"] else ""
            verdict = (f"{before}{moved['after']}", VERDICTS[moved["after"]])
            console.print(Text.assemble("  verdict ", (visible(moved["subgoal"]), "bold"), ": ", verdict))
        for violation in step["violations"]:
            kind = "hard" if violation["hard"] else f"soft, severity {violation['severity']:g}"
            what = "broken" if violation["certain"] else "could not be watched"
            console.print(
                Text(f"  constraint {visible(violation['constraint'])} ({kind}) {what}", style="bold red")
            )
        for told in step["happened"]:
            console.print(Text(f"  * {visible_line(told)}", style="magenta"))
        for kind in step["waste"]:
            console.print(Text(f"  {WASTE[kind]}", style="yellow"))
        if step["unwatched"]:
            console.print(Text(f"  not watched: {visible(', '.join(step['unwatched']))}", style="yellow"))


def print_head(console: Console, step: Mapping[str, Any]) -> None:
    """Step number, what was asked, and how it ended."""
    progress = "" if step["progress"] is None else f"  progress {step['progress']:g}"
    if step["tool"] is None:
        console.print(Text.assemble((f"step {step['step']}", "bold"), " reset", (progress, "dim")))
        return
    outcome = step["outcome"] or "never finished"
    exit_code = "" if step["exit_code"] is None else f", exit {step['exit_code']}"
    console.print(
        Text.assemble(
            (f"step {step['step']}", "bold"),
            f" {visible_line(step['tool'])}  ",
            (outcome, OUTCOMES.get(outcome, "yellow")),
            exit_code,
            (progress, "dim"),
        )
    )
    if step["decision"] == "deny":
        console.print(Text(f"  denied: {visible(step['reason'])}", style="magenta"))
    for name, value in step["arguments"].items():
        lines = visible(str(value)).splitlines() or [""]
        marker = "  $ " if name == "command" else f"  {visible_line(name)}: "
        console.print(Text(marker + ("\n" + " " * 4).join(lines)))


def print_observation(console: Console, observation: str | None) -> None:
    """The first lines of what the agent was shown."""
    lines = visible(observation or "").splitlines()
    for line in lines[:OBSERVATION_LINES]:
        console.print(Text(f"  | {line}", style="dim"))
    if len(lines) > OBSERVATION_LINES:
        console.print(Text(f"  | … {len(lines) - OBSERVATION_LINES} more lines", style="dim"))


def print_change(console: Console, change: Mapping[str, Any]) -> None:
    """One changed path, with its diff or its sizes."""
    sizes = [str(change[side]) for side in ("before", "after") if change[side] is not None]
    size = f" {' to '.join(sizes)} bytes" if sizes and not change["diff"] else ""
    note = f", {change['note']}" if change["note"] else ""
    actor = change["actor"]
    origin = f" ({'in the background' if actor == 'background' else actor})" if actor else ""
    path = visible_line(change["path"])
    line = f"  {change['change']} {change['kind']} {path}{size}{visible_line(note)}{origin}"
    console.print(Text(line, style="cyan"))
    # The first two lines of a diff name the file once more.
    lines = visible(change["diff"]).splitlines()[2:]
    for text in lines[:DIFF_LINES]:
        style = {"+": "green", "-": "red", "@": "dim"}.get(text[:1], "")
        console.print(Text(f"    {text}", style=style))
    if len(lines) > DIFF_LINES:
        console.print(Text(f"    … {len(lines) - DIFF_LINES} more lines", style="dim"))
