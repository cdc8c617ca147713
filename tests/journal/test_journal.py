"""The journal: chained, torn lines tolerated, a damaged byte told exactly, nothing acknowledged lost."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.errors import JournalError
from seatrial.journal.entries import Entry, digest_entries, fold, path_bytes, path_text
from seatrial.journal.events import (
    ActionFinished,
    ActionRequested,
    EffectRecorded,
    HarnessFaulted,
    TrialStarted,
)
from seatrial.journal.objects import ObjectStore
from seatrial.journal.reader import read_journal, state_at
from seatrial.journal.writer import JournalWriter


def _file(path: str, content: str) -> Entry:
    return Entry(path=path, kind="file", mode=0o644, digest=content)


def _started(objects: ObjectStore, base: list[Entry]) -> TrialStarted:
    listing = objects.put(msgspec.json.encode(base))
    return TrialStarted(
        trial="t", attempt=1, task="a/b", system="s", arm="baseline", seed=1, base=listing, fingerprint="0",
        reset_proved=True,
    )  # fmt: skip


def _write(folder: Path, steps: int = 3) -> tuple[Path, ObjectStore, str]:
    objects = ObjectStore(folder / "objects")
    path = folder / "journal.jsonl"
    journal = JournalWriter(path, lambda: 7)
    journal.append(_started(objects, [_file("workspace/kept", "k")]))
    for step in range(1, steps + 1):
        journal.append(
            ActionRequested(step=step, tool="shell", arguments={"command": "x"}, key=str(step), pre="0")
        )
        changes = [_file(f"workspace/{step}", str(step))]
        journal.append(
            ActionFinished(step=step, outcome="ok", pre="0", post="1", changes=changes, observation="0")
        )
    return path, objects, journal.close()


def test_round_trip_and_fold(tmp_path: Path) -> None:
    path, objects, digest = _write(tmp_path)
    journal = read_journal(path, digest)
    assert journal.digest == digest
    assert [event.seq for event in journal.events] == list(range(7))
    assert all(event.elapsed == 7 for event in journal.events)
    assert sorted(state_at(journal, objects, 2)) == ["workspace/1", "workspace/2", "workspace/kept"]
    with pytest.raises(JournalError, match=r"no step 4\. The last one is 3"):
        state_at(journal, objects, 4)


def test_background_effects_belong_to_the_step_before_them(tmp_path: Path) -> None:
    objects = ObjectStore(tmp_path / "objects")
    writer = JournalWriter(tmp_path / "journal.jsonl", lambda: 0)
    writer.append(_started(objects, [_file("workspace/a", "1")]))
    for step in (1, 2):
        writer.append(ActionRequested(step=step, tool="shell", arguments={}, key=str(step), pre="0"))
        writer.append(ActionFinished(step=step, outcome="ok", pre="0", post="0", observation="0"))
        gone = Entry(path="workspace/a", kind="absent")
        if step == 1:
            writer.append(EffectRecorded(actor="background", pre="0", post="1", changes=[gone]))
    writer.close()
    journal = read_journal(tmp_path / "journal.jsonl")
    assert list(state_at(journal, objects, 0)) == ["workspace/a"]
    assert state_at(journal, objects, 1) == {}


def test_large_changes_come_from_an_object(tmp_path: Path) -> None:
    objects = ObjectStore(tmp_path / "objects")
    writer = JournalWriter(tmp_path / "journal.jsonl", lambda: 0)
    writer.append(_started(objects, []))
    many = [_file(f"workspace/{n}", str(n)) for n in range(1000)]
    writer.append(ActionRequested(step=1, tool="shell", arguments={}, key="1", pre="0"))
    name = objects.put(msgspec.json.encode(many))
    writer.append(
        ActionFinished(step=1, outcome="ok", pre="0", post="1", changes_object=name, observation="0")
    )
    writer.close()
    assert len(state_at(read_journal(writer.path), objects, 1)) == 1000


def test_torn_last_line_is_dropped_and_counted(tmp_path: Path) -> None:
    path, _, _ = _write(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"kind":"action.req')
    journal = read_journal(path)
    assert journal.torn == 19
    assert len(journal.events) == 7


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_changed_byte_is_found(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path, _, digest = _write(tmp_path_factory.mktemp("run"))
    whole = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(whole) - 1))
    new = data.draw(st.integers(0, 255).filter(lambda value: value != whole[at]))
    whole[at] = new
    path.write_bytes(whole)
    with pytest.raises(JournalError, match=r"journal\.jsonl"):
        read_journal(path, digest)


def test_the_damaged_line_is_named(tmp_path: Path) -> None:
    path, _, digest = _write(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"ok"', b'"no"')
    path.write_bytes(b"".join(lines))
    offset = len(lines[0]) + len(lines[1])
    with pytest.raises(JournalError, match=rf"line 3 \(byte {offset}\)"):
        read_journal(path, digest)


def test_missing_last_line_is_found_by_the_index(tmp_path: Path) -> None:
    path, _, digest = _write(tmp_path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(JournalError, match="lines are missing"):
        read_journal(path, digest)


def test_unknown_kinds_and_fields_are_tolerated_and_counted(tmp_path: Path) -> None:
    from seatrial.journal.digest import digest_bytes

    path, _, _ = _write(tmp_path, steps=1)
    lines = path.read_bytes().splitlines(keepends=True)
    new = {"kind": "from.the.future", "seq": 3, "prev": digest_bytes(lines[-1]), "more": 1}
    later = {"kind": "harness.faulted", "seq": 4, "where": "x", "problem": "y", "new_field": 1}
    first = msgspec.json.encode(new) + b"\n"
    later["prev"] = digest_bytes(first)
    path.write_bytes(b"".join(lines) + first + msgspec.json.encode(later) + b"\n")
    journal = read_journal(path)
    assert journal.unknown == 1
    assert len(journal.events) == 4


def test_a_journal_is_never_overwritten(tmp_path: Path) -> None:
    path, _, _ = _write(tmp_path)
    with pytest.raises(JournalError, match="never overwritten"):
        JournalWriter(path, lambda: 0)


KILLED = """
import sys, os
sys.path.insert(0, {src!r})
from pathlib import Path
from seatrial.journal.writer import JournalWriter
from seatrial.journal.events import HarnessFaulted
writer = JournalWriter(Path(sys.argv[1]), lambda: 0)
n = 0
while True:
    writer.append(HarnessFaulted(where="x" * 200, problem=str(n)))
    n += 1
    os.write(1, b"%d\\n" % n)
"""


@pytest.mark.parametrize("lines", [1, 37, 400])
def test_kill_9_loses_nothing_acknowledged(tmp_path: Path, lines: int) -> None:
    src = str(Path(__file__).parents[2] / "src")
    path = tmp_path / "journal.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED.format(src=src), str(path)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    acknowledged = 0
    for _ in range(lines):
        acknowledged = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert len(read_journal(path).events) >= acknowledged


def test_full_disk_closes_the_journal_for_good(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "journal.jsonl", lambda: 0)
    os.close(writer._file)
    writer._file = os.open("/dev/full", os.O_WRONLY)
    event = ActionRequested(step=1, tool="shell", arguments={}, key="1", pre="0")
    with pytest.raises(JournalError, match="No space left"):
        writer.append(event)
    with pytest.raises(JournalError, match="closed after a failed write"):
        writer.append(event)


@given(st.binary(min_size=1).filter(lambda raw: b"\0" not in raw))
def test_any_file_name_survives_as_text(raw: bytes) -> None:
    text = path_text(raw)
    assert path_bytes(text) == raw
    assert msgspec.json.decode(msgspec.json.encode(text)) == text


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["1", "2", "absent"]))))
def test_fold_keeps_the_last_word_and_digests_ignore_order(changes: list[tuple[str, str]]) -> None:
    entries = [
        Entry(path=path, kind="absent") if what == "absent" else _file(path, what) for path, what in changes
    ]
    state = fold({}, entries)
    model = dict(changes)
    assert {p: e.digest for p, e in state.items()} == {p: w for p, w in model.items() if w != "absent"}
    values = list(state.values())
    assert digest_entries(values) == digest_entries(reversed(values))


def test_objects_are_checked_against_their_name(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)
    name = store.put(b"hello")
    assert store.get(name) == b"hello"
    Path(store.path(name)).write_bytes(b"hellO")
    with pytest.raises(JournalError, match="does not match its name"):
        store.get(name)
    with pytest.raises(JournalError, match="object is missing"):
        store.get("00" * 32)


def test_threads_may_append_at_the_same_time(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "journal.jsonl", lambda: 0)
    together = threading.Barrier(4)

    def write(number: int) -> None:
        together.wait()
        for count in range(200):
            writer.append(HarnessFaulted(where=str(number), problem="x" * (count % 50)))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal = read_journal(tmp_path / "journal.jsonl", writer.close())
    assert [event.seq for event in journal.events] == list(range(800))
