"""Family ``ledger``: real figures come in untidy and are kept by rules; every table rests on others."""

from seatrial.families.ledger.generate import generate
from seatrial.families.ledger.options import GROUPS, Knobs
from seatrial.families.ledger.sources import SOURCES

__all__ = ["GROUPS", "SOURCES", "Knobs", "generate"]
