"""What forking says: before, of the states and candidates; after, of how they ended and what differed."""

from collections.abc import Sequence

import typer
from rich.console import Console
from rich.table import Table

from seatrial.cli.show.show import PIPED_WIDTH
from seatrial.cli.visible import visible
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.fork_effect import THIS_STATE
from seatrial.journal.run import ForkOrigin, TrialPlanned
from seatrial.report import wording
from seatrial.report.forks import ForkGroup, Forks
from seatrial.schedule.forks import ForkPlace, is_at


def say_plan(forks: Sequence[TrialPlanned], places: Sequence[ForkPlace], json: bool) -> None:
    """Each state that is forked, with its candidates."""
    for at in places:
        here = [planned.fork for planned in forks if is_at(planned, at) and planned.fork is not None]
        kinds = ", ".join(dict.fromkeys(map(_candidate, here)))
        lost = f"; NOT CAUSAL: {'; '.join(here[0].lost)}" if here[0].lost else ""
        where = f"{at.planned.trial}@{at.step}: state {here[0].fingerprint[:16]}"
        typer.echo(f"{where}, {len(here)} forks: {kinds}{lost}", err=json)


def _candidate(fork: ForkOrigin) -> str:
    armed = f"; armed: {', '.join(fork.armed)}" if fork.armed else ""
    return f"{fork.candidate} (memory: {fork.memory}{armed})"


def print_forks(forks: Forks) -> None:
    """How forks ended, and what a change did, as tables."""
    console = Console(soft_wrap=True)
    if not console.is_terminal:
        # Piped into a file or another program, a row stays one line.
        console.width = PIPED_WIDTH
    for group in forks.groups:
        console.print(f"\n{visible(group.group)}", style="bold", highlight=False, markup=False)
        _print_group(console, group)
    if forks.drawn:
        _print_effects(console, "Over the drawn states", [
            (each.candidate, each.measure, each.estimate) for each in forks.drawn
        ])  # fmt: skip
    console.print(f"\n{forks.rule}", highlight=False, markup=False)


def _print_group(console: Console, group: ForkGroup) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("candidate", "system", "memory", "valid", "strict", "safe", "progress", "actions"):
        table.add_column(column, overflow="fold")
    for line in group.lines:
        table.add_row(
            visible(line.candidate), visible(line.system), line.memory, f"{line.valid} of {line.planned}",
            wording.interval(line.strict), wording.interval(line.safe), _mean(line.progress),
            _mean(line.actions),
        )  # fmt: skip
    console.print(table)
    effects = [(each.candidate, each.measure, each.estimate) for each in group.effects]
    if effects:
        _print_effects(console, "Minus control, in pairs of one seed (this state only)", effects)
    for text in [group.rule, *([f"Not causal: {'; '.join(group.lost)}."] if group.lost else [])]:
        console.print(text, highlight=False, markup=False)
    for text in group.notes:
        console.print(text, highlight=False, markup=False)


def _print_effects(console: Console, title: str, effects: Sequence[tuple[str, str, Estimate]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for column in ("candidate", "measure", "difference", "notes"):
        table.add_column(column, overflow="fold")
    for candidate, measure, estimate in effects:
        # The title says it already.
        notes = [note for note in estimate.notes if note != THIS_STATE]
        said = wording.difference(estimate)
        table.add_row(visible(candidate), measure.replace("_", " "), said, visible(" ".join(notes)))
    console.print(table)


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return "unknown" if values else ""
    return f"{sum(known) / len(known):.4g}"
