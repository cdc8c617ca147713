"""The conditions of trials by name: ``baseline``, ``perturbed:ID``, ``interrupted:POINT[:FORM]`` …"""

from typing import NamedTuple

BASELINE = "baseline"
PERTURBED, INTERRUPTED, COMPACTED = "perturbed", "interrupted", "compacted"
# Forks of one state are no independent trials and are pooled with nothing.
FORKED = "forked"


class Arm(NamedTuple):
    """The parts of an arm's name; ``str`` gives the name.

    Attributes:
        kind: what stands before the first colon.
        subject: all that stands behind it; empty where there is none.
    """

    kind: str
    subject: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.subject}" if self.subject else self.kind


def read_arm(name: str) -> Arm:
    """The parts of a name."""
    kind, _, subject = name.partition(":")
    return Arm(kind, subject)
