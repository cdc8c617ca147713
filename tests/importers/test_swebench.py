"""SWE-bench: submissions, run reports and reports of instances; every class of a report stays apart."""

import json

import pytest

from seatrial.errors import SpecError, UsageError
from tests.importers.small import REPORT, read

SUBMISSION = {
    "name": "model a",
    "resolved_pct": 50.0,
    "per_instance": {
        "astropy__astropy-1": {"resolved": True, "cost": 0.25, "api_calls": 7},
        "odd": {"resolved": False},
    },
}


def encoded(**files):
    return {f"{name}.json": json.dumps(value).encode() for name, value in files.items()}


def test_a_submission_gives_one_row_an_instance():
    first, second = read("swebench", encoded(a=SUBMISSION)).records
    assert (first.task, first.family, first.system) == ("astropy__astropy-1", "astropy__astropy", "model a")
    assert (first.strict_success, first.money, first.model_calls) == (True, 0.25, 7)
    assert (second.family, second.money, second.model_calls, second.terminal_class) == (
        None, None, None, "failure",
    )  # fmt: skip


def test_a_share_that_its_instances_do_not_give_is_a_limit():
    wrong = {**SUBMISSION, "resolved_pct": 80}
    assert (
        "a.json says 80 % resolved; its instances give 50.00 %." in read("swebench", encoded(a=wrong)).limits
    )


def test_every_class_of_a_run_report_stays_apart():
    read_back = read("swebench", encoded(model=REPORT))
    found = {r.task: (r.stop_reason, r.strict_success, r.terminal_class) for r in read_back.records}
    assert found == {
        "a__a-1": ("resolved", True, "success"),
        "a__a-2": ("unresolved", False, "failure"),
        "a__a-3": ("empty_patch", False, "failure"),
        "b__b-4": ("error", None, "unknown"),
        "b__b-5": ("incomplete", None, "unknown"),
        "other-9": ("not_evaluated", None, "unknown"),
    }
    assert {record.system for record in read_back.records} == {"model"}
    assert any("3 instances have no verdict" in limit for limit in read_back.limits)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema_version": 1}, "schema_version: 1 is not 2"),
        ({"unresolved_ids": ["a__a-1"]}, "column unresolved_ids: a__a-1 is also resolved"),
        ({"resolved_ids": ["a__a-1", "a__a-1"]}, "holds a__a-1 twice"),
        ({"resolved_instances": 2}, "says 2, but resolved_ids holds 1"),
        ({"total_instances": 9}, "says 9, but the classes hold 5"),
        ({"error_ids": "b"}, "is no list of ids"),
        ({"completed_ids": ["a__a-2", "x-1"]}, "lacks a__a-1, which is resolved"),
    ],
)
def test_a_report_that_contradicts_itself_is_refused(change, message):
    with pytest.raises(SpecError, match=message):
        read("swebench", encoded(model={**REPORT, **change}))


def test_a_report_without_a_list_is_refused():
    cut = {name: value for name, value in REPORT.items() if name != "error_ids"}
    with pytest.raises(SpecError, match="column error_ids: the column is missing"):
        read("swebench", encoded(model=cut))


def test_a_report_of_an_instance_gives_the_share_of_its_tests():
    tests = {
        "FAIL_TO_PASS": {"success": ["a"], "failure": ["b"]},
        "PASS_TO_PASS": {"success": ["c", "d"], "failure": []},
    }
    plain = {"a__a-1": {"patch_exists": True, "patch_successfully_applied": True, "resolved": False,
                        "tests_status": tests}}  # fmt: skip
    [record] = read("swebench", encoded(report=plain)).records
    assert (record.score, record.strict_success, record.stop_reason) == (0.75, False, None)
    plain["a__a-1"] = {"patch_is_None": True, "patch_exists": False, "resolved": False}
    [record] = read("swebench", encoded(report=plain)).records
    assert (record.score, record.strict_success, record.stop_reason) == (None, False, "empty_patch")


def test_reports_in_their_folders_are_named_after_their_model(tmp_path, imported):
    for instance in ("a__a-1", "a__a-2"):
        folder = tmp_path / "run" / "model" / instance
        folder.mkdir(parents=True)
        (folder / "report.json").write_text(json.dumps({instance: {"resolved": True}}))
    records = imported("swebench", tmp_path / "run").records
    assert [(r.system, r.task) for r in records] == [("model", "a__a-1"), ("model", "a__a-2")]


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({}, "has nothing, which is none of the three"),
        ({"results": []}, "has results, which is none of the three"),
        ({"name": "m", "per_instance": {"a-1": {"cost": 1}}}, "per_instance.a-1, column resolved"),
        (
            {"name": "m", "per_instance": {"a-1": {"resolved": True, "cost": -1}}},
            "column cost: -1 is below 0",
        ),
        ({"name": "m", "per_instance": {"a-1": 3}}, "3 is no table"),
    ],
)
def test_what_is_none_of_the_three_is_refused(plain, message):
    with pytest.raises(SpecError, match=message):
        read("swebench", encoded(a=plain))


def test_an_instance_twice_in_one_file_is_refused():
    text = '{"name": "m", "per_instance": {"a-1": {"resolved": true}, "a-1": {"resolved": false}}}'
    with pytest.raises(SpecError, match='"a-1" stands twice'):
        read("swebench", {"a.json": text.encode()})


def test_two_sources_of_one_name_need_names_of_their_own(tmp_path, imported):
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        path.write_text(json.dumps(SUBMISSION))
    with pytest.raises(UsageError, match="--system"):
        imported("swebench", *paths)
    loaded = imported("swebench", *paths, systems=["one", "two"])
    assert {record.system for record in loaded.records} == {"one", "two"}


def test_the_two_submissions_have_their_known_discordant_pairs(real, imported):
    loaded = imported("swebench", *sorted((real / "swebench").glob("*.json")))
    claude, gemini = (
        {r.task: r for r in loaded.records if r.system.startswith(name)} for name in ("Claude", "Gemini")
    )
    rates = [round(sum(r.strict_success for r in one.values()) / 5, 1) for one in (claude, gemini)]
    assert rates == [74.4, 74.2]
    only_claude = sum(claude[task].strict_success and not gemini[task].strict_success for task in claude)
    only_gemini = sum(gemini[task].strict_success and not claude[task].strict_success for task in claude)
    assert (only_claude, only_gemini) == (29, 28)
    assert all(record.money is not None and record.model_calls for record in loaded.records)
