"""Process measures paired at fixed quality (F22); calls and attempts with denominators (C15, C16)."""

import msgspec
import pytest

from seatrial.report.build import build_report
from seatrial.report.comparisons import compare_systems
from seatrial.report.process import compare_process, process_sentences
from seatrial.report.reliability import attempt_lines, call_lines
from seatrial.report.tables import cells
from tests.measure.trials import verdicts
from tests.report.runs import RunMaker, all_pass, cell
from tests.report.test_comparisons import trials


def compared(records, **experiment):
    return compare_process(cells(records, records), {"seed": 1, **experiment})


def worked(system, successes, actions, idle=0):
    """Trials with so many actions on the tasks they solve, and absurdly many where they fail."""
    found = trials(system, successes)
    for n, record in enumerate(found):
        record.actions = actions + n % (2 + successes) if record.safe_success else 1000
        record.idle_actions, record.wasted_unread, record.wasted_undone = idle, None, 0
    return found


def test_only_tasks_that_both_solved_are_compared():
    found = {c.measure: c for c in compared(worked("careful", 9, 10) + worked("hasty", 8, 20))}
    assert list(found) == ["actions", "idle_actions", "wasted_unread", "wasted_undone"]
    actions = found["actions"]
    assert (actions.estimate.n_tasks, actions.estimate.value) == (8, pytest.approx(-10, abs=3)), (
        "no 1000 in it"
    )
    assert (actions.role, actions.quality) == ("process", "safe success in both")
    assert actions.words == "can be told apart: hasty higher"
    assert any("repair/8 is left out" in note for note in actions.estimate.notes)
    assert found["wasted_unread"].p is None, "unknown is not compared"


def test_what_is_said_of_process_names_its_quality():
    (sentence,) = process_sentences(compared(worked("careful", 9, 10) + worked("hasty", 8, 20)))
    assert sentence.startswith("Process (baseline), on 8 tasks that both careful and hasty solved safely: ")
    assert "actions can be told apart: hasty higher; idle actions cannot be told apart yet; " in sentence
    assert "wasted unread could not be compared" in sentence
    (sentence,) = process_sentences(compared(worked("careful", 8, 10) + worked("hasty", 0, 20)))
    assert "0 tasks" in sentence and "not compared" in sentence


def test_arms_of_which_the_same_is_to_be_said_share_a_sentence():
    records = worked("careful", 8, 10) + worked("hasty", 0, 20)
    again = [msgspec.structs.replace(r, arm="disturbed", trial=f"{r.trial}-d") for r in records]
    (sentence,) = process_sentences(compared(records + again))
    assert sentence.startswith("Process (baseline, disturbed), on 0 tasks that both careful and hasty")


def test_a_declared_process_measure_is_held_to_the_same_quality():
    records = worked("careful", 8, 10) + worked("hasty", 6, 20)
    primary = {"measure": "actions", "compare": ["careful", "hasty"], "alpha": 0.05}
    first, *_ = compare_systems(cells(records, records), {"seed": 1, "primary": primary})
    assert (first.role, first.quality, first.estimate.n_tasks) == ("primary", "safe success in both", 6)


def test_one_system_has_nothing_to_compare():
    assert compared(worked("careful", 8, 10)) == []


def test_calls_have_their_denominator_and_unknown_stays_unknown():
    records = trials("careful", 1, tasks=2, each=1, arm="baseline")
    for record in records:
        record.actions, record.failed_actions, record.malformed_actions = 10, 3, 1
        record.partial_actions, record.denied_actions, record.unknown_actions = 1, 1, 0
        record.model_calls, record.model_retries, record.model_failures = 12, 2, 1
    (line,) = call_lines(cells(records, records))
    assert (line.trials, line.calls, line.ok, line.failed, line.malformed) == (2, 20, 10, 6, 2)
    assert (line.success_rate, line.malformed_rate) == (0.5, 0.1)
    assert (line.model_calls, line.model_retries, line.model_failures) == (24, 4, 2)
    records[0].unknown_actions = 1
    (line,) = call_lines(cells(records, records))
    assert (line.ok, line.success_rate, line.calls, line.malformed_rate) == (None, None, 20, 0.1)


def test_attempts_are_counted_with_the_reasons_of_those_lost(tmp_path):
    plan = [cell("t-1"), cell("t-2", task="ledger/six"), cell("t-3", task="ledger/seven")]
    made = RunMaker(tmp_path / "run", plan)
    made.trial(plan[0], None, stop="environment_fault", infrastructure=True, steps=2)
    made.trial(plan[0], None, stop="killed", infrastructure=True, steps=2, attempt=2)
    made.trial(plan[0], all_pass(), attempt=3)
    made.trial(plan[1], None, stop="killed", infrastructure=True, steps=2)
    made.trial(plan[2], verdicts({}))
    data = build_report(made.folder, tmp_path / "out")
    assert data["attempts"] == [
        {
            "system": "careful", "arm": "baseline", "trials": 3, "attempts": 5, "repeated": 1, "most": 3,
            "without_valid": 1, "infrastructure": {"environment_fault": 1, "killed": 2},
        }
    ]  # fmt: skip
    assert "killed" in (tmp_path / "out" / "tables" / "attempts.csv").read_text()
    assert "environment fault 1, killed 2" in (tmp_path / "out" / "index.html").read_text()


def test_no_call_at_all_has_no_rate():
    records = trials("careful", 1, tasks=1, each=1)
    records[0].terminal_class = "infrastructure"
    groups = cells(records, records)
    assert (call_lines(groups)[0].success_rate, call_lines(groups)[0].calls) == (None, None)
    assert attempt_lines(groups)[0].infrastructure == {"not begun": 1}
