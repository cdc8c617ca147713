"""The order of execution, filters and the retry policy, without a process."""

from collections import Counter

import pytest

from seatrial.errors import UsageError
from seatrial.journal.run import IndexLine, TrialPlanned
from seatrial.schedule.queue import Ledger, Queue, Selection, Todo, execution_order, to_begin


def plan(tasks: int = 6, repeats: int = 4, systems: str = "ab", arms: str = "x") -> list[TrialPlanned]:
    return [
        TrialPlanned(
            trial=f"t{task}.{system}.{arm}.{repeat}", task=f"fam/t{task}", system=system, arm=arm, seed=1,
            repeat=repeat,
        )
        for task in range(tasks)
        for repeat in range(1, repeats + 1)
        for arm in arms
        for system in systems
    ]  # fmt: skip


def end(trial: str, attempt: int, infrastructure: bool = False, **more: bool) -> IndexLine:
    reason = "environment_fault" if infrastructure else "finished"
    return IndexLine(
        trial=trial, attempt=attempt, digest="", stop_reason=reason, infrastructure=infrastructure, **more
    )


def pairs(order: list[TrialPlanned], size: int) -> list[set[tuple[str, int]]]:
    blocks = [order[at : at + size] for at in range(0, len(order), size)]
    return [{(planned.task, planned.repeat) for planned in block} for block in blocks]


def test_the_order_is_a_permutation_that_the_seed_draws() -> None:
    planned = plan()
    order = execution_order(planned, 5)
    assert Counter(order) == Counter(planned)
    assert order == execution_order(reversed(planned), 5)
    assert order != execution_order(planned, 6)
    assert order != planned


def test_what_is_compared_stands_together_and_repeats_come_in_rounds() -> None:
    order = execution_order(plan(systems="abc", arms="xy"), 5)
    assert all(len(block) == 1 for block in pairs(order, 6))
    assert [planned.repeat for planned in order] == sorted(planned.repeat for planned in order)


def test_no_system_is_always_first_and_no_task_always_early() -> None:
    first, earliest = Counter[str](), Counter[str]()
    for seed in range(50):
        order = execution_order(plan(), seed)
        first.update(planned.system for planned in order[::2])
        earliest[order[0].task] += 1
    # 1,200 pairs: a fair coin stays within 5 standard deviations, 87.
    assert abs(first["a"] - 600) < 87
    assert len(earliest) == 6
    assert max(earliest.values()) < 25


def test_a_plan_that_grows_keeps_the_order_of_what_there_was() -> None:
    small, large = plan(repeats=2), plan(repeats=3, arms="xy")
    order = [planned for planned in execution_order(large, 9) if planned in small]
    assert order == execution_order(small, 9)


def test_filters_take_what_fits_and_name_what_there_is() -> None:
    planned = plan(tasks=3, repeats=1)
    chosen = Selection(tasks=["*/t1", "*/t2"], systems=["b"], arms=["x"]).of(planned)
    assert [each.trial for each in chosen] == ["t1.b.x.1", "t2.b.x.1"]
    for wrong, there in (
        (Selection(tasks=["fam/t1", "t9"]), "'t9'.* fam/t0, fam/t1, fam/t2"),
        (Selection(systems=["c"]), "'c'.* a, b"),
        (Selection(arms=["perturbed:y"]), "'perturbed:y'.* x"),
    ):
        with pytest.raises(UsageError, match=there):
            wrong.of(planned)


def test_a_trial_is_tried_again_first_and_only_as_often_as_allowed() -> None:
    ledger = Ledger(retries=1)
    queue = Queue(plan(tasks=2, repeats=1, systems="a"), ledger)
    assert queue.take() == Todo("t0.a.x.1", 1)
    ledger.add([end("t0.a.x.1", 1, infrastructure=True)])
    assert queue.again("t0.a.x.1")
    assert queue.take() == Todo("t0.a.x.1", 2)
    ledger.add([end("t0.a.x.1", 2, infrastructure=True)])
    assert not queue.again("t0.a.x.1")
    assert ledger.given_up("t0.a.x.1")
    assert queue.take() == Todo("t1.a.x.1", 1)
    assert queue.take() is None


def test_attempts_that_their_runner_ended_are_not_held_against_a_trial() -> None:
    ledger = Ledger(retries=0)
    ledger.add(end("t", number, infrastructure=True, runner_ended=True) for number in range(1, 9))
    assert not ledger.given_up("t")
    assert ledger.next_attempt("t") == 9


def test_a_fault_of_the_task_uses_up_what_was_allowed_and_one_grant_opens_one_attempt() -> None:
    ledger = Ledger(retries=2)
    fault = {"digest": "", "stop_reason": "task_fault", "infrastructure": True}
    ledger.add([end("t", 1, infrastructure=True), IndexLine(trial="t", attempt=2, **fault)])
    assert ledger.given_up("t")
    ledger.grant({"t": 3})
    assert not ledger.given_up("t")
    ledger.add([IndexLine(trial="t", attempt=3, **fault)])
    assert ledger.given_up("t")
    ledger.grant({"t": 6})
    assert not ledger.given_up("t")


def test_granted_attempts_open_only_what_was_given_up() -> None:
    ledger = Ledger(retries=0)
    ledger.add([end("lost", 1, infrastructure=True), end("won", 1)])
    assert (ledger.given_up("lost"), ledger.given_up("won")) == (True, False)
    ledger.grant({"lost": 1, "won": 1})
    cells = plan(1, 1, "a")
    names = [TrialPlanned(trial=n, task="t", system="a", arm="x", seed=1, repeat=1) for n in ("lost", "won")]
    assert Queue([*names, *cells], ledger).waiting == ["lost", cells[0].trial]


def test_a_limit_counts_trials_not_attempts_and_late_judging_comes_first() -> None:
    ledger = Ledger(retries=2)
    ledger.add([end("t0.a.x.1", 1)])
    queue = Queue(plan(tasks=3, repeats=1, systems="a"), ledger, [end("t0.a.x.1", 1)], limit=1)
    assert queue.take(begin=False) == Todo("t0.a.x.1", 1, judge_only=True)
    assert queue.take(begin=False) is None
    assert queue.take() == Todo("t1.a.x.1", 1)
    ledger.add([end("t1.a.x.1", 1, infrastructure=True)])
    assert queue.again("t1.a.x.1")
    assert queue.take() == Todo("t1.a.x.1", 2)
    assert queue.take() is None


def test_the_ledger_keeps_count_while_attempts_end() -> None:
    """Against a recount of all lines after each of them."""
    lines = [
        end("a", 1, infrastructure=True), end("b", 1), end("a", 2, infrastructure=True, runner_ended=True),
        end("c", 1, infrastructure=True), end("c", 2, infrastructure=True), end("b", 2), end("a", 3),
    ]  # fmt: skip
    ledger = Ledger(1)
    for so_far in range(1, len(lines) + 1):
        ledger.add(lines[so_far - 1 : so_far])
        seen = lines[:so_far]
        completed = [line for line in seen if not line.infrastructure]
        assert ledger.done == len({line.trial for line in completed})
        assert ledger.infrastructure_ends == so_far - len(completed)
        for trial in "abcd":
            mine = [line for line in seen if line.trial == trial]
            first = next((line for line in mine if not line.infrastructure), None)
            assert ledger.counted(trial) == first
            used = sum(not line.runner_ended for line in mine)
            assert ledger.given_up(trial) == (first is None and used > 1)


def test_what_is_to_begin_leaves_out_what_ended_and_what_is_given_up() -> None:
    order = plan(tasks=4, repeats=1, systems="a")
    done, lost, *others = order
    ledger = Ledger(0)
    ledger.add([end(done.trial, 1), end(lost.trial, 1, infrastructure=True)])
    assert to_begin(order, ledger) == others
    assert to_begin(order, ledger, limit=1) == others[:1]
    assert to_begin(order, ledger, limit=0) == []
    assert to_begin(order, ledger, rerun=True) == [lost, *others]


def test_an_attempt_that_ended_unjudged_is_judged_before_anything_is_begun() -> None:
    queue = Queue(plan(tasks=1, repeats=1), Ledger(0))
    queue.judge("t9", 2)
    assert queue.unjudged == ["t9"]
    assert queue.take(begin=False) == Todo("t9", 2, judge_only=True)
    assert queue.take(begin=False) is None
    assert not queue.is_begun
    assert [queue.take(), queue.take(), queue.take()][2] is None
    assert queue.is_begun
