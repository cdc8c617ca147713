"""The run folder's small files: whole or not at all, also on a full disk and after a torn write."""

import os
import subprocess
from pathlib import Path
from typing import get_args

import pytest

from seatrial.errors import JournalError
from seatrial.journal.events import BUDGET, INFRASTRUCTURE, StopReason, TrialEnded
from seatrial.journal.run import IndexLine, Manifest, RunFolder, index_line, write_whole


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


@pytest.mark.parametrize("length", [10, 4095, 4096, 4097, 9000])
def test_a_torn_line_of_any_length_is_cut_off(tmp_path: Path, length: int) -> None:
    run = RunFolder(tmp_path)
    whole = [line(1, "x" * 9000), line(2)]
    for each in whole:
        run.add_to_index(each)
    with open(tmp_path / "index.jsonl", "ab") as file:
        file.write(b"t" * length)
    run.add_to_index(line(3))
    assert run.index() == [*whole, line(3)]
    (tmp_path / "index.jsonl").write_bytes(b"t" * length)
    run.add_to_index(line(4))
    assert run.index() == [line(4)]


def test_appending_reads_the_end_of_the_index_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, read = RunFolder(tmp_path), list[int]()
    for attempt in range(1, 301):
        run.add_to_index(line(attempt, "x" * 100))
    real = os.pread

    def pread(handle: int, length: int, offset: int) -> bytes:
        read.append(length)
        return real(handle, length, offset)

    monkeypatch.setattr(os, "pread", pread)
    run.add_to_index(line(301))
    assert 0 < sum(read) < os.path.getsize(tmp_path / "index.jsonl") / 4
    assert [each.attempt for each in run.index()] == list(range(1, 302))


def manifest(experiment_id: str = "e" * 64) -> Manifest:
    return Manifest(experiment_id=experiment_id, name="n", experiment={}, tasks=[], systems={}, plan=[])


def test_a_manifest_is_replaced_only_by_an_amended_one_of_the_same_experiment(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "run", manifest())
    before = run.manifest()
    with pytest.raises(JournalError, match="holds a run already"):
        RunFolder.create(run.folder, manifest())
    with pytest.raises(JournalError, match="does not fit the run"):
        run.replace_manifest(manifest("f" * 64))
    assert run.manifest() == before
    amended = manifest()
    amended.amendments.append({"added": []})
    run.replace_manifest(amended)
    assert run.manifest() == amended
    with pytest.raises(JournalError, match="is no run folder"):
        RunFolder(tmp_path / "other").replace_manifest(amended)


@pytest.mark.parametrize(
    ("reason", "details", "infrastructure"),
    [
        ("finished", {}, False),
        ("budget_seconds", {}, False),
        ("safety_stop", {"problem": "p"}, False),
        ("agent_fault", {"problem": "p", "started": True}, False),
        ("agent_fault", {"problem": "p", "started": False}, True),
        ("environment_fault", {"problem": "p"}, True),
        ("killed", {}, True),
    ],
)
def test_the_index_says_what_the_last_line_of_the_journal_says(
    reason: StopReason, details: dict[str, object], infrastructure: bool
) -> None:
    found = index_line("t", 2, "d", TrialEnded(stop_reason=reason, fingerprint="", details=details))
    assert found == IndexLine(
        trial="t", attempt=2, digest="d", stop_reason=reason, infrastructure=infrastructure,
        note="p" if details else "",
    )  # fmt: skip


def test_every_end_but_those_that_say_nothing_is_of_one_kind() -> None:
    assert {reason for reason in get_args(StopReason) if reason.startswith("budget_")} == BUDGET
    assert not BUDGET & INFRASTRUCTURE
    assert set(get_args(StopReason)) >= INFRASTRUCTURE
