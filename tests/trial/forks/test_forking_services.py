"""Forks of a trial with services: every row as it was, and no row of the original's touched."""

import json
from pathlib import Path
from typing import Any

import pytest

from seatrial.environment.confine.host import Host
from seatrial.environment.sandbox import BubblewrapSandbox
from seatrial.journal.entries import State, is_row
from seatrial.journal.events import ActionFinished, ServiceCalled, TrialEnded
from seatrial.journal.reader import base_state, read_journal, state_at
from seatrial.journal.run import RunFolder
from seatrial.schedule.fork_candidates import ForkOrders
from seatrial.trial.forks.forking import prove_state
from seatrial.trial.forks.point import fork_point
from seatrial.trial.forks.restore import world_at
from tests.schedule.small import seatrial
from tests.trial.forks.test_forking import forked

TASK = """
schema = "seatrial/task@1"
id = "small/office"
version = "1.0.0"
[environment]
services = ["mail", "sql"]
limits = { memory_mb = 512, processes = 64, seconds_per_action = 60 }
[[goal]]
version = 1
instruction = "instruction.md"
[[subgoal]]
id = "sent"
verifier = "verifiers/sent.sh"
reads = ["service:mail", "files:notes"]
"""
SCRIPT = """
[[step]]
tool = "mail.send"
to = "ann@example.org"
subject = "first"
body = "x"
[[step]]
tool = "shell"
command = '''
curl -s --unix-socket /run/services/mail.sock -H "Idempotency-Key: k1" http://mail/send \\
  -d '{"to": "bob@example.org", "subject": "second", "body": "y"}'
'''
[[step]]
tool = "sql.execute"
statement = "insert into t (a) values (1), (2)"
[[step]]
tool = "sql.execute"
statement = "update t set a = 7 where a = 2"
[[step]]
tool = "shell"
command = '''
curl -s --unix-socket /run/services/mail.sock -H "Idempotency-Key: k1" http://mail/send \\
  -d '{"to": "bob@example.org", "subject": "second", "body": "y"}'; echo done > notes
'''
[[step]]
tool = "finish"
"""


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    task = tmp_path / "task"
    for part in ("environment", "verifiers", "solutions", "services"):
        (task / part).mkdir(parents=True)
    (task / "task.toml").write_text(TASK)
    (task / "instruction.md").write_text("Write to Bob and Ann.\n")
    (task / "environment" / "notes").write_text("Ann, Bob\n")
    (task / "services" / "sql.toml").write_text('script = "services/tables.sql"\n')
    (task / "services" / "tables.sql").write_text("create table t (a integer);\n")
    (task / "verifiers" / "sent.sh").write_text("#!/bin/sh\necho pass >&3\n")
    (task / "verifiers" / "sent.sh").chmod(0o755)
    (task / "solutions" / "own.toml").write_text(SCRIPT)
    (tmp_path / "experiment.toml").write_text(
        'schema = "seatrial/experiment@1"\nname = "office"\ntasks = ["task"]\nfinal_verdicts = 1\n'
        '[[system]]\nname = "own"\nagent = "scripted"\nscript = "solutions/own.toml"\n'
    )
    seatrial("run", str(tmp_path / "experiment.toml"), "-o", str(tmp_path / "run"))
    return RunFolder.open(tmp_path / "run")


def rows(state: State) -> dict[str, Any]:
    return {path: entry.identity() for path, entry in state.items() if is_row(path)}


def written(run: RunFolder, state: State) -> dict[str, Any]:
    """What the rows say, but for the step in the ledger, which a fork counts anew."""
    found = {}
    for path, entry in state.items():
        if is_row(path):
            assert entry.digest is not None
            found[path] = {k: v for k, v in json.loads(run.objects.get(entry.digest)).items() if k != "step"}
    return found


def test_rows_of_every_step_come_to_be_as_they_were(run: RunFolder, host: Host) -> None:
    trial = run.manifest().plan[0].trial
    journal = read_journal(run.journal_path(trial, 1))
    assert [e.outcome for e in journal.events if isinstance(e, ActionFinished)] == ["ok"] * 6
    seen = set()
    for step in range(6):
        world = world_at(run, host, trial, 1, step)
        assert isinstance(world, BubblewrapSandbox)
        assert world.services is not None
        try:
            prove_state(world, fork_point(journal, run.objects, step).fingerprint)
            found = rows(world.services.services.entries())
            assert found == rows(state_at(journal, run.objects, step))
            seen.add(len(found))
        finally:
            world.close()
    assert len(seen) >= 4


def test_a_fork_ends_with_the_rows_of_the_original_and_leaves_those_alone(run: RunFolder) -> None:
    original = run.manifest().plan[0].trial
    before = run.journal_path(original, 1).read_bytes()
    whole = state_at(read_journal(run.journal_path(original, 1)), run.objects, 6)
    for step in (1, 4):
        (fork,) = forked(run, step, ForkOrders(count=1, seed=5))
        journal = read_journal(run.journal_path(fork.trial, 1))
        end = journal.events[-1]
        assert isinstance(end, TrialEnded)
        assert end.audit == "equal"
        assert written(run, state_at(journal, run.objects, 6 - step)) == written(run, whole)
        recorded = state_at(read_journal(run.journal_path(original, 1)), run.objects, step)
        assert rows(base_state(journal, run.objects)) == rows(recorded)
    # The service of the fork knows the key that was used before it: no second effect.
    sent = [e for e in journal.events if isinstance(e, ServiceCalled) and e.verb == "send"]
    assert [(call.effect, call.repeats is not None) for call in sent] == [(False, True)]
    assert run.journal_path(original, 1).read_bytes() == before
