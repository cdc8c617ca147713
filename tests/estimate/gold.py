"""The known answers of ``tests/data/stats/gold.json``, by name."""

import json
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).parents[1] / "data" / "stats" / "gold.json"


class Gold(NamedTuple):
    given: Any
    expected: Any
    tolerance: float


def gold(name: str) -> Gold:
    entries = {entry["name"]: entry for entry in json.loads(FILE.read_text())["gold"]}
    entry = entries[name]
    return Gold(entry["input"], entry["expected"], entry["tol"])


def single(values, kind=float) -> dict:
    """One trial a task."""
    return {f"t{index:03d}": [kind(value)] for index, value in enumerate(values)}
