"""A setup script that fails is told before any attempt is spent, and leaves nothing."""

import shutil
from pathlib import Path

import pytest

from seatrial.errors import SpecError, UsageError
from seatrial.spec.loading import LoadedExperiment, load_experiment
from tests.runs import open_run

WORKED = Path(__file__).parents[2] / "examples" / "worked"


def with_setup(folder: Path, script: str) -> LoadedExperiment:
    """The worked example with a setup script."""
    shutil.copytree(WORKED, folder)
    (folder / "migration" / "setup.sh").write_text(script)
    file = folder / "migration" / "task.toml"
    declared = '[environment]\nsetup = "setup.sh"\n\n[horizon]'
    file.write_text(file.read_text().replace("[horizon]", declared))
    return load_experiment(folder / "experiment.toml")


@pytest.mark.parametrize("there", [False, True])
def test_a_failing_script_is_named_and_nothing_is_left(tmp_path: Path, there: bool) -> None:
    loaded = with_setup(tmp_path / "worked", "echo out of luck; exit 3\n")
    run = tmp_path / "run"
    if there:
        run.mkdir()
    with pytest.raises(SpecError) as refused:
        open_run(loaded, run)
    assert Path(refused.value.file) == tmp_path / "worked" / "migration" / "task.toml"
    assert refused.value.place == "environment.setup"
    assert "exit code 3" in refused.value.problem
    assert "out of luck" in refused.value.problem
    assert (list(run.iterdir()) == []) if there else not run.exists()


def test_what_a_script_makes_is_built_once(tmp_path: Path) -> None:
    loaded = with_setup(tmp_path / "worked", "echo made > made.txt\n")
    run = open_run(loaded, tmp_path / "run")
    (base,) = (path for path in (run.folder / "scratch" / "bases").iterdir() if path.is_dir())
    assert (base / "workspace" / "made.txt").read_text() == "made\n"


def test_files_of_somebody_else_are_never_taken_for_a_beginning(tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "objects" / "data.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("precious\n")
    loaded = with_setup(tmp_path / "worked", "exit 1\n")
    with pytest.raises(UsageError, match="holds no run"):
        open_run(loaded, tmp_path / "mine")
    assert mine.read_text() == "precious\n"
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == ["objects"]
