"""Extra cost against the least there is, on recovered trials, with the recovery rate beside it (D4)."""

import pytest

from seatrial.estimate.amplification import Recovered, recovery_amplification


def ok(extra: float | None, oracle: float | None = 2.0) -> Recovered:
    return Recovered(recovered=True, extra=extra, oracle=oracle)


LOST = Recovered(recovered=False, extra=99.0, oracle=2.0)


def test_the_ratio_is_over_recovered_trials_and_the_rate_over_all():
    found = recovery_amplification({"f/a": [ok(4), ok(2), LOST], "f/b": [ok(8), LOST, LOST]}, "actions")
    # Task means 1.5 and 4; a failed trial's 99 extra actions do not enter.
    assert found.ratio.value == pytest.approx(2.75)
    assert found.extra.value == pytest.approx(5.5)
    assert found.recovery_rate.value == pytest.approx(0.5)
    assert (found.pairs, found.ratio.n_tasks, found.ratio.n_trials) == (3, 2, 3)
    assert "Over recovered trials only" in found.ratio.notes[0]


def test_the_least_possible_cost_is_one():
    found = recovery_amplification({"f/a": [ok(3, 3)], "f/b": [ok(3, 3)]}, "actions")
    assert found.ratio.value == 1


def test_what_has_no_oracle_or_no_partner_is_counted_and_keeps_its_place_in_the_rate():
    found = recovery_amplification({"f/a": [ok(4), ok(4, None), ok(None)]}, "actions")
    assert (found.pairs, found.ratio.value, found.recovery_rate.value) == (1, 2, 1)
    assert "2 recovered trials have no ratio" in " ".join(found.ratio.notes)
    assert "1 recovered trials have no extra cost" in " ".join(found.extra.notes)


def test_none_recovered():
    found = recovery_amplification({"f/a": [LOST], "f/b": [LOST]}, "actions")
    assert (found.ratio.value, found.recovery_rate.value) == (None, 0)
    unknown = recovery_amplification({"f/a": [Recovered(recovered=None)]}, "actions")
    assert unknown.recovery_rate.value is None
