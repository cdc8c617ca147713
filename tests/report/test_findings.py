"""Sentences beside the numbers: what may be said, and what limits it (G3)."""

from seatrial.estimate.rates import rate_of_trials
from seatrial.report.findings import conclusions, limits, pair_sentences
from seatrial.report.populations import cells_of
from seatrial.report.tables import Cell, cells, main_table, make_row
from seatrial.report.wording import course, interval, mean, reached
from tests.records.test_table import record
from tests.report.runs import RunMaker, all_pass, cell


def row(system, outcomes):
    made = Cell(system=system, arm="baseline", stratum="all", records=[record() for _ in outcomes], every=[])
    return make_row(made, "safe_success", rate_of_trials(outcomes), outcomes)


def test_systems_differ_only_where_their_intervals_are_apart():
    (far,) = pair_sentences([row("a", [True] * 12), row("b", [False] * 12)], "baseline")
    assert far.startswith("a and b (baseline) differ in safe success on this one task")
    (near,) = pair_sentences([row("a", [True] * 2), row("b", [False] * 2), row("c", [None])], "baseline")
    assert near == (
        "Cannot be told apart yet on safe success (baseline), since their 95 % intervals overlap: "
        "a and b; a and c; b and c."
    )


def test_overlap_decides_nothing_where_a_paired_comparison_speaks():
    rows = [row("a", [True] * 2), row("b", [False] * 2), row("c", [None])]
    (near,) = pair_sentences(rows, "baseline", {frozenset("ab")})
    assert near.endswith("overlap: a and c; b and c.")
    assert pair_sentences(rows[:2], "baseline", {frozenset("ab")}) == []


def test_a_conclusion_names_what_is_unknown():
    records = [record("t-1", strict_success=True), record("t-2", strict_success=True, safe_success=True)]
    (sentence,) = conclusions(main_table(cells(records, records)))
    assert sentence == (
        "s (baseline): of 2 valid trials, 2 met all required conditions and 1 did so without breaking a hard "
        "constraint; unknown in 1."
    )


def test_limits_name_the_conditions_that_weaken_a_run(tmp_path):
    from seatrial.evidence.read import read_run

    made = RunMaker(tmp_path / "run", [cell("t-1")], systems={"careful": {"privileged": True}}, unsafe=True)
    made.trial(cell("t-1"), all_pass(), stop="budget_actions")
    evidence = read_run(made.folder)
    for attempt in evidence.attempts:
        attempt.record.sandboxed = False
        attempt.record.flaky_verifiers = ["s2"]
        attempt.record.human_tier, attempt.record.human_machine = "takeover", True
    groups = cells_of(evidence)
    text = " ".join(limits(evidence, main_table(groups), groups=groups))
    for words in (
        "ran without a sandbox",
        "no evidence of ability: careful",
        "stopped by a budget",
        "in 1 of 1 trial a person edited a call or acted",
        "s2",
        "Every valid",
    ):
        assert words in text


def test_numbers_are_worded_with_what_is_missing():
    assert interval(rate_of_trials([True, True, False])) == "67 % [21 to 94 %]"
    assert interval(rate_of_trials([True, None])) == "unknown [9 to 100 %]"
    assert interval(rate_of_trials([])) == "no valid trial"
    empty = Cell(system="s", arm="b", stratum="all", records=[], every=[])
    assert mean(make_row(empty, "money", rate_of_trials([]), [])) == "no valid trial"
    assert reached(record(max_progress=0.4), None, 0.5) == "not reached"
    assert reached(record(), None, 0.5) == "unknown"
    assert reached(record(max_progress=1.0), 7, 0.5) == "7"


def test_a_long_course_is_cut_in_its_middle():
    long = course([(step, step / 100) for step in range(100)])
    assert long.startswith("0 from step 0, 0.01 from step 1")
    assert "88 more changes" in long
    assert long.endswith("0.99 from step 99")
