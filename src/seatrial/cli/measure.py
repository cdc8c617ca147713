"""``seatrial measure``: every ended attempt of a run to one row of ``records.parquet``."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from seatrial.evidence.read import read_run
from seatrial.importers.imported import rebuild
from seatrial.journal.run import RunFolder
from seatrial.records.table import write_records
from seatrial.records.trial import TrialRecord


def measure(
    run: Annotated[Path, typer.Argument(help="Run folder, judged with `seatrial verify`, or imported.")],
    json: Annotated[bool, typer.Option("--json", help="Print the records as JSON.")] = False,
) -> None:
    """Measure every ended attempt of a run from its journal and verdicts; writes records.parquet.

    Of an imported run the rows are made again from the sources kept in it.
    """
    records, unfinished = _measured(run)
    path = run / "records.parquet"
    write_records(path, records)
    if json:
        data = {"path": str(path), "records": records, "unfinished": unfinished}
        typer.echo(msgspec.json.encode(data))
        return
    typer.echo(f"{path}: {len(records)} attempts")
    if unfinished:
        typer.echo(f"not ended yet, hence not in it: {', '.join(unfinished)}")


def _measured(run: Path) -> tuple[list[TrialRecord], list[str]]:
    """Every ended attempt, and planned trials without one."""
    if RunFolder.open(run).manifest().imported is not None:
        return rebuild(run)[1], []
    evidence = read_run(run)
    records = [attempt.record for attempt in evidence.attempts]
    return records, [planned.trial for planned in evidence.unfinished]
