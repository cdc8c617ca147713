"""What a repair task is made with: the knobs of its difficulty."""

from dataclasses import dataclass, replace

from seatrial.errors import UsageError
from seatrial.families.repair.package import Package

DEEP, SHALLOW = "short and deep", "long and shallow"
GROUPS = (DEEP, SHALLOW)
MOST_FILES = 5000


@dataclass(frozen=True)
class Knobs:
    """Everything that tells one task of a package from another.

    Attributes:
        seed: chooses functions, faults, words, data and hidden inputs.
        depth: links of a chain, from 1; each is a function to repair and a program that needs it.
        breadth: chains that do not touch each other, from 1.
        delay: further programs between a repair and the product that shows whether it was right, from 0.
        size: further files in the workspace, from 0.
        variant: 0 for the original; any other number renames and re-lays-out the same task.
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
    lowest = {"seed": 0, "depth": 1, "breadth": 1, "delay": 0, "size": 0, "variant": 0}
    for knob, low in lowest.items():
        value = getattr(knobs, knob)
        if value < low:
            raise UsageError(f"{knob} {value} is too small. Choose {low} or more")
    if knobs.links > len(package.targets):
        raise UsageError(
            f"depth {knobs.depth} times breadth {knobs.breadth} needs {knobs.links} functions to break, but "
            f"{package.name} offers {len(package.targets)}. Choose a smaller depth or breadth"
        )
    if knobs.size > MOST_FILES:
        raise UsageError(f"size {knobs.size} is too large. Choose {MOST_FILES} files or fewer")
    if knobs.group is not None and knobs.group not in GROUPS:
        raise UsageError(f"there is no group {knobs.group!r}. Choose one of: {', '.join(map(repr, GROUPS))}")
