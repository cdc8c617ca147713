"""Any CSV or Parquet table, by a mapping file."""

import io
import math
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from seatrial.errors import SpecError, UsageError
from seatrial.importers.csv_text import OTHER_SEPARATORS, divided_by, read_csv
from seatrial.importers.mapping import KINDS, SECONDS, Column, Mapping, allowed_words, least, unit_of
from seatrial.importers.request import Imported, Piece, Request, Seen, class_of, unused_columns
from seatrial.importers.rows import Row
from seatrial.records.arms import BASELINE
from seatrial.records.table import MOST_ROWS, count_rows
from seatrial.records.trial import TrialRecord
from seatrial.spec.faults import choose, shown

EXPECTS = "a CSV or Parquet table with a line of column names"
_PARQUET = b"PAR1"
UNKNOWN = "leave it empty, or list it under `missing`"
_SAME_TRIAL = "Remove one of the two, or map trial, repeat or batch so that they differ"


def read_mapped(request: Request) -> Imported:
    """One record a row.

    Raises:
        UsageError: no mapping was given, or names of systems were.
        SpecError: a mapped column is missing, a value cannot be, or two rows are of the same trial.
    """
    request.refuse_systems("csv")
    if request.mapping is None:
        raise UsageError("import csv: needs --mapping FILE. docs/importing.md describes it.")
    records, seen = [], Seen()
    columns: set[str] = set()
    for piece in request.pieces:
        for number, row in enumerate(read_table(piece, EXPECTS, request.mapping.separator)):
            if number == 0:
                _require(request.mapping, row)
                columns |= set(row.values)
            records.append(record_of(request.mapping, row, request.experiment))
            seen.add(row, _blamed(request.mapping), (records[-1].trial, records[-1].attempt), _SAME_TRIAL)
    used = {rule.column for rule in request.mapping.columns.values()} | request.mapping.ignore
    limits = [*request.mapping.limits, *_general(request.mapping, records)]
    return Imported(records, limits + unused_columns([name for name in columns if name not in used]))


def read_table(piece: Piece, expects: str, separator: str = ",") -> Iterator[Row]:
    """Rows of a CSV or Parquet file; ``separator`` stands between the cells of a CSV.

    Raises:
        SpecError: it is neither, or has no row.
    """
    if not piece.data.startswith(_PARQUET):
        yield from read_csv(piece, expects, separator=separator)
        return
    # Imported here because it takes longer to load than most commands take to run.
    import polars

    try:
        count = count_rows(piece.data)
        frame = polars.read_parquet(io.BytesIO(piece.data), n_rows=MOST_ROWS if count <= MOST_ROWS else 0)
    # A damaged file ends in one of polars' many errors or, deeper in its engine, in a panic.
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError) as fault:
        raise SpecError(piece.name, "", f"is no readable Parquet file: {fault}", f"Give {expects}") from fault
    if count > MOST_ROWS:
        raise SpecError(piece.name, "", f"has {count} rows, more than {MOST_ROWS}", "Divide it into several")
    if frame.is_empty():
        raise SpecError(piece.name, "", "has no row", f"Give {expects}")
    for number, values in enumerate(frame.iter_rows(named=True), 1):
        yield Row(piece.name, f"row {number}", values)


def record_of(mapping: Mapping, row: Row, experiment: str) -> TrialRecord:
    """One row as a record: what is not mapped is null, but for the arm, the first attempt and the class.

    Raises:
        SpecError: a value cannot be, or class and verdict contradict each other.
    """
    found: dict[str, Any] = dict.fromkeys(("task_version", "family", "seed"))
    found |= {"arm": BASELINE, "attempt": 1}
    found |= mapping.constants
    for target, rule in mapping.columns.items():
        value = cell(row, target, rule, mapping.missing)
        if value is None and target in ("task", "system", "arm", "attempt", "trial", "terminal_class"):
            raise row.fault(rule.column, f"{target} is unknown", _needed(target, row.get(rule.column)))
        found[target] = value
    found.setdefault("trial", _trial_name(found))
    strict = found.get("strict_success")
    found.setdefault("terminal_class", class_of(strict))
    if (found["terminal_class"], strict) == ("success", False):
        raise row.fault(_blamed(mapping), "is a success whose strict_success is false", "Correct the mapping")
    return TrialRecord(experiment=experiment, **found)


def cell(row: Row, target: str, rule: Column, missing: Collection[str]) -> Any:
    """The value of one target in one row; null when the source does not say.

    Raises:
        SpecError: the value does not fit the target.
    """
    word = _word(row.get(rule.column))
    if not word and rule.values is not None and "" in rule.values:
        return _fitting(target, rule.values[""])
    if word is None or word in missing or word in rule.missing:
        return None
    if rule.values is not None:
        if word in rule.values:
            return _fitting(target, rule.values[word])
        if rule.otherwise is None:
            raise row.fault(
                rule.column,
                f"unknown value {shown(word)}",
                choose(word, rule.values, "one, or add it to values"),
            )
        return _fitting(target, rule.otherwise)
    kind = KINDS[target]
    if kind is str:
        allowed = allowed_words(target)
        return row.one_of(rule.column, allowed) if allowed else _text(row, rule.column)
    if kind is bool:
        return _flag(row, rule)
    return _number(row.parsed(rule.column), target, rule)


def _needed(target: str, value: Any) -> str:
    """What to do about a cell that says nothing of what every row needs."""
    if target != "terminal_class":
        return "Every row needs one"
    if not _word(value):
        return 'Say what an empty cell means: values = { "" = "unknown", … }'
    return "Take it from missing and say under values what it means, such as unknown"


def _flag(row: Row, rule: Column) -> bool | None:
    parsed = row.parsed(rule.column)
    if rule.at_least is not None:
        number = _number(parsed, "score", rule)
        return None if number is None else number >= rule.at_least
    value = parsed.get(rule.column)
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if isinstance(value, str):
        raise row.fault(
            rule.column, f"{shown(value)} is not true or false",
            f"Say what words mean, such as values = {{ yes = true, no = false }}; where unknown {UNKNOWN}",
        )  # fmt: skip
    return parsed.flag(rule.column)


def _number(row: Row, target: str, rule: Column) -> float | int | None:
    value = row.get(rule.column)
    if isinstance(value, str):
        raise row.fault(rule.column, f"{shown(value)} is no number", f"Write one; where unknown {UNKNOWN}")
    if isinstance(value, float) and not math.isfinite(value):
        raise row.fault(
            rule.column, f"{value} is no usable number", f"Write a finite one; where unknown {UNKNOWN}"
        )
    own, low = unit_of(target), least(target)
    factor = SECONDS[rule.unit] / SECONDS[own] if own and rule.unit else 1.0
    if KINDS[target] is int and factor == 1.0:
        return row.whole(rule.column, -(2**63) if low is None else int(low))
    value = row.number(rule.column, low)
    if value is None:
        return None
    if target == "human_minutes" and value == 0:
        raise row.fault(rule.column, "0 is no human time", "Name it under missing if it means unknown")
    return round(value * factor) if KINDS[target] is int else value * factor


def _fitting(target: str, value: Any) -> Any:
    return float(value) if KINDS[target] is float else value


def _text(row: Row, column: str) -> str:
    """Ids are often numbers; a Parquet column holds them as such."""
    value = row.get(column)
    word = _word(value)
    if isinstance(value, list | dict | bytes) or "\0" in (word or ""):
        raise row.fault(
            column, f"{shown(word)} is no name", "Write one text without NUL characters, and no list of them"
        )
    if word is None or not word.strip() or (isinstance(value, float) and not math.isfinite(value)):
        raise row.fault(
            column, f"{shown(word)} is no name", f"Write a text that is not blank; where unknown {UNKNOWN}"
        )
    return word


def _word(value: Any) -> str | None:
    """A cell as the text that a mapping's words are compared with."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def _trial_name(found: dict[str, Any]) -> str:
    parts = [found["system"], found["task"]]
    parts += [str(found[name]) for name in ("batch", "repeat") if found.get(name) is not None]
    if found["arm"] != BASELINE:
        parts.append(found["arm"])
    return "/".join(parts)


def _blamed(mapping: Mapping) -> str:
    """The column that a fault of a whole row is put to."""
    rules = [mapping.columns[name] for name in ("trial", "task", "system") if name in mapping.columns]
    return rules[0].column if rules else "task"


def _require(mapping: Mapping, row: Row) -> None:
    """Check a file's columns by its first row."""
    for target, rule in mapping.columns.items():
        if rule.column not in row.values:
            remedy = choose(rule.column, map(str, row.values), "a column of the table")
            if mark := divided_by([str(name) for name in row.values]):
                remedy = (
                    f"Its cells seem to be divided by {OTHER_SEPARATORS[mark]}: write separator = "
                    f"{shown(mark)} at the top of the mapping"
                )
            problem = f"has no column {shown(rule.column)}, which the mapping takes {target} from"
            raise SpecError(row.file, "", problem, remedy)


def _general(mapping: Mapping, records: list[TrialRecord]) -> Iterator[str]:
    given = {**mapping.columns, **mapping.constants}
    if "human_minutes" not in given:
        yield "The table gives no human time: human_minutes is unknown."
    if "censored" not in given:
        yield "Whether a trial was cut off by a limit is unknown: the mapping names no column for censored."
    if "family" not in given:
        yield (
            "family is unknown: the mapping names no column for it, so each task counts as a family of its "
            "own where weights or draws go by family."
        )
    if "safe_success" not in given:
        yield "safe_success is unknown: the mapping names no column for it."
    classes = Counter(record.terminal_class for record in records)
    yield "Rows by class: " + ", ".join(f"{count} {name}" for name, count in sorted(classes.items())) + "."
