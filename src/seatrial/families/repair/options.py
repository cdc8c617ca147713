"""What a repair task is made with: the knobs of its difficulty."""

from dataclasses import dataclass, replace

from seatrial.errors import UsageError
from seatrial.families.knobs import check_group, check_ranges
from seatrial.families.repair.package import Package

DEEP, SHALLOW = "short and deep", "long and shallow"
GROUPS = (DEEP, SHALLOW)
MOST_FILES = 5000
# A task file holds whole numbers of 64 bits.
MOST_NUMBER = 2**63 - 1
# So many turns make the largest task, of twelve links, one of some 300 actions; more would only repeat forms.
MOST_DELAY = 20


@dataclass(frozen=True)
class Knobs:
    """Everything that tells one task of a package from another.

    Attributes:
        seed: chooses functions, faults, words, data and hidden inputs; 0 to ``MOST_NUMBER``.
        depth: links of a chain, from 1; each is a function to repair and a program that needs it.
        breadth: chains that do not touch each other, from 1.
        delay: further programs between a repair and the product that shows whether it was right, 0 to
            ``MOST_DELAY``.
        size: further files in the workspace, 0 to ``MOST_FILES``.
        variant: 0 for the original; any other number up to ``MOST_NUMBER`` renames and re-lays-out the same
            task.
        group: the stratum that is declared; derived from depth and breadth where it is null.
    """

    seed: int = 1
    depth: int = 3
    breadth: int = 1
    delay: int = 0
    size: int = 0
    variant: int = 0
    group: str | None = None

    @property
    def links(self) -> int:
        """Faults of the task."""
        return self.depth * self.breadth

    @property
    def stratum(self) -> str:
        """The group, named or derived."""
        return self.group or (DEEP if self.depth >= self.breadth else SHALLOW)

    def original(self) -> "Knobs":
        """The same task before it was renamed."""
        return replace(self, variant=0)

    def name(self, package: str) -> str:
        """Names the task: every knob that is not at its default."""
        parts = [f"{package}-{self.seed}-d{self.depth}b{self.breadth}"]
        parts += [f"{letter}{value}" for letter, value in (("k", self.delay), ("n", self.size)) if value]
        return "-".join(parts + ([f"v{self.variant}"] if self.variant else []))


def check_knobs(knobs: Knobs, package: Package) -> None:
    """Refuses knobs out of range and combinations that no task can have.

    Raises:
        UsageError: with the value, the bound and what to do.
    """
    functions = len(package.targets)
    bounds = {
        "seed": (0, MOST_NUMBER), "depth": (1, functions), "breadth": (1, functions),
        "delay": (0, MOST_DELAY), "size": (0, MOST_FILES), "variant": (0, MOST_NUMBER),
    }  # fmt: skip
    check_ranges(knobs, bounds)
    if knobs.links > functions:
        raise UsageError(
            f"--depth {knobs.depth} times --breadth {knobs.breadth} needs {knobs.links} functions to break, "
            f"but {package.name} offers {functions}. Choose a smaller depth or breadth"
        )
    check_group(knobs.group, GROUPS)
