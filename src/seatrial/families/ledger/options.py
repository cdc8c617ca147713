"""What a ledger task is made with: the knobs of its difficulty."""

from dataclasses import dataclass, replace

from seatrial.families.knobs import check_group, check_ranges
from seatrial.families.ledger.sources import Source

DEEP, SHALLOW = "short and deep", "long and shallow"
GOAL = "goal changes, world does not"
BELIEF = "belief and world diverge"
GROUPS = (DEEP, SHALLOW, GOAL, BELIEF)
MOST_DEPTH, MOST_BREADTH, MOST_DELAY, MOST_SIZE = 12, 8, 8, 400
# A task file holds whole numbers of 64 bits.
MOST_NUMBER = 2**63 - 1


@dataclass(frozen=True)
class Knobs:
    """Everything that tells one task of a data set from another.

    Attributes:
        seed: chooses entries, dirt, rules, sums and what is disturbed; 0 to ``MOST_NUMBER``.
        depth: tables of sums, each made from the one before, 1 to ``MOST_DEPTH``.
        breadth: files that are loaded, none of which needs another, 1 to ``MOST_BREADTH``.
        delay: tables between the cleaned entries and the first check of the cleaning, 0 to ``MOST_DELAY``.
        size: further entries, 0 to ``MOST_SIZE``, as far as the data set has them.
        variant: 0 for the original; any other number up to ``MOST_NUMBER`` gives the same figures under
            other names and in other files.
        group: the stratum; derived from depth and breadth where it is null. The groups about goals and
            beliefs also leave out the disturbances that are of neither.
    """

    seed: int = 1
    depth: int = 3
    breadth: int = 2
    delay: int = 0
    size: int = 0
    variant: int = 0
    group: str | None = None

    @property
    def stratum(self) -> str:
        """The group, named or derived."""
        return self.group or (DEEP if self.depth >= self.breadth else SHALLOW)

    def original(self) -> "Knobs":
        """The same task before it was renamed."""
        return replace(self, variant=0)

    def name(self, source: str) -> str:
        """Names the task: every knob that is not at its default."""
        parts = [f"{source}-{self.seed}-d{self.depth}b{self.breadth}"]
        parts += [f"{letter}{value}" for letter, value in (("k", self.delay), ("n", self.size)) if value]
        parts += [self.group.split()[0]] if self.group in (GOAL, BELIEF) else []
        return "-".join(parts + ([f"v{self.variant}"] if self.variant else []))


def check_knobs(knobs: Knobs, source: Source) -> None:
    """Refuses knobs out of range and combinations that no task can have.

    Raises:
        UsageError: with the value, the bound and what to do.
    """
    bounds = {
        "seed": (0, MOST_NUMBER), "depth": (1, MOST_DEPTH), "breadth": (1, MOST_BREADTH),
        "delay": (0, MOST_DELAY), "size": (0, min(MOST_SIZE, source.spare)), "variant": (0, MOST_NUMBER),
    }  # fmt: skip
    check_ranges(knobs, bounds, f" for {source.name}")
    check_group(knobs.group, GROUPS)
