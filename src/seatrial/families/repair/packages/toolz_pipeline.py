"""A three-stage pipeline over records, whose programs lean on toolz; words and numbers vary with the seed."""

import json
from collections.abc import Mapping, Sequence
from string import Template

from seatrial.families.repair.draws import Draws
from seatrial.families.repair.package import Pipeline, Stage

Words = Mapping[str, str]

VOCABULARIES: tuple[Words, ...] = (
    {"item": "scan", "items": "scans", "feed": "dock", "group": "shipper", "moment": "minute",
     "amount": "kilograms", "level": "capacity", "trade": "the depot's loading docks"},
    {"item": "slip", "items": "slips", "feed": "desk", "group": "reader", "moment": "minute",
     "amount": "pence", "level": "float", "trade": "the library's fee desks"},
    {"item": "sample", "items": "samples", "feed": "bench", "group": "ward", "moment": "second",
     "amount": "microlitres", "level": "reagent", "trade": "the laboratory's benches"},
    {"item": "reading", "items": "readings", "feed": "line", "group": "site", "moment": "tick",
     "amount": "wattage", "level": "reserve", "trade": "the substation's lines"},
)  # fmt: skip
PLACES = ("north", "south", "east", "west", "upper", "lower", "inner", "outer")
STEMS = (
    "alder",
    "brook",
    "crane",
    "dover",
    "elton",
    "frost",
    "gale",
    "holm",
    "ibis",
    "jarrow",
    "kestrel",
    "lund",
)
ENDINGS = ("& Sons", "Works", "Hall", "House", "Cross", "Field")

COLLECT = Template('''\
"""Merge the feeds in order of time, keep each $item once, cut the day into batches."""

import csv
import json
import os
import sys
from operator import itemgetter

from toolz import merge_sorted, partition_all, unique

BATCH = $batch


def read_feed(path):
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield {**row, "$moment": int(row["$moment"]), "$amount": int(row["$amount"])}


def main(argv):
    *feeds, product = argv[1:]
    rows = merge_sorted(*map(read_feed, feeds), key=itemgetter("$moment"))
    kept = unique(rows, key=itemgetter("$item"))
    os.makedirs(os.path.dirname(product) or ".", exist_ok=True)
    with open(product, "w", encoding="utf-8") as file:
        for number, batch in enumerate(partition_all(BATCH, kept), 1):
            file.write(json.dumps({"batch": number, "$items": batch}) + "\\n")


if __name__ == "__main__":
    main(sys.argv)
''')

SETTLE = Template('''\
"""Match the $items with the register, carry the $level forward, total each $group."""

import json
import os
import sys
from operator import itemgetter

from toolz import accumulate, join, mapcat, reduceby

OPENING = $opening
REFILL = $refill


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def carry(level, amount):
    """What is left after an amount is drawn; an empty store is refilled first."""
    return level - amount if level >= amount else level + REFILL - amount


def larger(best, row):
    return row if row["$amount"] > best["$amount"] else best


def settle(rows, register):
    pairs = list(join("$group", register, "$group", rows, left_default=None, right_default=None))
    known = [(entry, row) for entry, row in pairs if row is not None]
    levels = list(accumulate(carry, (row["$amount"] for _, row in known), OPENING))
    for (entry, row), before, after in zip(known, levels, levels[1:]):
        region = entry["region"] if entry else "unknown"
        yield {"kind": "entry", **row, "region": region, "before": before, "after": after}
    for entry, row in pairs:
        if row is None:
            yield {"kind": "idle", "$group": entry["$group"], "name": entry["name"]}
    totals = reduceby("$group", lambda total, row: total + row["$amount"], rows, 0)
    largest = reduceby("$group", larger, rows)
    for group in sorted(totals):
        yield {"kind": "total", "$group": group, "$amount": totals[group], "largest": largest[group]["$item"]}


def main(argv):
    collected, register, product = argv[1:]
    rows = list(mapcat(itemgetter("$items"), read_lines(collected)))
    os.makedirs(os.path.dirname(product) or ".", exist_ok=True)
    with open(product, "w", encoding="utf-8") as file:
        for line in settle(rows, read_lines(register)):
            file.write(json.dumps(line) + "\\n")


if __name__ == "__main__":
    main(sys.argv)
''')

REPORT = Template('''\
"""Report the trend of the $level, the tree of regions and the gaps between plan and totals."""

import json
import os
import sys
from functools import reduce

from toolz import diff, sliding_window, update_in

SPAN = $span


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def count(tree, line):
    path = [line["region"], line["$group"]]
    return update_in(tree, path, lambda seen: seen + 1, 0)


def report(lines, plan):
    entries = [line for line in lines if line["kind"] == "entry"]
    for window in sliding_window(SPAN, [line["after"] for line in entries]):
        yield {"trend": sum(window) // SPAN}
    yield {"regions": reduce(count, entries, {})}
    totals = [[line["$group"], line["$amount"]] for line in lines if line["kind"] == "total"]
    planned = [[line["$group"], line["$amount"]] for line in plan]
    for made, wanted in diff(totals, planned, default=None):
        yield {"gap": [made, wanted]}


def main(argv):
    settled, plan, product = argv[1:]
    os.makedirs(os.path.dirname(product) or ".", exist_ok=True)
    with open(product, "w", encoding="utf-8") as file:
        for line in report(read_lines(settled), read_lines(plan)):
            file.write(json.dumps(line) + "\\n")


if __name__ == "__main__":
    main(sys.argv)
''')


def pipeline(draws: Draws) -> Pipeline:
    """Programs, data and hidden data of one instance."""
    words = draws.pick(VOCABULARIES)
    feeds = [f"data/{words['feed']}_{place}.csv" for place in draws.shuffled(PLACES)[: draws.between(3, 4)]]
    register, plan = f"data/{words['group']}s.jsonl", "data/plan.jsonl"
    numbers = {
        "batch": draws.between(6, 9),
        "opening": draws.between(300, 500),
        "refill": draws.between(900, 1200),
    }
    fill = {**words, **{key: str(value) for key, value in numbers.items()}, "span": str(draws.between(3, 5))}
    products = [f"out/{name}.jsonl" for name in ("collected", "settled", "report")]
    stages = (
        Stage("pipeline.collect", tuple(feeds), products[0]),
        Stage("pipeline.settle", (products[0], register), products[1]),
        Stage("pipeline.report", (products[1], plan), products[2]),
    )
    sources = zip(("collect", "settle", "report"), (COLLECT, SETTLE, REPORT), strict=True)
    programs = {f"pipeline/{name}.py": template.substitute(fill) for name, template in sources}
    day = f"the day's {words['items']} from {words['trade']}"
    return Pipeline(
        purpose=f"The programs under pipeline/ turn {day} into a report.",
        stages=stages,
        programs={"pipeline/__init__.py": "", **programs},
        data=records(draws, words, feeds, register),
        hidden=records(draws, words, feeds, register),
    )


def records(draws: Draws, words: Words, feeds: list[str], register: str) -> dict[str, str]:
    """One day's files. The cases that matter are always there: ties, repeats, strangers and idle groups."""
    groups = [f"{stem}-{draws.between(10, 99)}" for stem in draws.shuffled(STEMS)]
    idle, strangers, active = groups[:2], groups[2:4], groups[2:]
    listed = [group for group in groups if group not in strangers]
    rows = feed_rows(draws, words, feeds, active)
    files = {path: csv_text(words, part) for path, part in zip(feeds, rows, strict=True)}
    entries = [
        {
            words["group"]: group,
            "name": f"{group[:-3].title()} {draws.pick(ENDINGS)}",
            "region": draws.pick(PLACES),
        }
        for group in draws.shuffled(listed)
    ]
    files[register] = json_lines(entries)
    totals: dict[str, int] = {}
    for _, _, group, amount in {row[1]: row for part in rows for row in part}.values():
        totals[group] = totals.get(group, 0) + amount
    planned = [
        (group, totals[group] + (draws.between(1, 40) if draws.below(3) == 0 else 0))
        for group in sorted(totals)
    ]
    planned += [(group, draws.between(50, 90)) for group in idle]
    files["data/plan.jsonl"] = json_lines([{words["group"]: g, words["amount"]: n} for g, n in planned])
    return files


Row = tuple[int, str, str, int]


def feed_rows(draws: Draws, words: Words, feeds: list[str], active: list[str]) -> list[list[Row]]:
    """Rows of each feed in order of time; some repeat a row of another feed a little later."""
    parts: list[list[Row]] = []
    serial = draws.between(1000, 4000)
    seen: list[Row] = []
    for _ in feeds:
        moment, part = draws.between(300, 320), []
        for _ in range(draws.between(16, 24)):
            # Steps of 0 and feeds that start together make ties.
            moment += draws.between(0, 4)
            serial += draws.between(1, 9)
            part.append(
                (moment, f"{words['item'][:2].upper()}{serial}", draws.pick(active), draws.between(5, 240))
            )
        repeats = [draws.pick(seen) for _ in range(3)] if seen else []
        part += [(row[0] + draws.between(1, 6), *row[1:]) for row in repeats]
        parts.append(sorted(part, key=lambda row: row[0]))
        seen += part
    return parts


def csv_text(words: Words, rows: list[Row]) -> str:
    head = ",".join([words["moment"], words["item"], words["group"], words["amount"]])
    return "\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n"


def json_lines(lines: Sequence[Mapping[str, object]]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)
