"""The report: page, data, tables and figures (G1, G2, G3, G21, G22)."""

import csv
import json
import re
from html.parser import HTMLParser

import pytest

from seatrial.errors import JournalError, UsageError
from seatrial.report.build import build_report
from tests.measure.trials import WITH_REPAIR, WITH_REPAIR_CURVE, verdicts
from tests.report.runs import RunMaker, all_pass, cell

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Balance(HTMLParser):
    """Fails on a tag that is closed out of turn, and keeps ids and outside references."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.ids, self.outside = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.outside += [v for k, v in attrs if k in ("src", "href") and not (v or "").startswith("#")]

    def handle_startendtag(self, tag, attrs):
        self.ids += [v for k, v in attrs if k == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} closed out of turn"


@pytest.fixture
def report(run, tmp_path):
    return build_report(run, tmp_path / "out"), tmp_path / "out"


def line(data, system, measure):
    return next(
        r for r in data["main_table"] if (r["system"], r["measure"], r["stratum"]) == (system, measure, "all")
    )


def test_report_json_has_the_form_of_the_contract(report):
    data, out = report
    assert json.loads((out / "report.json").read_text()) == json.loads(json.dumps(data))
    assert {"experiment", "main_table", "comparisons", "limits", "trials"} <= set(data)
    row = data["main_table"][0]
    assert set(row) == {"system", "arm", "stratum", "measure", "estimate", "denominators"}
    wanted = {"value", "low", "high", "level", "method", "unit", "n_tasks", "n_trials"}
    assert wanted <= set(row["estimate"])
    assert data["experiment"]["experiment_id"] == "e" * 64


def test_every_number_has_its_denominators(report):
    data, _ = report
    strict = line(data, "careful", "strict_success")
    counts = strict["denominators"]
    assert strict["estimate"]["value"] == 1
    assert (counts["trials"], counts["valid"], counts["infrastructure"], counts["attempts"]) == (1, 1, 0, 2)
    assert line(data, "hasty", "strict_success")["estimate"]["value"] == 0
    cheating = line(data, "cheating", "safe_success")
    assert (cheating["estimate"]["value"], line(data, "cheating", "strict_success")["estimate"]["value"]) == (
        0,
        1,
    )
    money = line(data, "careful", "money")
    assert (money["estimate"]["value"], money["denominators"]["unknown"]) == (None, 1)


def test_every_attempt_is_kept_and_one_counts(report):
    data, _ = report
    kept = [(t["trial"], t["attempt"], t["counted"], t["terminal_class"]) for t in data["trials"]]
    assert kept[:2] == [("t-1", 1, False, "infrastructure"), ("t-1", 2, True, "success")]
    assert [tuple(p) for p in data["trials"][1]["progress"]] == WITH_REPAIR_CURVE


def test_there_is_no_composite_score(report):
    data, _ = report
    assert not any("score" in row["measure"] for row in data["main_table"])
    assert any("no composite score" in text for text in data["limits"])


def test_limits_and_conclusions_are_sentences(report):
    data, _ = report
    texts = " ".join(data["limits"] + data["conclusions"])
    assert "of one task" in texts
    assert "Cannot be told apart yet on safe success (baseline)" in texts
    assert "repeated" in texts
    assert "could not be watched" in texts
    assert all(
        text[0].isupper() or text[0].isdigit() or ":" in text or " and " in text for text in data["limits"]
    )


def test_the_page_is_whole_and_asks_nothing_of_the_network(report):
    _, out = report
    page = (out / "index.html").read_text()
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids)), "ids are unique"
    assert not parser.outside
    assert not re.search(r"@import|url\((?!#)|<script|<link", page)
    assert page.index('id="protocol"') < page.index('id="results"') < page.index('id="conclusions"')
    assert "unknown" in page
    assert page.count("<figure>") == 3


def test_text_from_a_run_cannot_become_markup(tmp_path):
    plan = [cell("t-1", system="<script>alert(1)</script>")]
    made = RunMaker(tmp_path / "run", plan)
    made.trial(plan[0], all_pass())
    build_report(made.folder, tmp_path / "out")
    assert "<script" not in (tmp_path / "out" / "index.html").read_text()


def test_tables_hold_what_the_data_hold(report):
    data, out = report
    with open(out / "tables" / "main.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(data["main_table"])
    with open(out / "tables" / "trials.csv", newline="") as file:
        trials = list(csv.DictReader(file))
    assert [t["money"] for t in trials] == [""] * 4
    with open(out / "tables" / "progress.csv", newline="") as file:
        points = [(int(r["step"]), float(r["progress"])) for r in csv.DictReader(file) if r["trial"] == "t-1"]
    assert points == WITH_REPAIR_CURVE
    assert (out / "tables" / "verdicts.csv").read_text().count("\n") == 1 + 3 * 5 * 3


def test_each_judged_attempt_has_a_figure(report):
    _, out = report
    names = sorted(path.name for path in (out / "figures").iterdir())
    assert names == ["progress-t-1.2.svg", "progress-t-2.1.svg", "progress-t-3.1.svg"]
    svg = (out / "figures" / "progress-t-3.1.svg").read_text()
    assert "hard violation" in svg and "not watched" in svg
    assert "progress fell" in (out / "figures" / "progress-t-1.2.svg").read_text()
    assert "@font-face" not in svg and "@import" not in svg


def test_reporting_twice_gives_the_same_files(run, tmp_path):
    build_report(run, tmp_path / "a")
    build_report([run], tmp_path / "b")
    for path in sorted((tmp_path / "a").rglob("*.*")):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes(), (
            path.name
        )


def test_a_missing_trial_stops_the_report(tmp_path):
    plan = [cell("t-1"), cell("t-2")]
    made = RunMaker(tmp_path / "run", plan)
    made.trial(plan[0], all_pass())
    with pytest.raises(UsageError, match="1 planned trials have no ended attempt"):
        build_report(made.folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_runs_of_one_experiment_are_one_report_and_others_are_refused(run, tmp_path):
    more = RunMaker(tmp_path / "more", [cell("t-4", repeat=1)])
    more.trial(cell("t-4", repeat=1), all_pass())
    data = build_report([run, more.folder], tmp_path / "out")
    assert line(data, "careful", "strict_success")["denominators"]["valid"] == 2
    with pytest.raises(JournalError, match="more than once"):
        build_report([run, run], tmp_path / "out")
    other = RunMaker(tmp_path / "other", [cell("t-9")], experiment_id="f" * 64)
    other.trial(cell("t-9"), all_pass())
    with pytest.raises(UsageError, match="different experiments"):
        build_report([run, other.folder], tmp_path / "out")
    with pytest.raises(UsageError, match="no run given"):
        build_report([], tmp_path / "out")


def test_several_tasks_and_families_have_strata_and_an_interval_over_tasks(tmp_path):
    plan = [cell("t-1"), cell("t-2", task="repair/toolz"), cell("t-3", task="repair/other")]
    made = RunMaker(tmp_path / "run", plan)
    made.trial(plan[0], all_pass())
    made.trial(plan[1], verdicts(WITH_REPAIR))
    made.trial(plan[2], verdicts({}))
    out = tmp_path / "out"
    data = build_report(made.folder, out)
    strict = line(data, "careful", "strict_success")["estimate"]
    assert (round(strict["value"], 3), strict["n_tasks"], strict["unit"]) == (0.667, 3, "tasks")
    assert strict["method"] == "Wilson on the effective number of trials"
    assert 0.2 < strict["low"] < 0.667 < strict["high"] < 1
    assert {row["stratum"] for row in data["main_table"]} == {"all", "ledger", "repair"}
    assert any("tasks are the sampling unit" in text for text in data["limits"])
    methods = [e["method"] for e in data["intervals"][0]["estimates"]]
    assert len(methods) == 4 and "conservative" in methods[-1]
    assert (out / "tables" / "intervals.csv").read_text().count("\n") == 1 + 4 * 2


def test_infrastructure_alone_is_no_result(tmp_path):
    plan = [cell("t-1")]
    made = RunMaker(tmp_path / "run", plan, unsafe=True)
    made.trial(plan[0], None, stop="environment_fault", infrastructure=True, steps=1)
    made.trial(plan[0], None, stop="harness_fault", infrastructure=True, steps=1, attempt=2)
    data = build_report(made.folder, tmp_path / "out")
    strict = line(data, "careful", "strict_success")
    assert strict["estimate"]["value"] is None
    assert (strict["denominators"]["valid"], strict["denominators"]["infrastructure"]) == (0, 1)
    assert any("nothing can be said" in text for text in data["conclusions"])


def test_a_report_that_cannot_be_written_says_so(run, tmp_path):
    (tmp_path / "out").write_text("in the way")
    with pytest.raises(JournalError, match="cannot be written"):
        build_report(run, tmp_path / "out")
