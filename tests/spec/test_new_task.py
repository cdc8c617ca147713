import errno
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from seatrial.errors import UsageError
from seatrial.spec import new_task as new_task_module
from seatrial.spec.lint import lint_task
from seatrial.spec.loading import load_task
from seatrial.spec.new_task import new_task
from seatrial.spec.scripts import load_script


def test_a_new_task_is_clean(tmp_path):
    loaded = new_task(tmp_path / "deep" / "task", "mine/first")
    assert loaded.spec.id == "mine/first"
    assert lint_task(loaded) == []
    assert loaded.files == load_task(tmp_path / "deep" / "task").files
    assert os.listdir(tmp_path / "deep") == ["task"]
    assert stat.S_IMODE((tmp_path / "deep" / "task").stat().st_mode) & 0o500 == 0o500


def judge(task: Path, script: str, room: Path) -> tuple[list[str], bool]:
    """Verdicts after a script's commands, run without a sandbox, and whether the record was left alone."""
    shutil.copytree(task / "environment", room)
    for step in load_script(task / "solutions" / script).step:
        if step.tool == "shell":
            subprocess.run(["bash", "-c", step.command], cwd=room, check=True)
    verdicts = []
    for subgoal in load_task(task).spec.subgoal:
        command = ["sh", "-c", 'exec "$0" 3>&1 >/dev/null', str(task / subgoal.verifier)]
        verdicts.append(
            subprocess.run(command, cwd=room, check=True, capture_output=True, text=True).stdout.strip()
        )
    same = (room / "answers.txt").read_bytes() == (task / "environment" / "answers.txt").read_bytes()
    return verdicts, same


@pytest.mark.parametrize(
    ("script", "verdicts", "lawful"),
    [
        ("reference.toml", ["pass", "pass"], True),
        ("wrong.toml", ["fail", "fail"], True),
        ("rule-breaker.toml", ["pass", "pass"], False),
    ],
)
def test_its_verifiers_judge_its_scripts(tmp_path, script, verdicts, lawful):
    new_task(tmp_path / "task", "mine/first")
    assert judge(tmp_path / "task", script, tmp_path / "room") == (verdicts, lawful)


def test_its_verifiers_fail_the_empty_product(tmp_path):
    new_task(tmp_path / "task", "mine/first")
    (tmp_path / "task" / "solutions" / "nothing.toml").write_text("step = []\n")
    assert judge(tmp_path / "task", "nothing.toml", tmp_path / "room") == (["fail", "fail"], True)


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "task").mkdir()
    assert new_task(tmp_path / "task", "mine/first").spec.id == "mine/first"


@pytest.mark.parametrize("task_id", ["mine", "a/b/c", "/b", "a b/c", "../c", ""])
def test_an_id_that_is_none(tmp_path, task_id):
    with pytest.raises(UsageError) as raised:
        new_task(tmp_path / "task", task_id)
    assert repr(task_id) in str(raised.value)
    assert os.listdir(tmp_path) == []


def test_what_is_there_is_never_touched(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("x")
    (tmp_path / "file").write_text("x")
    os.symlink("nowhere", tmp_path / "link")
    for name in ("full", "file", "link"):
        with pytest.raises(UsageError, match=name):
            new_task(tmp_path / name, "mine/first")
    assert sorted(os.listdir(tmp_path)) == ["file", "full", "link"]
    assert os.listdir(tmp_path / "full") == ["mine"]


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    copied = []

    def full(self: Path, data: bytes) -> int:
        copied.append(self)
        if len(copied) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        with open(self, "wb") as file:
            return file.write(data)

    monkeypatch.setattr(new_task_module.Path, "write_bytes", full)
    with pytest.raises(UsageError, match="No space left on device"):
        new_task(tmp_path / "deep" / "deeper" / "task", "mine/first")
    assert os.listdir(tmp_path) == []
