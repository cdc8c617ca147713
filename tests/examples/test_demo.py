"""``make demo``'s program, on the real package, with the outcomes its three scripts must have."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_demo(tmp_path: Path) -> None:
    downloads = ROOT / "build" / "downloads"
    if downloads.is_dir():
        shutil.copytree(downloads, tmp_path / "build" / "downloads")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    done = subprocess.run(
        [sys.executable, "examples/demo.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "The report: build/demo/report/index.html"
    report = json.loads((tmp_path / "build" / "demo" / "report" / "report.json").read_text())
    assert {trial["system"] for trial in report["trials"]} == {"reference", "wrong", "cheating"}
    assert "<script" not in (tmp_path / "build/demo/report/index.html").read_text()
