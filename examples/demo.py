"""The main job, end to end, on a real package: make the task, run three scripts on it, report.

Run by ``make demo``. Everything it writes lies under ``build/``.
"""

import shutil
import subprocess
import sys
from pathlib import Path

BUILD = Path("build")
TASK = BUILD / "tasks" / "repair-toolz-1"
RUN = BUILD / "demo"


def seatrial(*arguments: str) -> None:
    """Run one command as a person would type it; end with its exit code when it fails."""
    print(f"\n$ seatrial {' '.join(arguments)}", flush=True)
    program = Path(sys.executable).with_name("seatrial")
    status = subprocess.run([program, *arguments], check=False).returncode
    if status != 0:
        sys.exit(status)


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
    print(f"\nThe report: {RUN / 'report' / 'index.html'}")


if __name__ == "__main__":
    main()
