"""Programs that lean on functions of boltons."""

from seatrial.families.repair.package import Stage

SPLIT = Stage(
    ("shifts", "sections"),
    "Cuts the day into shifts: an amount of $limit or more ends one, $most times at most.",
    """
from $lib import split

LIMIT = $limit
MOST = $most


def work(rows, extra):
    for part in (rows, extra):
        shifts = split(part, lambda row: row["$amount"] >= LIMIT, MOST)
        for number, shift in enumerate(shifts):
            for row in shift:
                yield stamp(row, number * 100 + len(shift))
""",
    {"limit": (170, 190), "most": (3, 4)},
)

CHUNKED = Stage(
    ("batch", "bundle"),
    "Cuts the $items into batches of $size, the last one filled up, and marks each with its batch.",
    """
from $lib import chunked

SIZE = $size


def work(rows, extra):
    for number, batch in enumerate(chunked(rows + extra, SIZE, fill=None), 1):
        present = [row for row in batch if row is not None]
        for row in present:
            yield stamp(row, number * 100 + len(batch) * 10 + len(present))
""",
    {"size": (4, 7)},
)

RANGES = Stage(
    ("windows", "stretches"),
    "Looks at the $items in aligned stretches of $size that overlap: what each stretch comes to.",
    """
from $lib import chunk_ranges

SIZE = $size
OFFSET = $offset


def work(rows, extra):
    rows = rows + extra
    for start, stop in chunk_ranges(len(rows), SIZE, OFFSET, 2, align=True):
        part = rows[start - OFFSET : stop - OFFSET]
        for row in part[-3:]:
            yield stamp(row, sum(each["$amount"] for each in part) + len(part))
""",
    {"size": (5, 8), "offset": (2, 4)},
)

WINDOWED = Stage(
    ("trend", "smooth"),
    "Marks the $items with the trend over $span of them.",
    """
from $lib import windowed

SPAN = $span


def work(rows, extra):
    rows = rows + extra
    amounts = [row["$amount"] for row in rows]
    windows = windowed(amounts, SPAN, fill=0)
    return [stamp(row, sum(window) // SPAN + window[0]) for row, window in zip(rows, windows)]
""",
    {"span": (3, 5)},
)

BUCKETIZE = Stage(
    ("group", "gather"),
    "Gathers the $items of each $group that comes to $least or more; the others follow as they came.",
    """
from $lib import bucketize

LEAST = $least


def work(rows, extra):
    rows = rows + extra
    totals = {}
    for row in rows:
        totals[row["$group"]] = totals.get(row["$group"], 0) + row["$amount"]
    large = bucketize(
        rows, itemgetter("$group"), lambda row: stamp(row, 5), lambda name: totals[name] >= LEAST
    )
    for place, row in enumerate(row for members in large.values() for row in members):
        yield stamp(row, place)
    for row in rows:
        if totals[row["$group"]] < LEAST:
            yield row
""",
    {"least": (200, 350)},
)

PARTITION = Stage(
    ("sort_out", "sieve_out"),
    "Puts the $items of $limit and more first, then the even ones, then the rest.",
    """
from $lib import partition

LIMIT = $limit


def work(rows, extra):
    large, even, others = partition(
        rows + extra, lambda row: row["$amount"] >= LIMIT, lambda row: row["$amount"] % 2 == 0
    )
    return [stamp(row, place) for place, row in enumerate(large + even + others)]
""",
    {"limit": (110, 150)},
)

UNIQUE = Stage(
    ("once", "dedupe"),
    "Keeps each $item the first time it comes.",
    """
from $lib import unique


def work(rows, extra):
    return [stamp(row, place) for place, row in enumerate(unique(rows + extra, itemgetter("$item")))]
""",
)

REDUNDANT = Stage(
    ("repeats", "echoes"),
    "Marks the $items of each $group that comes again with all that came of it.",
    """
from $lib import redundant


def work(rows, extra):
    rows = rows + extra
    again = redundant(rows, itemgetter("$group"), groups=True)
    sums = {part[0]["$group"]: place * 1000 + sum(row["$amount"] for row in part)
            for place, part in enumerate(again)}
    return [stamp(row, sums.get(row["$group"], 7)) for row in rows]
""",
)

RSTRIP = Stage(
    ("trim", "prune"),
    "Leaves the quiet end of the day unmarked: all after the last amount of $limit or more.",
    """
from $lib import rstrip

LIMIT = $limit


def work(rows, extra):
    for part in (rows, extra, rows[:0]):
        loud = rstrip([row["$amount"] >= LIMIT for row in part], False)
        for place, row in enumerate(part):
            yield stamp(row, 3 + loud[place]) if place < len(loud) else row
""",
    {"limit": (120, 160)},
)

BACKOFF = Stage(
    ("retry", "waits"),
    "Marks the $items with how long to wait before asking again, up to $longest.",
    """
from $lib import backoff

LONGEST = $longest


def work(rows, extra):
    for row in rows + extra:
        waits = backoff(row["$amount"] % 7, LONGEST, factor=2 + row["$moment"] % 3)
        yield stamp(row, int(sum(waits)) * 10 + len(waits))
""",
    {"longest": (40, 90)},
)

CEIL = Stage(
    ("pack", "fit"),
    "Finds for each of the $items the smallest box that holds it.",
    """
from $lib import ceil

BOXES = [$small, 250, $middle, 60, 160]


def work(rows, extra):
    return [stamp(row, ceil(row["$amount"], BOXES)) for row in rows + extra] + [
        stamp(row, ceil($middle, BOXES)) for row in extra[:1]
    ]
""",
    {"small": (20, 40), "middle": (100, 120)},
)

FLOOR = Stage(
    ("charge", "rate_of"),
    "Finds for each of the $items the highest rate that its amount has reached.",
    """
from $lib import floor

RATES = [$low, 0, $high, 90]


def work(rows, extra):
    return [stamp(row, floor(row["$amount"], RATES)) for row in rows + extra] + [
        stamp(row, floor($high, RATES)) for row in extra[:1]
    ]
""",
    {"low": (30, 50), "high": (150, 170)},
)
