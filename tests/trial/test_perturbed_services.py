"""Disturbances at services: faults met by tool and by HTTP, rows changed from outside, triggers by effect."""

from pathlib import Path
from typing import Any

import pytest

from seatrial.journal.events import (
    ActionFinished,
    EffectRecorded,
    PerturbationFired,
    ServiceCalled,
    TrialEnded,
)
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder
from tests.schedule.small import seatrial

TASK = """
schema = "seatrial/task@1"
id = "small/office"
version = "1.0.0"
[environment]
services = ["mail", "tickets"]
limits = { memory_mb = 512, processes = 64, seconds_per_action = 60 }
[[goal]]
version = 1
instruction = "instruction.md"
[[subgoal]]
id = "sent"
verifier = "verifiers/sent.sh"
reads = ["service:mail", "service:tickets", "files:notes"]
[[perturbation]]
id = "lost"
kind = "execution"
when = { action = { tool = "mail.send", where = { to = "ann@example.org" } } }
change = { fault = "lost_ack" }
affects = ["sent"]
[[perturbation]]
id = "busy"
kind = "execution"
when = { effect_attempted = true }
change = { fault = "rate_limit", times = 2 }
affects = ["sent"]
[[perturbation]]
id = "later-busy"
kind = "execution"
when = { file_read = "files:notes" }
change = { fault = "transient", tool = "mail.send" }
affects = ["sent"]
[[perturbation]]
id = "rows"
kind = "state"
when = { effect_attempted = { tool = "mail.send" } }
change = { service = "tickets", set = "perturbations/rows.toml" }
affects = ["sent"]
"""
SENDS = """
[[step]]
tool = "shell"
command = "cat notes"
[[step]]
tool = "mail.list"
[[step]]
tool = "mail.send"
to = "bob@example.org"
subject = "hello"
body = "x"
[[step]]
tool = "mail.send"
to = "ann@example.org"
subject = "hello"
body = "x"
[[step]]
tool = "tickets.get"
id = 1
[[step]]
tool = "finish"
"""
POSTS = """
[[step]]
tool = "shell"
command = '''
for to in bob@example.org ann@example.org; do
  body='{"to": "'$to'", "subject": "s", "body": "b"}'
  curl -s --unix-socket /run/services/mail.sock http://mail/send -d "$body"
done; cat notes
'''
[[step]]
tool = "tickets.get"
id = 1
[[step]]
tool = "finish"
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every arm by tool and by HTTP."""
    folder = tmp_path_factory.mktemp("office")
    task = folder / "task"
    for part in ("environment", "verifiers", "solutions", "perturbations", "services"):
        (task / part).mkdir(parents=True)
    (task / "task.toml").write_text(TASK)
    (task / "instruction.md").write_text("Write to Bob and Ann.\n")
    (task / "environment" / "notes").write_text("Ann, Bob\n")
    (task / "verifiers" / "sent.sh").write_text("#!/bin/sh\necho pass >&3\n")
    (task / "verifiers" / "sent.sh").chmod(0o755)
    (task / "perturbations" / "rows.toml").write_text('[[tickets]]\ntitle = "Late"\nbody = "changed"\n')
    (task / "perturbations" / "bad.toml").write_text("[[no_such_table]]\nid = 1\n")
    for name, script in (("reference", SENDS), ("tool", SENDS), ("http", POSTS)):
        (task / "solutions" / f"{name}.toml").write_text(script)
    systems = "".join(
        f'[[system]]\nname = "{name}"\nagent = "scripted"\nscript = "solutions/{name}.toml"\n'
        for name in ("tool", "http")
    )
    arms = ", ".join(f'"perturbed:{name}"' for name in ("lost", "busy", "later-busy", "rows"))
    (folder / "experiment.toml").write_text(
        'schema = "seatrial/experiment@1"\nname = "office"\ntasks = ["task"]\nfinal_verdicts = 1\n'
        f"retry = {{ infrastructure = 0 }}\narms = [{arms}]\n{systems}"
    )
    seatrial("run", str(folder / "experiment.toml"), "-o", str(folder / "run"))
    return folder / "run"


def lines(run: Path, system: str, arm: str, kind: type[Any]) -> list[Any]:
    opened = RunFolder.open(run)
    cell = next(p for p in opened.manifest().plan if (p.system, p.arm) == (system, f"perturbed:{arm}"))
    events = read_journal(opened.journal_path(cell.trial, 1)).events
    assert isinstance(events[-1], TrialEnded) and events[-1].audit == "equal"
    return [event for event in events if isinstance(event, kind)]


def test_an_acknowledgement_is_lost_by_tool_and_by_http(run: Path) -> None:
    for system, step in (("tool", 4), ("http", 1)):
        (fired,) = lines(run, system, "lost", PerturbationFired)
        assert (fired.step, fired.details) == (step, {"tool": "mail.send", "fault": "lost_ack"})
        calls = [c for c in lines(run, system, "lost", ServiceCalled) if c.verb == "send"]
        assert [(c.effect, c.acknowledged) for c in calls] == [(True, True), (True, False)]
    assert [f.outcome for f in lines(run, "tool", "lost", ActionFinished)][3] == "unknown"


def test_a_fault_meets_the_first_effects_and_no_look(run: Path) -> None:
    assert [(f.step, f.firing) for f in lines(run, "tool", "busy", PerturbationFired)] == [(3, 1), (4, 2)]
    assert [f.firing for f in lines(run, "http", "busy", PerturbationFired)] == [1, 2]
    for system in ("tool", "http"):
        calls = [c for c in lines(run, system, "busy", ServiceCalled) if c.verb == "send"]
        assert [(c.status, c.effect) for c in calls] == [(429, False)] * 2


def test_after_a_file_was_read_the_next_call_fails(run: Path) -> None:
    (fired,) = lines(run, "tool", "later-busy", PerturbationFired)
    assert fired.step == 3
    calls = [c for c in lines(run, "tool", "later-busy", ServiceCalled) if c.verb == "send"]
    assert [c.status for c in calls] == [503, 200]
    assert not lines(run, "http", "later-busy", PerturbationFired)  # read only after the last call


def test_rows_change_before_the_first_effect(run: Path) -> None:
    for system, step in (("tool", 3), ("http", 1)):
        (fired,) = lines(run, system, "rows", PerturbationFired)
        assert (fired.step, fired.paths) == (step, ["services/tickets/tickets/1.json"])
        effect = next(e for e in lines(run, system, "rows", EffectRecorded) if e.note)
        assert (effect.actor, effect.note) == ("environment", "perturbation rows")
        first = next(c for c in lines(run, system, "rows", ServiceCalled) if c.verb == "send")
        assert effect.seq < fired.seq < first.seq
    got = [c for c in lines(run, "tool", "rows", ServiceCalled) if c.verb == "get"]
    assert [c.status for c in got] == [200]
