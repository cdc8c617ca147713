"""The headline of a finished run in the terminal: rates side by side, and what can be told apart."""

from collections.abc import Mapping
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from seatrial.cli.visible import visible
from seatrial.report.headline import Told
from seatrial.report.tables import WHOLE
from seatrial.report.wording import counted, untested


def print_headline(console: Console, headline: Mapping[str, Any]) -> None:
    """Strict and safe success of each system with intervals, what they speak of, and the comparisons."""
    console.print(Text("\nHeadline (95 % intervals, over valid trials)", style="bold"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("system", "arm", "stratum", "tasks", "valid", "strict", "safe"):
        table.add_column(column, overflow="fold")
    for row in headline["rows"]:
        names = [visible(row[name]) for name in ("system", "arm", "stratum")]
        counts = [str(row["tasks"]), f"{row['valid']} of {row['trials']}"]
        table.add_row(*names, *counts, *(rate_words(row, which) for which in ("strict", "safe")))
    console.print(table)
    said = dict.fromkeys(text for row in headline["rows"] for text in row["caveats"])
    for text in [headline["scope"], *said]:
        console.print(Text(visible(text)))
    for role, title in (("primary", "Primary"), ("exploratory", "Exploratory")):
        lines = msgspec.convert(headline[role], list[Told])
        for line in lines:
            if not line.one_task:
                console.print(Text(visible(told_words(title, line))))
        if lone := [line.arm for line in lines if line.one_task]:
            console.print(Text(visible(f"{title}: {untested(lone)}")))


def rate_words(row: Mapping[str, Any], which: str) -> str:
    """Counts and interval of one rate: "2 of 3 [21 to 94 %]"."""
    rate, estimate = row[which], row[which]["estimate"]
    words = f"{rate['events']} of {row['valid']}"
    if rate["unknown"]:
        words += f", {rate['unknown']} unknown"
    if estimate["low"] is None or estimate["high"] is None:
        return words
    return f"{words} [{100 * estimate['low']:.0f} to {100 * estimate['high']:.0f} %]"


def told_words(title: str, line: Told) -> str:
    """One comparison as a sentence, behind the name of its role."""
    where = line.arm if line.stratum == WHOLE else f"{line.arm}, {line.stratum}"
    words = f"{title}, {line.measure.replace('_', ' ')} ({where}): {line.a} and {line.b} {line.words}"
    if line.p_adjusted is None:
        return f"{words}; nothing could be tested."
    among = f", adjusted for {line.among} comparisons" if line.among > 1 else ""
    return f"{words}; p = {line.p_adjusted:.2g} by {line.test}{among}, {counted(line.n_tasks, 'task')}."
