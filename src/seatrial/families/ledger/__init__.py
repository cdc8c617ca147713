"""Family ``ledger``: real figures come in untidy, are kept by rules, and every table rests on the one before."""

from seatrial.families.ledger.generate import generate
from seatrial.families.ledger.options import GROUPS, Knobs
from seatrial.families.ledger.sources import SOURCES

__all__ = ["GROUPS", "SOURCES", "Knobs", "generate"]
