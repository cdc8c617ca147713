"""Where real records lie that may not be part of the project, and a short way to import."""

import os
from pathlib import Path

import pytest

from seatrial.importers.imported import Wish, import_run
from seatrial.importers.load import LoadedRecords, load_records

ROOT = Path(__file__).parents[2]
TAUBENCH = ROOT / "tests" / "data" / "taubench" / "tau_airline_gpt4o_4trials.csv"


@pytest.fixture
def real() -> Path:
    """The folder of real records: SEATRIAL_DATA, else shared/data beside the checkout."""
    folder = Path(os.environ.get("SEATRIAL_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no real records here: name their folder in SEATRIAL_DATA")
    return folder


@pytest.fixture
def imported(tmp_path: Path):
    """A function: import sources of a format and load the records again."""

    def run(name: str, *paths: Path, **more) -> LoadedRecords:
        out = tmp_path / "imported"
        import_run(Wish(name, paths, **more), out)
        return load_records(out)

    return run
