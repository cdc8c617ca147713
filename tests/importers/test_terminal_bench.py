"""Terminal-Bench: resolved timeouts, trials that only the run's list tells of, missing verdicts."""

import json

import pytest

from seatrial.errors import SpecError
from tests.importers.small import TRIAL, read, tar, tar_gz

LOCK = {
    "harness": {"version": "0.2.7"},
    "run_config": {"n_attempts": 2, "global_timeout_multiplier": 1.0},
    "dataset": {"name": "core", "version": "0.1.1", "task_ids": ["hello"]},
}


def run(*trials: dict, listed=(), lock=LOCK, folder="sub") -> dict[str, bytes]:
    members = {
        f"{folder}/{t['task_id']}/{t['trial_name']}/results.json": json.dumps(t).encode() for t in trials
    }
    if listed:
        members[f"{folder}/results.json"] = json.dumps({"results": list(listed)}).encode()
    if lock:
        members[f"{folder}/tb.lock"] = json.dumps(lock).encode()
    return members


def records(*trials: dict, **more):
    return read("terminal-bench", {"sub.tar.gz": tar_gz(run(*trials, **more))}).records


def test_a_trial_keeps_what_its_file_says():
    [record] = records(TRIAL)
    assert (record.task, record.system, record.batch, record.repeat) == ("hello", "sub", "sub", 1)
    assert (record.score, record.strict_success, record.terminal_class) == (1.0, True, "success")
    assert (record.elapsed_us, record.input_tokens, record.output_tokens) == (1_500_000, 10, 5)
    assert (record.task_version, record.stop_reason, record.censored) == ("core==0.1.1", "unset", False)
    assert (record.human_minutes, record.safe_success, record.contradictions) == (None, None, [])


@pytest.mark.parametrize(
    ("mode", "resolved", "expected"),
    [
        ("agent_timeout", True, ("success", True)),
        ("agent_timeout", False, ("failure", True)),
        ("test_timeout", None, ("unknown", None)),
        ("parse_error", None, ("unknown", None)),
        ("unknown_agent_error", None, ("unknown", None)),
        ("agent_installation_failed", None, ("infrastructure", None)),
        ("context_length_exceeded", False, ("failure", None)),
        ("unset", False, ("failure", False)),
    ],
)
def test_ends_stay_apart(mode, resolved, expected):
    [record] = records({**TRIAL, "failure_mode": mode, "is_resolved": resolved, "parser_results": None})
    assert (record.terminal_class, record.censored) == expected
    assert (record.stop_reason, record.strict_success, record.score) == (mode, resolved, None)


def test_a_score_is_the_share_of_tests_beside_the_verdict():
    tests = {"a": "passed", "b": "failed", "c": "passed", "d": "passed"}
    [record] = records({**TRIAL, "is_resolved": False, "parser_results": tests})
    assert (record.score, record.strict_success, record.contradictions) == (0.75, False, [])
    [record] = records({**TRIAL, "parser_results": tests})
    assert record.contradictions == ["is_resolved says resolved, but 0.75 of the tests passed"]


def test_tokens_that_nobody_counted_are_unknown():
    [record] = records({**TRIAL, "total_input_tokens": 0, "total_output_tokens": 0})
    assert (record.input_tokens, record.output_tokens) == (None, None)


def test_trials_that_only_the_list_tells_of_are_not_lost():
    crashed = {**TRIAL, "trial_name": "hello.2-of-2", "is_resolved": None, "parser_results": None,
               "failure_mode": "unknown_agent_error"}  # fmt: skip
    found = read("terminal-bench", {"sub.tar": tar(run(TRIAL, listed=[TRIAL, crashed]))})
    assert [(r.repeat, r.terminal_class) for r in found.records] == [(1, "success"), (2, "unknown")]
    assert any("1 trials have no file of their own" in limit for limit in found.limits)


def test_planned_trials_in_no_file_are_named():
    found = read("terminal-bench", {"sub.tar": tar(run(TRIAL))})
    assert "sub: 1 planned trials are in no file (hello): they are in no row." in found.limits


def test_a_folder_and_its_archive_give_the_same_rows(tmp_path, imported):
    for name, data in run(TRIAL).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "sub" / "agent.cast").write_bytes(b"not read")
    [record] = imported("terminal-bench", tmp_path / "sub").records
    [packed] = records(TRIAL)
    record.experiment = packed.experiment
    assert record == packed


def test_runs_of_one_submission_are_batches():
    members = run(TRIAL, folder="sub/first") | run(TRIAL, folder="sub/second")
    found = read("terminal-bench", {"sub.tar": tar(members)}).records
    assert [record.batch for record in found] == ["first", "second"]
    assert len({record.trial for record in found}) == 2


def test_other_versions_of_the_harness_are_said_to_be_mixed():
    other = {**LOCK, "harness": {"version": "0.2.17"}}
    members = run(TRIAL, folder="sub/first") | run(TRIAL, folder="sub/second", lock=other)
    found = read("terminal-bench", {"sub.tar": tar(members)})
    assert found.mixed == ["Runs of different versions of the harness: 0.2.17, 0.2.7."]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parser_results": {"a": "maybe"}}, 'parser_results.a: unknown value "maybe"'),
        ({"parser_results": [1]}, "is no table of tests"),
        ({"is_resolved": "yes"}, "is not true or false"),
        ({"agent_ended_at": "2024-01-01T00:00:00Z"}, "lies before agent_started_at"),
        ({"agent_ended_at": "yesterday"}, "is no time"),
        ({"agent_ended_at": "2025-01-01T00:00:02"}, "has no time zone"),
        ({"total_input_tokens": -1}, "-1 is below 0"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(change, message):
    with pytest.raises(SpecError, match=message) as caught:
        records({**TRIAL, **change})
    assert str(caught.value).startswith("sub.tar.gz/sub/hello/hello.1-of-2/results.json: column ")


def test_a_list_that_says_otherwise_than_the_trials_own_file_is_refused():
    with pytest.raises(SpecError, match="column is_resolved: true, but the run's list says false"):
        records(TRIAL, listed=[{**TRIAL, "is_resolved": False}])


def test_a_trial_twice_in_a_list_is_refused():
    with pytest.raises(SpecError, match="there twice in this run"):
        records(listed=[TRIAL, TRIAL])


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"a.txt": b"x"}, "holds no results.json"),
        ({"tb.lock": b"{}"}, "holds no trial"),
        ({"results.json": b'{"results": [3]}'}, r"results\[0\]: 3 is no trial"),
        ({"results.json": b'{"resolved_ids": []}'}, "column trial_name: the column is missing"),
    ],
)
def test_what_is_no_result_is_refused(members, message):
    with pytest.raises(SpecError, match=message):
        read("terminal-bench", {"sub.tar": tar(members)})


def test_the_two_submissions_have_their_known_timeouts(real, imported):
    loaded = imported("terminal-bench", *sorted((real / "terminal-bench").glob("*.tar.gz")))
    assert len(loaded.records) == 800
    assert len({record.task for record in loaded.records}) == 80
    shares = {}
    for system in sorted({record.system for record in loaded.records}):
        late = [r for r in loaded.records if r.system == system and r.stop_reason == "agent_timeout"]
        shares[system] = (sum(r.strict_success for r in late), len(late))
    # 23 % is of the first: 27 of 117.
    assert list(shares.values()) == [(27, 117), (15, 52)]
    assert sum(r.stop_reason == "unknown_agent_error" for r in loaded.records) == 10
    assert all(r.censored for r in loaded.records if r.stop_reason == "agent_timeout")
    assert [line for line in loaded.mixed if "harness" in line]
