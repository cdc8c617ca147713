"""Family ``repair``: faults seeded in a real package, and chains of programs that lean on it."""

from seatrial.families.repair.check import check_instance
from seatrial.families.repair.generate import generate
from seatrial.families.repair.options import GROUPS, Knobs
from seatrial.families.repair.packages import PACKAGES

__all__ = ["GROUPS", "PACKAGES", "Knobs", "check_instance", "generate"]
