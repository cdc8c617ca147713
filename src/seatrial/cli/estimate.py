"""``seatrial estimate``: one command for each kind of estimate, all over the records of a run or a table."""

import typer

from seatrial.cli.estimate_horizon import horizon
from seatrial.cli.estimate_rate import rate

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
for kind in (rate, horizon):
    app.command()(kind)
