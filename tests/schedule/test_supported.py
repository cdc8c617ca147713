"""What would silently not happen is refused before anything is written."""

import shutil
from pathlib import Path

import pytest

from seatrial.errors import SpecError
from seatrial.spec.loading import load_experiment
from tests.runs import open_run

WORKED = Path(__file__).parents[2] / "examples" / "worked"


@pytest.mark.parametrize(
    ("file", "old", "new", "place"),
    [
        (
            "experiment.toml",
            "seed = 1",
            'seed = 1\narms = ["baseline", "forked:x@3"]',
            "arms[1]",
        ),
        ("experiment.toml", "seed = 1", 'seed = 1\ncache = "warm"', "cache"),
        (
            "experiment.toml",
            'agent = "scripted"\nscript = "solutions/broken.toml"',
            'agent = "command"',
            "system[1].agent",
        ),
    ],
)
def test_refused_with_file_and_place(tmp_path: Path, file: str, old: str, new: str, place: str) -> None:
    shutil.copytree(WORKED, tmp_path / "worked")
    path = tmp_path / "worked" / file
    path.write_text(path.read_text().replace(old, new))
    loaded = load_experiment(tmp_path / "worked" / "experiment.toml")
    with pytest.raises(SpecError, match="cannot be carried out yet") as refused:
        open_run(loaded, tmp_path / "run")
    assert (Path(refused.value.file), refused.value.place) == (path, place)
    assert not (tmp_path / "run").exists()


def test_a_verifier_that_cannot_be_started_is_refused(tmp_path: Path) -> None:
    shutil.copytree(WORKED, tmp_path / "worked")
    verifier = tmp_path / "worked" / "migration" / "verifiers" / "database.sh"
    verifier.write_text("echo pass >&3\n")
    with pytest.raises(SpecError, match=r"no #! line.*Begin it with") as refused:
        open_run(load_experiment(tmp_path / "worked" / "experiment.toml"), tmp_path / "run")
    assert refused.value.place.endswith(".verifier")
    assert not (tmp_path / "run").exists()
