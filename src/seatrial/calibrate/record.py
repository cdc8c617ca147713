"""``calibration.json``: what a calibration found, kept in the task's folder beside what it is about."""

from pathlib import Path
from typing import Literal

import msgspec

from seatrial.errors import SpecError
from seatrial.journal.run import write_json
from seatrial.records.trial import TerminalClass
from seatrial.spec.loading import CALIBRATION_FILE, LoadedTask

SCHEMA = "seatrial/calibration@1"


class Outcome(msgspec.Struct, kw_only=True, frozen=True):
    """One trial of a product. ``failing`` lists subgoals that did not pass at the end."""

    terminal_class: TerminalClass
    strict_success: bool | None
    safe_success: bool | None
    stop_reason: str | None
    failing: list[str] = []
    hard_violations: int | None = None


class ProductResult(msgspec.Struct, kw_only=True, frozen=True):
    """A product and how each of its trials ended; ``right`` when all ended as they must."""

    name: str
    expected: Literal["accepted", "rejected"]
    outcomes: list[Outcome]
    right: bool


class Survivor(msgspec.Struct, kw_only=True, frozen=True):
    """A mutant that was not rejected: a check is missing, or the change does not matter."""

    name: str
    change: str
    terminal_class: TerminalClass


class Mutation(msgspec.Struct, kw_only=True, frozen=True):
    """Mutants of the reference: how many were tried, and which were not rejected."""

    tried: int
    survivors: list[Survivor]


class Calibration(msgspec.Struct, kw_only=True):
    """What ``seatrial calibrate`` found.

    Attributes:
        digest: of the task that was calibrated; another one is not calibrated by this.
        rounds: trials of each product, one after the other.
        flaky: subgoals whose verifier disagreed with itself on one state.
        mutation: null when it was not asked for.
        passed: every product was judged as it must be, in every round, no verifier is flaky and, where
            mutants were tried, none survived.
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
    schema: str = SCHEMA


def write_calibration(folder: Path, calibration: Calibration) -> None:
    """Keep it in the task's folder, in place of an earlier one."""
    write_json(folder / CALIBRATION_FILE, calibration)


def read_calibration(folder: Path) -> Calibration | None:
    """The calibration kept in a task's folder; null when there is none.

    Raises:
        SpecError: damaged.
    """
    path = folder / CALIBRATION_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Calibration)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise SpecError(str(path), "", f"damaged: {fault}", _remedy(folder)) from fault


def require_calibrated(task: LoadedTask) -> Calibration:
    """The task's calibration, which must be of this very task and must have passed.

    Raises:
        SpecError: it is missing, of another state of the folder, or did not pass.
    """
    found = read_calibration(task.folder)
    file = str(task.folder / CALIBRATION_FILE)
    if found is None:
        raise SpecError(str(task.folder), "", "the task was never calibrated", _remedy(task.folder))
    if found.digest != task.digest:
        problem = f"it is of {found.digest[:12]}, but the task has changed and is {task.digest[:12]}"
        raise SpecError(file, "digest", problem, _remedy(task.folder))
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
