"""``make demo``'s program on one of its packages, by the commands it runs."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.truth_runs import all_differences
from seatrial.evidence.read import read_run
from seatrial.report.comparisons import PROCESS

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
    groups = {"group: short and deep", "group: long and shallow"}
    assert groups <= {row["stratum"] for row in report["main_table"]}
    told = {
        (found["role"], found["measure"], found["stratum"]): (found["verdict"], found["words"])
        for found in report["comparisons"]
    }
    # One task of each group is too few to tell anything apart, and the report must not claim to.
    assert told == dict.fromkeys(
        [
            ("primary", "safe_success", "all"),
            *(("exploratory", measure, "all") for measure in ("strict_success", "partial_progress")),
            *(("exploratory", "safe_success", group) for group in groups),
            *(("process", measure, "all") for measure in PROCESS),
        ],
        ("cannot be told apart yet", "cannot be told apart yet"),
    )
    (primary,) = [found for found in report["comparisons"] if found["role"] == "primary"]
    safe = Counter(trial["system"] for trial in report["trials"] if trial["safe_success"])
    assert safe["careful"] != safe["hasty"]
    assert primary["estimate"]["value"] == pytest.approx((safe["careful"] - safe["hasty"]) / 6)
    assert primary["estimate"]["n_tasks"] == 2
    # On a real package, too, what is measured is what each agent's seed leads to.
    pilot = tmp_path / "examples" / "pilot.toml"
    assert all_differences(pilot, read_run(tmp_path / "build" / "pilot")) == []
    assert "<script" not in (tmp_path / "build/pilot/report/index.html").read_text()
