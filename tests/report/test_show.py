"""What `seatrial show` shows, as data (design section 10)."""

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from seatrial.cli.show.show import show
from seatrial.errors import JournalError, UsageError
from seatrial.records.trial import TrialRecord
from seatrial.report.show import run_overview, trial_detail
from tests.measure.trials import WITH_REPAIR_CURVE
from tests.report.runs import RunMaker, all_pass, cell


def test_overview_lists_the_counted_attempt_of_each_trial(run):
    data = run_overview(run)
    assert [(t["trial"], t["attempt"], t["system"], t["terminal_class"]) for t in data["trials"]] == [
        ("t-1", 2, "careful", "success"),
        ("t-2", 1, "hasty", "failure"),
        ("t-3", 1, "cheating", "failure"),
    ]
    assert msgspec.convert(data["trials"], list[TrialRecord])


def test_one_trial_is_its_record_with_progress_and_verdicts(run):
    data = trial_detail(run, "t-1")
    assert data["progress"] == [list(pair) for pair in WITH_REPAIR_CURVE]
    assert (data["regression_depth"], data["first_full_step"], data["repeat_completions"]) == (0.2, 15, 1)
    assert data["verdicts"]["final"]["s1"] == ["pass"] * 3
    assert "steps" not in data
    assert trial_detail(run, "t-1", attempt=1)["stop_reason"] == "environment_fault"


def test_steps_show_action_output_diff_verdicts_and_violations(run):
    steps = {step["step"]: step for step in trial_detail(run, "t-3", steps=True)["steps"]}
    assert list(steps) == list(range(17))
    assert steps[0]["tool"] is None
    assert {v["after"] for v in steps[0]["verdicts"]} == {"fail"}
    first = steps[1]
    assert (first["tool"], first["outcome"], first["exit_code"]) == ("shell", "ok", 0)
    assert first["observation"].startswith("line one of 1\n")
    change = first["changes"][0]
    assert (change["path"], change["change"], change["before"], change["after"]) == (
        "workspace/log.txt",
        "modified",
        6,
        13,
    )
    assert change["diff"].splitlines()[-2:] == [" start", "+step 1"]
    assert first["verdicts"] == [{"subgoal": "s1", "before": "fail", "after": "pass", "evidence": None}]
    assert [step["progress"] for step in list(steps.values())[:6]] == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert [(v["constraint"], v["certain"]) for v in steps[4]["violations"]] == [("keep-licence", True)]


def test_binaries_show_sizes_and_background_changes_are_marked(run):
    steps = trial_detail(run, "t-3", steps=True)["steps"]
    added = next(c for c in steps[2]["changes"] if c["path"].endswith("blob.bin"))
    assert (added["change"], added["before"], added["after"], added["diff"]) == ("added", None, 3, "")
    gone = next(c for c in steps[3]["changes"] if c["path"].endswith("blob.bin"))
    assert (gone["change"], gone["before"], gone["after"], gone["background"]) == ("removed", 3, None, True)
    assert (added["actor"], gone["actor"]) == (None, "background")


def test_a_change_by_a_perturbation_is_the_environments(disturbed_run):
    steps = trial_detail(disturbed_run, "t-2", steps=True)["steps"]
    change = next(c for c in steps[2]["changes"] if c["path"].endswith("limits.toml"))
    assert (change["actor"], change["background"]) == ("environment", True)
    app = typer.Typer()
    app.command()(show)
    told = CliRunner().invoke(app, [str(disturbed_run), "t-2", "--steps"], catch_exceptions=False).stdout
    assert "limits.toml (environment)" in told and "in the background" not in told


def test_an_unjudged_trial_says_what_to_run(tmp_path):
    made = RunMaker(tmp_path / "run", [cell("t-1")])
    made.trial(cell("t-1"), None)
    with pytest.raises(JournalError, match=r"t-1, attempt 1 has no verdicts yet. Run `seatrial verify"):
        trial_detail(made.folder, "t-1")


def test_an_unjudged_neighbour_does_not_hide_a_trial(tmp_path):
    plan = [cell("t-1"), cell("t-2"), cell("t-3")]
    made = RunMaker(tmp_path / "run", plan)
    made.trial(plan[0], None)
    made.trial(plan[1], all_pass())
    assert trial_detail(made.folder, "t-2")["strict_success"] is True
    with pytest.raises(UsageError, match="t-3 has not ended"):
        trial_detail(made.folder, "t-3")
    data = run_overview(made.folder)
    assert [t["trial"] for t in data["trials"]] == ["t-2"]
    assert (data["unjudged"], data["unfinished"], data["running"]) == (["t-1"], ["t-3"], False)
    assert [row["state"] for row in data["standing"]] == ["unjudged", "ended", "waiting"]


def test_what_is_not_there_is_named(run):
    with pytest.raises(UsageError, match=r"no trial 'other'. It has t-1, t-2, t-3"):
        trial_detail(run, "other")
    with pytest.raises(UsageError, match=r"no attempt 5. It has \[1, 2\]"):
        trial_detail(run, "t-1", attempt=5)


def test_a_mistyped_trial_is_answered_with_the_nearest(tmp_path):
    plan = [cell(f"guests.careful.baseline.{n}") for n in range(1, 30)]
    made = RunMaker(tmp_path / "run", plan)
    made.trial(plan[0], all_pass())
    with pytest.raises(UsageError, match=r"Did you mean 'guests\.careful\.baseline\.27'\? It has 29 trials"):
        trial_detail(made.folder, "guests.carefull.baseline.27")
    with pytest.raises(UsageError, match=r"It has guests.*baseline\.8 and 21 more"):
        trial_detail(made.folder, "zzz")


def test_how_an_attempt_ended_is_said(tmp_path):
    plan = [cell("t-1"), cell("t-2"), cell("t-3")]
    made = RunMaker(tmp_path / "run", plan)
    fault = {"problem": "the model endpoint http://x/v1 failed: timeout"}
    made.trial(plan[0], None, stop="environment_fault", infrastructure=True, details=fault)
    broken = {"problem": "Traceback\nRuntimeError: boo", "started": True}
    made.trial(plan[1], all_pass(), stop="agent_fault", details=broken)
    made.trial(plan[2], all_pass(), summary="all written")
    assert [trial_detail(made.folder, name)["ending"] for name in ("t-1", "t-2", "t-3")] == [
        {"problem": fault["problem"], "summary": "", "reason": "", "counts": False},
        {"problem": broken["problem"], "summary": "", "reason": "", "counts": True},
        {"problem": "", "summary": "all written", "reason": "", "counts": True},
    ]


def test_a_damaged_verdict_table_and_a_changed_journal_are_errors(run):
    table = run / "verdicts" / "t-2.1.json"
    table.write_text("{")
    with pytest.raises(JournalError, match="damaged"):
        trial_detail(run, "t-2")
    journal = run / "trials" / "t-3" / "1" / "journal.jsonl"
    data = bytearray(journal.read_bytes())
    data[400] ^= 1
    journal.write_bytes(data)
    with pytest.raises(JournalError, match="line"):
        trial_detail(run, "t-3")


def test_an_index_that_names_a_trial_twice_or_out_of_plan_is_refused(run):
    index = run / "index.jsonl"
    whole = index.read_text()
    index.write_text(whole + whole.splitlines()[-1] + "\n")
    with pytest.raises(JournalError, match="twice"):
        run_overview(run)
    index.write_text(whole.replace('"t-3"', '"t-8"'))
    with pytest.raises(JournalError, match="t-8"):
        run_overview(run)
