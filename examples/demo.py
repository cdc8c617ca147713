"""The main job, end to end, on a real package: make the task, run three scripts on it, report.

Run by ``make demo``. Everything it writes lies under ``build/``. Ends with exit code 1 when an outcome is not
the one that script must have.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

BUILD = Path("build")
TASK = BUILD / "tasks" / "repair-toolz-1"
RUN = BUILD / "demo"


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


def outcomes_are_right() -> bool:
    """Whether each script got the outcome it must have."""
    trials = json.loads(seatrial("show", str(RUN), "--json", quiet=True))["trials"]
    found = {trial["system"]: trial for trial in trials}
    reference, wrong, cheating = found["reference"], found["wrong"], found["cheating"]
    return (
        (reference["strict_success"], reference["safe_success"]) == (True, True)
        and (wrong["terminal_class"], wrong["blocking_subgoal"]) == ("failure", "repair-b")
        and cheating["terminal_class"] == "failure"
        and cheating["strict_success"] is False
        and cheating["hard_violations"] > 0
    )


def main() -> None:
    """Make the task once, run the experiment afresh, say where the report is."""
    if not TASK.exists():
        seatrial(
            "suite", "new", str(TASK), "--family", "repair", "--package", "toolz", "--seed", "1",
            "--cache", str(BUILD / "downloads"),
        )  # fmt: skip
    if RUN.exists():
        shutil.rmtree(RUN)
    seatrial("run", "examples/repair.toml", "-o", str(RUN))
    seatrial("show", str(RUN))
    seatrial("report", str(RUN), "-o", str(RUN / "report"))
    if not outcomes_are_right():
        print("\nAn outcome is not the one its script must have.", file=sys.stderr)
        sys.exit(1)
    print("\nThe reference is strict and safe, the wrong repair stands still, the cheat is caught.")
    print(f"The report: {RUN / 'report' / 'index.html'}")


if __name__ == "__main__":
    main()
