"""Programs that lean on functions of funcy."""

from seatrial.families.repair.package import Stage
from seatrial.families.repair.packages.shared_stages import DRAWN, DRAWN_NUMBERS

DISTINCT = Stage(
    ("once", "dedupe"),
    "Keeps each $item the first time it comes.",
    """
from $lib import concat, distinct


def work(rows, extra):
    kept = distinct(concat(rows, extra), key=itemgetter("$item"))
    return [stamp(row, place) for place, row in enumerate(kept)]
""",
)

CHUNKS = Stage(
    ("batch", "bundle"),
    "Looks at the $items in overlapping batches of $size: what each batch comes to and how many are in it.",
    """
from $lib import chunks

SIZE = $size
STEP = SIZE - 1


def work(rows, extra):
    for batches in (chunks(SIZE, STEP, rows), chunks(SIZE, STEP, iter(extra))):
        for batch in batches:
            total = sum(row["$amount"] for row in batch)
            yield stamp(batch[-1], total * 10 + len(batch))
""",
    {"size": (3, 4)},
)

LSPLIT = Stage(
    ("sort_out", "sieve_out"),
    "Puts the $items of $limit and more before all the others.",
    """
from $lib import lsplit

LIMIT = $limit


def work(rows, extra):
    large, small = lsplit(lambda row: row["$amount"] >= LIMIT, rows + extra)
    return [stamp(row, place + len(large)) for place, row in enumerate(large + small)]
""",
    {"limit": (90, 140)},
)

WITH_NEXT = Stage(
    ("gaps", "spacing"),
    "Marks the $items with the time to the next of them.",
    """
from $lib import with_next


def work(rows, extra):
    for row, following in with_next(rows + extra):
        yield stamp(row, following["$moment"] - row["$moment"] + 1000 if following else 0)
""",
)

REDUCTIONS = Stage(
    ("carry", "forward"),
    "Carries the store forward: what is left after each of the $items.",
    """
from $lib import reductions
"""
    + DRAWN
    + """
def work(rows, extra):
    rows = rows + extra
    levels = list(reductions(drawn, [row["$amount"] for row in rows], OPENING))
    return [stamp(row, level) for row, level in zip(rows, levels)]
""",
    DRAWN_NUMBERS,
)

SPLIT_AT = Stage(
    ("shift", "rotate"),
    "Puts the first $first of the $items behind all the others.",
    """
from $lib import concat, split_at

FIRST = $first


def work(rows, extra):
    start, tail = split_at(FIRST, rows + extra)
    return [stamp(row, place) for place, row in enumerate(concat(tail, start))]
""",
    {"first": (4, 9)},
)

GROUPED = """

def grouped(rows):
    found = {}
    for row in rows:
        found.setdefault(row["$group"], []).append(row)
    return found

"""

LEAVES = Stage(
    ("walk", "stroll"),
    "Brings the $items into the order of their $group, as a walk through the tree of groups meets them.",
    """
from $lib import tree_leaves
"""
    + GROUPED
    + """
def work(rows, extra):
    forest = [list(grouped(rows).values()), [list(each) for each in grouped(extra).values()]]
    for place, row in enumerate(tree_leaves(forest)):
        yield stamp(row, place)
""",
)

NODES = Stage(
    ("climb", "descend"),
    "Marks the $items with how many nodes of the tree of groups a walk meets before them.",
    """
from $lib import tree_nodes
"""
    + GROUPED
    + """
def work(rows, extra):
    forest = [list(grouped(rows).values()), list(grouped(extra).values())]
    for place, node in enumerate(tree_nodes(forest)):
        if isinstance(node, dict):
            yield stamp(node, place)
""",
)

COUNT_BY = Stage(
    ("count", "census"),
    "Marks the $items with how many there are of their $group.",
    """
from $lib import count_by


def work(rows, extra):
    counts = count_by(itemgetter("$group"), rows + extra)
    return [stamp(row, counts[row["$group"]]) for row in rows + extra]
""",
)

BUTLAST = Stage(
    ("close", "wind_up"),
    "Holds the last of the $items of each part back: they come at the end.",
    """
from $lib import butlast


def work(rows, extra):
    done = list(butlast(rows)) + list(butlast(iter(extra)))
    return [stamp(row, place) for place, row in enumerate(done + rows[-1:] + extra[-1:])]
""",
)
