"""What an agent's commands can find of the task, its verifiers, other trials and the runner: nothing."""

import shutil
import subprocess
from pathlib import Path

import pytest

from seatrial.journal.events import ActionFinished
from seatrial.journal.reader import read_journal
from seatrial.schedule.runner import run_plan
from seatrial.schedule.watching import Silent
from seatrial.spec.loading import load_experiment
from tests.runs import open_run
from tests.trial.test_trial import WORKED, script

WORD = "xylophone4711"
# Everything readable is searched: files, and what /proc says of every process and mount.
SEARCH = (
    "find / -xdev -type f -readable -size -2000k -not -path '/usr/*' -not -path '/opt/*' 2>/dev/null"
    " | xargs -d '\\n' grep -l -a PATTERN 2>/dev/null; true",
    "for f in /proc/mounts /proc/self/mountinfo /proc/*/cmdline /proc/*/environ /proc/*/cgroup /proc/*/maps"
    " /proc/*/mountinfo /proc/self/stat; do grep -l -a PATTERN $f 2>/dev/null; done; true",
    "ls -R /workspace /home /tmp /var/tmp /run /dev/shm /opt 2>/dev/null | grep PATTERN; true",
)


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a trial's searching commands printed, on a task whose hidden parts all hold a word."""
    home = tmp_path / WORD
    shutil.copytree(WORKED / "migration", home / "migration")
    task = home / "migration"
    for hidden in (task / "verifiers" / "has-port", task / "solutions" / "repaired.toml"):
        hidden.write_text(hidden.read_text() + f"# {WORD}\n")
    (task / "notes-of-the-author.txt").write_text(WORD)
    toml = (task / "task.toml").read_text().replace("example/migration", f"example/{WORD}")
    (task / "task.toml").write_text(toml)
    # The pattern is spelled so that the commands themselves do not hold the word.
    pattern = "xylophone[4]711"
    commands = [command.replace("PATTERN", f"'{pattern}'") for command in SEARCH]
    (task / "solutions" / "own.toml").write_text(script(*commands))
    (home / "experiment.toml").write_text(
        'schema = "seatrial/experiment@1"\nname = "own"\ntasks = ["migration"]\n'
        '[[system]]\nname = "own"\nagent = "scripted"\nscript = "solutions/own.toml"\n'
    )
    monkeypatch.setenv("SECRET_OF_THE_RUNNER", WORD)
    run = open_run(load_experiment(home / "experiment.toml"), home / "run")
    run_plan(run, run.manifest(), Silent())
    (line,) = run.index()
    assert line.stop_reason == "finished"
    events = read_journal(run.journal_path(line.trial, 1), line.digest).events
    seen = [run.objects.get(e.observation).decode() for e in events if isinstance(e, ActionFinished)]
    return seen[: len(SEARCH)]


def test_no_word_of_the_task_or_the_runner_is_anywhere(shown: list[str]) -> None:
    assert shown == ["", "", ""]


def test_the_search_would_find_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(WORD)
    command = SEARCH[0].replace("find / -xdev", f"find {tmp_path}").replace("PATTERN", f"'{WORD}'")
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout
    assert found.strip() == str(tmp_path / "file")
