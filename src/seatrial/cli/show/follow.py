"""``seatrial show RUN --follow``: the trials of a run that is going on, until its runner ends."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import msgspec
import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from seatrial.cli.visible import visible
from seatrial.evidence.standing import RunWatch
from seatrial.report.show import overview

LOOK_SECONDS = 0.5
# Lines of the screen that are no trial: head, caption, a margin.
AROUND = 4
STATES = {"ended": "", "running": "cyan", "unjudged": "yellow", "broken off": "red", "waiting": "dim"}


def follow_run(watch: RunWatch, json: bool, pause: float = LOOK_SECONDS) -> None:
    """Show a run until no runner works on it: a live table on a terminal, else one line for each change.

    Where the system does not say whether a runner works, until every trial ended.

    Args:
        watch: of the run.
        json: print each change as one JSON object: the trial's row of ``standing``.
        pause: between two looks, in seconds.

    Raises:
        JournalError: the run is damaged.
    """
    console = Console(highlight=False, soft_wrap=True)
    shown: dict[str, dict[str, Any]] = {}
    with ExitStack() as stack:
        live = None
        if console.is_terminal and not json:
            live = stack.enter_context(Live(console=console, auto_refresh=False))
        while True:
            data = overview(*watch.look())
            if live is not None:
                live.update(standing_table(data, console.height - AROUND), refresh=True)
            else:
                print_changes(data, shown, json)
            if over(data):
                break
            time.sleep(pause)
    if not json:
        console.print(summary(data))


def over(data: Mapping[str, Any]) -> bool:
    """Whether nothing will change any more."""
    done = all(row["state"] == "ended" for row in data["standing"])
    return data["running"] is False or (data["running"] is None and done)


def print_changes(data: Mapping[str, Any], shown: dict[str, dict[str, Any]], json: bool) -> None:
    """Print the trials that stand otherwise than when last shown, and remember them."""
    for row in data["standing"]:
        if shown.get(row["trial"]) != row:
            shown[row["trial"]] = row
            line = f"{row['trial']} ({row['system']} on {row['task']}, {row['arm']}): {course_words(row)}"
            typer.echo(msgspec.json.encode(row).decode() if json else visible(line))


def standing_table(data: Mapping[str, Any], room: int) -> Table:
    """The trials under way, then as many of those that ended as there is room for, the last in the plan."""
    begun = [row for row in data["standing"] if row["state"] != "waiting" or row["terminal_class"]]
    active = [row for row in begun if row["state"] != "ended"]
    ended = [row for row in begun if row["state"] == "ended"]
    table = Table(box=None, pad_edge=False, header_style="bold", caption=summary(data))
    table.caption_justify = "left"
    for column in ("trial", "task", "system", "arm", "state", "steps", "progress"):
        table.add_column(column, justify="right" if column in ("steps", "progress") else "left")
    for row in [*active, *ended[len(ended) - max(0, min(len(ended), room - len(active))) :]]:
        cells = [visible(row[name]) for name in ("trial", "task", "system", "arm")]
        state = Text(standing_words(row), style=STATES[row["state"]])
        steps = "" if row["steps"] is None else str(row["steps"])
        table.add_row(*cells, state, steps, progress_words(row))
    return table


def standing_words(row: Mapping[str, Any]) -> str:
    """Where a trial stands, in a word or two."""
    words = {"unjudged": "ended, not judged yet", "waiting": "not begun"}
    if row["state"] == "ended":
        return str(row["terminal_class"])
    if row["state"] == "waiting" and row["attempt"]:
        return "to be tried again"
    again = f", attempt {row['attempt']}" if (row["attempt"] or 1) > 1 else ""
    return words.get(row["state"], str(row["state"])) + again


def progress_words(row: Mapping[str, Any]) -> str:
    """Verified progress at the end, or how many subgoals pass so far; nothing where neither is known."""
    if row["progress"] is not None:
        return f"{row['progress']:.4g}"
    return "" if row["passing"] is None else f"{row['passing']} pass"


def course_words(row: Mapping[str, Any]) -> str:
    """State, steps and progress of one trial on one line."""
    parts = [standing_words(row)]
    parts += [] if row["steps"] is None else [f"{row['steps']} steps"]
    if progress := progress_words(row):
        parts.append(f"progress {progress}")
    return ", ".join(parts)


def summary(data: Mapping[str, Any]) -> str:
    """How many trials stand where, and whether anybody works on them."""
    states = [row["state"] for row in data["standing"]]
    counts = ", ".join(f"{states.count(state)} {state}" for state in STATES if state in states)
    runner = {True: "", False: "; no runner works on it", None: "; whether a runner works is unknown"}
    return f"{len(states)} trials: {counts}{runner[data['running']]}"
