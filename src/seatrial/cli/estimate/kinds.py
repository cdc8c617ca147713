"""``seatrial estimate``: one command for each kind of estimate, all over the records of a run or a table."""

import typer

from seatrial.cli.estimate.cost import cost
from seatrial.cli.estimate.depth import depth
from seatrial.cli.estimate.horizon import horizon
from seatrial.cli.estimate.irt import irt
from seatrial.cli.estimate.journals import calibration, slope
from seatrial.cli.estimate.models import drift, missing, mixed
from seatrial.cli.estimate.pareto import pareto, utility
from seatrial.cli.estimate.passk import passk
from seatrial.cli.estimate.rate import rate
from seatrial.cli.estimate.raters import agreement
from seatrial.cli.estimate.review import review, reviewed
from seatrial.cli.estimate.survival import budget, survival
from seatrial.cli.estimate.variants import variants
from seatrial.cli.estimate.verifier import verifier_error

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
for kind in (
    rate, passk, cost, pareto, utility, horizon, depth, survival, budget, slope, calibration, verifier_error,
    agreement, review, reviewed, irt, mixed, missing, drift, variants,
):  # fmt: skip
    app.command(kind.__name__.replace("_", "-"))(kind)
