"""What is persisted is whole, bounded and never worse than before."""

import base64
from pathlib import Path
from typing import Any, Literal

import pytest

from seatrial.journal.events import CheckpointTaken
from seatrial.journal.objects import ObjectStore
from seatrial.journal.reader import read_journal
from seatrial.journal.writer import JournalWriter
from seatrial.trial.keeping.checkpoints import BadCheckpoint, Checkpoints


def made(folder: Path, memory: Literal["structured", "prose"], limit: int) -> Checkpoints:
    return Checkpoints(JournalWriter(folder / "j.jsonl", lambda: 0), ObjectStore(folder), memory, limit)


def coded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_prose_and_structure_have_the_same_room(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "p").mkdir()
    structured, prose = made(tmp_path / "s", "structured", 10), made(tmp_path / "p", "prose", 10)
    assert structured.take({"state": coded(b"0123456789abc")}, 4, "f") == {"kept": 10, "cut": 3}
    # A character is kept whole or not at all.
    assert prose.take({"text": "0123456789abc".replace("9", "ü")}, 4, "f") == {"kept": 9, "cut": 5}
    assert structured.kept is not None and structured.kept.data == b"0123456789"
    assert prose.kept is not None and prose.kept.data == b"012345678"


def test_the_sender_may_have_cut_it_before(tmp_path: Path) -> None:
    kept = made(tmp_path, "structured", 10)
    assert kept.take({"state": coded(b"0123456789"), "size": 1 << 30}, 1, "f")["cut"] == (1 << 30) - 10
    # Less than there is says nothing.
    assert kept.take({"state": coded(b"0123"), "size": 1}, 1, "f") == {"kept": 4, "cut": 0}


def test_the_newest_whole_one_counts_and_each_is_written_down(tmp_path: Path) -> None:
    kept, told = made(tmp_path, "prose", 100), list[int]()
    kept.listeners.append(told.append)
    kept.take({"text": "first"}, 1, "f1")
    kept.take({"text": "second \ud800"}, 2, "f2")
    bad: list[dict[str, Any]] = [{}, {"text": None}, {"state": coded(b"x")}, {"text": "x", "size": "1"}]
    for params in bad:
        with pytest.raises(BadCheckpoint):
            kept.take(params, 3, "f3")
    assert kept.kept is not None and kept.kept.step == 2
    assert told == [1, 2]
    events = [e for e in read_journal(tmp_path / "j.jsonl").events if isinstance(e, CheckpointTaken)]
    objects = ObjectStore(tmp_path)
    assert [objects.get(event.state) for event in events] == [
        b"first",
        "second \N{REPLACEMENT CHARACTER}".encode(),
    ]
    assert [event.fingerprint for event in events] == ["f1", "f2"]


def test_a_full_disk_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = made(tmp_path, "prose", 100)
    kept.take({"text": "first"}, 1, "f")

    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept, "_objects", type("Full", (), {"put": full})())
    with pytest.raises(OSError, match="No space"):
        kept.take({"text": "second"}, 2, "f")
    assert kept.kept is not None and kept.kept.data == b"first"
