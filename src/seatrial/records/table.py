"""TrialRecords as a Parquet file. The schema comes from the struct, so a column of nulls keeps its type."""

import contextlib
import io
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from seatrial.errors import JournalError
from seatrial.records.trial import TrialRecord

if TYPE_CHECKING:
    import polars

# Far more than any experiment has trials; each row takes about a kilobyte once it is read.
MOST_ROWS = 1_000_000
REMEDY = "Delete it and make it anew with `seatrial measure RUN`."


def write_records(path: Path, records: Iterable[TrialRecord]) -> None:
    """Write records whole or not at all; an existing file is replaced.

    Raises:
        JournalError: two records are of the same attempt, a text holds a NUL character, or the file cannot
            be written.
    """
    # Imported here because it takes longer to load than most commands take to run.
    import polars

    rows = list(records)
    refuse_duplicates(str(path), rows)
    _refuse_nul(str(path), rows)
    frame = polars.DataFrame(
        [msgspec.structs.asdict(row) for row in rows], schema=table_schema(), orient="row"
    )
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(buffer.getvalue())
        os.replace(temporary, path)
    except OSError as fault:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise JournalError(f"{path}: cannot be written: {fault.strerror}.") from fault


def read_records(path: Path) -> list[TrialRecord]:
    """Read and check a table that ``write_records`` wrote; columns of later releases are ignored.

    Raises:
        JournalError: missing, damaged, not such a table, a text holds a NUL character, or two rows are of
            the same attempt.
    """
    # Imported here because it takes longer to load than most commands take to run.
    import polars

    try:
        data = path.read_bytes()
        count = count_rows(data)
        rows = polars.read_parquet(io.BytesIO(data)).to_dicts() if count <= MOST_ROWS else []
    except OSError as fault:
        raise JournalError(f"{path}: cannot be read: {fault.strerror}. {REMEDY}") from fault
    # A damaged file ends in one of polars' many errors or, deeper in its engine, in a panic.
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as fault:
        raise JournalError(f"{path}: is no readable Parquet file: {fault}. {REMEDY}") from fault
    if count > MOST_ROWS:
        raise JournalError(f"{path}: has {count} rows, more than {MOST_ROWS}. Divide it.")
    try:
        records = msgspec.convert(rows, list[TrialRecord])
    except msgspec.ValidationError as fault:
        raise JournalError(f"{path}: is no table of trials: {fault}. {REMEDY}") from fault
    _refuse_nul(str(path), records)
    refuse_duplicates(str(path), records)
    return records


def count_rows(data: bytes) -> int:
    """Rows of a Parquet file as its end tells them, before any is read: a small file may claim many.

    Raises:
        PolarsError, PanicException: it is no readable Parquet file.
    """
    # Imported here because it takes longer to load than most commands take to run.
    import polars

    return int(polars.scan_parquet(io.BytesIO(data)).select(polars.len()).collect().item())


def refuse_duplicates(where: str, records: Iterable[TrialRecord]) -> None:
    """Stop an aggregation that would count an attempt twice (G21).

    Raises:
        JournalError: names the attempts.
    """
    counts = Counter((record.experiment, record.trial, record.attempt) for record in records)
    twice = [f"{trial} attempt {attempt}" for (_, trial, attempt), count in counts.items() if count > 1]
    if twice:
        raise JournalError(
            f"{where}: these attempts appear more than once: {', '.join(twice)}. Remove the copies."
        )


def _refuse_nul(where: str, records: Iterable[TrialRecord]) -> None:
    """Refuse NUL characters, at which other programs would take a name to end.

    Raises:
        JournalError: names the trial and its column.
    """
    for record in records:
        for name in record.__struct_fields__:
            value = getattr(record, name)
            texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
            if any("\0" in text for text in texts):
                raise JournalError(
                    f"{where}: {name} of trial {record.trial!r} holds a NUL character. Remove it."
                )


def table_schema() -> "polars.Schema":
    """Column name to polars type, in the struct's order."""
    # Imported here because it takes longer to load than most commands take to run.
    import polars

    fields = msgspec.structs.fields(TrialRecord)
    return polars.Schema({field.name: column_type(field.type, polars) for field in fields})


def column_type(annotation: Any, polars: Any) -> Any:
    """The polars type of a field: null is allowed in every column, so only the other part counts."""
    shape = msgspec.inspect.type_info(annotation)
    if isinstance(shape, msgspec.inspect.UnionType):
        shape = next(part for part in shape.types if not isinstance(part, msgspec.inspect.NoneType))
    if isinstance(shape, msgspec.inspect.ListType):
        return polars.List(polars.String)
    plain = {
        msgspec.inspect.BoolType: polars.Boolean,
        msgspec.inspect.IntType: polars.Int64,
        msgspec.inspect.FloatType: polars.Float64,
        msgspec.inspect.StrType: polars.String,
        msgspec.inspect.LiteralType: polars.String,
    }
    return plain[type(shape)]
