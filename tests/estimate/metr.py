"""METR's early suite, read where a copy lies: its licence does not let it into this project.

Looked for in ``$SEATRIAL_DATA/metr``, then in ``shared/data/metr`` beside the checkout.
"""

import gzip
import json
import os
from pathlib import Path
from typing import NamedTuple

FILE = Path("metr", "early_suite_runs.jsonl.gz")
BESIDE = Path(__file__).parents[3] / "shared" / "data"


class Suite(NamedTuple):
    """One agent's runs: task to outcomes, to minutes, and to family; and the published weight of each run."""

    outcomes: dict[str, list[bool]]
    minutes: dict[str, float]
    families: dict[str, str]
    weights: dict[str, list[float]]


def found() -> Path | None:
    """Where the runs are, if anywhere."""
    places = [Path(named)] if (named := os.environ.get("SEATRIAL_DATA")) else [BESIDE]
    return next((place / FILE for place in places if (place / FILE).is_file()), None)


def suite(path: Path, agent: str) -> Suite:
    """The runs of one agent."""
    one = Suite({}, {}, {}, {})
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["alias"] != agent:
                continue
            task = row["task_id"]
            one.outcomes.setdefault(task, []).append(bool(row["score_binarized"]))
            one.weights.setdefault(task, []).append(row["invsqrt_task_weight"])
            one.minutes[task] = row["human_minutes"]
            one.families[task] = row["task_family"]
    return one
