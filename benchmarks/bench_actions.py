"""What recording costs: actions through the gateway, with journal, objects and a watched constraint, against
the same commands through the bare init.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from seatrial.environment.confine.host import Host, prepare_host, release_host
from seatrial.environment.sandbox import ActionLimits, BubblewrapSandbox, Ground
from seatrial.environment.state.base import index_base, lay_out
from seatrial.environment.watching.touched import Watcher
from seatrial.gateway.gateway import Gateway, Offer
from seatrial.gateway.meter import Meter
from seatrial.gateway.policy import Policy
from seatrial.journal.objects import ObjectStore
from seatrial.journal.writer import JournalWriter
from seatrial.spec.task import Constraint, Forbid, Goal, Subgoal, Task

TREES = (100, 2_000, 20_000)
PAIRS = 300
LONG_RUN = 10_000
WINDOW = 100
FORKS = 20
CHANGED = 20_000
FILES_IN_A_FOLDER = 100
TASK = Task(
    schema="seatrial/task@1",
    id="bench/actions",
    version="1.0.0",
    goal=[Goal(instruction="instruction.md")],
    subgoal=[Subgoal(id="one", verifier="verifiers/one")],
    constraint=[Constraint(id="keep", forbid=Forbid(write=["files:LICENSE"]))],
)


class Bare(BubblewrapSandbox):
    """The same box, overlay and init, with nobody watching and nothing recorded."""

    def _make_watcher(self) -> Watcher | None:
        return None


@contextmanager
def _ground(host: Host, files: int) -> Iterator[Ground]:
    folder = Path(tempfile.mkdtemp(prefix="seatrial-bench-"))
    try:
        for number in range(files):
            path = folder / "files" / f"d{number // FILES_IN_A_FOLDER}" / f"f{number}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"line {number}\n" * 20)
        lay_out(
            folder / "files", folder / "bases" / "one", host.uid("world") if host.mode == "root" else None
        )
        objects = ObjectStore(folder / "objects")
        base = index_base(str(folder / "bases" / "one"), objects, host.uid("world"))
        yield Ground(host, str(folder), base, objects, ActionLimits(seconds=300))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _command(number: int, files: int) -> str:
    """Create a fresh file, or edit one not edited before."""
    if number % 2 or number // 2 >= files:
        return f"mkdir -p n{number // WINDOW}; echo {number} > n{number // WINDOW}/f{number}"
    edited = number // 2
    return f"echo edit >> d{edited // FILES_IN_A_FOLDER}/f{edited}"


def _timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3


class Recorded:
    """A world behind a gateway that writes a journal, with one hard constraint to watch."""

    def __init__(self, ground: Ground, folder: Path) -> None:
        self.world = BubblewrapSandbox(ground)
        meter = Meter(TASK.budget)
        self._journal = JournalWriter(folder / f"journal-{id(self)}.jsonl", meter.now_us)
        policy = Policy(TASK, self.world)
        self._gateway = Gateway(self.world, self._journal, ground.objects, policy, meter, Offer())

    def act(self, command: str) -> None:
        """One recorded action that changes something."""
        before = self.world.tracker.fingerprint()
        shown = self._gateway.act("shell", {"command": command})
        assert shown.outcome == "ok", shown
        assert self.world.tracker.fingerprint() != before, command

    def close(self) -> None:
        """End the world."""
        self._journal.close()
        self.world.close()


def _recorded(recorded: Recorded, command: str) -> float:
    return _timed(lambda: recorded.act(command))


def _pairs(ground: Ground, files: int, count: int) -> tuple[list[float], list[float]]:
    """Times of the same commands in a recorded and a bare world, taken in turns."""
    recorded, bare = Recorded(ground, Path(ground.scratch)), Bare(ground)
    try:
        times: tuple[list[float], list[float]] = ([], [])
        for number in range(count):
            command = _command(number, files)
            turns = [
                lambda c=command: times[0].append(_recorded(recorded, c)),
                lambda c=command: times[1].append(_timed(lambda: bare.shell(c))),
            ]
            for turn in turns if number % 2 else reversed(turns):
                turn()
        assert recorded.world.audit()
        return times
    finally:
        recorded.close()
        bare.close()


def _overhead(host: Host) -> Iterator[str]:
    for files in TREES:
        with _ground(host, files) as ground:
            recorded, bare = (median(times[20:]) for times in _pairs(ground, files, PAIRS))
            yield (
                f"{files} files: {recorded:.2f} ms recorded, {bare:.2f} ms bare; overhead "
                f"{recorded - bare:.2f} ms an action (aim at most 5 as root), ratio {recorded / bare:.2f}"
            )


def _long_run(host: Host) -> Iterator[str]:
    with _ground(host, 2_000) as ground:
        recorded, bare = _pairs(ground, 2_000, LONG_RUN)
        ratios = [median(t[-WINDOW:]) / median(t[WINDOW : 2 * WINDOW]) for t in (recorded, bare)]
        extra = [
            median(recorded[at]) - median(bare[at])
            for at in (slice(WINDOW, 2 * WINDOW), slice(len(bare) - WINDOW, len(bare)))
        ]
        yield (
            f"action {LONG_RUN} to action {WINDOW} (medians of {WINDOW}): ratio {ratios[0]:.2f} recorded "
            f"(aim at most 1.5), {ratios[1]:.2f} bare; overhead {extra[0]:.2f} ms, then {extra[1]:.2f} ms"
        )


def _many_changes(host: Host) -> Iterator[str]:
    with _ground(host, CHANGED) as ground:
        recorded = Recorded(ground, Path(ground.scratch))
        world = recorded.world
        try:
            before = median([_recorded(recorded, _command(n, 0)) for n in range(1, 2 * WINDOW)][WINDOW:])
            world.shell("for d in d*; do for f in $d/*; do echo x >> $f; done; done")
            settle = _timed(world.settle)
            entries = len(world.tracker.delta())
            after = median(
                [_recorded(recorded, _command(n, 0)) for n in range(1001, 1001 + 2 * WINDOW)][WINDOW:]
            )
            yield (
                f"at {entries} changed entries: {after:.2f} ms an action, {before:.2f} before, ratio "
                f"{after / before:.2f}; the action that changed them settled in {settle:.0f} ms"
            )
            yield from _forks(world, "20,000 changed entries")
        finally:
            recorded.close()
        few = BubblewrapSandbox(ground)
        try:
            few.shell("for i in $(seq 200); do echo $i > g$i; done")
            few.settle()
            yield from _forks(few, "20,000 files, 200 changed")
        finally:
            few.close()


def _forks(world: BubblewrapSandbox, what: str) -> Iterator[str]:
    state = world.tracker.delta()
    forks: list[BubblewrapSandbox] = []
    first = _timed(lambda: forks.append(world.fork(state)))
    try:
        rest = _timed(lambda: forks.extend(world.fork(state) for _ in range(FORKS)))
        assert all(f.settle().fingerprint == world.tracker.fingerprint() for f in forks)
        yield (
            f"{what}: restored in {first:.0f} ms; {FORKS} forks in {rest:.0f} ms together "
            f"(aim under 1000), {rest / FORKS:.1f} each"
        )
    finally:
        ended = _timed(lambda: [f.close() for f in forks])
    yield f"{what}: {len(forks)} worlds closed in {ended:.0f} ms"


def main() -> list[str]:
    """All figures of one run, as lines."""
    host = prepare_host()
    try:
        lines = [f"mode {host.mode}, {os.cpu_count()} processors"]
        for part in (_overhead, _many_changes, _long_run):
            lines += part(host)
        return lines
    finally:
        release_host(host)
