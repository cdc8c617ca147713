"""Every solution of one task in the real sandbox, judged by the real verifiers behind the real probe."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from seatrial.cli.main import main; main()"]
HEAD = """\
schema = "seatrial/experiment@1"
name = "solutions"
tasks = ["{task}"]
trials_per_task = 1
seed = 1
arms = ["baseline"]
"""
SYSTEM = '\n[[system]]\nname = "{name}"\nagent = "scripted"\nscript = "solutions/{name}.toml"\n'


@pytest.mark.slow
def test_right_solutions_are_accepted_and_all_others_rejected(task: Path, tmp_path: Path):
    verdicts = json.loads((task / "solutions" / "verdicts.json").read_text())
    text = HEAD.format(task=task) + "".join(SYSTEM.format(name=name) for name in sorted(verdicts))
    (tmp_path / "solutions.toml").write_text(text)
    arguments = ["run", str(tmp_path / "solutions.toml"), "-o", str(tmp_path / "run")]
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = subprocess.run(
        [*COMMAND, "show", str(tmp_path / "run"), "--json"], capture_output=True, text=True, check=True
    )
    found = {trial["system"]: trial for trial in json.loads(shown.stdout)["trials"]}
    assert set(found) == set(verdicts)
    for name, trial in found.items():
        right = name.startswith(("reference", "equivalent"))
        assert (trial["strict_success"], trial["safe_success"]) == (right, right), name
        assert trial["terminal_class"] == ("success" if right else "failure"), name
    assert found["wrong"]["blocking_subgoal"] == "repair-a2"
    assert found["cheating"]["hard_violations"] == 3
    assert found["reference"]["hard_violations"] == 0
