"""Records for estimates: one a trial, with what is unfinished, limited and mixed."""

import msgspec
import pytest

from seatrial.errors import JournalError, SpecError
from seatrial.importers.imported import Wish, import_run
from seatrial.importers.load import load_records
from seatrial.records.table import table_schema, write_records
from tests.importers.conftest import TAUBENCH
from tests.measure.trials import WITH_REPAIR, verdicts
from tests.records.test_table import record
from tests.report.runs import RunMaker, cell


def table(path, *records):
    write_records(path, records)
    return path


def test_a_run_gives_the_attempt_that_counts_and_what_is_unfinished(tmp_path):
    plan = [cell("t-1"), cell("t-2", "hasty")]
    made = RunMaker(tmp_path / "run", plan)
    made.trial(plan[0], None, stop="environment_fault", infrastructure=True, steps=2)
    made.trial(plan[0], verdicts(WITH_REPAIR), attempt=2)
    loaded = load_records(tmp_path / "run")
    assert [(r.trial, r.attempt) for r in loaded.records] == [("t-1", 2)]
    assert loaded.records[0].repeat == plan[0].repeat
    assert (loaded.attempts, loaded.unfinished, loaded.mixed) == (2, ["t-2"], [])
    assert (loaded.name, loaded.experiments) == ("pilot", ["e" * 64])


def test_an_imported_run_is_read_from_its_objects_and_not_from_its_table(tmp_path):
    manifest, records = import_run(Wish("taubench", [TAUBENCH]), tmp_path / "run")
    (tmp_path / "run" / "records.parquet").write_bytes(b"forged")
    loaded = load_records(tmp_path / "run")
    assert loaded.records == records
    assert manifest.imported is not None and loaded.limits == manifest.imported.limits


def test_a_table_gives_the_attempt_that_counts(tmp_path):
    lost = record(attempt=1)
    lost.terminal_class = "infrastructure"
    path = table(tmp_path / "r.parquet", record(attempt=2), lost, record(attempt=3))
    loaded = load_records(path)
    assert [(r.trial, r.attempt) for r in loaded.records] == [("t-1", 2)]
    assert loaded.attempts == 3


def test_a_csv_of_our_columns_reads_like_its_parquet(tmp_path):
    import polars

    rows = [record(money=0.5, censored=True), record("t-2", human_minutes=3.0, frozen_verifiers=True)]
    frame = polars.DataFrame(
        [msgspec.structs.asdict(row) for row in rows], schema=table_schema(), orient="row"
    )
    lists = [name for name, kind in frame.schema.items() if kind == polars.List]
    frame.drop(lists).write_csv(tmp_path / "r.csv")
    loaded = load_records(tmp_path / "r.csv")
    assert loaded.records == rows and loaded.limits == []


def test_columns_of_a_csv_that_are_not_ours_are_named(tmp_path):
    (tmp_path / "r.csv").write_text("trial,task,system,terminal_class,counted\nt,a,s,unknown,1\n")
    assert load_records(tmp_path / "r.csv").limits == ["Columns that were not read: counted."]


def test_versions_and_protocols_that_differ_are_said_to_be_mixed(tmp_path):
    rows = [record(frozen_verifiers=True, sandboxed=True), record("t-2", frozen_verifiers=False)]
    rows[1].experiment, rows[1].task_version, rows[1].sandboxed = "f", "2", False
    assert load_records(table(tmp_path / "r.parquet", *rows)).mixed == [
        "Rows of 2 experiments: e, f.",
        "1 tasks in several versions: f/a (1, 2).",
        "Some rows were judged by the frozen verifiers, others by other ones.",
        "Some trials ran in a sandbox, others without one.",
    ]


@pytest.mark.parametrize(
    ("column", "value"),
    [("score", float("nan")), ("money", float("inf")), ("human_minutes", -1.0), ("actions", -1)],
)
def test_a_table_with_values_that_cannot_be_is_refused(tmp_path, column, value):
    path = table(tmp_path / "r.parquet", record(), record("t-2", **{column: value}))
    with pytest.raises(SpecError, match=f"trial t-2, column {column}: {value} cannot be"):
        load_records(path)


def test_an_attempt_twice_is_refused(tmp_path):
    row = "t,1,a,s,unknown\n"
    (tmp_path / "r.csv").write_text("trial,attempt,task,system,terminal_class\n" + row * 2)
    with pytest.raises(JournalError, match="more than once"):
        load_records(tmp_path / "r.csv")


def test_what_holds_no_records_is_refused(tmp_path):
    (tmp_path / "r.txt").write_text("x")
    (tmp_path / "run").mkdir()
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    for name, kind, message in (
        ("r.txt", SpecError, "is no table that is known here"),
        ("none.parquet", SpecError, "cannot be read"),
        ("run", JournalError, "is no run folder"),
        ("other.csv", SpecError, "column trial: the column is missing.*seatrial import csv"),
    ):
        with pytest.raises(kind, match=message):
            load_records(tmp_path / name)
    with pytest.raises(SpecError, match="holds no trial"):
        load_records(table(tmp_path / "r.parquet"))


def test_one_repeat_under_two_trials_is_refused(tmp_path):
    twice = [record(name, repeat=1) for name in ("t-1", "t-2")]
    path = table(tmp_path / "r.parquet", *twice)
    with pytest.raises(SpecError, match=r"trial t-2.*repeat 1 of .* is t-1"):
        load_records(path)
    apart = [record(name, repeat=1, batch=name) for name in ("t-1", "t-2")]
    assert len(load_records(table(tmp_path / "s.parquet", *apart)).records) == 2


@pytest.mark.parametrize(
    ("tier", "machine", "known"),
    [("takeover", None, True), ("none", None, False), ("approval", None, None), ("facts", True, True),
     (None, None, None), (None, False, False), ("takeover", True, True), ("none", False, False)],
)  # fmt: skip
def test_the_tier_of_help_says_whether_a_person_acted(tmp_path, tier, machine, known):
    row = record(human_tier=tier, human_machine=machine)
    (loaded,) = load_records(table(tmp_path / "r.parquet", row)).records
    assert loaded.human_machine is known


@pytest.mark.parametrize(
    ("columns", "place", "value"),
    [
        ({"human_tier": "takeover", "human_machine": False}, "human_machine", 'false beside .* "takeover"'),
        ({"human_tier": "none", "human_machine": True}, "human_machine", 'true beside .* "none"'),
        ({"human_tier": "none", "human_interventions": 5}, "human_interventions", '5 beside .* "none"'),
        ({"system": "s (human-machine)"}, "system", r'"s \(human-machine\)" is a name of .* such as "s"'),
        ({"system": " (human-machine unknown)"}, "system", 'such as "a"'),
    ],
)
def test_a_row_that_contradicts_itself_on_people_is_refused(tmp_path, columns, place, value):
    odd = msgspec.structs.replace(record(), **columns)
    path = table(tmp_path / "r.parquet", record("t-0"), odd)
    with pytest.raises(SpecError, match=rf"r\.parquet: trial t-1, column {place}: .*{value}"):
        load_records(path)
