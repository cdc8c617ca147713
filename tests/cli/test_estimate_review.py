"""`seatrial estimate review`, `reviewed`: a sheet for people, and what their findings say of all trials."""

import csv

import pytest

from seatrial.errors import SpecError, UsageError
from tests.cli.tables import data, line, run, table, text, trials


@pytest.fixture
def many(tmp_path):
    outcomes = {f"t{n:03d}": [n % 4 != 0, None if n % 20 == 0 else True] for n in range(60)}
    broken = {"hard_violations": lambda task, n: int(n == 1 and task.endswith("5"))}
    return table(tmp_path / "t.csv", trials("one", outcomes, **broken))


def rows_of(sheet):
    with sheet.open(newline="") as file:
        return list(csv.DictReader(file))


def filled(sheet, finding):
    rows = rows_of(sheet)
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "finding": finding(row)} for row in rows)
    return sheet


def refused(kind, *arguments):
    fault = run(*arguments).exception
    assert isinstance(fault, kind), fault
    return str(fault)


def test_risky_trials_are_drawn_more_often_and_keep_their_probability(many, tmp_path):
    found = data("estimate", "review", many, "-o", tmp_path / "s.csv", "--each", "5", "--want", "failure=15")
    strata = {name: (one["trials"], one["picked"]) for name, one in found["strata"].items()}
    # Every fourth first trial failed (15); three second ones are unknown, six broke a rule, the rest is fine.
    assert strata == {"failure": (15, 15), "unknown": (3, 3), "broke a rule": (6, 5), "success": (96, 5)}
    rows = rows_of(tmp_path / "s.csv")
    assert len(rows) == 28 and {row["finding"] for row in rows} == {""}
    assert {float(row["probability"]) for row in rows if row["stratum"] == "success"} == {5 / 96}
    data("estimate", "review", many, "-o", tmp_path / "again.csv", "--each", "5", "--want", "failure=15")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "s.csv").read_bytes()
    data("estimate", "review", many, "-o", tmp_path / "other.csv", "--each", "5", "--seed", "1")
    assert (tmp_path / "other.csv").read_bytes() != (tmp_path / "s.csv").read_bytes()
    assert "exists" in refused(UsageError, "estimate", "review", many, "-o", tmp_path / "s.csv")


def test_findings_are_weighed_by_how_likely_they_were_drawn(many, tmp_path):
    sheet = tmp_path / "s.csv"
    assert "written" in text("estimate", "review", many, "-o", sheet, "--each", "5", "--want", "failure=15")
    filled(sheet, lambda row: "true" if row["stratum"] == "failure" else "false")
    found = data("estimate", "reviewed", sheet)
    total, share = (line(found, "all trials", what) for what in ("total of findings", "findings a trial"))
    assert total["estimate"]["value"] == 15 and share["estimate"]["value"] == pytest.approx(15 / 120)
    # Five successes without a finding leave open how many of the other 91 have one.
    assert total["estimate"]["low"] == 15 and 30 < total["estimate"]["high"] < 120
    filled(sheet, lambda row: "" if row["stratum"] == "unknown" else "false")
    undecided = line(data("estimate", "reviewed", sheet), "all trials", "total of findings")
    assert undecided["estimate"]["value"] is None and undecided["facts"]["undecided"] == 3


def test_strata_may_be_a_columns(many, tmp_path):
    found = data("estimate", "review", many, "-o", tmp_path / "s.csv", "--by", "hard_violations")
    assert set(found["strata"]) == {"hard_violations 0", "hard_violations 1"}
    wrong = ("--by", "hard_violations", "--want", "hard_violations 2=3")
    assert "no stratum" in refused(UsageError, "estimate", "review", many, "-o", tmp_path / "n.csv", *wrong)
    assert not (tmp_path / "n.csv").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[:-1], "do not fit it"),
        (lambda lines: [*lines, lines[-1]], "there twice"),
        (lambda lines: [lines[0], lines[1].rstrip("\n") + "maybe\n", *lines[2:]], "is no finding"),
        (lambda lines: [lines[0], lines[1].rstrip("\n") + "nan\n", *lines[2:]], "is no finding"),
        (lambda lines: [lines[0].replace("probability", "p"), *lines[1:]], "probability"),
    ],
)
def test_a_sheet_that_was_changed_is_refused(many, tmp_path, change, said):
    sheet = tmp_path / "s.csv"
    text("estimate", "review", many, "-o", sheet, "--each", "2")
    sheet.write_text("".join(change(sheet.read_text().splitlines(keepends=True))))
    assert said in refused(SpecError, "estimate", "reviewed", sheet)
