"""The families that tasks can be generated of, and what each knob means in each of them."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from seatrial.errors import UsageError

DOWNLOADS = Path("build/downloads")
Make = Callable[[dict[str, Any], Path, Path], Path]


@dataclass(frozen=True)
class Family:
    """One family.

    Attributes:
        about: what its tasks are, in a few words.
        knobs: what it can be told, each with its meaning; null leaves it to the family.
        make: given the knobs, the folder and where downloads are kept, generates a task.
    """

    about: str
    knobs: Mapping[str, str]
    make: Make


def _repair(knobs: dict[str, Any], folder: Path, cache: Path) -> Path:
    from seatrial.families import repair  # a generator is loaded only when asked for

    return repair.generate(knobs.pop("package", "toolz"), repair.Knobs(**knobs), folder, cache)


def _ledger(knobs: dict[str, Any], folder: Path, cache: Path) -> Path:
    from seatrial.families import ledger  # see above

    return ledger.generate(knobs.pop("data", "weather"), ledger.Knobs(**knobs), folder, cache)


def _release(knobs: dict[str, Any], folder: Path, cache: Path) -> Path:
    from seatrial.families import release  # see above

    return release.generate(release.Knobs(**knobs), folder)


FAMILIES: Mapping[str, Family] = {
    "repair": Family(
        "functions of a real package are broken, and chains of programs lean on them",
        {
            "package": "the one to break: toolz (default), funcy or boltons",
            "seed": "1",
            "depth": "links of a chain (3), each a function to repair and a program that needs it",
            "breadth": "chains that do not touch each other (1)",
            "delay": "programs between a repair and the product that shows it (0, at most 20)",
            "size": "further files that nothing needs (0)",
            "variant": "0",
            "group": '"short and deep", or "long and shallow" where breadth is larger than depth',
        },
        _repair,
    ),
    "ledger": Family(
        "real figures come in untidy, are kept by rules in a database, and tables rest on one another",
        {
            "data": "weather (default), employment or electricity",
            "seed": "1",
            "depth": "tables of sums, each made from the one before (3, at most 12)",
            "breadth": "files to load (2, at most 8)",
            "delay": "tables between the cleaning and its first check (0, at most 8)",
            "size": "further entries (0)",
            "variant": "0",
            "group": 'as with repair, or "goal changes, world does not", "belief and world diverge"; these '
            "two have fewer disturbances",
        },
        _ledger,
    ),
    "release": Family(
        "tickets ask for releases, which are approved, deployed, announced and paid for, mostly for good",
        {
            "seed": "1",
            "depth": "releases that build on one another (2, at most 12)",
            "delay": "further releases before one is announced, paid for and closed (0, at most depth - 2)",
            "variant": "0",
            "group": '"short but irreversible" (default), or the last two of ledger\'s',
        },
        _release,
    ),
}


def _told(knob: str, text: str = "") -> str:
    """What a knob means in each family that has it."""
    each = [f"{name}: {family.knobs[knob]}" for name, family in FAMILIES.items() if knob in family.knobs]
    return text or f"{'; '.join(each)}."


def _knob(knob: str, text: str = "") -> Any:
    return typer.Option(help=_told(knob, text))


@dataclass(frozen=True)
class FamilyOptions:
    """What a generated task is made with; what is null was not asked for."""

    family: Annotated[
        str | None,
        typer.Option(
            help=" ".join(f"{name}: {family.about}." for name, family in FAMILIES.items()),
        ),
    ] = None
    package: Annotated[str | None, _knob("package")] = None
    data: Annotated[str | None, _knob("data")] = None
    seed: Annotated[int | None, _knob("seed", "The same seed gives the same task; 1 by default.")] = None
    depth: Annotated[int | None, _knob("depth")] = None
    breadth: Annotated[int | None, _knob("breadth")] = None
    delay: Annotated[int | None, _knob("delay")] = None
    size: Annotated[int | None, _knob("size")] = None
    variant: Annotated[
        int | None,
        _knob(
            "variant",
            "0 (default) is the original; any other number gives the same task under other names, words, "
            "folders and data.",
        ),
    ] = None
    group: Annotated[str | None, _knob("group")] = None
    cache: Annotated[
        Path | None,
        typer.Option(help=f"Where downloads are kept; {DOWNLOADS} by default."),
    ] = None

    def given(self) -> dict[str, Any]:
        """Options that the user gave, by name, without the family itself."""
        return {name: value for name, value in asdict(self).items() if name != "family" and value is not None}


def generate(made: FamilyOptions, folder: Path) -> Path:
    """Generates a task.

    Raises:
        UsageError: unknown family, or a knob that it does not have.
        SeatrialError: as of the family's own generator.
    """
    name, knobs = str(made.family), made.given()
    family = FAMILIES.get(name)
    if family is None:
        raise UsageError(f"there is no family {name!r}. Choose one of: {', '.join(FAMILIES)}.")
    cache = knobs.pop("cache", DOWNLOADS)
    for knob in knobs:
        if knob not in family.knobs:
            told = ", ".join(f"--{each}" for each in family.knobs)
            raise UsageError(f"--{knob} is no knob of {name}. Leave it out; it has {told}.")
    return family.make(knobs, folder, cache)
