"""Why a verdict is no plain pass: in the terminal, on the page and among the limits."""

import typer
from typer.testing import CliRunner

from seatrial.cli.show.show import show
from seatrial.report.build import build_report
from seatrial.report.show import trial_detail
from seatrial.report.verdict_notes import SHOWN, evidence_lines
from tests.measure.trials import FIVE, row, verdicts
from tests.report.runs import RunMaker, cell

ERROR = {"reason": "exit code 1 instead of 0", "stderr": "Traceback\n\x1b[31mValueError <b>", "tries": 2}
FINAL = {name: ["pass"] * 3 for name in FIVE} | {"s1": ["error"] * 3, "s2": ["pass", "fail", "pass"]}


def make(folder):
    rows = [row(name, 0, "pass") for name in FIVE[1:]]
    rows += [row("s1", 0, "fail"), row("s1", 3, "error", product_triggered=True, evidence=ERROR)]
    made = RunMaker(folder, [cell("t-1")])
    made.trial(cell("t-1"), verdicts({}, rows=rows, final=FINAL))
    return made.folder


def test_notes_name_errors_and_flaky_verifiers_only(tmp_path):
    notes = {note["subgoal"]: note for note in trial_detail(make(tmp_path / "run"), "t-1")["verdict_notes"]}
    assert set(notes) == {"s1", "s2"}
    assert (notes["s1"]["step"], notes["s1"]["product_triggered"], notes["s1"]["evidence"]) == (
        3,
        True,
        ERROR,
    )
    assert (notes["s2"]["flaky"], notes["s2"]["runs"]) == (True, ["pass", "fail", "pass"])


def test_show_prints_them_without_obeying_them(tmp_path):
    app = typer.Typer()
    app.command()(show)
    shown = CliRunner().invoke(app, [str(make(tmp_path / "run")), "t-1"], catch_exceptions=False).stdout
    assert "error from step 3, because of the product: taken as not passed" in shown
    assert "reason: exit code 1 instead of 0" in shown
    assert "ValueError" in shown and "\x1b" not in shown
    assert "flaky, so unknown: its runs on one state disagree: pass, fail, pass" in shown


def test_the_report_prints_them_and_names_flaky_verifiers(tmp_path):
    data = build_report(make(tmp_path / "run"), tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "exit code 1 instead of 0" in page and "ValueError &lt;b&gt;" in page
    assert any(
        text.startswith("Flaky verifiers") and "s2 of ledger/five in 1 trial" in text
        for text in data["limits"]
    )
    assert [note["subgoal"] for note in data["trials"][0]["verdict_notes"]] == ["s2", "s1"]


def test_evidence_of_any_form_is_worded_and_cut():
    assert evidence_lines(None) == []
    assert evidence_lines([1, 2]) == ["[1,2]"]
    (line,) = evidence_lines({"given": {"n": "x" * 2000}})
    assert line.startswith('given: {"n":"xxx') and len(line) < SHOWN + 60 and "more characters" in line
