"""The world of an instance before anything is broken: sources, programs and data under their names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from seatrial.families.draws import Draws
from seatrial.families.repair.layout import Layout, layout_of
from seatrial.families.repair.options import Knobs
from seatrial.families.repair.package import Package, Target, module_of
from seatrial.families.repair.programs import programs_of
from seatrial.families.repair.records import archive, chain_data
from seatrial.families.repair.upstream import needed_files

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Link:
    """One link of a chain: a program that needs a function and the product before it.

    Attributes:
        id: letter of the chain and number in it, ``a1`` being the first.
        target: the function.
        file, module: where it stands in this instance.
        programs: module names of the program, then of the one that re-encodes.
        inputs: the product before it, or the chain's first input; and an input of its own.
        forms: intermediate files, one for each program of the delay.
        product: what the last program makes.
        before: the id of the link before it in its chain, null for the first.
    """

    id: str
    target: Target
    file: str
    module: str
    programs: tuple[str, str]
    inputs: tuple[str, str]
    forms: tuple[str, ...]
    product: str
    before: str | None

    @property
    def run(self) -> tuple[str, Sequence[str]]:
        """The program as one run, without the delay: no form loses anything."""
        return self.programs[0], [*self.inputs, self.product]

    @property
    def commands(self) -> tuple[str, ...]:
        """How a person makes the product. No bytecode is kept: an edit of the same size within the same
        second would otherwise run the old one."""
        files = [*self.forms, self.product]
        first = " ".join(["python3 -B -m", self.programs[0], *self.inputs, files[0]])
        return (first, *(f"python3 -B -m {self.programs[1]} {old} {new}" for old, new in pairwise(files)))


@dataclass(frozen=True)
class World:
    """Names and files of one variant.

    Attributes:
        sources: the package's kept files, by path.
        programs: a program for every function the package offers, by path.
    """

    package: Package
    knobs: Knobs
    layout: Layout
    sources: Mapping[str, str]
    programs: Mapping[str, str]

    @property
    def code(self) -> str:
        """The package's folder."""
        return self.layout.renamed(self.package.code)

    @property
    def tests(self) -> str:
        """The folder of its tests."""
        return self.layout.renamed(self.package.tests)

    def file(self, target: Target) -> str:
        """Where a function stands."""
        return self.layout.renamed(target.file)

    def needed(self, targets: Sequence[Target]) -> dict[str, str]:
        """The files that functions need, by path."""
        paths = {path for target in targets for path in needed_files(self.sources, self.file(target))}
        return {path: self.sources[path] for path in sorted(paths)}

    def link(self, chain: int, number: int, target: Target) -> Link:
        """A link with all its names; chains count from 0, links from 1."""
        layout, knobs = self.layout, self.knobs
        place = layout.places[chain]
        first = layout.file("data", place, 0, "jsonl")
        before = layout.file("products", place, number - 1, "jsonl") if number > 1 else first
        turns = [layout.forms[(chain + number + turn) % len(layout.forms)] for turn in range(knobs.delay)]
        return Link(
            id=f"{LETTERS[chain]}{number}",
            target=target,
            file=self.file(target),
            module=module_of(self.file(target)),
            programs=(layout.program(target.stage), layout.shared("recode")),
            inputs=(before, layout.file("data", place, number, "jsonl")),
            forms=tuple(
                layout.file("forms", place, number, form if turn < len(layout.forms) else f"{turn}.{form}")
                for turn, form in enumerate(turns)
            ),
            product=layout.file("products", place, number, "jsonl"),
            before=f"{LETTERS[chain]}{number - 1}" if number > 1 else None,
        )

    def data(self, attempt: int) -> dict[str, str]:
        """The inputs of every chain; another attempt gives other records."""
        files: dict[str, str] = {}
        for place in self.layout.places[: self.knobs.breadth]:
            draws = Draws(self.knobs.seed, f"data {self.layout.variant} {place} {attempt}")
            files |= chain_data(draws, self.layout, place, self.knobs.depth)
        return files

    def archive(self) -> dict[str, str]:
        """Files of earlier days."""
        draws = Draws(self.knobs.seed, f"archive {self.layout.variant}")
        return archive(draws, self.layout, self.knobs.size)


def world_of(package: Package, knobs: Knobs, kept: Mapping[str, str]) -> World:
    """The world of a variant.

    Args:
        package, knobs: what it is made of.
        kept: the package's files as released.
    """
    layout = layout_of(package, knobs)
    # A licence is a legal text: it stays as it is.
    sources = {
        layout.renamed(path): text if path == package.licence_file else layout.renamed(text)
        for path, text in kept.items()
    }
    return World(package, knobs, layout, sources, programs_of(package.targets, layout, knobs.seed))
