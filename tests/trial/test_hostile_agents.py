"""Agents that break the rules of the conversation: the end is theirs, not the host's, and not tried again."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from seatrial.journal.events import INFRASTRUCTURE, TrialEnded
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder
from seatrial.report.show import trial_detail
from seatrial.schedule.runner import run_plan
from seatrial.schedule.watching import Silent
from seatrial.spec.loading import load_experiment
from tests.runs import open_run

WORKED = Path(__file__).parents[2] / "examples" / "worked"
AGENT = """
import json, os, socket, time
def held():
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                return socket.socket(fileno=os.dup(int(name)))
        except OSError:
            pass
def ask(line):
    own = held()
    own.sendall(line.encode() + b"\\n")
    return json.loads(own.makefile("rb").readline())
def act(tool, arguments):
    return ask('{"id": 1, "method": "act", "params": {"tool": "%s", "arguments": %s}}' % (tool, arguments))
class Agent:
    def __init__(self, config, seed):
        if config["when"] == "begin":
            exec(config["do"], globals())
    def act(self, observation):
        exec(CONFIG, globals())
        return {"tool": "finish", "arguments": {}}
"""


def run_agent(folder: Path, when: str, do: str) -> tuple[RunFolder, TrialEnded]:
    """One trial of an agent that does something before it is ready or at its first turn."""
    shutil.copytree(WORKED / "migration", folder / "migration")
    task = folder / "migration" / "task.toml"
    task.write_text(task.read_text().replace("actions = 40", "actions = 40\nseconds = 60"))
    (folder / "code").mkdir()
    (folder / "code" / "mine.py").write_text(AGENT.replace("CONFIG", repr(do if when == "act" else "")))
    (folder / "experiment.toml").write_text(
        'schema = "seatrial/experiment@1"\nname = "own"\ntasks = ["migration"]\n'
        '[[system]]\nname = "mine"\nagent = "python"\ncode = "mine:Agent"\npath = "code"\n'
        f"options = {{ when = {json.dumps(when)}, do = {json.dumps(do)} }}\n"
    )
    run = open_run(load_experiment(folder / "experiment.toml"), folder / "run")
    run_plan(run, run.manifest(), Silent())
    (line,) = run.index()
    assert not line.infrastructure
    end = read_journal(run.journal_path(line.trial, 1), line.digest).events[-1]
    assert isinstance(end, TrialEnded)
    assert end.stop_reason not in INFRASTRUCTURE
    return run, end


SHELL = """act("shell", '{"command": "ls"}')"""


@pytest.mark.parametrize(
    ("when", "do", "reason"),
    [
        ("begin", f"{SHELL}; raise ValueError('never ready')", "agent_fault"),
        ("begin", f"{SHELL}; os._exit(3)", "agent_fault"),
        ("act", f"{SHELL}; held().shutdown(2); time.sleep(5)", "agent_fault"),
        ("act", """act("shell", '{"command": "\\\\ud800"}')""", "finished"),
        ("act", "raise ValueError(chr(0xd800))", "agent_fault"),
        ("act", f"""act("finish", '{{"confidence": {"9" * 400}}}')""", "finished"),
        ("act", """act("shell", '{"command": ' + '[' * 900 + ']' * 900 + '}')""", "finished"),
    ],
)
def test_no_agent_makes_its_end_a_fault_of_the_host(tmp_path: Path, when: str, do: str, reason: str) -> None:
    run, end = run_agent(tmp_path, when, do)
    assert (end.stop_reason, end.censored) == (reason, False)
    trial: dict[str, Any] = trial_detail(run.folder, run.manifest().plan[0].trial, steps=True)
    assert trial["terminal_class"] == "failure"
