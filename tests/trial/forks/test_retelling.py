"""An agent's past told again, word for word: notices, budgets and what a person did meanwhile included."""

from pathlib import Path
from typing import Any

import pytest

from seatrial.journal.events import ActionRequested, Event, TrialEnded
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder, TrialPlanned
from seatrial.schedule.fork_candidates import ForkOrders
from seatrial.schedule.runner import run_plan
from seatrial.schedule.watching import Silent
from tests.trial.forks.test_forking import forked
from tests.trial.forks.test_recalled import office

# Whatever it does names all that it was shown so far, the first observation with budget and tools included.
HEARS = """
import hashlib, json

class Nobody:
    def __init__(self, config, seed):
        self.heard, self.n = hashlib.sha256(), 0

    def act(self, observation):
        self.heard.update(json.dumps(observation, sort_keys=True).encode())
        self.n += 1
        said = self.heard.hexdigest()[:16]
        return [
            {"tool": "shell", "arguments": {"command": f"echo {said} > noted"}},
            {"tool": "mail.send", "arguments": {"to": "a@b.c", "subject": said, "body": "b"}},
            {"tool": "ask_human", "arguments": {"question": f"I am stuck with {said}"}},
            {"tool": "shell", "arguments": {"command": f"cat made noted; echo {said} >> noted"}},
            {"tool": "shell", "arguments": {"command": f"echo {said} >> noted"}},
            {"tool": "finish", "arguments": {"summary": said}},
        ][self.n - 1]
"""
# The person's own action is step 4.
STEPS = (1, 2, 4, 5, 6)


def events(run: RunFolder, planned: TrialPlanned, kind: type[Event]) -> list[Any]:
    found = read_journal(run.journal_path(planned.trial, 1)).events
    return [event for event in found if isinstance(event, kind)]


def asked(run: RunFolder, planned: TrialPlanned) -> list[Any]:
    return [(e.actor, e.tool, e.arguments) for e in events(run, planned, ActionRequested)]


@pytest.mark.parametrize("arm", ["baseline", "perturbed:tripled", "perturbed:rumour"])
def test_an_agent_that_heard_the_same_does_the_same(tmp_path: Path, arm: str) -> None:
    run = office(tmp_path, [arm], HEARS)
    run_plan(run, run.manifest(), Silent())
    (original,) = run.manifest().plan
    whole = asked(run, original)
    assert [tool for _, tool, _ in whole] == [
        "shell", "mail.send", "ask_human", "shell", "shell", "shell", "finish",
    ]  # fmt: skip
    (end,) = events(run, original, TrialEnded)
    last = original
    for step in STEPS:
        (fork,) = forked(run, step, ForkOrders(count=1, seed=5, same_seed=True), original)
        assert asked(run, fork) == whole[step:], f"step {step}"
        assert events(run, fork, TrialEnded)[0].summary == end.summary
        last = fork if step == 1 else last
    # A fork of a fork is told both pasts.
    (again,) = forked(run, 3, ForkOrders(count=1, seed=5, same_seed=True), last)
    assert asked(run, again) == whole[4:]
    assert events(run, again, TrialEnded)[0].summary == end.summary
