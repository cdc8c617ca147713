"""From a command's arguments to its answer on the terminal: read, compute, print, draw."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import typer

from seatrial.cli.estimate.answer import Answer, Line, intervals, plain
from seatrial.cli.estimate.drawing import draw
from seatrial.cli.estimate.options import Asked
from seatrial.cli.estimate.text import as_text, interval_words, value_words
from seatrial.cli.estimate.trials import Chosen, choose_trials
from seatrial.cli.visible import visible
from seatrial.errors import UsageError


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where an answer's data come from.

    Attributes:
        source: as the user named it.
        experiments: ids behind it.
        limits: what the source itself cannot say, in words.
        mixed: versions or protocols that differ, in words.
    """

    source: str
    experiments: list[str] = []
    limits: list[str] = []
    mixed: list[str] = []


def estimated(source: Path, kind: str, asked: Asked, compute: Callable[[Chosen], Answer]) -> None:
    """Read the trials, compute, and deliver.

    Raises:
        UsageError: an option or the trials do not fit the estimate, with the estimator's reason.
    """
    asked.check()
    chosen = choose_trials(source, asked)
    answer = computed(str(source), kind, lambda: compute(chosen))
    delivered(answer, kind, origin_of(chosen), asked)


def origin_of(chosen: Chosen) -> Origin:
    """Where chosen trials come from."""
    return Origin(
        source=chosen.source,
        experiments=chosen.loaded.experiments,
        limits=chosen.limits,
        mixed=chosen.mixed,
    )


def delivered(answer: Answer, kind: str, origin: Origin, asked: Asked) -> None:
    """Draw and print an answer, with the limits of its trials before its own."""
    limits = list(dict.fromkeys([*origin.limits, *answer.limits]))
    answer = msgspec.structs.replace(answer, limits=limits)
    if asked.plot is not None:
        draw(asked.plot, answer.drawing or intervals(answer), answer.title)
    if asked.json:
        typer.echo(msgspec.json.encode(as_data(answer, kind, origin, asked)))
        return
    for text in as_text(answer, origin.source, asked.level, origin.mixed):
        typer.echo(visible(text))
    if asked.plot is not None:
        typer.echo(f"drawn: {asked.plot}")


def computed(source: str, kind: str, compute: Callable[[], Answer]) -> Answer:
    """The answer; an estimator's refusal names the source.

    Raises:
        UsageError: the estimator refused.
    """
    try:
        return compute()
    except ValueError as fault:
        raise UsageError(f"{source}: no estimate of {kind}: {fault}") from fault


def as_data(answer: Answer, kind: str, origin: Origin, asked: Asked) -> dict[str, Any]:
    """The answer for JSON, which has no infinity: infinite ends are null and a note says so."""
    return {
        "estimate": kind,
        "source": origin.source,
        "experiments": origin.experiments,
        "title": answer.title,
        "seed": asked.seed,
        "draws": asked.draws,
        "settings": plain(answer.settings),
        "lines": [line_data(line) for line in answer.lines],
        "limits": answer.limits,
        "mixed": origin.mixed,
    }


def line_data(line: Line) -> dict[str, Any]:
    """One number with all that belongs to it, as plain data."""
    return {
        "system": line.system,
        "quantity": line.quantity,
        "counts": line.counts,
        "estimate": plain(line.estimate),
        "words": f"{value_words(line)} {interval_words(line.estimate, line.counts)}",
        "beside": plain(line.beside),
        "denominators": plain(line.denominators),
        "facts": plain(line.facts),
        "told": line.told,
    }
