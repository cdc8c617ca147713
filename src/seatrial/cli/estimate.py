"""``seatrial estimate``: one command for each kind of estimate, all over the records of a run or a table."""

import typer

from seatrial.cli.estimate_cost import cost
from seatrial.cli.estimate_depth import depth
from seatrial.cli.estimate_horizon import horizon
from seatrial.cli.estimate_irt import irt
from seatrial.cli.estimate_journals import calibration, slope
from seatrial.cli.estimate_models import drift, missing, mixed
from seatrial.cli.estimate_pareto import pareto, utility
from seatrial.cli.estimate_passk import passk
from seatrial.cli.estimate_rate import rate
from seatrial.cli.estimate_raters import agreement
from seatrial.cli.estimate_survival import budget, survival
from seatrial.cli.estimate_verifier import verifier_error

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
for kind in (
    rate, passk, cost, pareto, utility, horizon, depth, survival, budget, slope, calibration, verifier_error,
    agreement, irt, mixed, missing, drift,
):  # fmt: skip
    app.command(kind.__name__.replace("_", "-"))(kind)
