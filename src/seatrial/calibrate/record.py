"""``calibration.json``: what a calibration found, kept in the task's folder beside what it is about."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from seatrial.calibrate.oracle_record import Oracle, oracle_contradiction
from seatrial.calibrate.products import NO_OP, REFERENCE, products_of
from seatrial.errors import SpecError
from seatrial.journal.run import write_json
from seatrial.records.trial import TerminalClass
from seatrial.spec.loading import CALIBRATION_FILE, LoadedTask

SCHEMA = "seatrial/calibration@1"
# A verifier that is right once may be right by chance.
FEWEST_ROUNDS = 2
Expected = Literal["accepted", "rejected"]
EXPECTED: dict[bool, Expected] = {True: "accepted", False: "rejected"}
MUST_BE: dict[str, TerminalClass] = {"accepted": "success", "rejected": "failure"}


class Undecided(msgspec.Struct, kw_only=True, frozen=True):
    """A subgoal whose verifier gave no certain verdict on the final state.

    Attributes:
        verdict: ``error``, ``unknown``, or ``flaky``: its fresh runs disagreed.
        reason: why, on one line; null where neither the verifier nor the harness said.
        product_triggered: an error that the product causes: the subgoal is then not passed.
    """

    subgoal: str
    verdict: Literal["error", "unknown", "flaky"]
    reason: str | None = None
    product_triggered: bool = False


class Outcome(msgspec.Struct, kw_only=True, frozen=True):
    """One trial of a product.

    Attributes:
        failing: subgoals that failed at the end, by a verdict; see ``undecided`` for those without one.
        undecided: subgoals of which it is not known.
        actions, approvals_asked: as in the trial record.
    """

    terminal_class: TerminalClass
    strict_success: bool | None
    safe_success: bool | None
    stop_reason: str | None
    failing: list[str] = []
    undecided: list[Undecided] = []
    hard_violations: int | None = None
    actions: int | None = None
    approvals_asked: int | None = None


class ProductResult(msgspec.Struct, kw_only=True, frozen=True):
    """A product and how each of its trials ended; ``right`` when all ended as they must."""

    name: str
    expected: Expected
    outcomes: list[Outcome]
    right: bool


class Survivor(msgspec.Struct, kw_only=True, frozen=True):
    """A mutant that was not rejected: a check is missing, or the change does not matter."""

    name: str
    change: str
    terminal_class: TerminalClass
    undecided: list[Undecided] = []


class Rejected(msgspec.Struct, kw_only=True, frozen=True):
    """A mutant that was rejected, and what rejected it.

    Attributes:
        by: required subgoals that were not passed at the end.
        hard_violations: rules it broke, which alone would reject it.
    """

    name: str
    change: str
    by: list[str]
    hard_violations: int | None = None


class Mutation(msgspec.Struct, kw_only=True, frozen=True):
    """Mutants of the reference: how many were tried, and what became of them.

    Attributes:
        survivors: those that were not rejected.
        rejected: all others; null in a record of a release that did not keep them.
        never_alone: required subgoals whose verifier was never the only thing that rejected a mutant or a
            solution: were it to accept everything, nothing here would have shown it.
    """

    tried: int
    survivors: list[Survivor]
    rejected: list[Rejected] | None = None
    never_alone: list[str] = []


def never_alone(required: Sequence[str], rejected: Sequence[Rejected]) -> list[str]:
    """The required subgoals that rejected nothing by themselves, in their order."""
    alone = {mutant.by[0] for mutant in rejected if len(mutant.by) == 1 and not mutant.hard_violations}
    return [subgoal for subgoal in required if subgoal not in alone]


class Calibration(msgspec.Struct, kw_only=True):
    """What ``seatrial calibrate`` found.

    Attributes:
        digest: of the task that was calibrated; another one is not calibrated by this.
        rounds: trials of each product, one after the other.
        flaky: subgoals whose verifier disagreed with itself on one state.
        mutation: null when it was not asked for.
        passed: every product was judged as it must be, in every round, no verifier is flaky, nothing is
            wrong with an oracle and, where mutants were tried, none survived.
        oracles: what came of each perturbation; null where the reference was rejected, so that nothing could
            be compared with it, and in a record of a release that did not play them.
    """

    task: str
    version: str
    digest: str
    created: str
    seatrial: str
    rounds: int
    products: list[ProductResult]
    flaky: list[str]
    mutation: Mutation | None
    passed: bool
    oracles: list[Oracle] | None = None
    schema: str = SCHEMA


def judged_right(expected: str, outcomes: Sequence[Outcome]) -> bool:
    """Whether every trial of a product ended as it must."""
    return all(outcome.terminal_class == MUST_BE[expected] for outcome in outcomes)


def wavering(outcomes: Sequence[Outcome]) -> set[str]:
    """Subgoals whose verifier disagreed with itself: on one state, or between trials of one product.

    Between trials means that it passed at the end of one and did not at the end of another.
    """
    undecided = [each for outcome in outcomes for each in outcome.undecided]
    times = Counter(subgoal for outcome in outcomes for subgoal in outcome.failing)
    times.update(each.subgoal for each in undecided)
    changing = {subgoal for subgoal, count in times.items() if count < len(outcomes)}
    return changing | {each.subgoal for each in undecided if each.verdict == "flaky"}


def has_passed(
    products: Sequence[ProductResult], flaky: Sequence[str], mutation: Mutation | None,
    oracles: Sequence[Oracle] | None,
) -> bool:  # fmt: skip
    """What ``passed`` must be, from all the rest."""
    survived = mutation is not None and bool(mutation.survivors)
    measured = all(oracle.problem is None for oracle in oracles or ())
    return all(product.right for product in products) and not flaky and not survived and measured


def contradiction(found: Calibration) -> tuple[str, str] | None:
    """The first place at which a calibration denies what it says elsewhere, and how; null when none does."""
    names = [product.name for product in found.products]
    for name in (NO_OP, REFERENCE):
        if names.count(name) != 1:
            return "products", f"holds {names.count(name)} products called {name!r}; there must be one"
    if found.schema != SCHEMA:
        return "schema", f"{found.schema!r} is not known here"
    if found.rounds < FEWEST_ROUNDS:
        return "rounds", f"{found.rounds} trials of each product show nothing; {FEWEST_ROUNDS} are needed"
    for index, product in enumerate(found.products):
        wrong = _product_contradiction(product, found)
        if wrong is not None:
            return f"products[{index}].{wrong[0]}", f"{product.name}: {wrong[1]}"
    if found.mutation is not None and found.mutation.tried < len(found.mutation.survivors):
        tried, survivors = found.mutation.tried, len(found.mutation.survivors)
        return "mutation.tried", f"{survivors} mutants survived of {tried} that were tried"
    if found.mutation is not None and found.mutation.rejected is not None:
        kept = len(found.mutation.rejected) + len(found.mutation.survivors)
        if kept != found.mutation.tried:
            return (
                "mutation.rejected",
                f"what became of {kept} mutants is kept, of {found.mutation.tried} tried",
            )
    for index, oracle in enumerate(found.oracles or ()):
        denied = oracle_contradiction(oracle)
        if denied is not None:
            return f"oracles[{index}]", f"{oracle.perturbation}: {denied}"
    passed = has_passed(found.products, found.flaky, found.mutation, found.oracles)
    if found.passed != passed:
        return "passed", f"says {_word(found.passed)}, but by all the rest it is {_word(passed)}"
    return None


def _product_contradiction(product: ProductResult, found: Calibration) -> tuple[str, str] | None:
    if len(product.outcomes) != found.rounds:
        return "outcomes", f"holds {len(product.outcomes)} trials, and there were {found.rounds} rounds"
    for number, outcome in enumerate(product.outcomes):
        safe, end = outcome.safe_success is True, outcome.terminal_class
        if (end == "success" and not safe) or (end == "failure" and safe):
            place = f"outcomes[{number}].terminal_class"
            return place, f"{end!r} is no end of a trial whose safe_success is {outcome.safe_success}"
    if missing := sorted(wavering(product.outcomes) - set(found.flaky)):
        return "outcomes", f"the verifier of {missing[0]} wavers in them, and it does not stand under flaky"
    right = judged_right(product.expected, product.outcomes)
    if product.right != right:
        return "right", f"says {_word(product.right)}, but by its outcomes it is {_word(right)}"
    return None


def _word(value: bool) -> str:
    return str(value).lower()


def require_recordable(folder: Path) -> None:
    """Make sure that a calibration could be kept in a task's folder, before it is made.

    Raises:
        SpecError: it could not.
    """
    path = folder / CALIBRATION_FILE
    if path.is_dir() and not path.is_symlink():
        raise SpecError(str(path), "", "is a folder", "Move it away: the calibration is to be kept there")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as fault:
        raise SpecError(
            str(path), "", f"could not be written: {fault.strerror or fault}",
            "Make the task's folder writable, or calibrate a copy of it",
        ) from fault  # fmt: skip


def write_calibration(folder: Path, calibration: Calibration) -> None:
    """Keep it in the task's folder, in place of an earlier one."""
    write_json(folder / CALIBRATION_FILE, calibration)


def read_calibration(folder: Path) -> Calibration | None:
    """The calibration kept in a task's folder; null when there is none.

    Raises:
        SpecError: damaged, or it contradicts itself.
    """
    path = folder / CALIBRATION_FILE
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Calibration)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise SpecError(str(path), "", f"damaged: {fault}", _remedy(folder)) from fault
    wrong = contradiction(found)
    if wrong is not None:
        raise SpecError(str(path), *wrong, _remedy(folder))
    return found


def require_calibrated(task: LoadedTask) -> Calibration:
    """The task's calibration, which must be of this very task and must have passed.

    Raises:
        SpecError: it is missing, of another state of the folder, of other products than the task's, or did
            not pass.
    """
    found = read_calibration(task.folder)
    file = str(task.folder / CALIBRATION_FILE)
    if found is None:
        raise SpecError(str(task.folder), "", "the task was never calibrated", _remedy(task.folder))
    if found.digest != task.digest:
        problem = f"it is of {found.digest[:12]}, but the task has changed and is {task.digest[:12]}"
        raise SpecError(file, "digest", problem, _remedy(task.folder))
    wanted = {product.name: EXPECTED[product.accepted] for product in products_of(task)}
    tried = {product.name: product.expected for product in found.products}
    for name in sorted(wanted.keys() | tried.keys()):
        if wanted.get(name) != tried.get(name):
            problem = (
                f"says of {name!r}: {tried.get(name, 'nothing')}; by the task it is "
                f"{wanted.get(name, 'no product')}"
            )
            raise SpecError(file, "products", problem, _remedy(task.folder))
    if not found.passed:
        wrong = [product.name for product in found.products if not product.right]
        survivors = found.mutation.survivors if found.mutation else []
        problem = (
            f"the calibration did not pass: judged wrongly {wrong}, flaky {found.flaky}, "
            f"{len(survivors)} mutants survived"
        )
        raise SpecError(file, "passed", problem, f"Mend the task. {_remedy(task.folder)}")
    return found


def _remedy(folder: Path) -> str:
    return f"Run `seatrial calibrate {folder}`"
