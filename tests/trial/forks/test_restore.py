"""Any recorded step can be stood in again: same fingerprint, same bytes, same behaviour."""

import shutil
from pathlib import Path

import pytest

from seatrial.environment.confine.host import Host
from seatrial.errors import JournalError
from seatrial.journal.events import ActionFinished, ActionRequested
from seatrial.journal.reader import read_journal, state_at
from seatrial.journal.run import RunFolder
from seatrial.schedule.runner import run_plan
from seatrial.schedule.watching import Silent
from seatrial.trial.forks.restore import world_at
from tests.trial.test_trial import experiment, script

COMMANDS = (
    "mkdir -p a/b; echo 1 > a/b/one; ln a/b/one two; ln -s two three",
    "echo more >> two; chmod 640 a/b/one; mkfifo pipe",
    "rm -r services; mkdir services; echo new > services/only",
    "mv a moved; setfattr -n user.note -v x two 2>/dev/null; printf 'a b' > 'odd name'",
    "rm two pipe; echo end > /tmp/end; echo h > ~/home-file",
)


def test_every_step_of_a_trial_can_be_restored(tmp_path: Path, host: Host) -> None:
    run = experiment(tmp_path, script(*COMMANDS))
    run_plan(run, run.manifest(), Silent())
    (line,) = run.index()
    journal = read_journal(run.journal_path(line.trial, 1), line.digest)
    after = {e.step: e.post for e in journal.events if isinstance(e, ActionFinished)}
    assert len([e for e in journal.events if isinstance(e, ActionRequested)]) == len(COMMANDS) + 1
    for step in range(len(COMMANDS) + 1):
        world = world_at(run, host, line.trial, 1, step)
        try:
            if step:
                assert world.tracker.fingerprint() == after[step]
            assert world.settle().changes == []
            assert world.audit()
            assert {p: e.identity() for p, e in world.tracker.state().items()} == {
                p: e.identity() for p, e in state_at(journal, run.objects, step).items()
            }
            if 2 <= step < 5:
                assert world.shell("cat two").output == b"1\nmore\n"
                world.shell("echo again >> two")
                paths = {e.path for e in world.settle().changes}
                linked = "workspace/moved/b/one" if step == 4 else "workspace/a/b/one"
                assert paths == {"workspace/two", linked}
        finally:
            world.close()
    with pytest.raises(JournalError, match="has no step 7"):
        world_at(run, host, line.trial, 1, 7)


DATABASE = """
import sqlite3
connection = sqlite3.connect("app.sqlite")
connection.execute({statement!r})
connection.commit()
"""


def test_a_database_and_a_copied_run_are_restored_too(tmp_path: Path, host: Host) -> None:
    statements = (
        "create table t (a)",
        "insert into t values (1)",
        "update t set a = 2",
        "update t set a = 1",
    )
    commands = [f"cat > w.py <<'E'{DATABASE.format(statement=s)}E\npython3 w.py; rm w.py" for s in statements]
    run = experiment(tmp_path, script(*commands), reads='reads = ["db:app.sqlite"]')
    run_plan(run, run.manifest(), Silent())
    copied = RunFolder.open(shutil.copytree(run.folder, tmp_path / "copied", symlinks=True))
    (line,) = run.index()
    after = {
        e.step: e.post
        for e in read_journal(run.journal_path(line.trial, 1)).events
        if isinstance(e, ActionFinished)
    }
    assert after[2] == after[4] != after[3], "equal content, equal state, whatever the bytes"
    for folder, step in ((run, 0), (run, 2), (copied, 3)):
        world = world_at(folder, host, line.trial, 1, step)
        try:
            assert world.tracker.fingerprint() == after.get(step, world.tracker.fingerprint())
            assert world.audit()
        finally:
            world.close()
