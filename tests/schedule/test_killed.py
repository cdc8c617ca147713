"""Runners and workers killed at random moments: what they leave, and what resuming makes of it."""

import glob
import os
import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from seatrial.evidence.read import read_run
from seatrial.journal.events import TrialEnded
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder
from tests.schedule.small import DONE, experiment, go_on, journals, lines, plan, shown, start
from tests.waiting import await_none, children, naming, state, until

WORK = ["echo 1 > one", "sleep 300 & echo 2 > two", "cat one two > three", DONE]
WORKER_DIED = "the trial's process ended with status -9"


def stages(pid: int | str) -> set[str]:
    """Names of the stages that a process has mounted or has inherited."""
    places = [line.split()[4] for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()]
    return {part for place in places for part in place.split("/") if part.startswith("seatrial-stage-")}


def stages_of(runner: int) -> set[str]:
    """Names of the stages that the workers of a runner have mounted."""
    found = set[str]()
    for pid in naming(f"seatrial.trial.worker\0{runner}\0"):
        with suppress(OSError):  # it has ended meanwhile
            found |= stages(pid)
    return found - stages("self")


def groups(stage: str) -> list[str]:
    root = "/sys/fs/cgroup"
    return [*glob.glob(f"{root}/{stage}-*"), *glob.glob(f"{root}/*/{stage}-*")]


def await_gone(stage: str) -> None:
    """Nothing of a stage is left; another harness on this host may be about to remove it just as well."""
    await_none(stage)
    until(lambda: not Path("/tmp", stage).exists() and not groups(stage), stage)


def stand_still(process: subprocess.Popen[str]) -> bool:
    """Stop a process and wait until it stands still; false when it has ended."""
    process.send_signal(signal.SIGSTOP)
    until(lambda: process.poll() is not None or state(process.pid) == "T")
    if process.poll() is None:
        return True
    process.communicate()
    return False


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
        # So that no worker is started between the look and the kill.
        if not stand_still(runner):
            return False
        self.stages |= stages_of(runner.pid)
        acknowledged, index = journals(self.run), lines(self.run / "index.jsonl")
        os.kill(runner.pid, signal.SIGKILL)
        runner.communicate()
        self.kills += 1
        await_none(f"seatrial.trial.worker\0{runner.pid}\0")
        for stage in self.stages:
            await_none(stage)
        self._check(acknowledged, index)
        assert len(index) >= first
        return True

    def _let_run(self, runner: subprocess.Popen[str]) -> None:
        # Half the kills are aimed at a time, half at a moment: the writing of some line or other.
        if self.random.random() < 0.5:
            until(lambda: children(runner.pid) or runner.poll() is not None)
            deadline = time.monotonic() + self.random.uniform(0.0, 2.0)
            while time.monotonic() < deadline and runner.poll() is None:
                time.sleep(0.01)
        else:
            wanted = self._size() + self.random.randrange(200, 12000)
            while self._size() < wanted and runner.poll() is None:
                time.sleep(0.0005)

    def _kill_a_worker(self, runner: subprocess.Popen[str]) -> None:
        """Its runner stands still meanwhile: of a worker that it waited for, the number may be another's."""
        workers = children(runner.pid) if stand_still(runner) else []
        if workers:
            os.kill(self.random.choice(workers), signal.SIGKILL)
            self.worker_kills += 1
        runner.send_signal(signal.SIGCONT)

    def _size(self) -> int:
        return sum(map(os.path.getsize, glob.glob(f"{self.run}/trials/*/*/journal.jsonl")))

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
        await_gone(stage)
    await_none(str(killer.run))
    assert not [
        line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(killer.run) in line
    ]


@pytest.mark.parametrize("kills", [6, pytest.param(50, marks=pytest.mark.slow)])
def test_runners_and_workers_killed_at_random_moments(tmp_path: Path, kills: int) -> None:
    file = experiment(tmp_path, {"first": WORK, "second": WORK}, repeats=2, tasks=("one", "two"))
    killers, finished = list[Killer](), 0

    def total(name: str) -> int:
        return sum(getattr(each, name) for each in killers)

    # A run that ended before it could be killed is whole; the next one is killed instead. The moments are
    # random: it takes as many runs as it takes until each sort of damage was seen.
    while total("kills") < kills or not all(map(total, ("worker_kills", "marked", "forged"))):
        killer = Killer(file, tmp_path / f"run{finished}", seed=finished + 1)
        killers.append(killer)
        go_on(file, killer.run, "--limit", "0")
        while (total("kills") < kills or not killer.kills) and killer.kill():
            pass
        killer.tear()
        before = {name: data[: data.rfind(b"\n") + 1] for name, data in journals(killer.run).items()}
        # Killed workers count against their trials, and some may have been given up for that.
        go_on(file, killer.run, "--workers", "2", "--rerun-infrastructure")
        check_whole(killer, before)
        check_clean(killer)
        finished += 1
        assert finished < kills + 20
    print(
        f"{total('kills')} kills and {total('worker_kills')} of workers in {finished} runs: "
        f"{total('marked')} attempts marked, {total('torn')} lines torn, {total('forged')} more by us"
    )
