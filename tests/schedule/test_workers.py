"""Several trials at once: the same as one after another, and none sees another."""

import fcntl
import json
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.environment.confine.host import Host
from seatrial.evidence.read import read_run
from seatrial.journal.events import ActionFinished, TrialEnded
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder, index_line
from seatrial.trial.ground import prepare_ground
from tests.schedule.small import (
    DONE,
    ask_twice,
    await_steps,
    experiment,
    go_on,
    journals,
    lines,
    plan,
    seatrial,
    shown,
    start,
)
from tests.waiting import PATIENCE, children, ending_in, naming, unique, until

# Exactly these columns of a record may differ between two runs of one experiment: what a clock measured.
TIMES = {"elapsed_us", "model_us", "tool_us", "cpu_us"}
# In a journal also what follows from them: the chain of digests, and when a file was last written.
TIMED = {"time", "elapsed", "prev", "cost", "mtime"}


def records(run: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for attempt in read_run(run).attempts:
        plain = msgspec.to_builtins(attempt.record)
        found[attempt.record.trial] = {name: value for name, value in plain.items() if name not in TIMES}
    return found


def happened(run: RunFolder, trial: str) -> list[Any]:
    """A journal without what depends on the clock; the object that lists the base has times in it as well."""
    events = read_journal(run.journal_path(trial, 1)).events
    plain = [_timeless(msgspec.to_builtins(event)) for event in events]
    assert plain[0].pop("base")
    return plain


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _timeless(inner) for name, inner in value.items() if name not in TIMED}
    return [_timeless(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, RunFolder]:
    folder = tmp_path_factory.mktemp("twins")
    work = ["mkdir deep && cat start.txt > deep/copy", "ls -la deep | wc -l", "exit 3", DONE]
    scripts = {"worker": work, "breaker": [*work, "echo no > done"]}
    file = experiment(folder, scripts, tasks=("one", "two"))
    for workers in (1, 2):
        go_on(file, folder / f"run{workers}", "--workers", str(workers))
    return RunFolder.open(folder / "run1"), RunFolder.open(folder / "run2")


def test_two_workers_run_the_same_trials_with_the_same_records(twins: tuple[RunFolder, RunFolder]) -> None:
    alone, together = twins
    assert plan(alone.folder) == plan(together.folder)
    assert len(records(alone.folder)) == 4
    assert records(alone.folder) == records(together.folder)
    assert {line.trial: line.attempt for line in together.index()} == dict.fromkeys(plan(alone.folder), 1)


def test_only_times_differ_in_the_journals(twins: tuple[RunFolder, RunFolder]) -> None:
    alone, together = twins
    for trial in plan(alone.folder):
        assert happened(alone, trial) == happened(together, trial)


def test_the_report_is_the_same_too(twins: tuple[RunFolder, RunFolder], tmp_path: Path) -> None:
    tables = []
    for number, run in enumerate(twins):
        seatrial("report", str(run.folder), "-o", str(tmp_path / str(number)))
        rows = json.loads((tmp_path / str(number) / "report.json").read_bytes())["main_table"]
        tables.append([row for row in rows if "seconds" not in row["measure"]])
    assert tables[0] == tables[1]
    assert tables[0]


SPY = r"""
cat > /workspace/spy.py <<'END'
import glob, os, signal, socket, subprocess, sys, time
me, other = sys.argv[1], sys.argv[2]
os.makedirs("/dev/shm/d", exist_ok=True)
for place in ("/tmp", "/var/tmp", "/dev/shm", "/home/agent", "/workspace"):
    open(f"{place}/mark-of-{me}", "w").write(me)
    os.chmod(f"{place}/mark-of-{me}", 0o666)
abstract = socket.socket(socket.AF_UNIX); abstract.bind(f"\0mark-of-{me}"); abstract.listen()
named = socket.socket(socket.AF_UNIX); named.bind(f"/tmp/socket-of-{me}"); named.listen()
port = socket.socket(); port.bind(("127.0.0.1", {"left": 47101, "right": 47102}[me])); port.listen()
sleeper = subprocess.Popen(["sleep", "4711"], env={"MARK": f"mark-of-{me}"})
seen, own, looks, over = set(), set(), 0, []
signal.signal(signal.SIGUSR1, lambda *_: over.append(1))
while not over:
    for path in [*glob.glob("/tmp/*"), *glob.glob("/var/tmp/*"), *glob.glob("/dev/shm/*"),
                 *glob.glob("/home/agent/*"), *glob.glob("/workspace/*"), *glob.glob("/proc/*/root/tmp/*")]:
        (own if me in path else seen if other in path else set()).add(path)
    for pid in [name for name in os.listdir("/proc") if name.isdigit()]:
        try:
            text = open(f"/proc/{pid}/environ").read() + open(f"/proc/{pid}/cmdline").read()
        except OSError:
            continue
        if f"mark-of-{other}" in text: seen.add(f"process {pid}")
        if f"mark-of-{me}" in text: own.add("process")
    for place in (f"\0mark-of-{other}", f"/tmp/socket-of-{other}"):
        with socket.socket(socket.AF_UNIX) as out:
            if out.connect_ex(place) == 0: seen.add(f"socket {place!r}")
    with socket.socket() as out:
        if out.connect_ex(("127.0.0.1", {"left": 47102, "right": 47101}[me])) == 0: seen.add("port")
    if f"mark-of-{other}" in open("/proc/net/unix").read(): seen.add("/proc/net/unix")
    if f"mark-of-{me}" in open("/proc/net/unix").read(): own.add("/proc/net/unix")
    try:
        os.kill(-1, 0)
    except OSError:
        pass
    looks += 1
    open("/proc/self/comm", "w").write(f"looked {looks}")
sleeper.kill()
print("SEEN", sorted(seen)); print("OWN", len(own) >= 8)
END
"""


def looks(pid: int) -> int:
    """How often a spy looked around: its name says so, to the host alone. Nothing for other processes."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return 0
    return int(name.removeprefix("looked ")) if name.startswith("looked ") else 0


def test_no_trial_sees_another(tmp_path: Path) -> None:
    both = [("left", "right"), ("right", "left")]
    mark = f"of-{os.getpid()}"
    file = experiment(
        tmp_path, {me: [SPY, f"python3 spy.py {me} {other} {mark}", DONE] for me, other in both}
    )
    runner = start(file, tmp_path / "run", "--workers", "2")
    words = [f"python3\0spy.py\0{me}\0{other}\0{mark}\0" for me, other in both]

    def spying() -> dict[int, int]:
        return {pid: looks(pid) for word in words for pid in naming(word) if looks(pid)}

    # Who looked once has put up its marks; from then on both look at the same time.
    until(lambda: len(spying()) == 2 or runner.poll() is not None)
    before = spying()
    until(lambda: all(looks(pid) > was + 2 for pid, was in before.items()) or runner.poll() is not None)
    spies = list(spying())
    assert len(spies) == 2
    for pid in spies:
        os.kill(pid, signal.SIGUSR1)
    out, err = runner.communicate(timeout=PATIENCE)
    assert runner.returncode == 0, out + err
    run = RunFolder.open(tmp_path / "run")
    for trial in plan(run.folder):
        events = read_journal(run.journal_path(trial, 1)).events
        spied = [event for event in events if isinstance(event, ActionFinished)][1]
        assert "SEEN []\nOWN True" in run.objects.get(spied.observation).decode()


def test_a_base_is_built_once_however_many_want_it(tmp_path: Path, host: Host) -> None:
    file = experiment(tmp_path, {"a": [DONE]})
    go_on(file, tmp_path / "run", "--limit", "0")
    run = RunFolder.open(tmp_path / "run")
    (task,) = run.manifest().tasks
    children = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                prepare_ground(run, task, host)
                status = 0
            finally:
                os._exit(status)
        children.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
    ground = prepare_ground(run, task, host)
    built = [path.name for path in (run.folder / "scratch" / "bases").iterdir()]
    assert sorted(built) == [
        f"{os.path.basename(ground.base.folder)}{end}" for end in ("", ".index", ".lock")
    ]


def test_more_workers_than_trials_and_a_number_that_makes_no_sense(tmp_path: Path) -> None:
    file = experiment(tmp_path, {"a": [DONE]})
    for wrong in (0, 1 + 4 * (os.cpu_count() or 1)):
        said = go_on(file, tmp_path / "run", "--workers", str(wrong), status=2)
        assert f"--workers {wrong}" in said
        assert not (tmp_path / "run").exists()
    go_on(file, tmp_path / "run", "--workers", "4")
    assert [trial["terminal_class"] for trial in shown(tmp_path / "run")] == ["success"]
    assert len(lines(tmp_path / "run" / "index.jsonl")) == 1


def test_a_worker_that_is_killed_takes_nothing_of_the_others_along(tmp_path: Path) -> None:
    """The other trial's world stands in the same scratch folder."""
    word = unique(600)
    work = ["echo begun", f"sleep {word}; cat start.txt", DONE]
    file = experiment(tmp_path, {"a": work, "b": work})
    runner = start(file, tmp_path / "run", "--workers", "2")
    run = RunFolder(tmp_path / "run")
    await_steps(run.folder, 2, journals=2)
    killed, _ = children(runner.pid)
    os.kill(killed, signal.SIGKILL)
    # The other one has an end, and so has the second attempt of the killed one.
    until(lambda: killed not in children(runner.pid))
    while runner.poll() is None:
        for pid in ending_in(word):
            os.kill(pid, signal.SIGTERM)
        time.sleep(0.02)
    out, err = runner.communicate()
    assert runner.returncode == 0, out + err
    ends = Counter((line.attempt, line.stop_reason, line.runner_ended) for line in run.index())
    # The killed one is an infrastructure end that counts against the trial, and was tried again at once.
    assert ends == {(1, "killed", False): 1, (1, "finished", False): 1, (2, "finished", False): 1}
    assert [trial["terminal_class"] for trial in shown(run.folder)] == ["success", "success"]
    assert sorted(trial["attempt"] for trial in shown(run.folder)) == [1, 2]
    assert not list((run.folder / "scratch" / "worlds").iterdir())


class Held:
    """Holds a run's index as one does who writes it: a worker can end its journal and say no more."""

    def __init__(self, run: Path) -> None:
        self._file = (run / "index.jsonl").open("ab")

    def __enter__(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self._file.close()


def await_end(run: Path) -> None:
    """Wait until a journal has its last line."""
    until(lambda: any(b'{"kind":"trial.ended"' in data for data in journals(run).values()))


@pytest.mark.parametrize("killed", ["worker", "both"])
def test_an_end_in_the_journal_outlives_the_worker_that_could_not_index_it(
    tmp_path: Path, killed: str
) -> None:
    file, run = experiment(tmp_path, {"a": [DONE]}), RunFolder(tmp_path / "run")
    go_on(file, run.folder, "--limit", "0")
    with Held(run.folder):
        runner = start(file, run.folder)
        await_end(run.folder)
        for pid in children(runner.pid):
            os.kill(pid, signal.SIGKILL)
        if killed == "both":
            runner.kill()
            runner.wait()
    out, err = runner.communicate(timeout=PATIENCE)
    if killed == "both":
        go_on(file, run.folder)
    else:
        assert (runner.returncode, err) == (0, "")
        assert "finished after 2 steps" in out
    check_counted_once(run)


def test_an_interrupted_worker_whose_attempt_had_ended_is_judged_the_next_time(tmp_path: Path) -> None:
    file, run = experiment(tmp_path, {"a": [DONE]}), RunFolder(tmp_path / "run")
    go_on(file, run.folder, "--limit", "0")
    with Held(run.folder):
        runner = start(file, run.folder)
        await_end(run.folder)
        (worker,) = children(runner.pid)
        ask_twice(runner, signal.SIGTERM)
        until(lambda: worker not in children(runner.pid))
    _, err = runner.communicate(timeout=PATIENCE)
    assert (runner.returncode, err.strip()) == (
        130,
        "seatrial: interrupted. Give the same command again to go on.",
    )
    assert [(line.attempt, line.stop_reason) for line in run.index()] == [(1, "finished")]
    go_on(file, run.folder)
    check_counted_once(run)


def check_counted_once(run: RunFolder) -> None:
    """One attempt, ended as its journal says, judged."""
    (line,) = run.index()
    end = read_journal(run.journal_path(line.trial, 1), line.digest).events[-1]
    assert isinstance(end, TrialEnded)
    assert (line.attempt, line.stop_reason, line.infrastructure, line.note) == (1, "finished", False, "")
    assert line == index_line(line.trial, 1, line.digest, end)
    assert run.attempts(line.trial) == [1]
    assert [trial["terminal_class"] for trial in shown(run.folder)] == ["success"]
