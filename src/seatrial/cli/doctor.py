"""``seatrial doctor``: what this host can do, and what to do about what it cannot."""

from typing import Annotated

import msgspec
import typer

from seatrial.environment.confine.host import UNSAFE_WAY
from seatrial.environment.doctor import examine


def doctor(json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False) -> None:
    """Say what this host can do; exit code 1 when it cannot run trials.

    Every check that fails comes with its remedy. Checks marked as needed must pass before `seatrial run`
    works; the others say what a report from this host will have to call unknown.
    """
    checks = examine()
    able = all(check.ok for check in checks if check.needed)
    if json:
        typer.echo(msgspec.json.encode(checks).decode())
    else:
        for check in checks:
            mark = "ok  " if check.ok else "FAIL" if check.needed else "warn"
            typer.echo(f"{mark}  {check.name}: {check.detail}")
            if not check.ok and check.remedy:
                typer.echo(f"      {check.remedy}")
        if not able:
            typer.echo(f"This host cannot sandbox. {UNSAFE_WAY}")
    if not able:
        raise typer.Exit(1)
