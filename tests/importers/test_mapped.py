"""Any table by a mapping: rules, units, words, and refusals that name row, column, value and remedy."""

import io
import re
from typing import get_type_hints

import pytest

from seatrial.errors import SpecError, UsageError
from seatrial.importers.mapping import KINDS, read_mapping
from seatrial.records.table import MOST_ROWS
from seatrial.records.trial import TrialRecord
from tests.importers.conftest import ROOT
from tests.importers.small import read

HEAD = 'schema = "seatrial/mapping@1"\n'
BASE = HEAD + '[columns]\ntask = "t"\nsystem = "s"\n'


def rows(table: str, mapping: str):
    return read("csv", {"table.csv": table.encode()}, mapping)


def one(value: str, rule: str, target: str = "score") -> object:
    [record] = rows(f"t,s,x\na,m,{value}\n", BASE + f"{target} = {rule}\n").records
    return getattr(record, target)


def test_a_row_has_what_is_mapped_and_nulls():
    [record] = rows("t,s,x\na,m,1\n", BASE).records
    assert (record.task, record.system, record.arm, record.attempt, record.trial) == (
        "a", "m", "baseline", 1, "m/a",
    )  # fmt: skip
    assert (record.terminal_class, record.family, record.seed, record.censored) == ("unknown",) + (None,) * 3


@pytest.mark.parametrize(
    ("target", "rule", "value", "expected"),
    [
        ("score", '"x"', "0.5", 0.5),
        ("score", '"x"', "", None),
        ("score", '{ column = "x", missing = ["-"] }', "-", None),
        ("score", '"x"', "-2.5e-1", -0.25),
        ("strict_success", '"x"', "True", True),
        ("strict_success", '"x"', "0", False),
        ("strict_success", '{ column = "x", at_least = 0.95 }', "0.95", True),
        ("strict_success", '{ column = "x", at_least = 0.95 }', "0.9", False),
        ("strict_success", '{ column = "x", at_least = 0.95 }', "", None),
        ("censored", '{ column = "x", values = { late = true }, otherwise = false }', "late", True),
        ("censored", '{ column = "x", values = { late = true }, otherwise = false }', "done", False),
        ("terminal_class", '{ column = "x", values = { ok = "success" } }', "ok", "success"),
        ("terminal_class", '{ column = "x", values = { "" = "unknown", ok = "success" } }', "", "unknown"),
        ("censored", '{ column = "x", values = { "" = false, late = true } }', "", False),
        ("censored", '{ column = "x", values = { late = true }, otherwise = false }', "", None),
        ("elapsed_us", '{ column = "x", unit = "minutes" }', "1.5", 90_000_000),
        ("elapsed_us", '"x"', "7", 7),
        ("human_minutes", '{ column = "x", unit = "hours" }', "0.5", 30.0),
        ("human_minutes", '{ column = "x", unit = "seconds" }', "30", 0.5),
        ("actions", '"x"', "12", 12),
        ("seed", '"x"', "-3", -3),
        ("batch", '"x"', "7", "7"),
        ("money", '{ column = "x", values = { free = 0 } }', "free", 0.0),
    ],
)
def test_rules(target, rule, value, expected):
    found = one(value, rule, target)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    ("target", "rule", "value", "message"),
    [
        ("score", '"x"', "nan", r"table\.csv: line 2, column x: nan is no usable number"),
        ("score", '"x"', "-inf", "-inf is no usable number"),
        ("score", '"x"', "high", '"high" is no number'),
        ("human_minutes", '"x"', "-5", "line 2, column x: -5 is below 0"),
        ("human_minutes", '"x"', "0", "0 is no human time"),
        ("elapsed_us", '{ column = "x", unit = "seconds" }', "-1", "below 0"),
        ("actions", '"x"', "1.5", "no whole number"),
        ("actions", '"x"', str(2**64), "more than 64 bits"),
        ("strict_success", '"x"', "maybe", '"maybe" is not true or false'),
        (
            "censored",
            '{ column = "x", values = { late = true } }',
            "lat",
            'unknown value "lat". Did you mean',
        ),
        ("batch", '"x"', "  ", '"  " is no name'),
        ("terminal_class", '"x"', "won", 'unknown value "won"'),
        ("terminal_class", '"x"', "", 'terminal_class is unknown.*values = { "" = "unknown"'),
        ("terminal_class", '{ column = "x", missing = ["-"] }', "-", "Take it from missing"),
        ("score", '"y"', "1", 'has no column "y", which the mapping takes score from'),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(target, rule, value, message):
    with pytest.raises(SpecError, match=message):
        one(value, rule, target)


@pytest.mark.parametrize("value", ["null", "nan"])
def test_a_word_for_unknown_is_told_where_it_belongs(value):
    with pytest.raises(SpecError, match="leave it empty, or list it under `missing`"):
        one(value, '"x"')
    assert one(value, f'{{ column = "x", missing = ["{value}"] }}') is None
    with pytest.raises(SpecError, match="leave it empty, or list it under `missing`"):
        one("null", '{ column = "x", at_least = 1 }', "strict_success")


def test_yes_and_no_are_told_how_to_be_mapped():
    with pytest.raises(SpecError, match=r"values = \{ yes = true, no = false \}"):
        one("yes", '"x"', "strict_success")
    assert one("yes", '{ column = "x", values = { yes = true, no = false } }', "strict_success") is True


@pytest.mark.parametrize(("mark", "written"), [(";", ";"), ("\t", "\\t"), ("|", "|")])
def test_a_table_with_another_separator_is_told_and_read(mark, written):
    content = "t,s,x\na,m,0.5\n".replace(",", mark)
    with pytest.raises(SpecError) as caught:
        rows(content, BASE + 'score = "x"')
    assert f'write separator = "{written}" at the top of the mapping' in str(caught.value)
    mapping = BASE.replace("[columns]", f'separator = "{written}"\n[columns]') + 'score = "x"'
    [record] = rows(content, mapping).records
    assert (record.task, record.system, record.score) == ("a", "m", 0.5)


def test_a_table_without_families_says_so():
    said = "family is unknown: the mapping names no column for it"
    assert any(said in limit for limit in rows("t,s,x\na,m,1\n", BASE).limits)
    assert not any(said in limit for limit in rows("t,s,x\na,m,f\n", BASE + 'family = "x"').limits)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "schema: the key is missing"),
        ('schema = "seatrial/mapping@9"', "is not known here"),
        (HEAD, "columns: the key is missing"),
        ('separator = "ab"\n' + BASE, 'separator: "ab" is no separator'),
        (HEAD + '[columns]\ntask = "t"', "columns.system: the key is missing"),
        (
            BASE + 'scores = "x"',
            'columns.scores: "scores" is no column that can be mapped. Did you mean "score"',
        ),
        (BASE + 'flaky_verifiers = "x"', "is no column that can be mapped"),
        (BASE + 'experiment = "x"', "is no column that can be mapped"),
        (BASE + "score = 3", "has the wrong type"),
        (BASE + 'score = { colum = "x" }', 'columns.score.colum: unknown key "colum"'),
        (BASE + 'score = { column = "x", unit = "seconds" }', "has no unit of time"),
        (BASE + 'elapsed_us = { column = "x", unit = "days" }', 'unknown value "days"'),
        (BASE + 'score = { column = "x", at_least = 1 }', "is not true or false"),
        (BASE + 'censored = { column = "x", otherwise = true }', "there are no values beside it"),
        (BASE + 'censored = { column = "x", at_least = 1, values = { a = true } }', "stands beside values"),
        (BASE + 'censored = { column = "x", values = { a = "yes" } }', "columns.censored.values.a"),
        (BASE + "[constants]\nterminal_class = 'won'", 'constants.terminal_class: unknown value "won"'),
        (BASE + "[constants]\nhuman_minutes = -1", "is below 0"),
        (BASE + "[constants]\nactions = true", "does not fit actions"),
        (BASE + "[constants]\ntask = 'b'", "is also under columns"),
        ('ignore = ["t"]\n' + BASE, r'ignore\[0\]: "t" is also mapped'),
        (BASE + "score = ", "not TOML"),
    ],
)
def test_a_mapping_that_cannot_be_is_refused(text, message):
    with pytest.raises(SpecError, match=message):
        read_mapping("m.toml", text)


def test_two_rows_of_one_trial_are_refused_unless_something_tells_them_apart():
    table = "t,s,x\na,m,1\na,m,2\n"
    with pytest.raises(SpecError, match=r'line 3, column t: "a" is the same trial as in line 2.*map trial'):
        rows(table, BASE)
    found = rows(table, BASE + 'repeat = "x"\n').records
    assert [(record.trial, record.repeat) for record in found] == [("m/a/1", 1), ("m/a/2", 2)]


def test_attempts_of_a_trial_are_told_apart_by_number():
    table = "t,s,x\na,m,1\na,m,2\n"
    assert [r.attempt for r in rows(table, BASE + 'attempt = "x"\n').records] == [1, 2]


def test_a_success_that_is_none_is_refused():
    mapping = BASE + 'strict_success = "x"\n[constants]\nterminal_class = "success"\n'
    with pytest.raises(SpecError, match="a success whose strict_success is false"):
        rows("t,s,x\na,m,0\n", mapping)


def test_a_column_missing_in_a_later_file_is_refused():
    with pytest.raises(SpecError, match=r'b\.csv: has no column "x"'):
        read("csv", {"a.csv": b"t,s,x\na,m,1\n", "b.csv": b"t,s\nb,m\n"}, BASE + 'score = "x"\n')


def test_columns_that_are_not_used_are_listed_unless_ignored():
    limits = rows("t,s,x,y\na,m,1,2\n", 'ignore = ["y"]\nlimits = ["My own."]\n' + BASE).limits
    assert limits[0] == "My own."
    assert limits[-1] == "Columns of the source that no row holds: x."


def test_a_parquet_table_reads_like_its_csv():
    import polars

    frame = polars.DataFrame({"t": ["a", "b"], "s": [1, 2], "ok": [True, None], "x": [0.5, 0.25]})
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    mapping = BASE + 'strict_success = "ok"\nscore = "x"\n'
    first = read("csv", {"a.parquet": buffer.getvalue()}, mapping).records
    assert first == rows("t,s,ok,x\na,1,true,0.5\nb,2,,0.25\n", mapping).records
    with pytest.raises(SpecError, match="no readable Parquet"):
        read("csv", {"a.parquet": buffer.getvalue()[:-9]}, mapping)


def test_a_parquet_table_is_checked_row_by_row():
    import polars

    buffer = io.BytesIO()
    polars.DataFrame({"t": ["a", "b"], "s": ["m", "m"], "x": [1.0, float("nan")]}).write_parquet(buffer)
    with pytest.raises(SpecError, match="row 2, column x: nan is no usable number"):
        read("csv", {"a.parquet": buffer.getvalue()}, BASE + 'score = "x"\n')


def test_a_table_needs_a_mapping_and_names_its_systems():
    with pytest.raises(UsageError, match="--mapping"):
        read("csv", {"a.csv": b"t\n1\n"})
    with pytest.raises(UsageError, match="--system"):
        read("csv", {"a.csv": b"t\n1\n"}, BASE, systems=["x"])


def test_every_column_but_lists_and_the_experiment_can_be_mapped():
    lists = {name for name, kind in get_type_hints(TrialRecord).items() if kind == list[str] | None}
    assert "flaky_verifiers" in lists
    assert set(TrialRecord.__struct_fields__) - set(KINDS) == {"experiment", *lists}


def test_the_mapping_in_the_docs_reads_the_table_it_describes():
    page = (ROOT / "docs" / "importing.md").read_text(encoding="utf-8")
    [mapping] = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    table = "task_id,agent,run,score,wall,hours_by_people,status,notes\na/1,m,1,0.97,2,0,timeout,x\n"
    found = rows(table, mapping)
    [record] = found.records
    assert (record.strict_success, record.terminal_class, record.censored) == (True, "failure", True)
    assert (record.elapsed_us, record.human_minutes) == (120_000_000, None)
    assert not [limit for limit in found.limits if "no row holds" in limit]


def test_continuous_scores_of_many_models(real, imported, tmp_path):
    mapping = tmp_path / "m.toml"
    mapping.write_text(
        HEAD + '[columns]\ntrial = "run_id"\ntask = "task_id"\nfamily = "task_family"\nsystem = "agent"\n'
        'score = "score"\n'
    )
    loaded = imported("csv", real / "weirdml" / "weirdml_runs.csv.gz", mapping=mapping)
    assert len(loaded.records) == 7484
    assert len({record.task for record in loaded.records}) == 17
    assert len({record.system for record in loaded.records}) == 87
    assert {record.strict_success for record in loaded.records} == {None}
    assert any("model_mean_cost_per_run_usd" in limit for limit in loaded.limits)


def test_a_list_or_a_text_with_nul_is_no_name():
    import polars

    buffer = io.BytesIO()
    polars.DataFrame({"t": [["a"], ["b"]], "s": ["m", "m"]}).write_parquet(buffer)
    with pytest.raises(SpecError, match=r"row 1, column t: .* is no name"):
        read("csv", {"a.parquet": buffer.getvalue()}, BASE)
    buffer = io.BytesIO()
    polars.DataFrame({"t": ["a", "b\0c"], "s": ["m", "m"]}).write_parquet(buffer)
    with pytest.raises(SpecError, match=r"row 2, column t: .* is no name"):
        read("csv", {"a.parquet": buffer.getvalue()}, BASE)


def test_a_small_file_of_too_many_rows_is_refused_unread():
    import polars

    buffer = io.BytesIO()
    column = polars.repeat("a", MOST_ROWS + 1, eager=True)
    polars.DataFrame({"t": column, "s": column}).write_parquet(buffer)
    assert len(buffer.getvalue()) < 100_000
    with pytest.raises(SpecError, match=f"has {MOST_ROWS + 1} rows"):
        read("csv", {"a.parquet": buffer.getvalue()}, BASE)
