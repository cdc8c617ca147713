"""Paired comparisons in the report (F3): which are made, which are primary, and what they say in words."""

import csv
import json

import pytest

from seatrial.report.build import build_report
from seatrial.report.comparisons import compare_systems, flat_comparison
from seatrial.report.findings import conclusions
from seatrial.report.tables import cells, main_table
from tests.measure.trials import verdicts
from tests.report.runs import RunMaker, all_pass, cell

PRIMARY = {"measure": "safe_success", "compare": ["careful", "hasty"], "alpha": 0.05}


def trials(system, successes, tasks=10, each=2, arm="baseline", **more):
    """Records of one system that succeeds on the first ``successes`` tasks."""
    return [
        record(
            f"{system}-{arm}-{task}-{repeat}", system=system, arm=arm, task=f"repair/{task}", family="repair",
            strict_success=task < successes, safe_success=task < successes, money=float(task), **more,
        )
        for task in range(tasks)
        for repeat in range(each)
    ]  # fmt: skip


def record(trial, **more):
    from seatrial.records.trial import TrialRecord

    known = {"experiment": "e", "attempt": 1, "task_version": "1", "seed": 1, "terminal_class": "unknown"}
    return TrialRecord(trial=trial, **{**known, **more})


def compared(records, **experiment):
    groups = cells(records, records)
    found = compare_systems(groups, {"seed": 1, **experiment})
    return found, conclusions(main_table(groups), found)


def test_two_systems_are_explored_without_a_declaration():
    found, sentences = compared(trials("careful", 9) + trials("hasty", 1))
    assert [(c.role, c.measure) for c in found] == [
        ("exploratory", "safe_success"),
        ("exploratory", "strict_success"),
        ("exploratory", "partial_progress"),
    ]
    safe, strict, progress = found
    assert (safe.words, safe.wins, safe.losses, safe.ties) == ("can be told apart: careful higher", 8, 0, 2)
    assert safe.p < safe.alpha and safe.p <= safe.p_adjusted == strict.p_adjusted
    assert safe.estimate.value == pytest.approx(0.8) and safe.estimate.low > 0
    assert (progress.p, progress.words) == (None, "cannot be told apart yet")
    assert "No comparison: 40 values are unknown." in progress.estimate.notes
    text = " ".join(sentences)
    assert (
        "Exploratory, not preregistered, safe success (baseline): careful and hasty can be told apart, "
        in text
    )
    assert "careful is higher than hasty." in text
    assert "adjusted for 2 such comparisons" in text
    assert "careful is higher on 8, lower on 0 and the same on 2." in text


def test_the_declared_comparison_is_primary_and_keeps_its_own_p():
    found, sentences = compared(trials("hasty", 9) + trials("careful", 1), primary=PRIMARY)
    primary, *others = found
    assert (primary.role, primary.measure, primary.a, primary.b) == (
        "primary",
        "safe_success",
        "careful",
        "hasty",
    )
    assert primary.words == "can be told apart: hasty higher"
    assert primary.p_adjusted == primary.p
    assert [c.role for c in others] == ["exploratory"] * 2
    assert "safe_success" not in [c.measure for c in others], "never tested twice"
    assert any(
        "Primary, safe success (baseline)" in s and "hasty is higher than careful." in s for s in sentences
    )


def test_close_systems_cannot_be_told_apart():
    found, sentences = compared(trials("careful", 6) + trials("hasty", 5), primary=PRIMARY)
    assert found[0].words == "cannot be told apart yet"
    assert found[0].estimate.low < 0 < found[0].estimate.high
    assert any("careful and hasty cannot be told apart yet." in s for s in sentences)


def test_more_than_two_systems_are_compared_only_as_declared():
    three = trials("careful", 9) + trials("hasty", 1) + trials("third", 5)
    found, sentences = compared(three)
    assert found == []
    assert any("declares no comparison" in s for s in sentences)
    found, _ = compared(three, primary=PRIMARY)
    assert [(c.role, c.a, c.b) for c in found] == [("primary", "careful", "hasty")]
    found, _ = compared(three, primary={**PRIMARY, "compare": ["careful", "hasty", "third"]})
    assert len(found) == 3
    assert max(c.p_adjusted for c in found) > min(c.p for c in found)


def test_a_quantity_may_be_primary():
    cheap = trials("careful", 9)
    dear = trials("hasty", 9)
    for number, r in enumerate(dear):
        r.money += 1 + number / 10
    found, _ = compared(cheap + dear, primary={**PRIMARY, "measure": "money"})
    assert (found[0].measure, found[0].words) == ("money", "can be told apart: hasty higher")


def test_differing_tasks_and_words_are_refused_with_a_reason():
    found, sentences = compared(trials("careful", 5, tasks=10) + trials("hasty", 5, tasks=9))
    assert all((c.p, c.words) == (None, "cannot be told apart yet") for c in found)
    assert any("1 tasks are of one system only, first repair/9." in s for s in sentences)
    stopped = trials("careful", 5, stop_reason="finished") + trials("hasty", 5, stop_reason="finished")
    found, _ = compared(stopped, primary={**PRIMARY, "measure": "stop_reason"})
    assert found[0].estimate.notes == ["stop_reason is no number, so systems cannot be compared on it."]


def test_the_primary_comparison_is_on_the_baseline_and_other_arms_are_explored():
    records = [r for arm in ("baseline", "disturbed") for r in trials("careful", 9, arm=arm)]
    records += [r for arm in ("baseline", "disturbed") for r in trials("hasty", 4, arm=arm)]
    found, _ = compared(records, primary=PRIMARY)
    primary = [c for c in found if c.role == "primary"]
    assert [c.arm for c in primary] == ["baseline"]
    assert primary[0].p_adjusted == primary[0].p
    same = [(c.arm, c.measure) for c in found if c.measure == PRIMARY["measure"] and c.role == "exploratory"]
    assert same == [("disturbed", PRIMARY["measure"])]


def test_without_a_baseline_each_arm_is_primary_and_adjusted_together():
    records = [r for arm in ("one", "two") for r in trials("careful", 9, arm=arm)]
    records += [r for arm in ("one", "two") for r in trials("hasty", 4, arm=arm)]
    found, _ = compared(records, primary=PRIMARY)
    primary = [c for c in found if c.role == "primary"]
    assert [c.arm for c in primary] == ["one", "two"]
    assert primary[0].p_adjusted == pytest.approx(2 * primary[0].p)


def test_comparisons_on_one_task_are_folded_into_one_sentence():
    records = [
        r for arm in ("baseline", "disturbed") for name in ("careful", "hasty")
        for r in trials(name, 1, tasks=1, arm=arm)
    ]  # fmt: skip
    found, sentences = compared(records, primary=PRIMARY)
    assert len(found) == 6 and all(c.one_task for c in found)
    assert sentences == [
        "careful and hasty (baseline), each: of 2 valid trials, 2 met all required conditions and 2 did so "
        "without breaking a hard constraint.",
        "careful and hasty (disturbed), each: of 2 valid trials, 2 met all required conditions and 2 did so "
        "without breaking a hard constraint.",
        "6 comparisons in 2 arms could not be tested: a paired test needs at least two tasks, and there is "
        "one.",
    ]


def test_one_sentence_says_that_no_comparison_was_declared():
    records = [r for arm in ("baseline", "disturbed") for s in "abc" for r in trials(s, 5, arm=arm)]
    _, sentences = compared(records)
    (said,) = [s for s in sentences if "declares no comparison" in s]
    assert said.startswith("Not compared (baseline, disturbed): ") and "among 3 systems" in said


def test_one_outcome_a_task_carries_its_table():
    found, _ = compared(trials("careful", 9, each=1) + trials("hasty", 1, each=1))
    assert (found[0].test, found[0].mcnemar.only_a) == ("McNemar, exact", 8)
    assert flat_comparison(found[0])["mcnemar_only_a"] == 8


def test_the_report_carries_them_in_every_form(tmp_path):
    plan = [cell(f"t-{s}-{n}", s, f"repair/{n}") for s in ("careful", "hasty") for n in range(7)]
    made = RunMaker(tmp_path / "run", plan)
    for planned in plan:
        made.trial(planned, all_pass() if planned.system == "careful" else verdicts({}))
    data = build_report(made.folder, tmp_path / "out")
    written = json.loads((tmp_path / "out" / "report.json").read_text())
    assert written["comparisons"] == json.loads(json.dumps(data["comparisons"]))
    first = written["comparisons"][0]
    assert (first["words"], first["mcnemar"]["only_a"], first["estimate"]["unit"]) == (
        "can be told apart: careful higher",
        7,
        "tasks, paired",
    )
    with open(tmp_path / "out" / "tables" / "comparisons.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["words"] for row in rows] == [c["words"] for c in written["comparisons"]]
    page = (tmp_path / "out" / "index.html").read_text()
    assert "careful minus hasty" in page and "Success rates by other intervals" in page
    assert any("careful is higher than hasty" in text for text in data["conclusions"])


def test_what_weakens_a_comparison_is_said_beside_it():
    lost = trials("hasty", 1)
    for r in lost[:2]:
        r.terminal_class = "infrastructure"
    _, sentences = compared(trials("careful", 9) + lost, primary=PRIMARY)
    assert any(
        s.startswith("Primary") and "repair/0 is left out: no valid trial of hasty." in s for s in sentences
    )
