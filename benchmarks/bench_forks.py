"""Starting forks of one recorded state: twenty worlds together, all ready, all proven to be in that state."""

import os
from collections.abc import Iterator

from benchmarks.trees import timed, tree_ground
from seatrial.environment.confine.host import prepare_host, release_host
from seatrial.environment.ground import Ground
from seatrial.environment.sandbox import BubblewrapSandbox

FILES = 20_000
FORKS = 20
TRIES = 5
FEW = "for i in $(seq 200); do echo $i > g$i; done"
MANY = "for d in d*; do for f in $d/*; do echo x >> $f; done; done"


def _forks(ground: Ground, change: str, what: str) -> Iterator[str]:
    world = BubblewrapSandbox(ground)
    try:
        world.shell(change)
        world.settle()
        state = world.tracker.delta()
        first = timed(lambda: world.fork(state).close())
        starts, acted = map(sorted, zip(*(_start(world) for _ in range(TRIES)), strict=True))
        yield (
            f"{what}: layer made and one fork started in {first:.0f} ms; {FORKS} forks together in "
            f"{starts[0]:.0f} ms at best, {starts[len(starts) // 2]:.0f} in the middle of {TRIES} tries (aim "
            f"under 1000), {acted[0]:.0f} at best with a first action in each; load {os.getloadavg()[0]:.1f}"
        )
    finally:
        world.close()


def _start(world: BubblewrapSandbox) -> tuple[float, float]:
    """Milliseconds until every fork is ready, and until each has run an action beside that."""
    forks: list[BubblewrapSandbox] = []
    try:
        took = timed(lambda: forks.extend(world.forks(world.tracker.delta(), FORKS)))
        assert all(fork.settle().fingerprint == world.tracker.fingerprint() for fork in forks)
        acted = timed(lambda: [fork.shell("true") for fork in forks])
        assert all(fork.audit() for fork in (forks[0], forks[-1]))
        return took, took + acted
    finally:
        for fork in forks:
            fork.close()


def main() -> list[str]:
    """All figures of one run, as lines."""
    host = prepare_host()
    try:
        lines = [f"mode {host.mode}, {os.cpu_count()} processors"]
        with tree_ground(host, FILES) as ground:
            lines += _forks(ground, FEW, "20,000 files, 200 changed")
            lines += _forks(ground, MANY, "20,000 files, 20,000 changed")
        return lines
    finally:
        release_host(host)
