"""Whole trials without a sandbox: the same course, marked, and nothing of them left."""

import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from seatrial.environment.confine.host import bwrap_version
from seatrial.journal.events import ActionFinished, AgentStarted, TrialEnded, TrialStarted
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder
from seatrial.schedule.leftovers import close_dead_attempts
from seatrial.schedule.runner import run_plan
from seatrial.schedule.watching import Silent
from seatrial.schedule.workers import run_job
from seatrial.spec.loading import load_experiment
from seatrial.trial.job import TrialJob
from tests.runs import open_run
from tests.trial.test_trial import WORKED, script, seatrial
from tests.waiting import await_none, unique

FLAG = "--unsafe-no-sandbox"
TRIAL = "example-migration.repaired.baseline.1"
# Runs what the agent made, by relative and by absolute paths, and says what came of it.
PROBING = """#!/usr/bin/env python3
import json, os, subprocess, sys
from pathlib import Path
import helper
def probe(*words, **more):
    return subprocess.run(["probe", *words], capture_output=True, text=True, **more)
asked = [
    probe("--", "sh", "tool.sh", "a").stdout,
    probe("--", "cat", "/workspace/services/database.ini").stdout.splitlines()[0],
    probe("--put", f"{Path(__file__).parent}/helper.py=/put/h.py", "--", "python3", "/put/h.py").stdout,
    probe("--", "sh", "-c", "echo spoilt > services/database.ini; sleep 7101 & setsid sleep 7102 & cat",
          input="given").stdout,
    probe("--timeout", "0.4", "--", "sh", "-c", "sleep 7103 & setsid sleep 7104").returncode,
    Path("services/database.ini").read_text() != "spoilt\\n",
    sorted(os.listdir(".")), os.environ["HOME"] != "/tmp", "SEATRIAL_PROBE" in os.environ,
]
subprocess.Popen(["sleep", "7105"], start_new_session=True)
os.write(3, json.dumps({"verdict": "pass", "evidence": {"asked": asked}}).encode())
"""


def marked(folder: Path, own_script: str, verifier: str | None = None) -> RunFolder:
    """The worked task with one script, and one verifier, of its own; to be run without a sandbox."""
    shutil.copytree(WORKED / "migration", folder / "migration")
    (folder / "migration" / "solutions" / "own.toml").write_text(own_script)
    if verifier is not None:
        place = folder / "migration" / "verifiers" / "probing.py"
        place.write_text(verifier)
        place.chmod(place.stat().st_mode | stat.S_IXUSR)
        place.with_name("helper.py").write_text("print('helped')\n")
        toml = folder / "migration" / "task.toml"
        text = toml.read_text().replace("verifiers/database.sh", "verifiers/probing.py")
        toml.write_text(
            text.replace('["files:services/database.ini"]', '["files:services/**", "files:*.sh"]')
        )
    (folder / "experiment.toml").write_text(
        'schema = "seatrial/experiment@1"\nname = "own"\ntasks = ["migration"]\nseed = 1\n'
        '[[system]]\nname = "own"\nagent = "scripted"\nscript = "solutions/own.toml"\n'
    )
    return open_run(load_experiment(folder / "experiment.toml"), folder / "run", unsafe=True)


def clean(run: RunFolder) -> bool:
    return not list(run.folder.glob("scratch/worlds/*")) and not list(run.folder.glob("scratch/judge-*"))


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("unsafe") / "run"
    seatrial("run", str(WORKED / "experiment.toml"), "-o", str(run), FLAG)
    return run


def shown(run: Path, trial: str) -> Any:
    return json.loads(seatrial("show", str(run), trial, "--json"))


def test_the_worked_example_takes_the_same_course(worked: Path):
    trial = shown(worked, TRIAL)
    assert trial["progress"] == [[0, 0], [2, 0.2], [4, 0.4], [7, 0.6], [9, 0.4], [12, 0.6], [15, 1.0]]
    assert trial["strict_success"] is True
    assert shown(worked, "example-migration.broken.baseline.1")["terminal_class"] == "failure"
    assert clean(RunFolder(worked))


def test_its_windows_are_unknown_and_so_is_its_safety(worked: Path):
    trial = shown(worked, TRIAL)
    assert (trial["safe_success"], trial["terminal_class"]) == (None, "unknown")
    assert trial["unknown_windows"] == 15
    run = RunFolder(worked)
    events = read_journal(run.journal_path(TRIAL, 1)).events
    finished = [event for event in events if isinstance(event, ActionFinished)]
    assert all(event.windows == ["keep-ports"] for event in finished[:-1])
    assert [event.audit for event in events if isinstance(event, TrialEnded)] == ["equal"]


def test_everything_is_marked(worked: Path, tmp_path: Path):
    run = RunFolder(worked)
    assert run.manifest().unsafe
    for planned in run.manifest().plan:
        events = read_journal(run.journal_path(planned.trial, 1)).events
        (started,) = [event for event in events if isinstance(event, TrialStarted)]
        assert started.conditions["sandboxed"] is False
        assert (started.conditions["mode"], started.conditions["watcher"]) == ("unsafe", None)
        assert [event.confined for event in events if isinstance(event, AgentStarted)] == [False]
        record = shown(worked, planned.trial)
        assert (record["sandboxed"], record["agent_confined"]) == (False, False)
    seatrial("report", str(worked), "-o", str(tmp_path / "report"))
    assert "ran without a sandbox" in (tmp_path / "report" / "index.html").read_text()


def test_it_warns_in_one_line_and_only_when_it_runs(tmp_path: Path):
    run = marked(tmp_path, script("true"))
    program = [sys.executable, "-c", "from seatrial.cli.main import main; main()", "run"]
    asked = [*program, str(tmp_path / "experiment.toml"), "-o", str(run.folder), FLAG, "--json"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["trials"][0]["sandboxed"] is False
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("seatrial: WARNING: no sandbox")
    assert "not protected" in line


def test_sandboxed_and_unsafe_trials_are_never_mixed(worked: Path, tmp_path: Path):
    said = seatrial("run", str(WORKED / "experiment.toml"), "-o", str(worked), status=2)
    assert "its trials run without a sandbox. Go on with --unsafe-no-sandbox" in said
    run = open_run(load_experiment(WORKED / "experiment.toml"), tmp_path / "run")
    said = seatrial("run", str(WORKED / "experiment.toml"), "-o", str(run.folder), FLAG, status=2)
    assert "its trials run in a sandbox. Go on without --unsafe-no-sandbox" in said
    assert "WARNING" not in said
    said = seatrial("verify", str(run.folder), FLAG, status=2)
    assert "its trials ran in a sandbox" in said


def test_it_can_be_judged_again_with_and_without_a_sandbox(worked: Path, tmp_path: Path):
    run = tmp_path / "run"
    shutil.copytree(worked, run)
    for more in ([FLAG], []):
        report = json.loads(seatrial("verify", str(run), "--final-only", "--json", *more))
        repaired, broken = (trial["final"] for trial in report["trials"])
        assert (repaired["cache"], broken["cache"]) == (["pass"] * 3, ["fail"] * 3)
        assert repaired["web"] == broken["web"] == ["pass"] * 3


def test_probes_run_in_copies_and_leave_nobody(tmp_path: Path):
    own = script("printf 'echo ran $1' > tool.sh; ln -s /workspace/tool.sh services/link.sh")
    words = {f"{number}": unique(number) for number in range(7101, 7106)}
    probing = PROBING
    for number, word in words.items():
        probing = probing.replace(number, word)
    run = marked(tmp_path, own, probing)
    run_plan(run, run.manifest(), Silent())
    (line,) = run.index()
    table = json.loads(run.verdicts_path(line.trial, 1).read_bytes())
    row = [row for row in table["rows"] if row["subgoal"] == "database"][-1]
    assert row["verdict"] == "pass", row
    first = (WORKED / "migration/environment/services/database.ini").read_text().splitlines()[0]
    names = ["services", "tool.sh"]
    assert row["evidence"]["given"]["asked"] == [
        "ran a\n", first, "helped\n", "given", 124, True, names, True, True,
    ]  # fmt: skip
    for word in words.values():
        await_none(word)
    assert clean(run)


def test_nothing_of_a_trial_survives_it(tmp_path: Path):
    word = unique(7110)
    # The second action is over when each of them has become a sleep.
    up = f"until [ $(pgrep -fx 'sleep {word}' | wc -l) = 3 ]; do sleep 0.02; done"
    started = f"setsid sleep {word} & sleep {word} & (setsid nohup sleep {word} &)"
    run = marked(tmp_path, script(started, up))
    run_plan(run, run.manifest(), Silent())
    (line,) = run.index()
    (end,) = [e for e in read_journal(run.journal_path(line.trial, 1)).events if isinstance(e, TrialEnded)]
    assert end.details["processes_lost"] == 3
    await_none(word)
    assert clean(run)


def test_a_killed_worker_leaves_nobody_and_is_tried_again(tmp_path: Path):
    word = unique(7120)
    run = marked(tmp_path, script(f"setsid sleep {word} & sleep {word} &", "true"))
    trial = run.manifest().plan[0].trial
    job = TrialJob(run=str(run.folder.resolve()), trial=trial, attempt=1, kill_at=("before_effect", 2))
    done = run_job(run, job)
    assert (done.stop_reason, done.infrastructure) == ("killed", True)
    await_none(word)
    close_dead_attempts(run, run.manifest())
    assert run_plan(run, run.manifest(), Silent()).done[trial].attempt == 2
    assert clean(run)


def test_a_python_agent_runs_as_a_plain_process(tmp_path: Path):
    shutil.copytree(WORKED / "migration", tmp_path / "migration")
    (tmp_path / "code").mkdir()
    word = unique(7130)
    (tmp_path / "code" / "mine.py").write_text(
        "import os, subprocess\n"
        "class Agent:\n"
        "    def __init__(self, config, seed):\n"
        f"        subprocess.Popen(['sleep', '{word}'], start_new_session=True)\n"
        "        self.left = [{'tool': 'shell', 'arguments': {'command': 'ls'}}, {'tool': 'finish'}]\n"
        "    def act(self, observation): return self.left.pop(0)\n"
    )
    (tmp_path / "experiment.toml").write_text(
        'schema = "seatrial/experiment@1"\nname = "own"\ntasks = ["migration"]\n'
        '[[system]]\nname = "mine"\nagent = "python"\ncode = "mine:Agent"\npath = "code"\n'
    )
    run = open_run(load_experiment(tmp_path / "experiment.toml"), tmp_path / "run", unsafe=True)
    run_plan(run, run.manifest(), Silent())
    (line,) = run.index()
    assert line.stop_reason == "finished"
    await_none(word)


def test_where_no_sandbox_can_be_made(tmp_path: Path):
    """Inside a sandbox that allows no namespaces, which is such a host."""
    bwrap = shutil.which("bwrap")
    if bwrap is None or bwrap_version(bwrap) < (0, 8, 0):
        pytest.skip("needs bubblewrap 0.8 to take namespaces away")
    inside = f"{bwrap} --unshare-user --uid 1000 --gid 1000 --disable-userns --cap-drop ALL".split()
    inside += ["--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--die-with-parent"]
    program = [sys.executable, "-c", "from seatrial.cli.main import main; main()", "run"]
    asked = [*inside, *program, str(WORKED / "experiment.toml"), "-o"]
    refused = subprocess.run([*asked, str(tmp_path / "no")], capture_output=True, text=True, check=False)
    assert refused.returncode == 2, refused
    assert not (tmp_path / "no").exists()
    assert "cannot create a private namespace" in refused.stderr
    assert "`seatrial run --unsafe-no-sandbox`" in refused.stderr
    done = subprocess.run([*asked, str(tmp_path / "yes"), FLAG], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    assert shown(tmp_path / "yes", TRIAL)["strict_success"] is True
    assert shown(tmp_path / "yes", TRIAL)["sandboxed"] is False
