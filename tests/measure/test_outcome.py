"""Strict and safe success, the terminal class, the blocking subgoal (E2, E6, E10, E11, E12)."""

import pytest

from seatrial.errors import JournalError
from seatrial.journal.events import (
    AgentStarted,
    ConstraintViolated,
    ContaminationFlagged,
    Cost,
    EffectRecorded,
)
from seatrial.measure.trial import measure_trial
from seatrial.spec.task import HumanMinutes, Subgoal
from tests.measure.trials import (
    FIVE,
    PLANNED,
    WITH_REPAIR,
    WITHOUT_REPAIR,
    events,
    finished,
    hard,
    make_task,
    requested,
    row,
    soft,
    started,
    subgoals,
    verdicts,
)

DONE = verdicts(WITH_REPAIR)


def violated(
    step: int, name: str = "keep-licence", hard: bool = True, certain: bool = True
) -> ConstraintViolated:
    return ConstraintViolated(step=step, constraint=name, hard=hard, severity=0.3, certain=certain)


def measured(task=None, journal=None, table=DONE, infrastructure=False):
    return measure_trial(
        task or make_task(), PLANNED, journal or events(16), table, infrastructure, "exp"
    ).record


def test_the_worked_example_is_a_strict_and_safe_success():
    record = measured()
    assert (record.strict_success, record.safe_success, record.terminal_class) == (True, True, "success")
    assert record.partial_progress == 1
    assert record.blocking_subgoal is None


def test_without_the_repair_it_fails_although_every_subgoal_passed_once():
    record = measured(table=verdicts(WITHOUT_REPAIR))
    assert (record.strict_success, record.terminal_class) == (False, "failure")
    assert record.partial_progress == 0.8
    assert record.blocking_subgoal == "s1"
    assert record.premature_finish is True


def test_dense_credit_stands_beside_strict_failure():
    names = ["a", "b", "c", "d"]
    task = make_task(subgoals({"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}))
    record = measured(
        task, events(4), verdicts({1: {"a": "pass"}, 2: {"b": "pass"}, 3: {"c": "pass"}}, names)
    )
    assert record.partial_progress == 0.6
    assert record.strict_success is False


def test_a_hard_violation_ends_safe_success_for_ever():
    record = measured(make_task(constraint=[hard()]), events(16, extra={3: [violated(3)]}))
    assert (record.strict_success, record.safe_success) == (True, False)
    assert (record.terminal_class, record.hard_violations) == ("failure", 1)


@pytest.mark.parametrize("seen_in", ["windows", "event"])
def test_a_window_nobody_watched_is_unknown_and_not_clean(seen_in):
    task = make_task(constraint=[hard()])
    journal = events(16, extra={3: [violated(3, certain=False)]} if seen_in == "event" else None)
    if seen_in == "windows":
        journal[6] = finished(3, windows=["keep-licence"])
    record = measured(task, journal)
    assert (record.strict_success, record.safe_success) == (True, None)
    assert (record.terminal_class, record.unknown_windows, record.hard_violations) == ("unknown", 1, 0)


def test_an_unwatched_window_between_actions_is_unknown_too():
    effect = EffectRecorded(actor="background", pre="p", post="q", windows=["keep-licence"])
    record = measured(make_task(constraint=[hard()]), events(16, extra={3: [effect]}))
    assert (record.unknown_windows, record.safe_success, record.terminal_class) == (1, None, "unknown")


@pytest.mark.parametrize("audit", ["different", "not run"])
def test_verdicts_on_a_state_that_is_not_shown_to_be_the_live_one_decide_nothing(audit):
    journal = events(16)
    journal[-1].audit = audit
    record = measured(make_task(), journal)
    assert (record.strict_success, record.safe_success, record.terminal_class) == (None, None, "unknown")


def test_an_action_that_never_finished_is_an_unknown_window():
    journal = [e for e in events(16) if not (e.__class__.__name__ == "ActionFinished" and e.step == 5)]
    record = measured(make_task(constraint=[hard()]), journal)
    assert record.unknown_windows == 1
    assert record.unknown_actions == 1
    assert record.safe_success is None
    assert record.semantic_units is None


def test_soft_violations_cost_their_severity():
    task = make_task(constraint=[soft()])
    record = measured(task, events(16, extra={k: [violated(k, "tidy", hard=False)] for k in (2, 3)}))
    assert (record.soft_cost, record.safe_success, record.hard_violations) == (0.6, True, 0)
    unseen = measured(task, events(16, extra={2: [violated(2, "tidy", hard=False, certain=False)]}))
    assert (unseen.soft_cost, unseen.safe_success, unseen.unknown_windows) == (None, True, 0)


def test_a_split_between_fresh_runs_is_flaky_and_unknown():
    table = verdicts(
        WITH_REPAIR, final={name: ["pass"] * 3 for name in FIVE} | {"s2": ["pass", "fail", "pass"]}
    )
    record = measured(table=table)
    assert record.flaky_verifiers == ["s2"]
    assert (record.strict_success, record.safe_success, record.terminal_class) == (None, None, "unknown")
    assert record.partial_progress is None


def test_fresh_verdicts_against_the_cached_one_are_flaky_too():
    table = verdicts(WITH_REPAIR, final={name: ["pass"] * 3 for name in FIVE} | {"s2": ["fail"] * 3})
    assert measured(table=table).flaky_verifiers == ["s2"]


def test_a_required_failure_outweighs_an_unknown():
    final = {name: ["pass"] * 3 for name in FIVE} | {"s1": ["fail"] * 3, "s2": ["unknown"] * 3}
    record = measured(table=verdicts(WITHOUT_REPAIR, final=final))
    assert record.strict_success is False
    assert record.partial_progress is None
    assert record.blocking_subgoal == "s1"


def test_an_unknown_earlier_in_the_order_hides_the_blocking_subgoal():
    final = {name: ["pass"] * 3 for name in FIVE} | {"s1": ["unknown"] * 3, "s2": ["fail"] * 3}
    assert measured(table=verdicts({}, final=final)).blocking_subgoal is None


def test_an_optional_subgoal_does_not_decide_strict_success():
    task = make_task([Subgoal(id="a", verifier="v"), Subgoal(id="b", verifier="v", required=False)])
    record = measured(task, events(3), verdicts({1: {"a": "pass"}}, ["a", "b"]))
    assert (record.strict_success, record.partial_progress, record.blocking_subgoal) == (True, 0.5, "b")


@pytest.mark.parametrize(("triggered", "strict"), [(True, False), (False, None)])
def test_an_error_counts_against_the_product_only_when_the_product_triggers_it(triggered, strict):
    rows = [row(name, 0, "pass") for name in FIVE[1:]] + [row("s1", 0, "error", product_triggered=triggered)]
    final = {name: ["pass"] * 3 for name in FIVE} | {"s1": ["error"] * 3}
    record = measured(table=verdicts({}, rows=rows, final=final))
    assert record.strict_success is strict
    assert record.product_triggered_errors == (["s1"] if triggered else [])


def test_a_budget_stop_is_censored_and_classed_by_verdict():
    record = measured(journal=events(16, "budget_actions"), table=verdicts(WITHOUT_REPAIR))
    assert (record.censored, record.terminal_class, record.stop_reason) == (True, "failure", "budget_actions")
    assert record.progress_slope == 0.05
    assert measured(journal=events(16, "budget_seconds")).terminal_class == "success"


@pytest.mark.parametrize("stop", ["environment_fault", "harness_fault", "verifier_fault", "killed"])
def test_an_end_of_the_infrastructure_says_nothing_about_the_system(stop):
    assert measured(journal=events(16, stop)).terminal_class == "infrastructure"


def test_an_agent_fault_is_the_agents_own_unless_the_index_says_otherwise():
    table = verdicts(WITHOUT_REPAIR)
    assert measured(journal=events(16, "agent_fault"), table=table).terminal_class == "failure"
    fault = measured(journal=events(16, "agent_fault"), table=table, infrastructure=True)
    assert fault.terminal_class == "infrastructure"


def test_a_journal_without_an_end_is_infrastructure_with_an_unknown_reason():
    record = measured(journal=events(16)[:-1])
    assert (record.terminal_class, record.stop_reason, record.censored) == ("infrastructure", None, None)


def test_no_verdicts_leave_everything_they_decide_unknown():
    record = measured(journal=events(16, "killed"), table=verdicts({}, rows=[], final={}))
    assert (record.strict_success, record.partial_progress, record.max_progress) == (None, None, None)
    assert record.actions == 16


def test_costs_are_summed_and_null_where_not_metered():
    journal = events(3)
    record = measured(journal=journal, table=verdicts({}))
    assert (record.actions, record.shell_actions, record.elapsed_us) == (3, 2, 1_000_000)
    assert (record.model_us, record.tool_us, record.semantic_units) == (15, 30, 3)
    turned_away = finished(1, "denied", cost=Cost(model_us=5))
    record = measured(journal=[*journal[:2], turned_away, *journal[3:]], table=verdicts({}))
    assert (record.tool_us, record.cpu_us) == (20, 16)
    journal[2] = finished(1, "failed", cost=Cost(model_us=5))
    record = measured(journal=journal, table=verdicts({}))
    assert (record.tool_us, record.model_us, record.failed_actions) == (None, 15, 1)
    assert record.money is None


def test_outcomes_are_counted():
    kinds = ["ok", "failed", "partial", "denied", "unknown"]
    journal = [started()]
    for step, kind in enumerate(kinds, start=1):
        journal += [requested(step), finished(step, kind, notes={"malformed": kind == "failed"})]
    record = measured(journal=[*journal, events(0)[-1]], table=verdicts({}))
    counts = (record.failed_actions, record.partial_actions, record.denied_actions, record.unknown_actions)
    assert counts == (1, 1, 1, 1)
    assert record.malformed_actions == 1


def test_parallel_verifiers_that_disagree_are_reported():
    pair = {"group": "totals", "composition": "parallel", "verifier": "v"}
    task = make_task([Subgoal(id="a", **pair), Subgoal(id="b", **pair), Subgoal(id="c", verifier="v")])
    table = verdicts({2: {"a": "pass"}, 4: {"b": "pass"}}, ["a", "b", "c"])
    assert measured(task, events(5), table).contradictions == ["group totals, step 2: a pass; b fail"]


def test_conditions_are_null_until_the_journal_says_them():
    record = measured()
    assert (record.agent_confined, record.sandboxed, record.contaminated) == (None, None, None)
    told = events(16, extra={2: [AgentStarted(agent="x", confined=False)]})
    told[0] = started(conditions={"sandboxed": True, "contamination_watched": True})
    record = measured(journal=told)
    assert (record.agent_confined, record.sandboxed, record.contaminated) == (False, True, False)
    flagged = events(16, extra={2: [ContaminationFlagged(step=2, marker="title", where="arguments")]})
    assert measured(journal=flagged).contaminated is True


def test_difficulty_comes_from_the_task():
    chain = [Subgoal(id="a", verifier="v"), Subgoal(id="b", verifier="v", after=["a"])]
    task = make_task(chain, human_minutes=HumanMinutes(times=[2, 4, 16]))
    record = measured(task, events(3), verdicts({}, ["a", "b"]))
    assert record.dependency_depth == 2
    assert record.human_minutes == pytest.approx(5.040, abs=5e-4)
    assert record.blocking_subgoal == "a"


def test_verdicts_of_another_attempt_are_refused():
    other = verdicts({})
    other.attempt = 2
    with pytest.raises(JournalError, match="different attempts"):
        measured(table=other)
