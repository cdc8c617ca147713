"""One task in the real sandbox: every solution, and the reference recovery of every disturbance."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.families.ledger.conftest import Made

COMMAND = [sys.executable, "-c", "from seatrial.cli.main import main; main()"]


@pytest.mark.slow
def test_a_task_is_calibrated_and_frozen(made: Made, tmp_path: Path):
    task = tmp_path / "task"
    shutil.copytree(made(depth=1, breadth=1), task)
    done = subprocess.run([*COMMAND, "calibrate", str(task)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((task / "calibration.json").read_text())
    assert found["passed"]
    costs = {each["perturbation"]: each["declared"] for each in found["oracles"]}
    assert costs["ceiling-changed"] == {"actions": 3} and costs["load-broken-off"] == {"actions": 1}
    assert costs["nothing"] == costs["rules-reworded"] == {}
    frozen = tmp_path / "ledger.suite.toml"
    done = subprocess.run(
        [*COMMAND, "suite", "freeze", str(task), "-o", str(frozen)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'id = "ledger/weather-1-d1b1"' in frozen.read_text()
