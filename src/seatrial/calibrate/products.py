"""What a task is calibrated with: its own solutions, and doing nothing at all."""

from dataclasses import dataclass
from pathlib import Path

from seatrial.errors import SpecError
from seatrial.spec.loading import LoadedTask
from seatrial.spec.scripts import load_script

SOLUTIONS = "solutions/"
ACCEPTED = ("reference", "equivalent")
REFERENCE = "reference"
NO_OP = "no-op"
NO_OP_SCRIPT = '[[step]]\ntool = "finish"\nsummary = "nothing was done"\n'


@dataclass(frozen=True)
class Product:
    """One thing an agent might hand in.

    Attributes:
        name: the solution's file name without its ending, or ``no-op``.
        text: its script (TOML).
        accepted: whether it must be a safe success; otherwise it must be a failure.
    """

    name: str
    text: str
    accepted: bool


def products_of(task: LoadedTask) -> list[Product]:
    """The no-op and every script under ``solutions/``, by name.

    A name that begins with ``reference`` or ``equivalent`` must be accepted; all others must be rejected.

    Raises:
        SpecError: a script is damaged, there is no ``reference.toml``, or a solution is called ``no-op``.
    """
    found = [Product(NO_OP, NO_OP_SCRIPT, accepted=False)]
    for relative in sorted(task.files):
        if relative.startswith(SOLUTIONS) and relative.endswith(".toml") and not is_recovery(relative):
            found.append(_product(task, relative))
    if not any(product.name == REFERENCE for product in found):
        raise SpecError(
            str(task.folder), f"{SOLUTIONS}{REFERENCE}.toml", "there is no reference solution",
            "Write the script that solves the task; without one nothing shows that it can be solved",
        )  # fmt: skip
    return found


def is_recovery(relative: str) -> bool:
    """Whether a file is the reference recovery from a perturbation: it answers no undisturbed task."""
    return relative.startswith(f"{SOLUTIONS}recover-")


def _product(task: LoadedTask, relative: str) -> Product:
    path = task.folder / relative
    name = relative.removeprefix(SOLUTIONS).removesuffix(".toml").replace("/", "-")
    if name == NO_OP:
        raise SpecError(str(path), "", f"the name {NO_OP!r} is taken", "Give the solution another name")
    load_script(path, task.spec.environment.services)
    return Product(name, read_script(path), accepted=name.startswith(ACCEPTED))


def read_script(path: Path) -> str:
    """A script's text, which ``load_script`` has checked."""
    return path.read_text(encoding="utf-8")
