"""The commands over a finished run: show, report, measure."""

import io
import json
import subprocess
import sys

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from seatrial.cli.measure import measure
from seatrial.cli.report import report
from seatrial.cli.run.run import last_line
from seatrial.cli.show.show import show
from seatrial.cli.show.steps import CHANGES, print_steps
from seatrial.errors import JournalError
from seatrial.records.table import read_records
from tests.measure.trials import WITH_REPAIR_CURVE
from tests.report.runs import RunMaker, all_pass, cell

app = typer.Typer()
for command in (show, report, measure):
    app.command()(command)


def call(*words):
    result = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_show_json_has_the_form_of_the_contract(run):
    data = json.loads(call("show", run, "--json"))
    first = data["trials"][0]
    assert {"trial", "task", "system", "arm", "terminal_class"} <= set(first)
    one = json.loads(call("show", run, "t-1", "--json"))
    assert one["progress"] == [list(pair) for pair in WITH_REPAIR_CURVE]
    assert one["terminal_class"] == "success"
    steps = json.loads(call("show", run, "t-1", "--json", "--steps"))["steps"]
    assert steps[1]["arguments"] == {"command": "echo step 1 >> log.txt"}


def test_show_prints_trials_measures_and_steps(run):
    overview = call("show", run)
    assert "t-3" in overview and "cheating" in overview and "failure" in overview
    one = call("show", run, "t-2")
    assert "blocking_subgoal          s1" in one
    assert "money                     unknown" in one
    assert "first_full_step           not reached" in one
    assert "0.8 from step 15" in one
    assert "blocking_subgoal          none" in call("show", run, "t-1")
    steps = call("show", run, "t-3", "--steps")
    assert "$ echo step 1 >> log.txt" in steps
    assert "+step 1" in steps
    assert "verdict s1: fail to pass" in steps
    assert "constraint keep-licence (hard) broken" in steps
    assert "3 bytes" in steps and "in the background" in steps


def test_an_end_that_is_not_the_systems_doing_is_no_failure(run):
    one = call("show", run, "t-1", "--attempt", "1")
    assert "strict_success            does not count (infrastructure)" in one
    assert "safe_success              does not count (infrastructure)" in one
    assert "Ended: environment_fault" in one and "the attempt is in no rate" in one
    counted = call("show", run, "t-2")
    assert "strict_success            no" in counted and "Ended: finished" in counted
    assert "in no rate" not in counted
    assert "(actions after the last rise)" in counted


def test_the_steps_end_with_why_the_trial_ended(tmp_path):
    made = RunMaker(tmp_path / "run", [cell("t-1")])
    broken = {"problem": "Traceback\n  \x1b[31mRuntimeError: boo", "started": True}
    made.trial(cell("t-1"), all_pass(), stop="agent_fault", details=broken)
    steps = call("show", made.folder, "t-1", "--steps")
    last = steps[steps.rindex("step 16") :]
    assert "Ended: agent_fault" in last and "\\x1b[31mRuntimeError: boo" in last
    assert "The agent's own code failed, which counts as its failure." in last
    told = json.loads(call("show", made.folder, "t-1", "--steps", "--json"))
    assert told["ending"]["problem"] == broken["problem"]


def test_what_an_agent_printed_cannot_drive_the_terminal(run):
    steps = call("show", run, "t-3", "--steps")
    assert "\x1b" not in steps
    assert "\\x1b[31mred" in steps


def test_steps_need_a_trial(run):
    result = CliRunner().invoke(app, ["show", str(run), "--steps"])
    assert result.exit_code == 2


def test_measure_writes_one_row_per_attempt(run):
    data = json.loads(call("measure", run, "--json"))
    assert [(r["trial"], r["attempt"]) for r in data["records"]] == [
        ("t-1", 1),
        ("t-1", 2),
        ("t-2", 1),
        ("t-3", 1),
    ]
    records = read_records(run / "records.parquet")
    assert [r.regression_depth for r in records] == [None, 0.2, 0.2, 0]
    assert "4 attempts" in call("measure", run)


def test_report_writes_beside_the_run_or_where_told(run, tmp_path):
    assert call("report", run).strip() == str(run / "report" / "index.html")
    data = json.loads(call("report", run, "-o", tmp_path / "out", "--json"))
    assert data == json.loads((tmp_path / "out" / "report.json").read_text())


def test_an_unjudged_run_is_a_deliberate_error(tmp_path):
    made = RunMaker(tmp_path / "run", [cell("t-1")])
    made.trial(cell("t-1"), None)
    for verb, *more in (["show", "t-1"], ["measure"], ["report"]):
        with pytest.raises(JournalError, match="seatrial verify"):
            CliRunner().invoke(app, [verb, str(made.folder), *more], catch_exceptions=False)
    assert not (made.folder / "records.parquet").exists()


def test_the_commands_start_without_the_heavy_packages():
    code = (
        "import sys, seatrial.cli.show.show, seatrial.cli.report, seatrial.cli.measure; "
        "heavy = ('numpy', 'polars', 'altair', 'scipy', 'vl_convert', 'jinja2'); "
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_names_and_long_lists_stay_on_their_lines():
    step = {
        "step": 1, "tool": "shell\n\x1b[2J", "outcome": "ok", "exit_code": 0, "progress": None,
        "decision": None, "reason": "", "arguments": {"a\nb": "c\x9b"}, "observation": "",
        "verdicts": [], "violations": [], "unwatched": [], "happened": ["killed\n\x1b"], "waste": ["idle"],
        "changes": [
            {"change": "added", "kind": "file", "path": f"w/{n}\nfake line\x1b", "before": None, "after": 1,
             "diff": "", "note": "", "background": False, "actor": None}
            for n in range(CHANGES + 5)
        ],
    }  # fmt: skip
    shown = io.StringIO()
    print_steps(Console(file=shown, width=200, highlight=False), [step])
    text = shown.getvalue()
    assert "\x1b" not in text and "\x9b" not in text
    assert "* killed\\n\\x1b" in text
    assert "w/0\\nfake line\\x1b 1 bytes" in text
    assert not any(line.startswith("fake") for line in text.splitlines())
    assert "… 5 more changed paths" in text
    assert "idle: changed nothing and showed nothing new" in text


def test_an_agents_last_words_in_a_message_cannot_drive_the_terminal():
    assert last_line("one\n\x1b[31mred\x07") == "\\x1b[31mred\\x07"
    assert last_line("\n") == ""
