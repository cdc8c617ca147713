"""``seatrial measure``: every ended attempt of a run to one row of ``records.parquet``."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from seatrial.evidence.read import read_run
from seatrial.records.table import write_records


def measure(
    run: Annotated[Path, typer.Argument(help="Run folder, judged with `seatrial verify`.")],
    json: Annotated[bool, typer.Option("--json", help="Print the records as JSON.")] = False,
) -> None:
    """Measure every ended attempt of a run from its journal and verdicts; writes records.parquet."""
    evidence = read_run(run)
    records = [attempt.record for attempt in evidence.attempts]
    path = run / "records.parquet"
    write_records(path, records)
    unfinished = [planned.trial for planned in evidence.unfinished]
    if json:
        data = {"path": str(path), "records": records, "unfinished": unfinished}
        typer.echo(msgspec.json.encode(data))
        return
    typer.echo(f"{path}: {len(records)} attempts")
    if unfinished:
        typer.echo(f"not ended yet, hence not in it: {', '.join(unfinished)}")
