"""``seatrial report``: runs to a page, tables, figures and JSON."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from seatrial.report.build import build_report


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders of one experiment.", metavar="RUN…")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder to write to; RUN/report if left out.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what report.json holds.")] = False,
) -> None:
    """Write a report: index.html, report.json, tables/*.csv and figures/*.svg."""
    if out is None and len(runs) > 1:
        raise typer.BadParameter("several runs need -o DIR.")
    folder = out or runs[0] / "report"
    data = build_report(runs, folder)
    typer.echo(msgspec.json.encode(data) if json else str(folder / "index.html"))
