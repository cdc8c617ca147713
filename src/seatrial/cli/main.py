"""``seatrial``: mounts the verbs and turns deliberate errors into one line on stderr and exit code 2."""

import sys

import typer

from seatrial import __version__
from seatrial.cli.calibrate import calibrate
from seatrial.cli.compare.compare import compare
from seatrial.cli.doctor import doctor
from seatrial.cli.estimate.kinds import app as estimate
from seatrial.cli.fork.fork import fork
from seatrial.cli.gate.gate import gate
from seatrial.cli.gc import gc
from seatrial.cli.import_ import import_
from seatrial.cli.measure import measure
from seatrial.cli.plan.kinds import app as plan
from seatrial.cli.report import report
from seatrial.cli.run.run import run
from seatrial.cli.shell.shell import shell
from seatrial.cli.show.show import show
from seatrial.cli.show.steps import visible
from seatrial.cli.suite.suite import app as suite
from seatrial.cli.verify import verify
from seatrial.errors import SeatrialError

USAGE_STATUS = 2

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Sea trials for long-horizon AI agents: run, disturb, record, recompute.",
    epilog="Start with `seatrial doctor`, then `make demo` or `seatrial suite new`.",
)
for verb in (doctor, run, verify, measure, report, show, compare, fork, gate, calibrate, shell, gc):
    app.command()(verb)
app.command("import")(import_)
app.add_typer(suite, name="suite", help="Make tasks and check them.")
app.add_typer(
    estimate,
    name="estimate",
    help="What may be concluded from records; every kind takes --json and --plot.",
)
app.add_typer(plan, name="plan", help="How much to run, and how often to look; both take --json.")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"seatrial {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Sea trials for long-horizon AI agents: run, disturb, record, recompute."""


def main() -> None:
    """Entry point of the ``seatrial`` command."""
    try:
        app()
    except SeatrialError as fault:
        print(f"seatrial: {visible(str(fault))}", file=sys.stderr)
        sys.exit(USAGE_STATUS)
    except OSError as fault:
        place = f"{fault.filename}: " if fault.filename else ""
        print(f"seatrial: {visible(f'{place}{fault.strerror or fault}')}", file=sys.stderr)
        sys.exit(USAGE_STATUS)
