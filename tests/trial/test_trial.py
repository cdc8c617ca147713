"""Whole trials through the command line's own path: the worked example, faults, kills, retries."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.journal.events import ActionFinished, ActionRequested, AgentExited, HarnessFaulted, TrialEnded
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder
from seatrial.schedule.leftovers import close_dead_attempts
from seatrial.schedule.runner import run_plan
from seatrial.schedule.watching import Silent
from seatrial.schedule.workers import run_job
from seatrial.spec.loading import load_experiment
from seatrial.trial.job import TrialJob
from tests.runs import open_run
from tests.schedule.small import await_steps
from tests.waiting import await_none, end, unique, until

ROOT = Path(__file__).parents[2]
WORKED = ROOT / "examples" / "worked"
LEFT = unique(300)


def seatrial(*arguments: str, status: int = 0, stdin: str | None = None) -> str:
    """Run one command; returns what it printed."""
    program = [sys.executable, "-c", "from seatrial.cli.main import main; main()"]
    done = subprocess.run([*program, *arguments], capture_output=True, text=True, check=False, input=stdin)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("worked") / "run"
    seatrial("run", str(WORKED / "experiment.toml"), "-o", str(run))
    return run


def shown(run: Path, trial: str) -> Any:
    return json.loads(seatrial("show", str(run), trial, "--json"))


def test_the_worked_example_of_the_sources(worked: Path) -> None:
    trial = shown(worked, "example-migration.repaired.baseline.1")
    assert trial["progress"] == [[0, 0], [2, 0.2], [4, 0.4], [7, 0.6], [9, 0.4], [12, 0.6], [15, 1.0]]
    assert trial["regression_depth"] == pytest.approx(0.2)
    assert trial["first_full_step"] == 15
    assert trial["repeat_completions"] == 1
    assert trial["terminal_class"] == "success"
    assert trial["safe_success"] is True


def test_without_the_repair_it_ends_at_four_fifths(worked: Path) -> None:
    trial = shown(worked, "example-migration.broken.baseline.1")
    assert trial["partial_progress"] == pytest.approx(0.8)
    assert trial["strict_success"] is False
    assert trial["terminal_class"] == "failure"
    assert trial["blocking_subgoal"] == "cache"
    passed = {row["subgoal"] for row in trial["verdicts"]["rows"] if row["verdict"] == "pass"}
    assert passed == {"database", "cache", "queue", "mail", "web"}


def test_a_finished_run_is_not_run_again(worked: Path) -> None:
    before = (worked / "index.jsonl").read_bytes()
    seatrial("run", str(WORKED / "experiment.toml"), "-o", str(worked))
    assert (worked / "index.jsonl").read_bytes() == before


def test_the_audit_agrees_and_the_trial_clock_leaves_the_harness_out(worked: Path) -> None:
    run = RunFolder.open(worked)
    for line in run.index():
        journal = read_journal(run.journal_path(line.trial, line.attempt), line.digest)
        end = journal.events[-1]
        assert isinstance(end, TrialEnded)
        assert end.audit == "equal"
        finished = [e for e in journal.events if isinstance(e, ActionFinished)]
        spent = sum((e.cost.model_us or 0) + (e.cost.tool_us or 0) for e in finished)
        assert end.elapsed == pytest.approx(spent, abs=2000 * len(finished))


def test_a_folder_of_another_experiment_is_refused(worked: Path, tmp_path: Path) -> None:
    shutil.copytree(WORKED, tmp_path / "other")
    path = tmp_path / "other" / "migration" / "instruction.md"
    path.write_text(path.read_text() + "Thanks.\n")
    said = seatrial("run", str(tmp_path / "other" / "experiment.toml"), "-o", str(worked), status=2)
    assert "another experiment" in said
    assert "-o" in said


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    said = seatrial("run", str(WORKED / "experiment.toml"), "-o", str(tmp_path), status=2)
    assert "holds no run" in said
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.txt"]


def test_a_changed_byte_in_a_journal_is_named(worked: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(worked, copy)
    (path,) = copy.glob("trials/*repaired*/1/journal.jsonl")
    data = bytearray(path.read_bytes())
    at = data.index(b"ls services")
    data[at] = ord("L")
    path.write_bytes(data)
    for verb in (["show"], ["report"], ["verify"]):
        said = seatrial(*verb, str(copy), status=2)
        assert "journal.jsonl: line" in said
        assert "was changed" in said


READS = 'reads = ["files:services/cache.ini"]'


def experiment(folder: Path, script: str, **task: Any) -> RunFolder:
    """The worked task with one script of its own."""
    shutil.copytree(WORKED / "migration", folder / "migration")
    (folder / "migration" / "solutions" / "own.toml").write_text(script)
    toml = (folder / "migration" / "task.toml").read_text()
    for old, new in task.items():
        toml = toml.replace({"budget": "actions = 40", "reads": READS}[old], new)
    (folder / "migration" / "task.toml").write_text(toml)
    (folder / "experiment.toml").write_text(
        'schema = "seatrial/experiment@1"\nname = "own"\ntasks = ["migration"]\nseed = 1\n'
        '[[system]]\nname = "own"\nagent = "scripted"\nscript = "solutions/own.toml"\n'
    )
    return open_run(load_experiment(folder / "experiment.toml"), folder / "run")


def job(run: RunFolder, attempt: int = 1, **more: Any) -> TrialJob:
    trial = run.manifest().plan[0].trial
    return TrialJob(run=str(run.folder.resolve()), trial=trial, attempt=attempt, slot=90, **more)


def script(*commands: str) -> str:
    steps = [f"[[step]]\ntool = \"shell\"\ncommand = '''{c}'''\n" for c in commands]
    return "\n".join(steps) + '\n[[step]]\ntool = "finish"\n'


@pytest.mark.parametrize("place", ["before_effect", "after_effect_before_ack"])
def test_a_killed_runner_leaves_an_unknown_action_and_is_tried_again(tmp_path: Path, place: Any) -> None:
    run = experiment(tmp_path, script("echo 1 > one", "echo 2 > two", f"sleep {LEFT} & echo 3 > three"))
    done = run_job(run, job(run, kill_at=(place, 3)))
    assert (done.stop_reason, done.infrastructure) == ("killed", True)
    trial = run.manifest().plan[0].trial
    journal = read_journal(run.journal_path(trial, 1))
    requested = [e.step for e in journal.events if isinstance(e, ActionRequested)]
    finished = [e.step for e in journal.events if isinstance(e, ActionFinished)]
    assert (requested, finished) == ([1, 2, 3], [1, 2])
    close_dead_attempts(run, run.manifest())
    tally = run_plan(run, run.manifest(), Silent())
    assert tally.done[trial].attempt == 2
    assert run.attempts(trial) == [1, 2]
    assert [(line.attempt, line.infrastructure) for line in run.index()] == [(1, True), (2, False)]
    _nothing_left(run)


def _nothing_left(run: RunFolder) -> None:
    """No process, no mount, no world of a trial that is over."""
    assert not list(run.folder.glob("scratch/worlds/*"))
    mounts = Path("/proc/self/mountinfo").read_text()
    assert str(run.folder) not in mounts
    await_none(LEFT)
    await_none(str(run.folder))


def _steps(path: Path) -> int:
    return path.read_bytes().count(b'"kind":"action.finished"') if path.exists() else 0


@pytest.mark.parametrize("wanted", [0, 3, 20])
def test_kill_9_of_the_worker_leaves_a_readable_journal_and_nothing_else(tmp_path: Path, wanted: int) -> None:
    run = experiment(tmp_path, script(*[f"echo {n} > f{n}" for n in range(30)]))
    trial = run.manifest().plan[0].trial
    process = subprocess.Popen(
        [sys.executable, "-m", "seatrial.trial.worker"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(job(run)))
    process.stdin.close()
    path = run.journal_path(trial, 1)
    until(lambda: (path.exists() and _steps(path) >= wanted) or process.poll() is not None)
    seen = _steps(path)
    process.kill()
    process.wait()
    journal = read_journal(path)
    assert len([e for e in journal.events if isinstance(e, ActionFinished)]) >= seen >= wanted
    close_dead_attempts(run, run.manifest())
    _nothing_left(run)


def test_a_budget_censors_but_the_final_state_is_judged(tmp_path: Path) -> None:
    run = experiment(tmp_path, script("true", "true", "true", "true"), budget="actions = 3")
    run_plan(run, run.manifest(), Silent())
    (line,) = run.index()
    assert line.stop_reason == "budget_actions"
    end = read_journal(run.journal_path(line.trial, 1)).events[-1]
    assert isinstance(end, TrialEnded)
    assert end.censored


def test_a_script_that_ends_gives_up(tmp_path: Path) -> None:
    run = experiment(tmp_path, '[[step]]\ntool = "shell"\ncommand = "true"\n')
    run_plan(run, run.manifest(), Silent())
    assert run.index()[0].stop_reason == "gave_up"


def test_a_full_disk_is_a_harness_fault(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", small], check=True)
    try:
        run = experiment(small, script("head -c 20000000 /dev/zero > big; echo $?", "echo after"))
        done = run_job(run, job(run))
        assert done.infrastructure
        assert "space" in done.note.lower()
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def test_a_python_agent_runs_and_its_crash_is_its_own(tmp_path: Path) -> None:
    shutil.copytree(WORKED / "migration", tmp_path / "migration")
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "mine.py").write_text(
        "class Agent:\n"
        "    def __init__(self, config, seed): self.left = config['steps']\n"
        "    def act(self, observation):\n"
        "        self.left -= 1\n"
        "        if self.left < 0: raise ValueError('my own fault')\n"
        "        return {'tool': 'shell', 'arguments': {'command': 'ls'}}\n"
    )
    (tmp_path / "experiment.toml").write_text(
        'schema = "seatrial/experiment@1"\nname = "own"\ntasks = ["migration"]\n'
        '[[system]]\nname = "mine"\nagent = "python"\ncode = "mine:Agent"\npath = "code"\n'
        "options = { steps = 2 }\n"
    )
    run = open_run(load_experiment(tmp_path / "experiment.toml"), tmp_path / "run")
    run_plan(run, run.manifest(), Silent())
    (line,) = run.index()
    assert (line.stop_reason, line.infrastructure) == ("agent_fault", False)
    events = read_journal(run.journal_path(line.trial, 1)).events
    (left,) = [e for e in events if isinstance(e, AgentExited)]
    assert "my own fault" in left.note
    assert not [e for e in events if isinstance(e, HarnessFaulted)]


def test_two_runners_on_one_folder(tmp_path: Path) -> None:
    run = experiment(tmp_path, script(f"sleep {LEFT}; true"))
    program = [sys.executable, "-c", "from seatrial.cli.main import main; main()"]
    first = subprocess.Popen(
        [*program, "run", str(tmp_path / "experiment.toml"), "-o", str(run.folder)], stdout=subprocess.PIPE
    )
    await_steps(run.folder, 1)
    said = seatrial("run", str(tmp_path / "experiment.toml"), "-o", str(run.folder), status=2)
    assert "another runner" in said
    end(LEFT)
    assert first.communicate()[0]
    assert first.returncode == 0


def test_a_state_beyond_its_bound_is_the_agents_failure_and_not_tried_again(tmp_path: Path) -> None:
    deep = 'python3 -c \'import os\nfor _ in range(1000): os.mkdir("dddd"); os.chdir("dddd")\''
    run = experiment(tmp_path, script("true", deep, "true"))
    run_plan(run, run.manifest(), Silent())
    (line,) = run.index()
    assert (line.stop_reason, line.infrastructure) == ("safety_stop", False)
    trial = shown(run.folder, line.trial)
    assert (trial["terminal_class"], trial["strict_success"]) == ("failure", False)
    assert trial["unknown_actions"] == 1


def test_verdicts_of_other_verifiers_are_labelled_wherever_they_are_shown(
    worked: Path, tmp_path: Path
) -> None:
    run, other = tmp_path / "run", tmp_path / "verifiers"
    shutil.copytree(worked, run)
    shutil.copytree(WORKED / "migration" / "verifiers", other)
    (other / "has-port").write_text("#!/bin/sh\necho pass >&3\n")
    assert "other verifiers" not in seatrial("show", str(run))
    seatrial("verify", str(run), "--verifiers", str(other))
    assert "2 judged by other verifiers than the frozen ones" in seatrial("show", str(run))
    trial = shown(run, "example-migration.broken.baseline.1")
    assert (trial["terminal_class"], trial["frozen_verifiers"]) == ("success", False)
    seatrial("report", str(run), "-o", str(tmp_path / "report"))
    assert "judged by other verifiers" in (tmp_path / "report" / "index.html").read_text()
    seatrial("verify", str(run))
    assert shown(run, "example-migration.broken.baseline.1")["frozen_verifiers"] is True


def test_attempts_that_ended_with_their_runner_use_up_no_retries(tmp_path: Path) -> None:
    run = experiment(tmp_path, script("true"))
    trial = run.manifest().plan[0].trial
    for attempt in range(1, 6):
        run.attempt_folder(trial, attempt).mkdir(parents=True)
        run.journal_path(trial, attempt).write_bytes(b"")
    assert close_dead_attempts(run, run.manifest()) == [trial] * 5
    tally = run_plan(run, run.manifest(), Silent())
    assert (tally.done[trial].attempt, tally.given_up) == (6, {})
    assert shown(run.folder, trial)["attempt"] == 6


def test_check_compares_with_what_is_recorded_and_writes_nothing(worked: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(worked, run)
    assert "recorded verdicts judged again on whole states, 0 differ" in seatrial(
        "verify", str(run), "--check"
    )
    (table,) = run.glob("verdicts/*broken*.json")
    table.write_text(table.read_text().replace('"fail"', '"pass"'))
    forged = table.read_bytes()
    program = [
        sys.executable,
        "-c",
        "from seatrial.cli.main import main; main()",
        "verify",
        str(run),
        "--check",
    ]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pass is recorded, fail on the full state" in done.stdout
    assert table.read_bytes() == forged


def test_an_agent_that_cannot_be_made_fails_by_itself(tmp_path: Path) -> None:
    shutil.copytree(WORKED / "migration", tmp_path / "migration")
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "mine.py").write_text("class Agent:\n    def __init__(self, c, s): c['missing']\n")
    (tmp_path / "experiment.toml").write_text(
        'schema = "seatrial/experiment@1"\nname = "own"\ntasks = ["migration"]\n'
        '[[system]]\nname = "mine"\nagent = "python"\ncode = "mine:Agent"\npath = "code"\n'
    )
    run = open_run(load_experiment(tmp_path / "experiment.toml"), tmp_path / "run")
    run_plan(run, run.manifest(), Silent())
    (line,) = run.index()
    assert (line.stop_reason, line.infrastructure) == ("agent_fault", False)
    assert "KeyError" in line.note


def test_trials_that_could_not_be_completed_are_a_finding(tmp_path: Path) -> None:
    path = WORKED / "experiment.toml"
    run = open_run(load_experiment(path), tmp_path / "run")
    # No world can be made of files that are gone.
    files = run.manifest().tasks[0].files
    lost = next(digest for name, (digest, _) in files.items() if name.startswith("environment/"))
    Path(run.objects.path(lost)).unlink()
    said = seatrial("run", str(path), "-o", str(tmp_path / "run"), status=1)
    assert "2 trials could not be completed" in said
    assert "object is missing" in said
