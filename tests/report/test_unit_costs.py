"""Cost per success in the report (F8): all attempts over the safe successes, null instead of infinity."""

import json

import pytest

from seatrial.report.build import build_report
from seatrial.report.tables import cells
from seatrial.report.unit_costs import UNBOUNDED, unit_cost_rows
from seatrial.report.wording import per_success
from tests.cli.tables import data as estimate
from tests.cli.tables import line
from tests.measure.trials import verdicts
from tests.report.runs import RunMaker, all_pass, cell
from tests.report.test_comparisons import record


def rows(records, every=None):
    found = unit_cost_rows(cells(records, every or records), 1)
    return {row.measure: row for row in found}


def spent(task, success, money, **more):
    return record(f"t-{task}", system="s", arm="baseline", task=f"f/{task}", family="f",
                  strict_success=success, safe_success=success, money=money, **more)  # fmt: skip


@pytest.mark.parametrize(
    ("money", "n", "successes", "answer"), [(100, 4, 4, 25), (160, 10, 8, 20), (300, 10, 8, 37.5)]
)
def test_the_worked_examples_of_the_sources(money, n, successes, answer):
    row = rows([spent(k, k < successes, money / n) for k in range(n)])["money_per_success"]
    assert row.estimate.value == pytest.approx(answer)
    assert (row.denominators.events, row.denominators.valid) == (successes, n)


def test_failed_and_repeated_attempts_are_paid_for():
    records = [spent(k, True, 1.0) for k in range(4)]
    lost = spent(0, None, 4.0)
    lost.terminal_class, lost.attempt = "infrastructure", 0
    assert rows(records, [lost, *records])["money_per_success"].estimate.value == 2.0


def test_a_task_that_was_only_lost_is_paid_for():
    lost = spent(9, None, 1000.0)
    lost.terminal_class = "infrastructure"
    row = rows([spent(0, True, 10.0), lost])["money_per_success"]
    assert row.estimate.value == 1010
    assert (row.denominators.trials, row.denominators.valid, row.denominators.events) == (2, 1, 1)


def test_money_says_its_currency():
    row = rows([spent(k, True, 1.0, currency="EUR") for k in range(3)])["money_per_success"]
    assert "In EUR." in row.estimate.notes
    assert "In EUR." not in rows([spent(0, True, 1.0, currency="EUR")])["actions_per_success"].estimate.notes


def test_without_success_it_is_null_with_a_bound_and_a_reason():
    row = rows([spent(k, False, 1.0) for k in range(5)])["money_per_success"]
    assert (row.estimate.value, row.estimate.high) == (None, None)
    assert row.estimate.low > 1
    assert (
        UNBOUNDED in row.estimate.notes
        and "No trial succeeded, so the ratio is infinite." in row.estimate.notes
    )
    assert per_success(row).startswith("no success, at least ")


def test_few_successes_leave_the_upper_end_open():
    row = rows([spent(k, k == 0, 1.0) for k in range(5)])["money_per_success"]
    assert row.estimate.value == 5 and row.estimate.high is None
    assert UNBOUNDED in row.estimate.notes
    assert per_success(row).endswith("to unbounded]")


def test_what_was_not_metered_has_no_ratio():
    row = rows([spent(k, True, None) for k in range(3)])["money_per_success"]
    assert (row.estimate.value, per_success(row)) == (None, "unknown")
    assert any("a cost is unknown" in note for note in row.estimate.notes)


def test_the_report_and_the_estimate_pay_for_the_same_attempts(tmp_path):
    plan = [cell(f"t-{n}", task=f"ledger/{n}") for n in range(3)]
    made = RunMaker(tmp_path / "run", plan)
    lost = {"stop": "environment_fault", "infrastructure": True}
    for one in plan[:2]:
        made.trial(one, None, steps=40, **lost)
        made.trial(one, all_pass(), attempt=2)
    made.trial(plan[2], None, steps=100, **lost)
    data = build_report(made.folder, tmp_path / "out")
    row = next(r for r in data["main_table"] if r["measure"] == "actions_per_success")
    assert row["estimate"]["value"] == (2 * (40 + 16) + 100) / 2
    found = estimate("estimate", "cost", made.folder, "--of", "actions")
    per = line(found, "careful", "actions per success")
    assert per["estimate"]["value"] == row["estimate"]["value"]
    assert per["estimate"]["n_tasks"] == row["estimate"]["n_tasks"] == 3


def test_report_json_holds_no_infinity(tmp_path):
    plan = [cell(f"t-{n}", task=f"ledger/{n}") for n in range(3)]
    made = RunMaker(tmp_path / "run", plan)
    for one in plan:
        made.trial(one, verdicts({}))
    build_report(made.folder, tmp_path / "out")

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    data = json.loads((tmp_path / "out" / "report.json").read_text(), parse_constant=refuse)
    row = next(r for r in data["main_table"] if r["measure"] == "actions_per_success")
    assert row["estimate"]["high"] is None and UNBOUNDED in row["estimate"]["notes"]
    assert "no success, at least" in (tmp_path / "out" / "index.html").read_text()
