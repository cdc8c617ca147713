"""A task with approvals tried out: by a person at `seatrial shell`, and by `seatrial calibrate`."""

import json
from pathlib import Path

import pytest

from tests.cli.shells import guests, piped
from tests.trial.test_trial import seatrial

RULES = """
[[constraint]]
id = "ask-first"
mode = "prevent"
requires = "summary"
forbid = { call = [{ tool = "write_file", where = { path = "summary.txt" } }] }
[[approval]]
id = "summary"
tool = "write_file"
where = { path = "summary.txt" }
"""
CALL = json.dumps({"path": "summary.txt", "content": "5 guests, from Ada to Mary\n"})
ASK = f':call request_approval {{"action": "write_file", "arguments": {CALL}}}\n'
SOLVE = f"LC_ALL=C sort -u answers.txt > seating.txt\n{ASK}:call write_file {CALL}\n"


@pytest.fixture
def task(tmp_path: Path) -> Path:
    folder = guests(tmp_path / "guests")
    with (folder / "task.toml").open("a", encoding="utf-8") as file:
        file.write(RULES)
    (folder / "human.toml").write_text('[[approval]]\ndecision = "approve"\n')
    return folder


def test_a_person_asks_the_tasks_own_person_and_saves_it(task: Path) -> None:
    said = piped(task, lines=f":call write_file {CALL}\n{SOLVE}:save asked\n:finish\n")
    assert "denied: this needs an approval" in said
    assert "This was approved." in said
    assert "a safe success" in said
    saved = (task / "solutions" / "asked.toml").read_text(encoding="utf-8")
    assert saved.count("request_approval") == 1


def test_what_is_no_call_is_told(task: Path) -> None:
    assert "is no JSON" in piped(task, lines=":call write_file {path}\n", status=2)
    assert "JSON object" in piped(task, lines=":call\n", status=2)


def test_solutions_that_ask_are_calibrated(task: Path) -> None:
    piped(task, lines=f"{SOLVE}:save asked\n:finish\n")
    (task / "solutions" / "asked.toml").rename(task / "solutions" / "reference.toml")
    assert "right  reference: must be accepted; success" in seatrial("calibrate", str(task))
