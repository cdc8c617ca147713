"""Programs, and parts of programs, that lean on functions which more than one package has."""

from seatrial.families.repair.package import Stage

INTERPOSE = Stage(
    ("pause", "spread"),
    "Marks the $items with the running sum when a pause of $pause lies between any two.",
    """
from $lib import interpose

PAUSE = $pause


def work(rows, extra):
    rows = rows + extra
    spaced = list(interpose(PAUSE, [row["$amount"] for row in rows]))
    for place, row in enumerate(rows):
        yield stamp(row, sum(spaced[: 2 * place + 1]))
""",
    {"pause": (3, 9)},
)

# A store that amounts are drawn from: the step that a running fold is made of.
DRAWN = '''
OPENING = $opening
REFILL = $refill


def drawn(level, amount):
    """What is left after an amount is drawn; a store that lacks it is refilled first."""
    return level - amount if level >= amount else level + REFILL - amount

'''
DRAWN_NUMBERS = {"opening": (300, 500), "refill": (900, 1200)}
