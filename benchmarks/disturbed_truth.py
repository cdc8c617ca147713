"""Is what is measured of a disturbed trial what was simulated?

`python -m benchmarks.disturbed_truth [TRIALS] [--workers N] [--kills N] [--only STUDY]` runs simulated agents
on one small task through `seatrial run`: disturbed, interrupted, with habits switched off one by one. Trial
by trial every measure must equal the replay of that agent's decisions. Beyond that:

- means: do detection, recovery, its cost, obedience and candour come out as they were set?
- coverage: over many replayed runs, do the intervals cover what was set at their nominal rate?
- ablation, local: does a habit switched off move the measures it should, no other, and no local task?
- kills: who retries with a key pays once; on how often others pay, journal and ledger agree.
- acknowledgement: a lost one leaves an unknown end; querying first and retrying blindly are told apart.
- placebo: does it differ from no disturbance?

Exit code 1 when something is not as it should be.
"""

import argparse
import sys

from benchmarks.disturbed_ablation import ablation, local
from benchmarks.disturbed_coverage import coverage
from benchmarks.disturbed_studies import acknowledgement, kills, means, placebo
from benchmarks.findings import Study

TRIALS, WORKERS = 100, 2
STUDIES: dict[str, Study] = {
    "means": means, "coverage": coverage, "ablation": ablation, "local": local, "kills": kills,
    "acknowledgement": acknowledgement, "placebo": placebo,
}  # fmt: skip


def main(arguments: list[str]) -> int:
    """Print what each study found; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.disturbed_truth")
    parser.add_argument("trials", type=int, nargs="?", default=TRIALS, help="of each system in each arm")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--kills", type=int, default=None, help="trials at each point; TRIALS if left out")
    parser.add_argument("--only", choices=STUDIES, help="one study in place of all")
    asked = parser.parse_args(arguments)
    wrong = 0
    for name, study in STUDIES.items():
        if asked.only not in (None, name):
            continue
        trials = asked.kills if name == "kills" and asked.kills is not None else asked.trials
        found = study(trials, asked.workers)
        wrong += len(found.wrong)
        print(*(f"{found.what}: {line}" for line in [*found.lines, *found.wrong]), sep="\n")
        print(f"{found.what}: {'WRONG' if found.wrong else 'as it should be'}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
