"""What starting costs, against a bare interpreter in the same run: processor time of whole processes."""

import resource
import statistics
import subprocess
import sys

RUNS = 15


def cpu_seconds(code: str) -> float:
    """Processor time of one fresh interpreter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> list[str]:
    """Median ratio to ``python -c pass``, runs interleaved."""
    lines = []
    for code in ("import seatrial", "import seatrial.trial.worker", "import seatrial.cli.main"):
        ratios = []
        for _ in range(RUNS):
            bare = cpu_seconds("pass")
            ratios.append(cpu_seconds(code) / bare)
        lines.append(
            f"{code}: {statistics.median(ratios):.1f}x a bare interpreter's start (aim for seatrial: <= 20)"
        )
    return lines
