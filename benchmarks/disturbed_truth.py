"""Is what is measured of a disturbed trial what was simulated?

`python -m benchmarks.disturbed_truth [TRIALS] [--workers N] [--kills N] [--only STUDY]` runs simulated agents
on one small task through `seatrial run`: disturbed, interrupted, with habits switched off one by one. Trial
by trial every measure must equal the replay of that agent's decisions. Beyond that:

- means: do detection, recovery, its cost and obedience come out as they were set?
- coverage: over many replayed runs, do the intervals cover what was set at their nominal rate?
- ablation: does a habit switched off move the measures it should, and no other, and no local task?
- kills: who retries with a key pays once; on how often others pay, journal and ledger agree.
- acknowledgement: a lost one leaves an unknown end; querying first and retrying blindly are told apart.
- placebo: does it differ from no disturbance?

Exit code 1 when something is not as it should be.
"""

import argparse
import sys
from collections.abc import Iterator

from benchmarks.disturbed_studies import Findings, all_studies

TRIALS, WORKERS = 100, 2


def studied(trials: int, workers: int, kills: int, only: str | None = None) -> Iterator[Findings]:
    """Run the studies one after another."""
    for study, own in all_studies(kills):
        if only in (None, study.__name__):
            yield study(trials if own is None else own, workers)


def main(arguments: list[str]) -> int:
    """Print what each study found; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.disturbed_truth")
    parser.add_argument("trials", type=int, nargs="?", default=TRIALS, help="of each system in each arm")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--kills", type=int, default=None, help="trials at each point; TRIALS if left out")
    parser.add_argument("--only", choices=[study.__name__ for study, _ in all_studies(0)])
    asked = parser.parse_args(arguments)
    wrong = 0
    for found in studied(
        asked.trials, asked.workers, asked.trials if asked.kills is None else asked.kills, asked.only
    ):
        wrong += len(found.wrong)
        print(*(f"{found.what}: {line}" for line in [*found.lines, *found.wrong]), sep="\n", flush=True)
        print(f"{found.what}: {'WRONG' if found.wrong else 'as it should be'}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
