"""Runners and workers killed at random moments: what they leave, and what resuming makes of it."""

import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from seatrial.evidence.read import read_run
from seatrial.journal.events import TrialEnded
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder
from tests.schedule.small import DONE, experiment, go_on, journals, lines, plan, shown, start

PATIENCE = 30.0
WORK = ["echo 1 > one", "sleep 300 & echo 2 > two", "cat one two > three", DONE]


WORKER_DIED = "the trial's process ended with status -9"


def processes(word: str) -> list[int]:
    """Pids of processes that name a word on their command line or among their mounts."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            said = Path(f"/proc/{name}/cmdline").read_bytes() + Path(f"/proc/{name}/mountinfo").read_bytes()
        except OSError:
            continue
        if word.encode() in said and int(name) != os.getpid():
            found.append(int(name))
    return found


def stages(pid: int | str) -> set[str]:
    """Names of the stages that a process has mounted or has inherited."""
    places = [line.split()[4] for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()]
    return {part for place in places for part in place.split("/") if part.startswith("seatrial-stage-")}


def stages_of(runner: int) -> set[str]:
    """Names of the stages that the workers of a runner have mounted."""
    found = set[str]()
    for pid in processes("seatrial.trial.worker"):
        try:
            if str(runner).encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                found |= stages(pid)
        except OSError:
            continue
    return found - stages("self")


def groups(stage: str) -> list[Path]:
    root = Path("/sys/fs/cgroup")
    return [*root.glob(f"{stage}-*"), *root.glob(f"*/{stage}-*")]


def await_none(word: str) -> None:
    """The kernel ends what depended on a killed process by itself, but not in no time."""
    deadline = time.monotonic() + PATIENCE
    while left := processes(word):
        assert time.monotonic() < deadline, f"{word}: {left} are left"
        time.sleep(0.05)


class Killer:
    """Starts a run, kills it, and checks what it left against what it had acknowledged."""

    def __init__(self, file: Path, run: Path, seed: int) -> None:
        self.file, self.run, self.random = file, run, random.Random(seed)
        self.stages = set[str]()
        self.kills = self.worker_kills = self.marked = self.torn = self.forged = 0

    def kill(self) -> bool:
        """Let it run for a random while, then kill it; false when it had ended before.

        Half the time one of its workers is killed first, and the runner makes what it can of that.
        """
        runner, first = start(self.file, self.run, "--workers", "2"), len(lines(self.run / "index.jsonl"))
        if self.random.random() < 0.5:
            self._let_run(runner)
            self._kill_a_worker(runner)
        self._let_run(runner)
        if runner.poll() is not None:
            runner.communicate()
            return False
        os.kill(runner.pid, signal.SIGSTOP)  # so that no worker is started between the look and the kill
        self.stages |= stages_of(runner.pid)
        acknowledged, index = journals(self.run), lines(self.run / "index.jsonl")
        os.kill(runner.pid, signal.SIGKILL)
        runner.communicate()
        self.kills += 1
        await_none(f"seatrial.trial.worker\0{runner.pid}")
        for stage in self.stages:
            await_none(stage)
        self._check(acknowledged, index)
        assert len(index) >= first
        return True

    def _let_run(self, runner: subprocess.Popen[str]) -> None:
        began = time.monotonic()
        # Half the kills are aimed at a time, half at a moment: the writing of some line or other.
        if self.random.random() < 0.5:
            wanted = self.random.uniform(0.3, 2.5)
            while time.monotonic() - began < wanted and runner.poll() is None:
                time.sleep(0.01)
        else:
            wanted = self._size() + self.random.randrange(200, 12000)
            while self._size() < wanted and runner.poll() is None and time.monotonic() - began < PATIENCE:
                time.sleep(0.0005)

    def _kill_a_worker(self, runner: subprocess.Popen[str]) -> None:
        children = Path(f"/proc/{runner.pid}/task/{runner.pid}/children")
        workers = children.read_text().split() if runner.poll() is None else []
        if workers:
            os.kill(int(self.random.choice(workers)), signal.SIGKILL)
            self.worker_kills += 1

    def _size(self) -> int:
        return sum(path.stat().st_size for path in self.run.glob("trials/*/*/journal.jsonl"))

    def _check(self, acknowledged: dict[str, bytes], index: list[bytes]) -> None:
        """Nothing that was written before the kill is gone or changed."""
        now = journals(self.run)
        for name, data in acknowledged.items():
            assert now[name].startswith(data)
        assert lines(self.run / "index.jsonl")[: len(index)] == index
        self.torn += sum(not data.endswith(b"\n") and bool(data) for data in now.values())

    def tear(self) -> None:
        """What a kill in the middle of a write leaves, which hardly ever happens by itself."""
        with (self.run / "index.jsonl").open("ab") as file:
            file.write(b'{"trial":"sma')
        for path in self.run.glob("trials/*/*/journal.jsonl"):
            if self._is_open(path):
                with path.open("ab") as file:
                    file.write(b'{"kind":"action.fin')
                self.forged += 1

    def _is_open(self, path: Path) -> bool:
        events = read_journal(path).events
        return bool(events) and not isinstance(events[-1], TrialEnded)


def check_whole(killer: Killer, before: dict[str, bytes]) -> None:
    """The run is complete: each planned trial counted once, each other attempt kept with its reason."""
    run = RunFolder.open(killer.run)
    names, index = plan(killer.run), run.index()
    assert [trial["trial"] for trial in shown(killer.run)] == names
    counted = Counter(line.trial for line in index if not line.infrastructure)
    assert counted == Counter(names)
    assert max(Counter((line.trial, line.attempt) for line in index).values()) == 1
    for line in index:
        path = run.journal_path(line.trial, line.attempt)
        events = read_journal(path, line.digest).events if line.digest or path.exists() else []
        if events and isinstance(events[-1], TrialEnded):
            # Whatever was killed and when: what the journal says is what the index says.
            assert (line.stop_reason, line.infrastructure, line.note) == (events[-1].stop_reason, False, "")
        else:
            assert (line.stop_reason, line.infrastructure) == ("killed", True)
            assert (line.runner_ended, line.note) in ((True, "the runner died"), (False, WORKER_DIED))
            killer.marked += 1
    attempts = {
        (name, attempt)
        for name in names
        for attempt in run.attempts(name)
        if read_journal(run.journal_path(name, attempt)).events
    }
    # A worker may be killed before its journal has a line.
    assert attempts == {(line.trial, line.attempt) for line in index if line.digest}
    now = journals(killer.run)
    assert all(now[name].startswith(data) for name, data in before.items())
    assert {a.record.terminal_class for a in read_run(killer.run).counted} == {"success"}


def check_clean(killer: Killer) -> None:
    """Nothing of a dead runner is left on the host."""
    scratch = killer.run / "scratch"
    left = [path for pattern in ("worlds/*", "judge-*", "bases/.*") for path in scratch.glob(pattern)]
    assert not left
    for stage in killer.stages:
        await_none(stage)
        assert not Path("/tmp", stage).exists()
        assert not groups(stage)
    assert not processes(str(killer.run))
    assert not [
        line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(killer.run) in line
    ]


@pytest.mark.parametrize("kills", [6, pytest.param(50, marks=pytest.mark.slow)])
def test_runners_and_workers_killed_at_random_moments(tmp_path: Path, kills: int) -> None:
    file = experiment(tmp_path, {"first": WORK, "second": WORK}, repeats=2, tasks=("one", "two"))
    seed, finished, killers = 0, 0, list[Killer]()
    while sum(killer.kills for killer in killers) < kills:
        # A run that ended before it could be killed is whole; the next one is killed instead.
        killer = Killer(file, tmp_path / f"run{len(killers)}", seed := seed + 1)
        killers.append(killer)
        go_on(file, killer.run, "--limit", "0")
        while sum(each.kills for each in killers) < kills and killer.kill():
            pass
        killer.tear()
        before = {name: data[: data.rfind(b"\n") + 1] for name, data in journals(killer.run).items()}
        # Killed workers count against their trials, and some may have been given up for that.
        go_on(file, killer.run, "--workers", "2", "--rerun-infrastructure")
        check_whole(killer, before)
        check_clean(killer)
        finished += 1
    workers, marked, torn, forged = (
        sum(getattr(each, name) for each in killers) for name in ("worker_kills", "marked", "torn", "forged")
    )
    print(
        f"{kills} kills and {workers} of workers in {finished} runs: {marked} attempts marked, {torn} lines "
        f"torn, {forged} more by us"
    )
    assert workers
    assert marked
    assert forged
