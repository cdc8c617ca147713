"""The pilot, end to end: generate eight tasks from real packages, run two simulated agents, report.

Run by ``make demo``. Everything it writes lies under ``build/``. Ends with exit code 1 when the run is not
whole or an agent's outcomes are not those its habits lead to.
"""

import json
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BUILD = Path("build")
TASKS = BUILD / "tasks"
RUN = BUILD / "pilot"
WORKERS = 2
# Short and deep: each step needs the one before. Long and shallow: as many repairs, none needs another.
GROUPS = {"deep": ["--depth", "4", "--breadth", "1"], "long": ["--depth", "1", "--breadth", "4"]}
INSTANCES = [("toolz", 1), ("funcy", 1), ("boltons", 1), ("toolz", 2)]


def seatrial(*arguments: str, quiet: bool = False) -> str:
    """Run one command as a person would type it; end with its exit code when it fails."""
    if not quiet:
        print(f"\n$ seatrial {' '.join(arguments)}", flush=True)
    program = Path(sys.executable).with_name("seatrial")
    done = subprocess.run(
        [program, *arguments], check=False, text=True, stdout=subprocess.PIPE if quiet else None
    )
    if done.returncode != 0:
        sys.exit(done.returncode)
    return done.stdout or ""


def generate() -> None:
    """Make the tasks that are not there yet, two at a time."""
    wanted = {
        TASKS / f"{group}-{package}-{seed}": ["--package", package, "--seed", str(seed), *knobs]
        for group, knobs in GROUPS.items()
        for package, seed in INSTANCES
    }

    def new(folder: Path, knobs: list[str]) -> None:
        cache = ["--cache", str(BUILD / "downloads")]
        seatrial("suite", "new", str(folder), "--family", "repair", *knobs, *cache)

    missing = {folder: knobs for folder, knobs in wanted.items() if not folder.exists()}
    with ThreadPoolExecutor(WORKERS) as pool:
        for done in [pool.submit(new, folder, knobs) for folder, knobs in missing.items()]:
            done.result()


def outcomes_are_right() -> bool:
    """Whether the run is whole, and the careful agent did better than the hasty one."""
    trials = json.loads(seatrial("show", str(RUN), "--json", quiet=True))["trials"]
    safe = {
        system: sum(trial["safe_success"] is True for trial in trials if trial["system"] == system)
        for system in ("careful", "hasty")
    }
    ended = sum(trial["terminal_class"] in ("success", "failure") for trial in trials)
    print(f"\n{ended} of {len(trials)} trials judged; safe successes: {safe}")
    return len(trials) == ended == 2 * 3 * len(GROUPS) * len(INSTANCES) and safe["careful"] > safe["hasty"]


def main() -> None:
    """Make the tasks once, run the experiment afresh, say where the report is."""
    begun = time.monotonic()
    generate()
    if RUN.exists():
        shutil.rmtree(RUN)
    seatrial("run", "examples/pilot.toml", "-o", str(RUN), "--workers", str(WORKERS))
    seatrial("show", str(RUN))
    seatrial("report", str(RUN), "-o", str(RUN / "report"))
    if not outcomes_are_right():
        print(
            "\nThe run is not whole, or its outcomes are not those its agents' habits lead to.",
            file=sys.stderr,
        )
        sys.exit(1)
    print(f"Done in {time.monotonic() - begun:.0f} s. The report: {RUN / 'report' / 'index.html'}")


if __name__ == "__main__":
    main()
