"""Programs that lean on functions of toolz."""

from seatrial.families.repair.package import Stage
from seatrial.families.repair.packages.shared_stages import DRAWN, DRAWN_NUMBERS

MERGE_SORTED = Stage(
    ("merge", "weave"),
    "Merges the day's $items with the late ones in order of $moment; at a tie the day's come first.",
    """
from $lib import merge_sorted


def work(rows, extra):
    by_moment = itemgetter("$moment")
    merged = merge_sorted(sorted(rows, key=by_moment), sorted(extra, key=by_moment), key=by_moment)
    return [stamp(row, place) for place, row in enumerate(merged)]
""",
)

UNIQUE = Stage(
    ("once", "dedupe"),
    "Keeps each $item the first time it comes.",
    """
from $lib import concat, unique


def work(rows, extra):
    kept = unique(concat([rows, extra]), key=itemgetter("$item"))
    return [stamp(row, place) for place, row in enumerate(kept)]
""",
)

PARTITION_ALL = Stage(
    ("batch", "bundle"),
    "Cuts the $items into batches of $size and marks each with its batch.",
    """
from $lib import concat, partition_all

SIZE = $size


def work(rows, extra):
    for number, batch in enumerate(partition_all(SIZE, concat([rows, extra])), 1):
        for row in batch:
            yield stamp(row, number * 10 + len(batch))
""",
    {"size": (4, 7)},
)

JOIN = Stage(
    ("match", "pairup"),
    "Matches the $items with the last known one of each $group; groups that are idle today stay.",
    """
from $lib import join

STRANGER = $stranger


def work(rows, extra):
    register = {row["$group"]: row for row in extra}
    group = itemgetter("$group")
    for known, row in join(group, register.values(), group, rows, left_default=None, right_default=None):
        if row is None:
            yield stamp(known, STRANGER)
        else:
            yield stamp(row, known["$amount"] if known else STRANGER + 1)
""",
    {"stranger": (300, 700)},
)

REDUCEBY = Stage(
    ("total", "sumup"),
    "Marks each of the $items with what its $group comes to and with the largest of it.",
    """
from $lib import reduceby


def larger(best, row):
    return row if row["$amount"] > best["$amount"] else best


def work(rows, extra):
    rows = rows + extra
    totals = reduceby(itemgetter("$group"), lambda total, row: total + row["$amount"], rows, 0)
    largest = reduceby(itemgetter("$group"), larger, rows)
    for row in rows:
        yield stamp(row, totals[row["$group"]] + largest[row["$group"]]["$amount"])
""",
)

ACCUMULATE = Stage(
    ("carry", "forward"),
    "Carries the store forward: what is there before and after each of the $items.",
    """
from $lib import accumulate
"""
    + DRAWN
    + """
def work(rows, extra):
    rows = rows + extra
    levels = list(accumulate(drawn, (row["$amount"] for row in rows), OPENING))
    return [stamp(row, before * 3 + after) for row, before, after in zip(rows, levels, levels[1:])]
""",
    DRAWN_NUMBERS,
)

SLIDING_WINDOW = Stage(
    ("trend", "smooth"),
    "Marks the $items with the trend over $span of them.",
    """
from $lib import sliding_window

SPAN = $span


def work(rows, extra):
    rows = rows + extra
    amounts = [row["$amount"] for row in rows]
    trend = [sum(window) // SPAN for window in sliding_window(SPAN, amounts)]
    return rows[: SPAN - 1] + [stamp(row, mean) for row, mean in zip(rows[SPAN - 1 :], trend)]
""",
    {"span": (3, 5)},
)

UPDATE_IN = Stage(
    ("count", "census"),
    "Counts the $items by $group and $moment.",
    """
from $lib import update_in

PERIOD = $period


def work(rows, extra):
    tree = {}
    for row in rows + extra:
        path = [row["$group"], row["$moment"] // PERIOD]
        tree = update_in(tree, path, lambda seen: seen + 1, 0)
        yield stamp(row, tree[path[0]][path[1]] * 10 + len(tree[path[0]]))
""",
    {"period": (5, 9)},
)

DIFF = Stage(
    ("compare", "contrast"),
    "Compares the $amount of the $items with those of the late ones, place by place, in steps of $step.",
    """
from $lib import diff

STEP = $step


def work(rows, extra):
    made = [row["$amount"] // STEP for row in rows]
    wanted = [row["$amount"] // STEP for row in extra]
    gaps = list(diff(made, wanted, default=-1))
    for place, row in enumerate(rows + extra):
        ours, theirs = gaps[place] if place < len(gaps) else (0, 0)
        yield stamp(row, ours * 40 + theirs + len(gaps))
""",
    {"step": (40, 60)},
)

TAKE_NTH = Stage(
    ("probe", "spotcheck"),
    "Marks every $nth. of the $items for a closer look.",
    """
from $lib import concat, take_nth

NTH = $nth


def work(rows, extra):
    rows = list(concat([rows, extra]))
    picked = set(take_nth(NTH, range(len(rows))))
    return [stamp(row, 5 if place in picked else 2) for place, row in enumerate(rows)]
""",
    {"nth": (3, 5)},
)

VALFILTER = Stage(
    ("busy", "crowded"),
    "Marks the $items of each $group that comes to $limit or more.",
    """
from $lib import valfilter

LIMIT = $limit


def work(rows, extra):
    totals = {}
    for row in rows + extra:
        totals[row["$group"]] = totals.get(row["$group"], 0) + row["$amount"]
    busy = valfilter(lambda total: total >= LIMIT, totals)
    return [stamp(row, busy.get(row["$group"], 1)) for row in rows + extra]
""",
    {"limit": (250, 450)},
)
