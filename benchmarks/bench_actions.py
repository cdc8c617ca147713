"""What recording costs: actions through the gateway, with journal, objects and a watched constraint, against
the same commands through the bare init.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.trees import FILES_IN_A_FOLDER, timed, tree_ground
from seatrial.environment.confine.host import Host, prepare_host, release_host
from seatrial.environment.ground import Ground
from seatrial.environment.sandbox import BubblewrapSandbox
from seatrial.environment.watching.touched import Watcher
from seatrial.gateway.gateway import Gateway, Offer
from seatrial.gateway.meter import Meter
from seatrial.gateway.policy import Policy
from seatrial.journal.writer import JournalWriter
from seatrial.spec.task import Constraint, Forbid, Goal, Subgoal, Task

TREES = (100, 2_000, 20_000)
PAIRS = 300
LONG_RUN = 10_000
WINDOW = 100
CHANGED = 20_000
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

    def _make_watcher(self, layer: str) -> Watcher | None:
        return None


def _command(number: int, files: int) -> str:
    """Create a fresh file, or edit one not edited before."""
    if number % 2 or number // 2 >= files:
        return f"mkdir -p n{number // WINDOW}; echo {number} > n{number // WINDOW}/f{number}"
    edited = number // 2
    return f"echo edit >> d{edited // FILES_IN_A_FOLDER}/f{edited}"


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
    return timed(lambda: recorded.act(command))


def _pairs(ground: Ground, files: int, count: int) -> tuple[list[float], list[float]]:
    """Times of the same commands in a recorded and a bare world, taken in turns."""
    recorded, bare = Recorded(ground, Path(ground.scratch)), Bare(ground)
    try:
        times: tuple[list[float], list[float]] = ([], [])
        for number in range(count):
            command = _command(number, files)
            turns = [
                lambda c=command: times[0].append(_recorded(recorded, c)),
                lambda c=command: times[1].append(timed(lambda: bare.shell(c))),
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
        with tree_ground(host, files) as ground:
            recorded, bare = (median(times[20:]) for times in _pairs(ground, files, PAIRS))
            yield (
                f"{files} files: {recorded:.2f} ms recorded, {bare:.2f} ms bare; overhead "
                f"{recorded - bare:.2f} ms an action (aim at most 5 as root), ratio {recorded / bare:.2f}"
            )


def _long_run(host: Host) -> Iterator[str]:
    with tree_ground(host, 2_000) as ground:
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
    with tree_ground(host, CHANGED) as ground:
        recorded = Recorded(ground, Path(ground.scratch))
        world = recorded.world
        try:
            before = median([_recorded(recorded, _command(n, 0)) for n in range(1, 2 * WINDOW)][WINDOW:])
            world.shell("for d in d*; do for f in $d/*; do echo x >> $f; done; done")
            settle = timed(world.settle)
            entries = len(world.tracker.delta())
            after = median(
                [_recorded(recorded, _command(n, 0)) for n in range(1001, 1001 + 2 * WINDOW)][WINDOW:]
            )
            yield (
                f"at {entries} changed entries: {after:.2f} ms an action, {before:.2f} before, ratio "
                f"{after / before:.2f}; the action that changed them settled in {settle:.0f} ms"
            )
        finally:
            recorded.close()


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
