"""The options that estimates share, and how they are read from a command line."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from seatrial.errors import UsageError

SEED = 20261129
LEVEL = 0.95
ANYTHING = (-math.inf, math.inf)

Source = Annotated[
    Path,
    typer.Argument(
        metavar="RUN|RECORDS", help="A run folder, an imported one, or a table of trials (.parquet, .csv)."
    ),
]
SYSTEM = typer.Option(help="Only this system; may be repeated. People's runs are left out unless named here.")
LEVEL_OPTION = typer.Option(help="Confidence level of the intervals, in (0, 1).")
SEED_OPTION = typer.Option(help="Of all randomness: the same seed gives the same numbers.", show_default=True)
JSON_OPTION = typer.Option("--json", help="Print the same facts as one JSON object.")
# Ends move by a thousandth of their width at so many; a hundred times more would fill the memory.
MOST_DRAWS = 1_000_000
DRAWS_OPTION = typer.Option(
    help="Bootstrap samples; the method's own number if left out.", min=1, max=MOST_DRAWS
)
BY_OPTION = typer.Option(
    metavar="COLUMN", help="Also within each value of a column, such as family, horizon_group or batch."
)
PLOT_OPTION = typer.Option(help="Also draw it, into a new or existing .svg or .html file.")


@dataclass(frozen=True)
class Asked:
    """Which trials, and how the answer is computed and given; each field is an option."""

    system: Annotated[list[str] | None, SYSTEM] = None
    arm: Annotated[
        list[str] | None, typer.Option(help="Only this arm; may be repeated. Arms are never pooled.")
    ] = None
    common_tasks: Annotated[
        bool, typer.Option("--common-tasks", help="Only the tasks that every chosen system has trials of.")
    ] = False
    allow_mixed: Annotated[
        bool,
        typer.Option(
            "--allow-mixed", help="Go on where versions or protocols differ, and say so beside the numbers."
        ),
    ] = False
    score_bounds: Annotated[
        str | None,
        typer.Option(metavar="LOW:HIGH", help="Least and greatest score there can be, which no source says: "
                     "an unknown score is then taken both ways. Such as 0:1."),
    ] = None  # fmt: skip
    level: Annotated[float, LEVEL_OPTION] = LEVEL
    draws: Annotated[int | None, DRAWS_OPTION] = None
    seed: Annotated[int, SEED_OPTION] = SEED
    json: Annotated[bool, JSON_OPTION] = False
    plot: Annotated[Path | None, PLOT_OPTION] = None

    def check(self) -> None:
        """Refuse what no estimate can be made with, before anything is read.

        Raises:
            UsageError: a level or seed is out of range, or the drawing's file has another ending.
        """
        check_level(self.level)
        check_seed(self.seed)
        check_plot(self.plot)
        _ = self.score_limits

    @property
    def score_limits(self) -> tuple[float, float]:
        """Least and greatest score, as declared; infinite where nothing was.

        Raises:
            UsageError: no range is written, or one without width.
        """
        if self.score_bounds is None:
            return ANYTHING
        low, high = number_pairs("--score-bounds", self.score_bounds)
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise UsageError(
                f"--score-bounds {self.score_bounds} is no range. Write it as LOW:HIGH, such as 0:1."
            )
        return low, high


@dataclass(frozen=True)
class Outcome:
    """Which outcome counts as success."""

    measure: Annotated[
        str,
        typer.Option(
            help="What counts as success: success (safe_success, or strict_success where nobody watched "
            "constraints), or a yes-or-no column; with --at-least also a numeric one such as score."
        ),
    ] = "success"
    at_least: Annotated[
        float | None, typer.Option(help="A value of at least this counts as success, for numeric measures.")
    ] = None


def check_level(level: float) -> None:
    """Refuse a level outside (0, 1).

    Raises:
        UsageError: it is.
    """
    if not 0 < level < 1:
        raise UsageError(f"--level {level:g} is no confidence level. Give one between 0 and 1, such as 0.95.")


def check_seed(seed: int) -> None:
    """Refuse a negative seed.

    Raises:
        UsageError: it is.
    """
    if seed < 0:
        raise UsageError(f"--seed {seed} is negative. Give 0 or more.")


def check_plot(path: Path | None) -> None:
    """Refuse a drawing that could not be written, before any number is computed.

    Raises:
        UsageError: another ending than .svg or .html, or its folder is not there.
    """
    if path is not None and path.suffix not in (".svg", ".html"):
        raise UsageError(f"--plot {path}: drawings are .svg or .html. Name the file so.")
    if path is not None and not path.parent.is_dir():
        raise UsageError(f"--plot {path}: there is no folder {path.parent}. Make it first.")


def check_number(option: str, given: float | None, wanted: str, fits: Callable[[float], bool]) -> None:
    """Refuse a number that is not finite or does not fit; one that was not given is right.

    Args:
        wanted: what to give, for the remedy: "a limit above 0".

    Raises:
        UsageError: names the option, its value and what to give.
    """
    if given is not None and not (math.isfinite(given) and fits(given)):
        raise UsageError(f"{option} {given:g} is out of range. Give {wanted}.")


def number_pairs(option: str, given: str) -> tuple[float, float]:
    """Two numbers written ``LOW:HIGH``.

    Raises:
        UsageError: something else is written.
    """
    parts = given.split(":")
    try:
        low, high = map(float, parts)
    except ValueError:
        raise UsageError(f"{option} {given!r} is no range. Write it as LOW:HIGH, such as 60:3600.") from None
    return low, high
