"""``make demo``'s program on one of its packages, by the commands it runs."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.truth_runs import all_differences
from seatrial.evidence.read import read_run

ROOT = Path(__file__).parents[2]
SMALLER = (
    "import runpy; demo = runpy.run_path('examples/demo.py'); "
    "demo['INSTANCES'][:] = [('toolz', 1)]; demo['main']()"
)


def test_the_demo(tmp_path: Path) -> None:
    downloads = ROOT / "build" / "downloads"
    if downloads.is_dir():
        shutil.copytree(downloads, tmp_path / "build" / "downloads")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    done = subprocess.run(
        [sys.executable, "-c", SMALLER], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith("The report: build/pilot/report/index.html")
    report = json.loads((tmp_path / "build" / "pilot" / "report" / "report.json").read_text())
    assert {trial["system"] for trial in report["trials"]} == {"careful", "hasty"}
    assert len(report["trials"]) == 12
    groups = {row["stratum"] for row in report["main_table"]}
    assert {"group: short and deep", "group: long and shallow"} <= groups
    assert all("told apart" in comparison["words"] for comparison in report["comparisons"])
    # On a real package, too, what is measured is what each agent's seed leads to.
    pilot = tmp_path / "examples" / "pilot.toml"
    assert all_differences(pilot, read_run(tmp_path / "build" / "pilot")) == []
    assert "<script" not in (tmp_path / "build/pilot/report/index.html").read_text()
