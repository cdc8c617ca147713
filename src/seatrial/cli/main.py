"""``seatrial``: mounts the verbs and turns deliberate errors into one line on stderr and exit code 2."""

import sys
from collections.abc import Callable, Iterable

import typer

from seatrial import __version__
from seatrial.cli.visible import visible
from seatrial.errors import SeatrialError

USAGE_STATUS = 2
VERBS = (
    "doctor", "run", "verify", "measure", "report", "show", "compare", "fork", "gate", "calibrate", "shell",
    "gc", "import", "suite", "estimate", "plan",
)  # fmt: skip


def application(verbs: Iterable[str] = VERBS) -> typer.Typer:
    """The command line with these verbs; others are not imported."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        help="Sea trials for long-horizon AI agents: run, disturb, record, recompute.",
        epilog="Start with `seatrial doctor`, then `make demo` or `seatrial suite new`.",
    )
    app.callback()(options)
    for verb in verbs:
        found = _imported(verb)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=verb, help=_GROUPS[verb])
        else:
            app.command(verb)(found)
    return app


_GROUPS = {
    "suite": "Make tasks and check them.",
    "estimate": "What may be concluded from records; every kind takes --json and --plot.",
    "plan": "How much to run, and how often to look; both take --json.",
}


def _imported(verb: str) -> Callable[..., None] | typer.Typer:
    """What a verb is made of. Imported when asked for: all verbs take several times as long as one."""
    match verb:
        case "doctor":
            from seatrial.cli.doctor import doctor

            return doctor
        case "run":
            from seatrial.cli.run.run import run

            return run
        case "verify":
            from seatrial.cli.verify import verify

            return verify
        case "measure":
            from seatrial.cli.measure import measure

            return measure
        case "report":
            from seatrial.cli.report import report

            return report
        case "show":
            from seatrial.cli.show.show import show

            return show
        case "compare":
            from seatrial.cli.compare.compare import compare

            return compare
        case "fork":
            from seatrial.cli.fork.fork import fork

            return fork
        case "gate":
            from seatrial.cli.gate.gate import gate

            return gate
        case "calibrate":
            from seatrial.cli.calibrate import calibrate

            return calibrate
        case "shell":
            from seatrial.cli.shell.shell import shell

            return shell
        case "gc":
            from seatrial.cli.gc import gc

            return gc
        case "import":
            from seatrial.cli.import_ import import_

            return import_
        case "suite":
            from seatrial.cli.suite.suite import app

            return app
        case "estimate":
            from seatrial.cli.estimate.kinds import app

            return app
        case "plan":
            from seatrial.cli.plan.kinds import app

            return app
    raise AssertionError(f"no verb {verb!r}")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"seatrial {__version__}")
        raise typer.Exit


def options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Sea trials for long-horizon AI agents: run, disturb, record, recompute."""


def main() -> None:
    """Entry point of the ``seatrial`` command."""
    asked = sys.argv[1:2]
    try:
        # Whoever names a verb wants that one; help, and a slip of the pen, need them all.
        application(asked if asked and asked[0] in VERBS else VERBS)()
    except SeatrialError as fault:
        print(f"seatrial: {visible(str(fault))}", file=sys.stderr)
        sys.exit(USAGE_STATUS)
    except OSError as fault:
        place = f"{fault.filename}: " if fault.filename else ""
        print(f"seatrial: {visible(f'{place}{fault.strerror or fault}')}", file=sys.stderr)
        sys.exit(USAGE_STATUS)
