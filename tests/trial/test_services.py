"""A whole run of a task with services: from the task's files to verdicts, and back to any step."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from seatrial.environment.confine.host import Host
from seatrial.evidence.read import read_run
from seatrial.journal.events import ActionFinished, ServiceCalled, TrialEnded
from seatrial.journal.reader import Journal, read_journal, state_at
from seatrial.journal.run import RunFolder
from seatrial.schedule.runner import run_plan
from seatrial.schedule.watching import Silent
from seatrial.spec.loading import load_experiment
from seatrial.trial.forks.restore import world_at
from tests.runs import open_run
from tests.spec.folders import toml, write_task
from tests.stocks import FILES, TEXTS

PAID = """#!/usr/bin/env python3
import glob, json, os
rows = [json.load(open(path)) for path in glob.glob(os.environ["SERVICE_ROWS"] + "/payments/charges/*.json")]
os.write(3, b"pass" if [row["amount"] for row in rows] == [7] else b"fail")
"""
TOLD = """#!/bin/sh
if grep -q '"to":"bob@there.org"' /services/mail/deliveries/*.json; then echo pass >&3; else echo fail >&3; fi
"""
STEPS: list[dict[str, Any]] = [
    {"tool": "payments.balance", "account": "main"},
    {
        "tool": "shell",
        "command": "curl -s --unix-socket $SERVICE_SOCKETS/payments.sock http://payments/charge "
        """-d '{"account": "main", "amount": 7, "reference": "r"}'""",
    },
    {"tool": "sql.execute", "statement": "DELETE FROM u WHERE id = 2"},
    {"tool": "mail.send", "to": "bob@there.org", "subject": "Done", "body": ""},
    {"tool": "finish"},
]


def run_of(folder: Path, unsafe: bool = False, steps: Sequence[dict[str, Any]] = tuple(STEPS)) -> RunFolder:
    """A task with every service, played by a script."""
    reads = {"subgoal.0.reads": ["service:payments"], "subgoal.1.reads": ["service:mail"]}
    task = write_task(folder / "task", {"environment.services": list(FILES), **reads})
    (task / "services").mkdir()
    for name, text in FILES.items():
        (task / "services" / f"{name}.toml").write_text(text)
    for name, text in TEXTS.items():
        (task / name).write_text(text)
    (task / "verifiers" / "first.sh").write_text(PAID)
    (task / "verifiers" / "last.sh").write_text(
        TOLD.replace("/services/", "$SERVICE_ROWS/") if unsafe else TOLD
    )
    (task / "solutions" / "own.toml").write_text(toml({"step": list(steps)}))
    (folder / "experiment.toml").write_text(
        'schema = "seatrial/experiment@1"\nname = "own"\ntasks = ["task"]\nseed = 1\n'
        '[[system]]\nname = "own"\nagent = "scripted"\nscript = "solutions/own.toml"\n'
    )
    run = open_run(load_experiment(folder / "experiment.toml"), folder / "run", unsafe=unsafe)
    run_plan(run, run.manifest(), Silent())
    return run


def journal_of(run: RunFolder) -> Journal:
    (line,) = run.index()
    return read_journal(run.journal_path(line.trial, 1), line.digest)


@pytest.mark.parametrize("unsafe", [False, True])
def test_rows_are_judged_and_measured(tmp_path: Path, unsafe: bool) -> None:
    run = run_of(tmp_path, unsafe)
    journal = journal_of(run)
    calls = [(e.step, e.verb, e.via, e.effect) for e in journal.events if isinstance(e, ServiceCalled)]
    assert calls == [
        (1, "balance", "tool", False), (2, "charge", "http", True), (3, "execute", "tool", True),
        (4, "send", "tool", True),
    ]  # fmt: skip
    end = journal.events[-1]
    assert isinstance(end, TrialEnded) and (end.stop_reason, end.audit) == ("finished", "equal")
    record = read_run(run.folder).attempts[0].record
    assert (record.strict_success, record.first_half_step, record.first_full_step) == (True, 2, 4)


def test_every_step_can_be_stood_in_again_rows_included(tmp_path: Path, host: Host) -> None:
    run = run_of(tmp_path)
    journal = journal_of(run)
    after = {e.step: e.post for e in journal.events if isinstance(e, ActionFinished)}
    trial = run.index()[0].trial
    for step in range(len(STEPS) + 1):
        world = world_at(run, host, trial, 1, step)
        try:
            assert world.services is not None
            if step:
                assert world.tracker.fingerprint() == after[step]
            assert world.settle().changes == [] and world.audit()
            recorded = state_at(journal, run.objects, step)
            rows = world.services.services.entries()
            assert {path: entry.identity() for path, entry in rows.items()} == {
                path: e.identity() for path, e in recorded.items() if path.startswith("services/")
            }
            main = recorded["services/payments/accounts/main.json"]
            assert json.loads(run.objects.get(main.digest or ""))["balance"] == (93.5 if step >= 2 else 100.5)
        finally:
            world.close()


def test_the_base_is_built_once_and_anew_when_its_rows_are_gone(tmp_path: Path, host: Host) -> None:
    run = run_of(tmp_path)
    (folder,) = (run.folder / "scratch" / "bases").glob("*.services")
    built = folder.stat().st_ino
    trial = run.index()[0].trial
    world_at(run, host, trial, 1, 2).close()
    assert [path.stat().st_ino for path in folder.parent.glob("*.services") if path == folder] == [built]
    (folder / "sql.db").unlink()
    world = world_at(run, host, trial, 1, 3)
    assert world.audit()
    world.close()


def test_programs_that_never_stop_calling_lose_nothing_at_the_end(tmp_path: Path) -> None:
    call = (
        """curl -s --unix-socket $SERVICE_SOCKETS/tickets.sock http://x/comment -d '{"id": 1, "body": "b"}'"""
    )
    loops = f"for n in 1 2 3; do (while true; do {call}; echo >> calls; done) >/dev/null 2>&1 & done"
    # Of four more than there were, the last was sent after the action before had ended.
    more = "touch calls; n=$(wc -l < calls); until [ $(wc -l < calls) -gt $((n + 3)) ]; do sleep 0.02; done"
    steps = [{"tool": "shell", "command": command} for command in (loops, more)]
    steps += [{"tool": "tickets.get", "id": 1} for _ in range(4)]
    run = run_of(tmp_path, steps=[*steps, {"tool": "finish"}])
    journal = journal_of(run)
    end = journal.events[-1]
    assert isinstance(end, TrialEnded) and end.audit == "equal"
    state = state_at(journal, run.objects, 7)
    rows = {path for path in state if path.startswith("services/tickets/ledger/")}
    done = [e for e in journal.events if isinstance(e, ServiceCalled) and e.effect]
    assert len(rows) == len(done) > 0
    assert [e.ledger for e in done] == list(range(1, len(done) + 1))
    assert {e.actor for e in done} >= {"background"}
