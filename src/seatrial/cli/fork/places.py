"""Which steps of which trials are forked: the one that is named, or some drawn at random."""

from dataclasses import dataclass
from typing import Annotated

import typer

from seatrial.errors import UsageError
from seatrial.journal.run import Manifest, RunFolder, TrialPlanned
from seatrial.schedule.fork_candidates import ForkOrders
from seatrial.schedule.forks import ForkPlace, draw_places
from seatrial.schedule.queue import ledger_of
from seatrial.spec.faults import choose


@dataclass(frozen=True)
class Chance:
    """Seeds and sampling."""

    seed: Annotated[
        int | None,
        typer.Option(help="Draws steps, and a seed for each fork. [default: the experiment's]"),
    ] = None
    same_seed: Annotated[
        bool, typer.Option("--same-seed", help="Give every fork the seed of its original instead.")
    ] = False
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="Fork K steps drawn at random in place of one: of TRIAL (without @STEP), or without a TRIAL "
            "of all trials of the experiment.",
        ),
    ] = None
    attempt: Annotated[
        int | None, typer.Option(help="Attempt of the trial; the one that counts if left out.")
    ] = None


def places_of(
    run: RunFolder, manifest: Manifest, place: str | None, chance: Chance, orders: ForkOrders
) -> list[ForkPlace]:
    """The steps to fork.

    Args:
        place: TRIAL@STEP, or with ``--sample`` a TRIAL or null for all.

    Raises:
        UsageError: there is no such step, or too few of them.
    """
    if chance.sample is not None:
        return _drawn(run, manifest, place, chance, orders)
    if place is None:
        raise UsageError("fork: name TRIAL@STEP, or draw steps with --sample K.")
    name, at, step = place.rpartition("@")
    if not at or not step.isascii() or not step.isdigit():
        raise UsageError(
            f"{place!r}: is not TRIAL@STEP with a step from 0, such as {name or place or 'trial'}@3."
        )
    planned = _trial(manifest, name)
    return [ForkPlace(planned, _attempt(run, manifest, planned, chance.attempt), int(step))]


def _drawn(
    run: RunFolder, manifest: Manifest, place: str | None, chance: Chance, orders: ForkOrders
) -> list[ForkPlace]:
    assert chance.sample is not None
    if chance.sample < 1:
        raise UsageError(f"--sample {chance.sample}: is no number of steps. Give one from 1.")
    if place is not None:
        if "@" in place:
            raise UsageError(f"{place!r}: names a step already. Leave @STEP or --sample out.")
        planned = _trial(manifest, place)
        frame = [(planned, _attempt(run, manifest, planned, chance.attempt))]
    else:
        if chance.attempt is not None:
            raise UsageError("--attempt: needs a TRIAL.")
        ledger = ledger_of(manifest, run.index())
        lines = [(p, ledger.counted(p.trial)) for p in manifest.plan if p.fork is None]
        frame = [(planned, line.attempt) for planned, line in lines if line is not None]
    return draw_places(run, frame, chance.sample, orders)


def _trial(manifest: Manifest, name: str) -> TrialPlanned:
    for planned in manifest.plan:
        if planned.trial == name:
            return planned
    names = [planned.trial for planned in manifest.plan]
    raise UsageError(f"{name!r}: is no trial of this run. {choose(name, names, 'a trial')}")


def _attempt(run: RunFolder, manifest: Manifest, planned: TrialPlanned, wanted: int | None) -> int:
    ledger = ledger_of(manifest, run.index())
    ended = [line.attempt for line in ledger.attempts(planned.trial)]
    if wanted is not None:
        if wanted not in ended:
            raise UsageError(f"--attempt {wanted}: {planned.trial!r} has ended attempts {ended}.")
        return wanted
    counted = ledger.counted(planned.trial)
    if counted is None:
        remedy = f"Choose one of its attempts {ended} with --attempt" if ended else "Let it end first"
        raise UsageError(f"{planned.trial!r}: has no attempt that counts. {remedy}.")
    return counted.attempt
