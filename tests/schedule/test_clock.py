"""A wall clock that is set back moves no order, no duration and no measure."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from seatrial.evidence.read import read_run
from seatrial.journal import writer
from seatrial.journal.digest import digest_bytes
from seatrial.journal.events import HarnessFaulted
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder
from seatrial.journal.writer import JournalWriter
from tests.schedule.small import DONE, experiment, go_on, plan


def test_a_journal_is_written_and_read_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SetBack(datetime):
        hours = 0

        @classmethod
        def now(cls, tz: object = None) -> datetime:
            cls.hours += 1
            return datetime(2026, 11, 29, tzinfo=UTC) - timedelta(hours=cls.hours)

    monkeypatch.setattr(writer, "datetime", SetBack)
    journal = JournalWriter(tmp_path / "journal.jsonl", lambda: 5)
    for number in range(3):
        journal.append(HarnessFaulted(where="here", problem=str(number)))
    digest = journal.close()
    events = read_journal(tmp_path / "journal.jsonl", digest).events
    assert [event.seq for event in events] == [0, 1, 2]
    assert [event.time for event in events] == sorted((event.time for event in events), reverse=True)


def test_records_do_not_depend_on_the_wall_clock(tmp_path: Path) -> None:
    go_on(experiment(tmp_path, {"a": ["exit 3", "echo no > done", DONE]}), tmp_path / "run")
    run = RunFolder.open(tmp_path / "run")
    (trial,) = plan(run.folder)
    (before,) = read_run(run.folder).attempts
    path = run.journal_path(trial, 1)
    path.write_bytes(backwards(path.read_bytes()))
    digest = read_journal(path).digest
    was = run.index()[0].digest
    for kept in (run.folder / "index.jsonl", run.verdicts_path(trial, 1)):
        kept.write_bytes(kept.read_bytes().replace(was.encode(), digest.encode()))
    assert run.index()[0].digest == digest
    (after,) = read_run(run.folder).attempts
    assert after.record == before.record
    assert after.progress == before.progress
    assert after.record.elapsed_us


def backwards(data: bytes) -> bytes:
    """The same journal, chained anew, by a clock that ran backwards."""
    plain = [msgspec.json.decode(line) for line in data.splitlines()]
    times = sorted((line["time"] for line in plain), reverse=True)
    written, previous = b"", ""
    for line, time in zip(plain, times, strict=True):
        again = msgspec.json.encode({**line, "time": time, "prev": previous}) + b"\n"
        previous = digest_bytes(again)
        written += again
    return written
