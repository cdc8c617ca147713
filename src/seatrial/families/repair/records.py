"""The data of an instance: records of a day, and further days for the archive."""

import json
from collections.abc import Mapping, Sequence

from seatrial.families.draws import Draws
from seatrial.families.repair.layout import Layout

FEED, EXTRA, PER_DAY = (14, 18), (9, 13), 5
Row = dict[str, object]


def chain_data(draws: Draws, layout: Layout, place: str, depth: int) -> dict[str, str]:
    """The first input of a chain and one further input for each of its links.

    What matters to some function or other is always there: ties in time, repeats of a record, groups that
    come once and groups that come often.
    """
    groups = [f"{stem}-{draws.between(10, 99)}" for stem in layout.stems]
    feed = day(draws, layout, groups, draws.between(*FEED))
    files = {layout.file("data", place, 0, "jsonl"): json_lines(feed)}
    for number in range(1, depth + 1):
        rows = day(draws, layout, groups, draws.between(*EXTRA))
        item, moment = layout.vocabulary["item"], layout.vocabulary["moment"]
        for _ in range(3):
            rows.append({**draws.pick(feed), moment: rows[-1][moment]})
        for _ in range(2):
            rows.append({**rows[-1], item: draws.pick(rows)[item]})
        files[layout.file("data", place, number, "jsonl")] = json_lines(rows)
    return files


def day(draws: Draws, layout: Layout, groups: Sequence[str], count: int) -> list[Row]:
    """Records in order of time; steps of 0 and days that start together make ties."""
    vocabulary = layout.vocabulary
    moment, serial = draws.between(300, 310), draws.between(1000, 9000)
    rows: list[Row] = []
    for _ in range(count):
        moment += draws.between(0, 3)
        serial += draws.between(1, 9)
        rows.append(
            {
                vocabulary["item"]: f"{vocabulary['item'][:2].upper()}{serial}",
                vocabulary["moment"]: moment,
                vocabulary["group"]: groups[min(draws.below(len(groups)), draws.below(len(groups)))],
                vocabulary["amount"]: draws.between(5, 240),
            }
        )
    return rows


def archive(draws: Draws, layout: Layout, size: int) -> dict[str, str]:
    """Files of earlier days; no program reads them."""
    groups = [f"{stem}-{draws.between(10, 99)}" for stem in layout.stems]
    files = {}
    for index in range(size):
        month, date = divmod(index, 28)
        path = f"{layout.folders['archive']}/{1990 + month // 12}-{month % 12 + 1:02}/{date + 1:02}.jsonl"
        files[path] = json_lines(day(draws, layout, groups, PER_DAY))
    return files


def json_lines(rows: Sequence[Mapping[str, object]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)
