"""Cases are picked by rule (G14): which trials a page of a large run shows."""

from seatrial.evidence.read import read_run
from seatrial.report import cases
from seatrial.report.build import build_report
from seatrial.report.cases import picked, shown_attempts
from tests.measure.trials import verdicts
from tests.report.runs import RunMaker, all_pass, cell


def make(folder):
    """Successes of 16, 18, 20 and 22 steps, failures of 10 and 14, an unsafe one, one that never worked."""
    steps = {"t-1": 16, "t-2": 18, "t-3": 20, "t-4": 22}
    plan = [cell(f"t-{n}", repeat=n) for n in range(1, 9)]
    made = RunMaker(folder, plan)
    for one in plan[:4]:
        made.trial(one, all_pass(), steps=steps[one.trial])
    made.trial(plan[4], verdicts({}), steps=14)
    made.trial(plan[5], verdicts({}), steps=10)
    made.trial(plan[6], all_pass(), violation={4: True})
    made.trial(plan[7], None, stop="killed", infrastructure=True, steps=2)
    return made.folder


def test_each_case_is_picked_by_its_rule(tmp_path):
    found = picked(read_run(make(tmp_path / "run")).counted)
    assert found == {
        "t-2": ["ordinary success"],
        "t-4": ["expensive success"],
        "t-6": ["cheap failure"],
        "t-7": ["safety"],
        "t-8": ["infrastructure"],
    }


def test_a_large_run_shows_only_these_and_keeps_all_in_the_tables(tmp_path, monkeypatch):
    run = make(tmp_path / "run")
    assert len(shown_attempts(read_run(run).attempts)) == 8
    monkeypatch.setattr(cases, "ALL_SHOWN", 7)
    data = build_report(run, tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "5 of 8 trials, picked by rule" in page and page.count("<article") == 5
    assert len(data["trials"]) == 8
    assert len(list((tmp_path / "out" / "figures").iterdir())) == 4
    assert ">t-1<" in page, "in the appendix"
