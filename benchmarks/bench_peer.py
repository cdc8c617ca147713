"""One recorded action here against one action in a peer's local sandbox, in the same run.

Needs `pip install inspect-ai` beside this project and says so where it is missing. The peer runs the command
as a plain child process: no isolation, no state, no journal.
"""

import importlib.util
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.bench_actions import Recorded
from benchmarks.trees import tree_ground
from seatrial.environment.confine.host import prepare_host, release_host

ACTIONS = 200
FILES = 100


def ours() -> float:
    """Median milliseconds of one recorded action that creates a file."""
    host = prepare_host()
    try:
        with tree_ground(host, FILES) as ground:
            recorded = Recorded(ground, Path(ground.scratch))
            try:
                times = []
                for number in range(ACTIONS):
                    began = time.perf_counter()
                    recorded.act(f"echo {number} > new{number}")
                    times.append((time.perf_counter() - began) * 1e3)
                return median(times)
            finally:
                recorded.close()
    finally:
        release_host(host)


def theirs() -> float:
    """Median milliseconds of the same command through the peer's sandbox call, inside one of its samples."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.solver import solver
    from inspect_ai.util import sandbox

    times: list[float] = []

    @solver
    def act():  # type: ignore[no-untyped-def]
        async def solve(state, generate):  # type: ignore[no-untyped-def]
            for number in range(ACTIONS):
                began = time.perf_counter()
                await sandbox().exec(["bash", "-c", f"echo {number} > new{number}"])
                times.append((time.perf_counter() - began) * 1e3)
            return state

        return solve

    with tempfile.TemporaryDirectory() as logs:
        task = Task(dataset=[Sample(input="go")], solver=act(), sandbox="local")
        eval(task, model="mockllm/model", log_dir=logs, display="none")
    return median(times)


def main() -> list[str]:
    """The ratio, or why there is none."""
    if importlib.util.find_spec("inspect_ai") is None:
        return ["no peer to compare with: pip install inspect-ai"]
    mine, peer = ours(), theirs()
    return [f"{mine:.2f} ms recorded and sandboxed here, {peer:.2f} ms there: ratio {mine / peer:.2f}"]
