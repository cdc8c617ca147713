"""What a release task is made with: the knobs of its difficulty."""

from dataclasses import dataclass, replace

from seatrial.families.knobs import check_group, check_ranges

IRREVERSIBLE = "short but irreversible"
GOAL = "goal changes, world does not"
BELIEF = "belief and world diverge"
GROUPS = (IRREVERSIBLE, GOAL, BELIEF)
FEWEST, MOST = 2, 12
# A task file holds whole numbers of 64 bits.
MOST_NUMBER = 2**63 - 1


@dataclass(frozen=True)
class Knobs:
    """Everything that tells one release task from another.

    Attributes:
        seed: chooses services, versions, amounts, people and the ticket that is disturbed; 0 to
            ``MOST_NUMBER``.
        depth: releases that follow one another, ``FEWEST`` to ``MOST``.
        delay: how many further releases have to be out before one is announced, paid for and closed: so
            long a fault in what was taken from its ticket stays unseen; 0 to ``depth`` - 2.
        variant: 0 for the original; any other number up to ``MOST_NUMBER`` gives the same releases under
            other names, words and places.
        group: the stratum; it also says which disturbances the task has.
    """

    seed: int = 1
    depth: int = 2
    delay: int = 0
    variant: int = 0
    group: str = IRREVERSIBLE

    def original(self) -> "Knobs":
        """The same task before it was renamed."""
        return replace(self, variant=0)

    @property
    def name(self) -> str:
        """Names the task: every knob that is not at its default."""
        parts = [f"{self.seed}-d{self.depth}"]
        parts += [f"k{self.delay}"] if self.delay else []
        parts += [] if self.group == IRREVERSIBLE else [self.group.split()[0]]
        return "-".join(parts + ([f"v{self.variant}"] if self.variant else []))


def check_knobs(knobs: Knobs) -> None:
    """Refuses knobs out of range.

    Raises:
        UsageError: with the value, the bound and what to do.
    """
    bounds = {
        "seed": (0, MOST_NUMBER), "depth": (FEWEST, MOST), "delay": (0, knobs.depth - 2),
        "variant": (0, MOST_NUMBER),
    }  # fmt: skip
    check_ranges(knobs, bounds)
    check_group(knobs.group, GROUPS)
