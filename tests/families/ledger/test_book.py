"""The figures of an instance: real ones, untidy on purpose, and what the rules make of them."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from seatrial.errors import SpecError
from seatrial.families.ledger import SOURCES, Knobs
from seatrial.families.ledger import sources as data_sets
from seatrial.families.ledger.book import MISSING, NUMBERING, WORLDS, Book, Line, Rules, World
from seatrial.families.ledger.prove import prove
from seatrial.families.ledger.sources import Archive, Entry, entries_of
from seatrial.families.sdist import archive_of
from tests.families.ledger.conftest import DOWNLOADS, book

BY_HAND = (
    Line(1001, "A1", " Rain", "2012-03-01", "4.7", "m/s"),
    Line(1002, "A1", "RA", "2012-03-01", "6", "dm/s"),  # the later line counts, under the short name
    Line(1003, "A1", "rain", "2012-03-01", "n/a", "m/s"),  # without amount: as if it were not there
    Line(1004, "B2", "sun ", "2013-01-02", "9.1", "m/s"),  # over the ceiling
    Line(1005, "C3", "snow", "2013-01-02", "80", "dm/s"),  # no short name, at the ceiling
    Line(1006, "D4", "sun", "2013-01-02", "-99", "dm/s"),
)


def by_hand(**rules: object) -> Book:
    given = {"ceiling": 80, "core_ceiling": 7, "stale_ceiling": 99, "stages": (), "operations": ()}
    return Book(
        SOURCES["weather"], Knobs(depth=1, breadth=1), (BY_HAND,), Rules(**{**given, **rules}), (1004, 12)
    )


def kept(made: Book, world: World) -> list[tuple[str, str, int]]:
    return [(each.ref, each.party, each.amount) for each in made.kept(world)]


def test_the_rules_on_lines_worked_out_by_hand():
    usual = by_hand()
    assert kept(usual, World()) == [("A1", "rain", 6), ("B2", "sun", 80), ("C3", "snow", 80)]
    assert kept(usual, World("core")) == [("A1", "rain", 6), ("B2", "sun", 7), ("C3", "snow", 7)]
    # A correction stands as it is, whatever the ceiling.
    assert kept(usual, World("core", corrected=True))[1] == ("B2", "sun", 12)
    assert usual.sums(World()) == [{("rain", "2012"): 6, ("snow", "2013"): 80, ("sun", "2013"): 80}]


def test_stages_and_the_report_worked_out_by_hand():
    made = by_hand(stages=((2, 1), (3, 5)), least=600, local_least=40)
    assert [each.amount for each in made.staged(World())] == [(6 * 2 + 1) * 3 + 5, 488, 488]
    assert made.report(World()) == [("all", 0)]
    assert made.report(World("local")) == [("rain", 44), ("snow", 488), ("sun", 488), ("all", 1020)]
    # By year nothing is left out.
    assert made.report(World(), by=1) == [("2012", 44), ("2013", 976), ("all", 1020)]


@pytest.mark.parametrize("data", SOURCES)
@pytest.mark.parametrize("seed", range(6))
def test_every_instance_is_untidy_and_every_disturbance_tells(data: str, seed: int):
    made = book(data, seed=seed, breadth=3)
    lines = [line for batch in made.batches for line in batch]
    counting = [line for line in lines if line.amount not in MISSING]
    assert len({line.ref for line in counting}) < len(counting) < len(lines)
    assert {line.unit for line in lines} == {unit for unit, _ in made.source.units}
    assert any(line.party.strip().lower() in made.aliases for line in lines)
    for number, batch in enumerate(made.batches, start=1):
        assert all(number * NUMBERING < line.line < (number + 1) * NUMBERING for line in batch)
    usual = World()
    for world in WORLDS:
        same = [made.sums(world)[n] == made.sums(usual)[n] for n in range(made.knobs.depth)]
        assert (
            all(same) if world in (usual, World("local")) else not any(same) or world == World("local", True)
        )
    assert made.report(World("local")) != made.report(usual)


def test_entries_are_those_of_the_data_set():
    archive = archive_of(Archive(), DOWNLOADS)
    weather = entries_of(SOURCES["weather"], archive)
    assert weather[0] == Entry("2012-01-01", "drizzle", 47)
    assert Entry("2006-01-01", "utilities", 5498) not in entries_of(SOURCES["employment"], archive)
    assert Entry("2007-01-01", "construction", 77250) in entries_of(SOURCES["employment"], archive)
    assert Entry("2001-01-01", "fossil fuels", 35361) in entries_of(SOURCES["electricity"], archive)


def test_only_public_data_is_taken():
    assert {source.licence for source in SOURCES.values()} == {"public domain"}
    assert all(source.origin for source in SOURCES.values())


def test_other_bytes_are_refused(tmp_path: Path):
    (tmp_path / f"{Archive().name}-{Archive().version}.tar.gz").write_bytes(b"other")
    with pytest.raises(SpecError, match=hashlib.sha256(b"other").hexdigest()):
        archive_of(Archive(), tmp_path)


def test_an_archive_without_the_file_is_refused(monkeypatch: pytest.MonkeyPatch):
    archive = archive_of(Archive(), DOWNLOADS)
    with pytest.raises(SpecError, match="cannot be read"):
        entries_of(replace(SOURCES["weather"], file="absent.csv"), archive)
    monkeypatch.setattr(data_sets, "read_member", lambda *_: b"date,weather,wind\n")
    with pytest.raises(SpecError, match="holds only 0 entries"):
        entries_of(SOURCES["weather"], archive)


def test_a_book_whose_statements_make_something_else_is_refused(tmp_path: Path):
    made = book(depth=2)

    class Other(Book):
        def report(self, world: World, by: int = 0) -> list[tuple[str, int]]:
            return [("nobody", 1)]

    prove(made, tmp_path)
    fields = {name: getattr(made, name) for name in ("source", "knobs", "batches", "rules", "corrected")}
    with pytest.raises(SpecError, match=r"the report by party \(base\): holds"):
        prove(Other(**fields), tmp_path)
