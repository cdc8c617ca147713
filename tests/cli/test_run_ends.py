"""What `run` and `show` say of trials that did not end well."""

import json
from pathlib import Path

from seatrial.cli.run.run import closing_lines
from seatrial.evidence.read import read_run
from tests.report.runs import RunMaker, all_pass, cell
from tests.schedule.small import DONE, experiment, go_on, seatrial

BROKEN = """
class Broken:
    def __init__(self, config, seed):
        self.tries = config["tries"]
"""


def with_python(folder: Path, code: str) -> Path:
    path = experiment(folder, {"right": [DONE]})
    (folder / "agents").mkdir()
    (folder / "agents" / "mine.py").write_text(BROKEN)
    system = f'\n[[system]]\nname = "mine"\nagent = "python"\ncode = "{code}"\npath = "agents"\n'
    path.write_text(path.read_text() + system)
    return path


def test_a_class_that_is_not_there_is_no_result(tmp_path: Path) -> None:
    said = go_on(with_python(tmp_path, "mine:Brokn"), tmp_path / "run", status=2)
    assert 'defines no "Brokn" at its top level; it defines Broken. Did you mean "Broken"?' in said
    assert not (tmp_path / "run").exists()


def test_an_error_of_the_agents_own_is_shown_with_its_traceback(tmp_path: Path) -> None:
    run = tmp_path / "run"
    go_on(with_python(tmp_path, "mine:Broken"), run, "--system", "mine")
    shown = seatrial("show", str(run), "small-one.mine.baseline.1", "--steps")
    assert "Ended: agent_fault" in shown
    assert "KeyError: 'tries'" in shown
    assert "The agent's own code failed, which counts as its failure." in shown
    told = json.loads(seatrial("show", str(run), "small-one.mine.baseline.1", "--json"))
    assert told["ending"]["counts"] is True


def test_attempts_of_one_trial_are_told_apart_in_the_closing_list(tmp_path: Path) -> None:
    plan = [cell("t-1"), cell("t-2")]
    made = RunMaker(tmp_path / "run", plan)
    made.trial(plan[0], None, stop="environment_fault", infrastructure=True)
    made.trial(plan[0], all_pass(), attempt=2)
    made.trial(plan[1], all_pass())
    records = [attempt.record for attempt in read_run(made.folder).attempts]
    assert closing_lines(records) == [
        "  t-1, attempt 1: infrastructure", "  t-1, attempt 2: success", "  t-2: success",
    ]  # fmt: skip
