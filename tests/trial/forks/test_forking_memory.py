"""What the agent of a fork remembers: its last checkpoint, its past told again, or nothing."""

from pathlib import Path
from typing import Any

from seatrial.journal.events import ActionRequested, AgentExited, TrialEnded, TrialStarted
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder, TrialPlanned
from seatrial.schedule.fork_candidates import ForkOrders
from tests.schedule.small import DONE, experiment, go_on
from tests.trial.forks.test_forking import forked

# Writes how often it has acted and a number drawn from its seed; gives up after the third time.
COUNTS = """
import os, random

class Counts:
    def __init__(self, config, seed):
        self.n, self.random, self.honest = 0, random.Random(seed), config["honest"]

    def act(self, observation):
        self.n += 1
        if self.n > 3:
            return {"tool": "finish", "arguments": {}}
        drawn = self.random.random() if self.honest else os.urandom(8).hex()
        return {"tool": "shell", "arguments": {"command": f"echo {self.n} {drawn} >> counts"}}
"""
SAVES = """
    def save(self):
        return str(self.n).encode()

    def load(self, state):
        self.n = int(state) - 1
"""


def ran(folder: Path, code: str, head: str = "", honest: bool = True) -> RunFolder:
    """A run whose one trial is a Python agent's."""
    path = experiment(folder, {"right": [DONE]}, head=head)
    (folder / "agents").mkdir()
    (folder / "agents" / "mine.py").write_text(code)
    text = path.read_text()
    path.write_text(
        text[: text.index("[[system]]")]
        + '[[system]]\nname = "mine"\nagent = "python"\ncode = "mine:Counts"\npath = "agents"\n'
        + f"options = {{ honest = {str(honest).lower()} }}\n"
    )
    go_on(path, folder / "run", "--arm", "baseline")
    return RunFolder.open(folder / "run")


def asked(run: RunFolder, trial: str) -> list[str]:
    events = read_journal(run.journal_path(trial, 1)).events
    return [e.arguments.get("command", e.tool) for e in events if isinstance(e, ActionRequested)]


def memory(run: RunFolder, fork: TrialPlanned) -> Any:
    first = read_journal(run.journal_path(fork.trial, 1)).events[0]
    assert isinstance(first, TrialStarted)
    return first.conditions["fork"]["memory"], first.conditions["fork"]["checkpoint_step"]


def test_without_anything_kept_the_agent_begins_anew_and_the_first_line_says_so(tmp_path: Path) -> None:
    run = ran(tmp_path, COUNTS)
    (fork,) = forked(run, 2, ForkOrders(count=1, seed=5))
    assert memory(run, fork) == ("none", None)
    assert [command[:6] for command in asked(run, fork.trial)] == ["echo 1", "echo 2", "echo 3", "finish"]


def test_with_the_same_seed_its_past_is_told_again_and_it_does_what_it_did(tmp_path: Path) -> None:
    run = ran(tmp_path, COUNTS)
    original = run.manifest().plan[0].trial
    (fork,) = forked(run, 1, ForkOrders(count=1, seed=5, same_seed=True))
    assert memory(run, fork) == ("replay", None)
    assert asked(run, fork.trial) == asked(run, original)[1:]
    ends = [read_journal(run.journal_path(trial, 1)).events[-1] for trial in (original, fork.trial)]
    assert all(isinstance(end, TrialEnded) for end in ends)
    assert len({end.fingerprint for end in ends if isinstance(end, TrialEnded)}) == 1


def test_an_agent_that_does_not_repeat_itself_says_nothing_and_is_told(tmp_path: Path) -> None:
    run = ran(tmp_path, COUNTS, head="retry = { infrastructure = 0 }", honest=False)
    (fork,) = forked(run, 1, ForkOrders(count=1, seed=5, same_seed=True))
    line = run.ended(fork.trial, 1)
    assert line is not None
    assert (line.stop_reason, line.infrastructure) == ("agent_fault", True)
    assert "did not repeat its recorded action 1" in line.note
    exits = [e for e in read_journal(run.journal_path(fork.trial, 1)).events if isinstance(e, AgentExited)]
    assert "--memory none" in exits[0].note
    assert asked(run, fork.trial) == []


def test_a_checkpoint_is_given_to_the_agent_of_every_fork(tmp_path: Path) -> None:
    head = 'arms = ["baseline", "interrupted:before_effect:structured"]'
    run = ran(tmp_path, COUNTS + SAVES, head)
    first, second = forked(run, 2, ForkOrders(count=2, seed=5))
    for fork in (first, second):
        assert memory(run, fork) == ("checkpoint", 2)
        assert [command[:6] for command in asked(run, fork.trial)] == ["echo 3", "finish"]
    # Each has a seed of its own, and so draws otherwise than the other.
    assert asked(run, first.trial)[0] != asked(run, second.trial)[0]
