"""Two-level bootstrap of 200 tasks x 10 trials x 4 systems, against a plain Python loop over draws."""

import random
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from seatrial.estimate.bootstrap import bootstrap_means

TASKS, TRIALS, SYSTEMS, DRAWS = 200, 10, 4, 10_000
NAIVE_DRAWS = 40
AIM, AIM_MEMORY_MB = 25, 100

Table = dict[str, list[float]]


def tables(rng: np.random.Generator) -> list[Table]:
    """Yes-or-no outcomes whose rate differs by task and, a little, by system."""
    ease = rng.beta(1, 1, (TASKS, 1))
    found = []
    for shift in (0, 0.03, -0.05, 0.1):
        outcomes = rng.random((TASKS, TRIALS)) < np.clip(ease + shift, 0, 1)
        found.append({f"t{task:03d}": row for task, row in enumerate(outcomes.astype(float).tolist())})
    return found


def naive(systems: list[Table], draws: int, chance: random.Random) -> list[list[float]]:
    """The same scheme as one would first write it."""
    rows = [list(table.values()) for table in systems]
    found = []
    for _ in range(draws):
        tasks = [chance.randrange(TASKS) for _ in range(TASKS)]
        means = []
        for table in rows:
            total = 0.0
            for task in tasks:
                trials = table[task]
                for _ in range(TRIALS):
                    total += trials[int(chance.random() * TRIALS)]
            means.append(total / (TASKS * TRIALS))
        found.append(means)
    return found


def cpu(work: Callable[[], object]) -> float:
    """Processor seconds."""
    began = time.process_time()
    work()
    return time.process_time() - began


def peak_mb(work: Callable[[], object]) -> float:
    """Most memory held at once beyond what was held before, by numpy's and Python's own count."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def main() -> list[str]:
    """CPU ratio and memory, for outcomes and for measured values."""
    outcomes = tables(np.random.default_rng(0))
    noise = np.random.default_rng(1)
    measured = [{task: [v + noise.random() for v in row] for task, row in t.items()} for t in outcomes]
    bootstrap_means(outcomes, np.random.default_rng(2), 10, within=True)
    lines = []
    for what, systems in (("outcomes", outcomes), ("any values", measured)):

        def ours(systems: list[Table] = systems) -> object:
            return bootstrap_means(systems, np.random.default_rng(3), DRAWS, within=True)

        loop = cpu(lambda systems=systems: naive(systems, NAIVE_DRAWS, random.Random(4)))
        ratio = loop * DRAWS / NAIVE_DRAWS / cpu(ours)
        lines.append(
            f"{what}: {DRAWS} two-level draws of {TASKS} tasks x {TRIALS} trials x {SYSTEMS} systems: naive "
            f"loop over ours {ratio:.0f}x CPU (aim >= {AIM}x for outcomes; the loop ran {NAIVE_DRAWS} draws, "
            f"scaled), memory +{peak_mb(ours):.0f} MB (aim < {AIM_MEMORY_MB})"
        )
    return lines
