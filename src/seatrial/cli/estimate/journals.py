"""``seatrial estimate calibration`` and ``slope``: what only journals tell, so only of own runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from seatrial.cli.estimate.answer import SHARE, Answer, Line, counts_of, name_of
from seatrial.cli.estimate.drawing import Drawing
from seatrial.cli.estimate.giving import estimated
from seatrial.cli.estimate.options import BY_OPTION, Asked, Outcome, Source
from seatrial.cli.estimate.text import number_words
from seatrial.cli.estimate.trials import Chosen, Measure, outcome_measure, parts_by
from seatrial.cli.options import flat
from seatrial.errors import UsageError
from seatrial.evidence.read import AttemptEvidence, ended_by_trial, read_ended_journal, read_run
from seatrial.journal.events import TrialEnded
from seatrial.journal.run import RunFolder
from seatrial.report.tables import Cell

AttemptKey = tuple[str, int]


@flat
def calibration(
    source: Source,
    asked: Asked,
    outcome: Outcome,
    bins: Annotated[int, typer.Option(help="Bins of equal width.", min=1, show_default=True)] = 10,
    by: Annotated[str | None, BY_OPTION] = None,
) -> None:
    """Can the confidence that agents state when they finish be believed? ECE, Brier, log loss, risk-coverage.

    Trials without a stated confidence are counted and left out. Confidence of completion only: beliefs
    about single steps are another kind.
    """
    _own_run(source, "confidence")
    how = (bins, by)
    estimated(source, "calibration", asked, lambda chosen: _calibration(source, chosen, asked, outcome, how))


def _own_run(source: Path, what: str) -> None:
    """Refuse what has no journals.

    Raises:
        UsageError: a table or an import.
    """
    if not source.is_dir() or RunFolder.open(source).manifest().imported is not None:
        raise UsageError(
            f"{source}: has no journals, and only they tell {what}. Give a run folder of seatrial's."
        )


def _confidences(folder: Path) -> dict[AttemptKey, float | None]:
    """What the agent stated at the end of each attempt; null where it stated nothing."""
    run = RunFolder.open(folder)
    found: dict[AttemptKey, float | None] = {}
    for trial, lines in ended_by_trial(run.folder, run.index(), run.manifest()).items():
        for line in lines:
            events = read_ended_journal(run, line).events
            last = events[-1] if events else None
            found[trial, line.attempt] = last.confidence if isinstance(last, TrialEnded) else None
    return found


def _calibration(
    source: Path, chosen: Chosen, asked: Asked, outcome: Outcome, how: tuple[int, str | None]
) -> Answer:
    bins, by = how
    measure, said = outcome_measure(chosen, outcome.measure, outcome.at_least)
    stated = _confidences(source)
    lines: list[Line] = []
    rows: list[dict[str, Any]] = []
    for cell in chosen.cells:
        name = name_of(cell, chosen.cells)
        parts = [(name, cell)]
        if by is not None:
            parts += [(f"{name}, {stratum}", part) for stratum, part in parts_by(cell, by)]
        for label, part in parts:
            made, drawn = _of_cell(part, measure, stated, asked, bins, label)
            lines += made
            rows += drawn
    return Answer(
        title=f"Calibration of stated confidence against {measure.name}",
        lines=lines,
        limits=said,
        settings={"measure": measure.name, "bins": bins},
        drawing=Drawing(look="lines", rows=rows, x="stated confidence", y=f"rate of {measure.name}"),
    )


def _of_cell(
    cell: Cell,
    measure: Measure,
    stated: Mapping[AttemptKey, float | None],
    asked: Asked,
    bins: int,
    name: str,
) -> tuple[list[Line], list[dict[str, Any]]]:
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.bootstrap import DRAWS
    from seatrial.estimate.calibration import calibration as room
    from seatrial.estimate.selective import risk_coverage

    confidences: dict[str, list[float | None]] = {record.task: [] for record in cell.valid}
    outcomes: dict[str, list[bool | None]] = {record.task: [] for record in cell.valid}
    for record in cell.valid:
        confidences[record.task].append(stated.get((record.trial, record.attempt)))
        outcomes[record.task].append(measure.read(record))
    found = room(
        confidences, outcomes, np.random.default_rng(asked.seed), bins, asked.level, asked.draws or DRAWS
    )
    known = [
        (confidence, outcome)
        for task, given in confidences.items()
        for confidence, outcome in zip(given, outcomes[task], strict=True)
        if confidence is not None and outcome is not None
    ]
    curve = risk_coverage([c for c, _ in known], [not o for _, o in known]) if known else None
    told = (
        [f"{found.unstated} valid trials stated no confidence and say nothing here."]
        if found.unstated
        else []
    )
    told += [
        f"confidence {part.low:g} to {part.high:g}: {part.success.n_trials} trials, stated "
        f"{number_words(part.confidence, SHARE)}, {measure.name} {number_words(part.success.value, SHARE)}"
        for part in found.bins
        if part.success.n_trials
    ]
    if curve is not None:
        told.append(
            f"area under risk-coverage {curve.aurc:.4g}, at best {curve.best_aurc:.4g} with as many failures"
        )
    facts = {"bins": found.bins, "mce": found.mce, "unstated": found.unstated, "risk_coverage": curve}
    numbers = {"ECE": found.ece, "Brier score": found.brier, "log loss in nats": found.log_loss}
    counted = counts_of(cell, [measure.read(record) for record in cell.valid], True)
    lines = [
        Line(system=name, quantity=what, estimate=estimate, denominators=counted,
             facts=facts if n == 0 else {}, told=told if n == 0 else [])
        for n, (what, estimate) in enumerate(numbers.items())
    ]  # fmt: skip
    rows = [
        {"series": name, "x": part.confidence, "y": part.success.value, "low": part.success.low,
         "high": part.success.high}
        for part in found.bins
    ]  # fmt: skip
    return lines, rows


@flat
def slope(
    source: Source,
    asked: Asked,
    window: Annotated[
        int, typer.Option(help="How many of the last steps count.", min=3, show_default=True)
    ] = 5,
) -> None:
    """Were runs that a budget cut off still getting on? Slope of verified progress in their last steps.

    Needs verdicts of every step: `seatrial verify RUN --every-step`.
    """
    _own_run(source, "how progress went on")
    estimated(source, "slope", asked, lambda chosen: _slope(source, chosen, asked, window))


def _slope(source: Path, chosen: Chosen, asked: Asked, window: int) -> Answer:
    # Loaded here, since numpy slows every start.
    from seatrial.estimate.slope import censored_runs

    attempts = {(a.record.trial, a.record.attempt): a for a in read_run(source).counted}
    lines = []
    for cell in chosen.cells:
        courses: dict[str, list[list[float | None]]] = {}
        for record in cell.valid:
            if record.censored:
                course = _course(attempts[record.trial, record.attempt])
                courses.setdefault(record.task, []).append(course)
        found = censored_runs(courses, window, asked.level)
        lines.append(
            Line(
                system=name_of(cell, chosen.cells),
                quantity="censored runs still advancing",
                counts=SHARE,
                estimate=found.advancing,
                denominators=counts_of(cell, [None for _ in cell.valid], False),
                columns={way: str(count) for way, count in found.counts.items()},
                facts={"counts": found.counts, "slopes": found.slopes},
            )
        )
    return Answer(title=f"Progress of censored runs, last {window} steps", lines=lines,
                  settings={"window": window})  # fmt: skip


def _course(attempt: AttemptEvidence) -> list[float | None]:
    """Verified progress after each step; unknown throughout where not every step was judged."""
    last = attempt.record.actions or 0
    if not attempt.verdicts.every_step or not attempt.progress:
        return [None] * (last + 1)
    changes, values, now = dict(attempt.progress), [], attempt.progress[0][1]
    for step in range(last + 1):
        now = changes.get(step, now)
        values.append(now)
    return list(values)
