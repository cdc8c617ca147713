"""From knobs to a folder: the same bytes every time, and nothing half-written."""

import socket
import tomllib
from pathlib import Path

import pytest

from seatrial.errors import EnvironmentFault, SpecError, UsageError
from seatrial.families.repair import Knobs, generate
from seatrial.spec.loading import load_task
from tests.families.repair.conftest import DOWNLOADS, Made


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mode) for path in files}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(made: Made, tmp_path: Path):
    for package, knobs in (("toolz", {"depth": 2}), ("toolz", {"depth": 2, "variant": 1})):
        again = generate(package, Knobs(**knobs), tmp_path / f"again-{len(knobs)}", DOWNLOADS, check=False)
        assert tree(again) == tree(made(package, **knobs))
    other = generate("toolz", Knobs(depth=2, seed=2), tmp_path / "other", DOWNLOADS, check=False)
    assert tree(other)["verifiers/expected/stage-a1.json"] != tree(again)["verifiers/expected/stage-a1.json"]


def test_the_subgoals_form_the_declared_chain(task: Path):
    spec = load_task(task).spec
    assert {subgoal.id: subgoal.after for subgoal in spec.subgoal} == {
        "repair-a1": [],
        "stage-a1": ["repair-a1"],
        "repair-a2": [],
        "stage-a2": ["stage-a1", "repair-a2"],
    }
    assert spec.horizon.dependency_depth == 3


def test_every_kind_of_product_is_there(task: Path):
    names = {path.stem for path in (task / "solutions").glob("*.toml")}
    assert names >= {
        "reference", "equivalent", "equivalent-order", "wrong", "empty", "hard-coded", "string-only",
        "cheating", "crash", "stale",
    }  # fmt: skip


def test_the_reference_looks_repairs_and_runs_and_does_nothing_else(task: Path):
    steps = tomllib.loads((task / "solutions" / "reference.toml").read_text())["step"]
    changing = [step for step in steps if step["tool"] == "edit_file" or " -m " in step.get("command", "")]
    assert len(changing) == 4
    looking = [step.get("command", "") for step in steps if step["tool"] == "shell" and step not in changing]
    assert all(command.split()[0] in ("ls", "grep", "tail") for command in looking)


def test_an_unknown_package_and_a_taken_folder_are_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="no package 'absent'"):
        generate("absent", Knobs(), tmp_path / "out", tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("mine")
    with pytest.raises(UsageError, match="already there"):
        generate("toolz", Knobs(), tmp_path / "taken", tmp_path)


def test_a_failure_leaves_nothing_behind(tmp_path: Path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "toolz-1.0.0.tar.gz").write_bytes(b"other bytes")
    with pytest.raises(SpecError, match="the pinned one is 2c86e3d9"):
        generate("toolz", Knobs(), tmp_path / "out", tmp_path / "cache")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache"]


def test_without_a_network_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # pip is given an index that nobody serves, as when the network is gone.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{taken.getsockname()[1]}/simple")
        monkeypatch.setenv("PIP_RETRIES", "0")
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        with pytest.raises(EnvironmentFault, match=r"Check that pip and the network work, or put funcy-2\.1"):
            generate("funcy", Knobs(), tmp_path / "out", tmp_path / "cache")
    assert not (tmp_path / "out").exists() and not list((tmp_path / "cache").iterdir())
