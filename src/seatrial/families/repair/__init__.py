"""Family ``repair``: faults seeded in a real package, and a pipeline that leans on it."""

from seatrial.families.repair.check import check_instance
from seatrial.families.repair.generate import RepairOptions, generate
from seatrial.families.repair.packages import PACKAGES

__all__ = ["PACKAGES", "RepairOptions", "check_instance", "generate"]
