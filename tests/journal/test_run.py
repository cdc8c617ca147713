"""The run folder's small files: whole or not at all, also on a full disk and after a torn write."""

import os
import subprocess
from pathlib import Path

import pytest

from seatrial.errors import JournalError
from seatrial.journal.run import IndexLine, RunFolder, write_whole


def line(attempt: int, note: str = "") -> IndexLine:
    return IndexLine(trial="t", attempt=attempt, digest="0", stop_reason="finished", note=note)


def test_a_torn_index_line_is_dropped_and_never_glued_to_the_next(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.add_to_index(line(1))
    with open(tmp_path / "index.jsonl", "ab") as file:
        file.write(b'{"trial":"t","att')
    assert run.index() == [line(1)]
    run.add_to_index(line(2))
    assert run.index() == [line(1), line(2)]
    assert run.ended("t", 2) == line(2)


@pytest.fixture
def small(tmp_path: Path):
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], check=True)
    yield tmp_path
    subprocess.run(["umount", "-l", tmp_path], check=True)


def test_a_full_disk_leaves_the_index_as_it_was_and_names_it(small: Path) -> None:
    run = RunFolder(small)
    run.add_to_index(line(1))
    with pytest.raises(JournalError, match=r"index\.jsonl: cannot be written: No space left"):
        run.add_to_index(line(2, "x" * 100_000))
    assert run.index() == [line(1)]
    run.add_to_index(line(3))
    assert run.index() == [line(1), line(3)]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(small: Path) -> None:
    write_whole(small / "a.json", b"old")
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(small / "a.json", b"x" * 200_000)
    assert caught.value.filename == str(small / "a.json")
    assert [p.name for p in small.iterdir()] == ["a.json"]
    assert (small / "a.json").read_bytes() == b"old"
