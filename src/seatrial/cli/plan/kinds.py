"""``seatrial plan``: how much to run, and how often one may look."""

import typer

from seatrial.cli.plan.power import power
from seatrial.cli.plan.sequential import sequential

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
for plan in (power, sequential):
    app.command()(plan)
