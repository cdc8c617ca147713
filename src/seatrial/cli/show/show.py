"""``seatrial show``: a run's trials, or one trial, in the terminal or as JSON."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from seatrial.cli.show.follow import follow_run, standing_words
from seatrial.cli.show.headline import print_headline
from seatrial.cli.show.imported import show_imported
from seatrial.cli.show.steps import print_steps
from seatrial.cli.visible import visible, visible_line
from seatrial.errors import UsageError
from seatrial.evidence.standing import RunWatch
from seatrial.journal.run import RunFolder
from seatrial.report.show import run_overview, trial_detail

PIPED_WIDTH = 200
THRESHOLDS = {"first_half_step": 0.5, "first_ninety_step": 0.9, "first_full_step": 1.0}
WASTE = {"idle_actions": "idle", "wasted_unread": "unread", "wasted_undone": "undone"}
# Printed only where a journal says something of them.
ONLY_IF_KNOWN = ("model_retries", "model_failures")
# Printed only where there is some of it.
ONLY_IF_ANY = ("queue_us", "approval_us", "recovery_us", "human_interventions")
COLOURS = {"success": "green", "failure": "red", "infrastructure": "yellow", "unknown": "yellow"}
# What says nothing where the end was not the system's doing, whatever the state was then.
OF_THE_SYSTEM = ("strict_success", "safe_success", "premature_finish")
UNCOUNTED = "The end was not the system's doing: the attempt is in no rate."
# Groups of TrialRecord columns for one trial's page, each with what it is about.
GROUPS = {
    "Outcome": ["terminal_class", "stop_reason", "censored", "strict_success", "safe_success",
                "partial_progress", "premature_finish", "blocking_subgoal"],
    "Course": ["max_progress", "first_half_step", "first_ninety_step", "first_full_step", "regression_depth",
               "regression_area", "repeat_completions", "drift_actions", "broken_after_full",
               "actions_after_full", "progress_slope"],
    "Rules": ["hard_violations", "unknown_windows", "soft_cost"],
    "Cost": ["actions", "shell_actions", "failed_actions", "partial_actions", "denied_actions",
             "unknown_actions", "malformed_actions", "semantic_units", "output_tokens", "money", "elapsed_us",
             "model_us", "tool_us", "cpu_us"],
    "Waste": ["idle_actions", "wasted_unread", "wasted_undone"],
    "Trust": ["sandboxed", "agent_confined", "privileged", "audit", "flaky_verifiers",
              "product_triggered_errors", "contradictions", "contaminated", "frozen_verifiers"],
}  # fmt: skip


def show(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    trial: Annotated[
        str | None, typer.Argument(help="Trial to show in full; all trials if left out.")
    ] = None,
    attempt: Annotated[int | None, typer.Option(help="Attempt; the one that counts if left out.")] = None,
    steps: Annotated[
        bool, typer.Option("--steps", help="Every step: command, output, diff, verdicts, disturbances.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on showing the trials of a run until its runner ends.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON; with --follow one line for each change.")
    ] = False,
) -> None:
    """Show a run's trials, or one trial in full. A run that is going on can be shown too."""
    if trial is None and (steps or attempt is not None):
        raise typer.BadParameter("--steps and --attempt need a TRIAL.")
    if RunFolder.open(run).manifest().imported is not None and not follow:
        if steps:
            raise UsageError(f"{run}: was imported; its rows have no steps. Leave --steps out.")
        show_imported(run, trial, attempt, json)
        return
    if follow:
        if trial is not None:
            raise typer.BadParameter("--follow shows all trials; leave TRIAL out.")
        follow_run(RunWatch(run), json)
        return
    data = run_overview(run) if trial is None else trial_detail(run, trial, attempt, steps)
    if json:
        typer.echo(msgspec.json.encode(data))
        return
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        # Piped into a file or another program, a row stays one line.
        console.width = PIPED_WIDTH
    if trial is None:
        print_overview(console, data)
    else:
        print_trial(console, data)
        if steps:
            print_steps(console, data["steps"])
            print_ending(console, data)


def print_overview(console: Console, data: dict[str, Any]) -> None:
    """One line per trial."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("trial", "task", "system", "arm", "class", "stopped", "strict", "safe"):
        table.add_column(column, overflow="fold", min_width=len(column))
    for column in ("progress", "violations", "actions"):
        table.add_column(column, justify="right")
    records = {record["trial"]: record for record in data["trials"]}
    for row in data["standing"]:
        record = records.get(row["trial"])
        cells = [visible(row[name]) for name in ("trial", "task", "system", "arm")]
        if record is None:
            state = Text(standing_words(row), style="yellow")
            table.add_row(*cells, state, *[""] * 5, "" if row["steps"] is None else str(row["steps"]))
            continue
        outcome = Text(record["terminal_class"], style=COLOURS[record["terminal_class"]])
        if row["state"] != "ended":
            outcome.append(f", {standing_words(row)}", style="yellow")
        counts = record["terminal_class"] != "infrastructure"
        judged = [plain(record[name]) if counts else "" for name in ("strict_success", "safe_success")]
        rest = [record[name] for name in ("partial_progress", "hard_violations", "actions")]
        table.add_row(*cells, outcome, plain(record["stop_reason"]), *judged, *map(plain, rest))
    console.print(table)
    foreign = sum(record["frozen_verifiers"] is False for record in data["trials"])
    if foreign:
        console.print(f"\n{foreign} judged by other verifiers than the frozen ones")
    if data["headline"] is not None:
        print_headline(console, data["headline"])
    if data["unjudged"] and not data["running"]:
        listed = ", ".join(map(visible, data["unjudged"]))
        console.print(f"\nno verdicts yet: {listed}. Run `seatrial verify RUN`.", markup=False)
    if data["unfinished"]:
        console.print(f"\nnot ended yet: {', '.join(map(visible, data['unfinished']))}", markup=False)


def print_trial(console: Console, data: dict[str, Any]) -> None:
    """One trial's measures by what they are about, its course of progress and its verdicts."""
    title = f"{data['trial']} attempt {data['attempt']}"
    console.print(Text.assemble((visible(title), "bold"), visible(f"  {data['system']} on {data['task']}, "
                  f"{data['arm']}, seed {data['seed']}")))  # fmt: skip
    for title, names in GROUPS.items():
        console.print(Text(f"\n{title}", style="bold"))
        for name in [*names, *(known_only(data) if title == "Cost" else [])]:
            style = COLOURS.get(data[name], "") if name == "terminal_class" else ""
            console.print(Text.assemble(f"  {name:<25} ", (visible(worded(data, name)), style)))
    print_ending(console, data)
    if data["disturbance"]:
        console.print(Text("\nDisturbance", style="bold"))
    for line in data["disturbance"]:
        console.print(Text(f"  {visible_line(line)}"))
    console.print(Text("\nProgress", style="bold"))
    pairs = [f"{value:g} from step {step}" for step, value in data["progress"]]
    console.print(Text("  " + (", ".join(pairs) or "unknown")))
    console.print(Text("\nFinal verdicts", style="bold"))
    for name, runs in data["verdicts"]["final"].items():
        console.print(Text(f"  {visible(name):<25} {', '.join(runs) or 'unknown'}"))
    if data["verdict_notes"]:
        console.print(Text("\nBehind the verdicts", style="bold"))
    for note in data["verdict_notes"]:
        console.print(Text(f"  {visible(note['subgoal'])}", style="bold"))
        for line in note["lines"]:
            console.print(Text("    " + visible(line).replace("\n", "\n      ")))


def print_ending(console: Console, data: Mapping[str, Any]) -> None:
    """Why the attempt ended, where anything says more than the stop reason."""
    ending = data["ending"]
    console.print(Text(f"\nEnded: {data['stop_reason'] or 'cut off'}", style="bold"))
    said = {"summary": "it said", "reason": "it gave up, saying"}
    for name, words in said.items():
        if ending[name]:
            console.print(Text(f"  {words}: {visible_line(ending[name])}"))
    for line in visible(ending["problem"]).splitlines():
        console.print(Text(f"  {line}", style="red"))
    if data["stop_reason"] == "agent_fault" and ending["counts"]:
        console.print(Text("  The agent's own code failed, which counts as its failure."))
    if not ending["counts"]:
        console.print(Text(f"  {UNCOUNTED}"))


def known_only(data: Mapping[str, Any]) -> list[str]:
    """Columns that are shown where they say something, and not as "unknown" or 0 everywhere else."""
    known = [name for name in ONLY_IF_KNOWN if data.get(name) is not None]
    return [name for name in ONLY_IF_ANY if data.get(name)] + known


def worded(data: Mapping[str, Any], name: str) -> str:
    """One measure as text, with "none" and "not reached" told apart from "unknown"."""
    value = data[name]
    if name in OF_THE_SYSTEM and data["terminal_class"] == "infrastructure":
        return "does not count (infrastructure)"
    if name == "drift_actions" and value is not None:
        return f"{value} (actions after the last rise)"
    if name == "blocking_subgoal" and data["partial_progress"] == 1:
        return "none"
    if name in THRESHOLDS and value is None and data["max_progress"] is not None:
        return "not reached" if data["max_progress"] < THRESHOLDS[name] else "unknown"
    if name in WASTE and value:
        return f"{value} (steps {', '.join(map(str, data['wasted_steps'][WASTE[name]]))})"
    if name.endswith("_us") and value is not None:
        return f"{value} ({value / 1e6:.2f} s)"
    if name == "money" and value is not None and data["currency"] is not None:
        return f"{data['currency']} {plain(value)}"
    return plain(value)


def plain(value: object) -> str:
    """A record's value as text; null is unknown."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value)
