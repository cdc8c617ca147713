"""Family ``release``: tickets, approvals, deployments, mails and payments, most of which cannot be undone."""

from seatrial.families.release.generate import generate
from seatrial.families.release.options import GROUPS, Knobs

__all__ = ["GROUPS", "Knobs", "generate"]
