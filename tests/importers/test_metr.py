"""METR run tables: censoring, infrastructure and verdicts stay apart, and the known counts come out."""

import json

import pytest

from seatrial.errors import SpecError, UsageError
from tests.importers.small import METR_ROW, lines, read


def rows(*changes: dict):
    files = {"runs.jsonl": lines(*({**METR_ROW, "run_id": n, **c} for n, c in enumerate(changes)))}
    return read("metr", files)


def test_a_run_keeps_what_its_row_says():
    [record] = rows({"run_id": "r-1"}).records
    assert (record.trial, record.task, record.family, record.system) == (
        "r-1",
        "maze/small",
        "maze",
        "model a",
    )
    assert (record.score, record.weight, record.elapsed_us) == (0.5, 0.25, 60_000_000)
    assert (record.human_minutes, record.human_source) == (30.0, "baseline")
    assert (record.strict_success, record.terminal_class, record.censored) == (False, "failure", False)
    assert (record.seed, record.task_version, record.safe_success, record.actions) == (None,) * 4


@pytest.mark.parametrize(
    ("stopped", "score", "expected"),
    [
        (None, 1, ("success", True, False)),
        ("usageLimits", 0, ("failure", False, True)),
        ("usageLimits", 1, ("success", True, True)),
        ("agent", 0, ("failure", False, False)),
        ("server", 0, ("infrastructure", None, False)),
        ("serverOrTask", 0, ("infrastructure", None, False)),
        ("newCause", 1, ("success", True, None)),
        (None, None, ("unknown", None, False)),
    ],
)
def test_ends_stay_apart(stopped, score, expected):
    [record] = rows({"fatal_error_from": stopped, "score_binarized": score}).records
    assert (record.terminal_class, record.strict_success, record.censored) == expected
    assert record.stop_reason == stopped
    assert record.score == 0.5


def test_limits_count_what_was_cut_off_and_what_is_not_held():
    said = " ".join(
        rows(
            {"fatal_error_from": "usageLimits", "score_binarized": 1},
            {"fatal_error_from": "odd", "extra": 3},
            {"alias": "human"},
        ).limits
    )
    assert "1 of 2 runs of agents ended at a limit" in said
    assert "1 of these were successes" in said
    assert "1 runs ended by 'odd'" in said
    assert "1 runs are people's" in said
    assert "no row holds: equal_task_weight, extra, model" in said


def test_newer_tables_name_the_score_otherwise():
    newer = {**METR_ROW, "score_cont": 0.75, "generation_cost": 1.5}
    del newer["score"]
    [record] = read("metr", {"runs.jsonl": lines(newer)}).records
    assert (record.score, record.money) == (0.75, 1.5)
    with pytest.raises(SpecError, match="score_cont: is there beside score"):
        rows({"score_cont": 0.75})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"human_minutes": -3}, r"runs\.jsonl: line 2, column human_minutes: -3 is below 0"),
        ({"human_minutes": 0}, "0 is no human time"),
        ({"score": float("nan")}, r"line 2, column score: nan is no usable number"),
        ({"score": float("inf")}, "inf is no usable number"),
        ({"score": "high"}, '"high" is no number'),
        ({"score": 10**30}, "more than 64 bits"),
        ({"score_binarized": 2}, "2 is not true or false"),
        ({"completed_at": 5}, r"column completed_at: 5 lies before started_at \(1000\)"),
        ({"task_id": ""}, "column task_id"),
        ({"task_id": None}, "there is no value"),
        ({"run_id": 0}, "column run_id: 0 is the same trial as in line 1"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(change, message):
    with pytest.raises(SpecError, match=message):
        rows({}, change)


def test_numbers_beyond_any_float_are_refused():
    text = json.dumps(METR_ROW).replace("0.5", "1e999", 1)
    with pytest.raises(SpecError, match="column score: inf is no usable number"):
        read("metr", {"runs.jsonl": text.encode()})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"task_id,agent\na,b\n", r"line 1, column 1: not JSON: .*METR's runs"),
        (b'{"per_instance": {}}', r"column run_id: the column is missing \(there are: per_instance\)"),
        (b"[1]\n", "line 1: holds a list, no object"),
        (b"\xff\xfe", "byte 0 .0xff. is not UTF-8"),
        (b'{"a": 1, "a": 2}', '"a" stands twice'),
        (b'{"a": ' + b"[" * 100_000, "not readable"),
    ],
)
def test_what_is_no_run_table_is_refused(data, message):
    with pytest.raises(SpecError, match=message):
        read("metr", {"runs.jsonl": data})


def test_rows_name_their_systems_so_the_user_may_not():
    with pytest.raises(UsageError, match="--system"):
        read("metr", {"runs.jsonl": lines(METR_ROW)}, systems=["mine"])


def test_the_early_suite_has_its_known_counts(real, imported):
    loaded = imported("metr", real / "metr" / "early_suite_runs.jsonl.gz")
    assert len(loaded.records) == 7063
    agents = [record for record in loaded.records if record.system != "human"]
    assert len(agents) == 6852
    assert len({record.system for record in agents}) == 10
    assert len({record.task for record in agents}) == 83
    assert len({record.family for record in agents}) == 36
    assert sum(record.censored is True for record in agents) == 1912
    assert {record.stop_reason for record in agents if record.censored} == {"usageLimits"}
    assert loaded.mixed == []
