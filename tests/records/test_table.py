"""Records as Parquet: exact types, no duplicates, clear errors (G21)."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial.errors import JournalError
from seatrial.records.table import MOST_ROWS, read_records, table_schema, write_records
from seatrial.records.trial import TrialRecord


def record(trial="t-1", attempt=1, **more) -> TrialRecord:
    known = {
        "experiment": "e",
        "task": "f/a",
        "task_version": "1",
        "family": "f",
        "system": "s",
        "arm": "baseline",
    }
    return TrialRecord(trial=trial, attempt=attempt, seed=1, terminal_class="unknown", **known, **more)


def test_a_table_of_nulls_keeps_its_types(tmp_path):
    import polars

    write_records(tmp_path / "r.parquet", [record()])
    schema = polars.read_parquet_schema(tmp_path / "r.parquet")
    assert dict(schema) == dict(table_schema())
    assert list(schema) == list(TrialRecord.__struct_fields__)
    assert schema["strict_success"] == polars.Boolean
    assert schema["money"] == polars.Float64
    assert schema["flaky_verifiers"] == polars.List(polars.String)
    assert read_records(tmp_path / "r.parquet") == [record()]


def test_no_records_are_a_table_too(tmp_path):
    write_records(tmp_path / "r.parquet", [])
    assert read_records(tmp_path / "r.parquet") == []


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
FIELDS = st.fixed_dictionaries(
    {
        "strict_success": st.none() | st.booleans(),
        "money": st.none() | st.floats(allow_nan=False),
        "elapsed_us": st.none() | st.integers(0, 2**62),
        "blocking_subgoal": st.none() | TEXTS,
        "flaky_verifiers": st.none() | st.lists(TEXTS),
    }
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(rows=st.lists(FIELDS, max_size=4))
def test_what_is_written_is_read_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("table") / "r.parquet"
    records = [record(f"t-{number}", **fields) for number, fields in enumerate(rows)]
    write_records(path, records)
    assert read_records(path) == records


def test_an_attempt_twice_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(JournalError, match="t-1 attempt 1"):
        write_records(tmp_path / "r.parquet", [record(), record(attempt=2), record()])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("named", [{"system": "a\0b"}, {"flaky_verifiers": ["fine", "\0"]}])
def test_a_nul_character_is_refused_on_both_ways(tmp_path, named):
    import polars

    bad = msgspec.structs.replace(record(), **named)
    with pytest.raises(JournalError, match=f"{next(iter(named))} of trial 't-1' holds a NUL"):
        write_records(tmp_path / "r.parquet", [bad])
    frame = polars.DataFrame([msgspec.structs.asdict(bad)], schema=table_schema(), orient="row")
    frame.write_parquet(tmp_path / "other.parquet")
    with pytest.raises(JournalError, match="NUL"):
        read_records(tmp_path / "other.parquet")


def test_a_file_with_an_attempt_twice_is_refused(tmp_path):
    import polars

    rows = [msgspec.structs.asdict(record())] * 2
    polars.DataFrame(rows, schema=table_schema()).write_parquet(tmp_path / "r.parquet")
    with pytest.raises(JournalError, match="more than once"):
        read_records(tmp_path / "r.parquet")


@pytest.mark.parametrize("data", [b"", b"PAR1", b"no parquet at all" * 9])
def test_what_is_no_parquet_is_an_error(tmp_path, data):
    (tmp_path / "r.parquet").write_bytes(data)
    with pytest.raises(JournalError, match="seatrial measure"):
        read_records(tmp_path / "r.parquet")


def test_a_cut_or_changed_file_is_an_error_or_reads_the_same(tmp_path):
    path = tmp_path / "r.parquet"
    write_records(path, [record(blocking_subgoal="x" * 50)])
    whole = path.read_bytes()
    for cut in range(0, len(whole), 97):
        path.write_bytes(whole[:cut])
        with pytest.raises(JournalError):
            read_records(path)


def test_a_missing_file_and_another_table_are_errors(tmp_path):
    import polars

    with pytest.raises(JournalError, match="cannot be read"):
        read_records(tmp_path / "none.parquet")
    polars.DataFrame({"a": [1]}).write_parquet(tmp_path / "r.parquet")
    with pytest.raises(JournalError, match="no table of trials"):
        read_records(tmp_path / "r.parquet")


def test_a_column_of_a_later_release_is_ignored(tmp_path):
    import polars

    frame = polars.DataFrame([msgspec.structs.asdict(record())], schema=table_schema())
    frame.with_columns(later=polars.lit(1)).write_parquet(tmp_path / "r.parquet")
    assert read_records(tmp_path / "r.parquet") == [record()]


def test_a_table_of_too_many_rows_is_refused_unread(tmp_path):
    import polars

    path = tmp_path / "t.parquet"
    polars.DataFrame({"trial": polars.repeat("a", MOST_ROWS + 1, eager=True)}).write_parquet(path)
    with pytest.raises(JournalError, match=f"has {MOST_ROWS + 1} rows"):
        read_records(path)
