"""``seatrial show`` of an imported run: rows and limits, since there is no journal to show."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer

from seatrial.cli.import_ import summary, summary_lines
from seatrial.cli.visible import visible
from seatrial.errors import UsageError
from seatrial.importers.imported import rebuild
from seatrial.records.trial import TrialRecord


def show_imported(folder: Path, trial: str | None, attempt: int | None, json: bool) -> None:
    """Print the systems and limits of an imported run, or one of its rows.

    Raises:
        UsageError: there is no such row.
    """
    manifest, records = rebuild(folder)
    if trial is not None:
        record = _row(records, trial, attempt)
        if json:
            typer.echo(msgspec.json.encode(record))
            return
        typer.echo(visible(f"{trial}: an imported row, without journal, steps or verdicts of ours"))
        for name, value in msgspec.structs.asdict(record).items():
            if value is not None:
                typer.echo(visible(f"  {name:<20} {value}"))
        typer.echo("  all else is unknown")
        return
    if json:
        typer.echo(msgspec.json.encode({"trials": records, "imported": summary(manifest, records)}))
        return
    for line in summary_lines(manifest, records):
        typer.echo(visible(line))


def _row(records: Sequence[TrialRecord], trial: str, attempt: int | None) -> TrialRecord:
    found = [r for r in records if r.trial == trial and attempt in (None, r.attempt)]
    if not found:
        raise UsageError(
            f"there is no row of trial {trial!r}; one of {len(records)} is {records[0].trial!r}. "
            "`seatrial show RUN --json` lists them."
        )
    return found[0]
