"""Scratch folders: gone with their user, and with the next one where their user was killed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial.environment.scratch import scratch_folder

PREFIX = "ours-"
HOLD = """
import sys
from pathlib import Path
from seatrial.environment.scratch import scratch_folder

with scratch_folder(sys.argv[1], Path(sys.argv[2])) as folder:
    if sys.argv[3:]:
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text("left")
    print(folder, flush=True)
    sys.stdin.read()
"""


def hold(place: Path, *filled: str) -> tuple[subprocess.Popen[str], Path]:
    """A process that holds a scratch folder until its input ends."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, PREFIX, str(place), *filled],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdout is not None
    return holder, Path(holder.stdout.readline().strip())


@pytest.mark.parametrize("filled", [(), ("filled",)])
def test_the_folder_of_a_killed_process_goes_with_the_next_call(tmp_path: Path, filled: tuple[str, ...]):
    killed, left = hold(tmp_path, *filled)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert left.is_dir()
    with scratch_folder(PREFIX, tmp_path) as folder:
        assert list(tmp_path.iterdir()) == [folder]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_use_and_what_is_not_ours_is_left_alone(tmp_path: Path):
    place, others = tmp_path / "place", tmp_path / "others"
    for folder in (place / f"{PREFIX}notes", place / "other-abcdefgh", others):
        folder.mkdir(parents=True)
        (folder / "mine").write_text("mine")
    (place / f"{PREFIX}abcdefgh").symlink_to(others)
    holder, held = hold(place, "filled")
    with scratch_folder(PREFIX, place) as folder:
        assert folder != held and (held / "deep" / "file").read_text() == "left"
    holder.communicate("")
    assert not held.exists()
    assert sorted(path.name for path in place.iterdir()) == [
        "other-abcdefgh", f"{PREFIX}abcdefgh", f"{PREFIX}notes",
    ]  # fmt: skip
    assert all((folder / "mine").read_text() == "mine" for folder in (place / f"{PREFIX}notes", others))


def test_a_folder_that_was_moved_to_its_place_stays(tmp_path: Path):
    with scratch_folder(PREFIX, tmp_path) as folder:
        folder.rename(tmp_path / "made")
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
