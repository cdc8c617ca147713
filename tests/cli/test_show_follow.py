"""``show`` on runs that are going on: the overview marks them, ``--follow`` stays with them."""

import fcntl
import io
import json

import msgspec
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from seatrial.cli.show.follow import follow_run, standing_table
from seatrial.cli.show.show import show
from seatrial.evidence.standing import RunWatch
from seatrial.journal.run import write_json
from seatrial.report.show import run_overview
from tests.report.runs import RunMaker, all_pass, cell

app = typer.Typer()
app.command()(show)
PLAN = [cell("t-1"), cell("t-2", "hasty"), cell("t-3")]


def call(*words):
    result = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def made(tmp_path):
    made = RunMaker(tmp_path / "run", PLAN)
    made.trial(PLAN[0], all_pass())
    made.trial(PLAN[1], None)
    return made


def test_one_trial_without_verdicts_is_marked_and_hides_no_other(made):
    shown = call(made.folder)
    lines = {line.split()[0]: line for line in shown.splitlines() if line}
    assert "success" in lines["t-1"]
    assert "ended, not judged yet" in lines["t-2"]
    assert "not begun" in lines["t-3"]
    assert "no verdicts yet: t-2. Run `seatrial verify RUN`." in shown
    assert "not ended yet: t-3" in shown


def test_following_ends_with_the_runner_and_prints_each_change_once(made, capsys):
    looks = []

    class Events(RunWatch):
        """Lets the run go on between two looks."""

        def look(self):
            looks.append(1)
            if len(looks) == 3:
                table = msgspec.structs.replace(all_pass(), trial="t-2", attempt=1)
                write_json(made.run.verdicts_path("t-2", 1), table)
            if len(looks) == 4:
                made.trial(PLAN[2], all_pass())
                fcntl.flock(lock, fcntl.LOCK_UN)
            return super().look()

    with open(made.folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        follow_run(Events(made.folder), json=False, pause=0)
    lines = capsys.readouterr().out.splitlines()
    assert len(looks) == 4
    assert lines == [
        "t-1 (careful on ledger/five, baseline): success, 16 steps, progress 1",
        "t-2 (hasty on ledger/five, baseline): ended, not judged yet",
        "t-3 (careful on ledger/five, baseline): not begun",
        "t-2 (hasty on ledger/five, baseline): success, 16 steps, progress 1",
        "t-3 (careful on ledger/five, baseline): success, 16 steps, progress 1",
        "3 trials: 3 ended; no runner works on it",
    ]


def test_following_as_json_gives_one_line_a_change(made):
    rows = [json.loads(line) for line in call(made.folder, "--follow", "--json").splitlines()]
    assert [(row["trial"], row["state"]) for row in rows] == [
        ("t-1", "ended"),
        ("t-2", "unjudged"),
        ("t-3", "waiting"),
    ]


def test_follow_is_for_all_trials(made):
    assert CliRunner().invoke(app, [str(made.folder), "t-1", "--follow"]).exit_code == 2


def test_a_long_run_fits_the_screen_with_those_under_way_first():
    rows = [
        {"trial": f"t-{n}", "task": "f/x", "system": "s", "arm": "baseline", "attempt": 1, "passing": None,
         "steps": n, "progress": None, "terminal_class": "success", "state": "ended"}
        for n in range(100)
    ]  # fmt: skip
    rows[7] |= {"state": "running", "terminal_class": None, "passing": 2}
    shown = io.StringIO()
    Console(file=shown, width=120).print(standing_table({"standing": rows, "running": True}, room=5))
    names = [line.split()[0] for line in shown.getvalue().splitlines()[1:]]
    assert names == ["t-7", "t-96", "t-97", "t-98", "t-99", "100"]
    assert "2 pass" in shown.getvalue()


def test_on_a_terminal_the_table_is_live(made, monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(
        "seatrial.cli.show.follow.Console",
        lambda **_: Console(file=shown, force_terminal=True, width=120, height=30),
    )
    follow_run(RunWatch(made.folder), json=False)
    assert "ended, not judged yet" in shown.getvalue()
    assert run_overview(made.folder)["running"] is False
