"""One calibration: every product in every round, then, where asked for, every mutant of the reference."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from seatrial import __version__
from seatrial.calibrate.mutants import Mutant, changing_steps, mutants
from seatrial.calibrate.oracles import check_recoveries, measure_oracles
from seatrial.calibrate.play import Played, Round, events_of, outcomes_of, play
from seatrial.calibrate.products import REFERENCE, Product, products_of
from seatrial.calibrate.record import (
    EXPECTED,
    FEWEST_ROUNDS,
    Calibration,
    Mutation,
    Outcome,
    ProductResult,
    Rejected,
    Survivor,
    has_passed,
    judged_right,
    never_alone,
    wavering,
)
from seatrial.environment.scratch import scratch_folder
from seatrial.journal.run import RunFolder
from seatrial.schedule.watching import Watcher
from seatrial.spec.loading import LoadedTask
from seatrial.spec.toml_text import table_text

SCRATCH = "seatrial-calibrate-"
# Fresh judgements of each final state: enough to see a verifier disagree with itself.
FINAL_VERDICTS = 3


@dataclass(frozen=True)
class Effort:
    """How much to do.

    Attributes:
        rounds: trials of each product, at least ``FEWEST_ROUNDS``.
        mutate: try every mutant of the reference too.
        workers: trials at once.
        keep: folder in which the runs are kept; null leaves nothing behind.
    """

    rounds: int = FEWEST_ROUNDS
    mutate: bool = False
    workers: int = 1
    keep: Path | None = None


def calibrate(task: LoadedTask, effort: Effort, watcher: Callable[[str, int], Watcher]) -> Calibration:
    """Judge every product of a task and compare with what must come out.

    Args:
        task: the task.
        effort: how much to do.
        watcher: given what is played and how many trials that takes, who is told of them.

    Raises:
        SpecError: the task has no reference solution, or a script is damaged.
        EnvironmentFault: a trial could not be completed.
        SeatrialError: the trials cannot be run here.
    """
    products = products_of(task)
    check_recoveries(task)
    with scratch_folder(SCRATCH) as scratch:
        folder = effort.keep or scratch
        scripts = {product.name: product.text for product in products}
        asked = Round(scripts, effort.rounds, FINAL_VERDICTS, effort.workers)
        run = play(task, folder / "products", asked, lambda trials: watcher("products", trials))
        played = outcomes_of(run)
        flaky = sorted(set().union(*(each.flaky | wavering(each.outcomes) for each in played.values())))
        results = [_result(product, played[product.name]) for product in products]
        mutation, oracles = None, None
        reference = next(each for each in results if each.name == REFERENCE)
        # A reference that is rejected says nothing about what differs from it.
        if reference.right:
            work = (effort.rounds, effort.workers)
            oracles = measure_oracles(
                task, folder / "oracles", work, reference.outcomes, lambda trials: watcher("oracles", trials)
            )
        if effort.mutate and reference.right:
            mutation = _mutate(task, run, folder, effort, watcher)
            mutation = _weighed(task, mutation, results)
    return Calibration(
        task=task.spec.id, version=task.spec.version, digest=task.digest,
        created=datetime.now(UTC).isoformat(timespec="seconds"), seatrial=__version__, rounds=effort.rounds,
        products=results, flaky=flaky, mutation=mutation, oracles=oracles,
        passed=has_passed(results, flaky, mutation, oracles),
    )  # fmt: skip


def _result(product: Product, played: Played) -> ProductResult:
    expected = EXPECTED[product.accepted]
    return ProductResult(
        name=product.name,
        expected=expected,
        outcomes=played.outcomes,
        right=judged_right(expected, played.outcomes),
    )


def _mutate(
    task: LoadedTask, run: RunFolder, folder: Path, effort: Effort, watcher: Callable[[str, int], Watcher]
) -> Mutation:
    script = next(product.text for product in products_of(task) if product.name == REFERENCE)
    tried = mutants(script, changing_steps(script, events_of(run, REFERENCE)))
    if not tried:
        return Mutation(tried=0, survivors=[], rejected=[])
    required = _required(task)
    asked = Round({mutant.name: _text(mutant) for mutant in tried}, 1, 1, effort.workers)
    mutated = play(task, folder / "mutants", asked, lambda trials: watcher("mutants", trials))
    played = outcomes_of(mutated)
    ends = [(mutant, played[mutant.name].outcomes[0]) for mutant in tried]
    return Mutation(
        tried=len(tried),
        survivors=[_survivor(each, end) for each, end in ends if end.terminal_class != "failure"],
        rejected=[
            _rejected(each.name, each.change, end, required)
            for each, end in ends
            if end.terminal_class == "failure"
        ],
    )


def _required(task: LoadedTask) -> list[str]:
    return [subgoal.id for subgoal in task.spec.subgoals_for(1) if subgoal.required]


def _weighed(task: LoadedTask, mutation: Mutation, products: Sequence[ProductResult]) -> Mutation:
    """With the verifiers that nothing but they had to reject; the task's own wrong solutions count too."""
    required = _required(task)
    wrong = [
        _rejected(product.name, "", end, required)
        for product in products
        for end in product.outcomes
        if end.terminal_class == "failure"
    ]
    found = never_alone(required, [*(mutation.rejected or ()), *wrong])
    return msgspec.structs.replace(mutation, never_alone=found)


def _survivor(mutant: Mutant, end: Outcome) -> Survivor:
    return Survivor(
        name=mutant.name, change=mutant.change, terminal_class=end.terminal_class, undecided=end.undecided
    )


def _rejected(name: str, change: str, end: Outcome, required: Sequence[str]) -> Rejected:
    not_passed = {*end.failing, *(each.subgoal for each in end.undecided if each.product_triggered)}
    by = [subgoal for subgoal in required if subgoal in not_passed]
    return Rejected(name=name, change=change, by=by, hard_violations=end.hard_violations)


def _text(mutant: Mutant) -> str:
    return "\n".join(table_text("[step]", step) for step in mutant.steps)
