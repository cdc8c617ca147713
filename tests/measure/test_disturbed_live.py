"""Disturbed trials of real runs, measured from their journals and objects."""

import pytest

from seatrial.evidence.read import read_run
from seatrial.records.trial import TrialRecord
from tests.schedule.small import seatrial
from tests.trial.disturbed import write_disturbed


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], TrialRecord]:
    folder = tmp_path_factory.mktemp("disturbed")
    arms = ["baseline", "perturbed:limit-changed", "perturbed:nothing", "perturbed:never"]
    file = write_disturbed(folder, arms, ["careful", "hasty"])
    seatrial("run", str(file), "-o", str(folder / "run"))
    found = [attempt.record for attempt in read_run(folder / "run").counted]
    return {(record.system, record.arm.partition(":")[2]): record for record in found}


def test_who_reads_again_sees_it_and_gets_over_it(records):
    found = records["careful", "limit-changed"]
    assert (found.delivered, found.fired_step, found.strict_success) == (True, 1, True)
    assert (found.detected, found.observed_step) == (True, 2)
    assert (found.repaired_step, found.recovered_step, found.recovery_cost) == (3, 3, 2)
    parts = (found.detect_actions, found.locate_actions, found.restore_actions, found.redo_actions)
    assert parts == (1, 1, 0, 0)
    assert (found.chain_broke_at, found.kept_work, found.undone_work) == ("none", 1, 0)
    assert (found.wrong_actions_after, found.polluted_products) == (0, 0)


def test_who_rests_on_what_was_does_not(records):
    found = records["hasty", "limit-changed"]
    assert (found.delivered, found.detected, found.recovered) == (True, False, False)
    assert (found.chain_broke_at, found.first_cause, found.first_cause_step) == ("observed", "state", 1)
    assert (found.wrong_actions_after, found.polluted_products, found.polluted_left) == (1, 1, 1)


@pytest.mark.parametrize("system", ["careful", "hasty"])
def test_a_placebo_and_a_trigger_that_never_came_change_nothing(records, system):
    base, placebo, never = (records[system, arm] for arm in ("", "nothing", "never"))
    assert base.strict_success and placebo.strict_success and never.strict_success
    assert (base.delivered, placebo.delivered, never.delivered) == (None, True, False)
    assert base.actions == placebo.actions == never.actions
    assert base.h_dep == placebo.h_dep == 1, "the total is made of the limit, and not of what was noted"
