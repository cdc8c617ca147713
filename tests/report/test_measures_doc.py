"""``docs/measures.md`` speaks of every column of a record and every field of a report, and of no other."""

import re
from pathlib import Path

import pytest

from seatrial.estimate.amplification import Amplification
from seatrial.estimate.chain import ChainLink
from seatrial.estimate.detection_latency import Latency
from seatrial.estimate.estimate import Estimate
from seatrial.estimate.mcnemar import McNemar
from seatrial.estimate.paired_drop import Drop
from seatrial.estimate.survival import Curve
from seatrial.measure.goals import GoalChange
from seatrial.records.trial import TrialRecord
from seatrial.report.build import build_report
from seatrial.report.causes import ConditionLine, FailureLine
from seatrial.report.comparisons import Comparison
from seatrial.report.disturbances import Delivery, DisturbedArm, Mean, StrengthLine
from seatrial.report.forks import DrawnEffect, ForkEffect, ForkGroup, ForkLine, Forks
from seatrial.report.headline import Headline, HeadlineRow, Rate, Told
from seatrial.report.interruptions import CompactionLine, Contrast, InterruptionLine
from seatrial.report.intervals import Intervals
from seatrial.report.protocol import Protocol
from seatrial.report.reliability import AttemptLine, CallLine
from seatrial.report.tables import Denominators, Row
from seatrial.report.variants import VariantLine
from seatrial.report.verdict_notes import VerdictNote
from tests.house.files import ROOT

PAGE = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
STRUCTS = [
    Protocol, Headline, HeadlineRow, Rate, Told, Row, Estimate, Denominators, Comparison, McNemar,
    AttemptLine, CallLine, Intervals, VariantLine, GoalChange, VerdictNote, DisturbedArm, Delivery, Drop,
    Latency, Curve, Amplification, Mean, ChainLink, StrengthLine, InterruptionLine, CompactionLine, Contrast,
    FailureLine, ConditionLine, Forks, ForkGroup, ForkLine, ForkEffect, DrawnEffect,
]  # fmt: skip
ID = re.compile(r"[A-G]\d+")


def section(title: str, level: int) -> str:
    """The text under a heading, up to the next one of its level or above."""
    mark = "#" * level
    _, _, after = PAGE.partition(f"\n{mark} {title}\n")
    assert after, title
    return re.split(rf"\n#{{1,{level}}} ", after)[0]


def rows(text: str) -> dict[str, list[str]]:
    """First cell of each row to its other cells."""
    lines = [line.strip().strip("|").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return {cells[0].strip(" `"): [cell.strip() for cell in cells[1:]] for cells in lines}


def test_every_column_of_a_record_is_documented_with_its_requirement() -> None:
    found = rows(section("TrialRecord", 2))
    assert set(found) == set(TrialRecord.__struct_fields__)
    for name, cells in found.items():
        assert len(cells) == 4, name
        assert all(cells) and ID.fullmatch(cells[-1]), name


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_every_field_of_the_report_is_documented(struct: type) -> None:
    found = rows(section(struct.__name__, 3))
    assert set(found) == set(struct.__struct_fields__)
    assert all(all(cells) for cells in found.values())


def test_the_report_holds_what_is_documented_and_nothing_else(run: Path, tmp_path: Path) -> None:
    data = build_report(run, tmp_path / "out")
    top = section("report.json", 2).split("\n### ")[0]
    assert set(rows(top)) == set(data)
    assert set(rows(section("Measures of the main table", 3))) == {
        row["measure"] for row in data["main_table"]
    }
    beside = set(data["trials"][0]) - set(TrialRecord.__struct_fields__)
    assert all(f"`{name}`" in top for name in beside)
    assert beside == {"counted", "note", "progress", "wasted_steps", "goal_changes", "verdict_notes"}
