"""The trial clock: turns, waits within them, budgets for model calls."""

import time

import pytest

from seatrial.gateway.meter import Meter, Turn
from seatrial.spec.task import Budget


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A clock set by hand, in nanoseconds."""
    now = [0]
    monkeypatch.setattr(time, "monotonic_ns", lambda: now[0])
    return now


def test_a_turn_is_split_into_work_and_waiting(clock: list[int]) -> None:
    meter = Meter(Budget())
    meter.agent_thinks()
    clock[0] = 2_000_000
    meter.wait_begins()
    clock[0] = 5_000_000
    assert meter.wait_ends() == 3000
    clock[0] = 6_000_000
    assert meter.now_us() == 6000
    assert meter.agent_acts() == Turn(model_us=3000, queue_us=3000)
    assert meter.clock_us == meter.now_us() == 6000


def test_a_turn_that_ends_while_it_waits_keeps_the_waiting(clock: list[int]) -> None:
    meter = Meter(Budget())
    meter.agent_thinks()
    meter.wait_begins()
    clock[0] = 4_000_000
    assert meter.agent_acts() == Turn(0, 4000)
    clock[0] = 9_000_000
    assert meter.wait_ends() == 0
    assert meter.agent_acts() == Turn(0, 0), "between turns the clock stands"
    meter.agent_thinks()
    clock[0] = 10_000_000
    assert meter.agent_acts() == Turn(1000, 0)


def test_two_waits_at_once_are_never_longer_than_the_turn(clock: list[int]) -> None:
    meter = Meter(Budget())
    meter.wait_begins()
    clock[0] = 3_000_000
    meter.wait_ends()
    meter.agent_thinks()
    clock[0] = 4_000_000
    assert meter.agent_acts() == Turn(0, 1000)


def test_a_call_counts_when_it_is_over_and_only_if_it_did_not_fail(clock: list[int]) -> None:
    meter = Meter(Budget(seconds=10.0))
    meter.agent_thinks()
    clock[0] = 1_000_000_000
    meter.call_begins()
    clock[0] = 31_000_000_000
    assert meter.seconds_left() == 9.0, "nobody knows yet whose time it is"
    meter.call_ends(failed=True)
    meter.wait_begins()
    clock[0] = 41_000_000_000
    assert (meter.seconds_left(), meter.wait_ends(), meter.seconds_left()) == (9.0, 10_000_000, 9.0)
    meter.call_begins()
    clock[0] = 44_000_000_000
    meter.call_ends(failed=False)
    assert meter.seconds_left() == 6.0 and meter.no_call_left() is None
    assert meter.agent_acts() == Turn(model_us=4_000_000, queue_us=40_000_000)
    assert (meter.clock_us, meter.seconds_left(), meter.exhausted()) == (44_000_000, 6.0, None)
    meter.agent_thinks()
    meter.call_begins()
    clock[0] = 50_000_000_000
    meter.call_ends(failed=False)
    assert meter.no_call_left() == ("seconds", "budget_seconds", 10.0, 10.0)
    meter.agent_acts()
    assert meter.exhausted() == ("seconds", "budget_seconds", 10.0, 10.0)


def test_a_call_that_the_end_of_the_turn_cuts_off_is_the_agents_time(clock: list[int]) -> None:
    meter = Meter(Budget(seconds=10.0))
    meter.agent_thinks()
    meter.call_begins()
    clock[0] = 2_000_000
    assert meter.agent_acts() == Turn(2000, 0)
    meter.call_ends(failed=True)
    assert (meter.queued_us, meter.agent_acts()) == (0, Turn(0, 0))


@pytest.mark.parametrize(
    ("budget", "tokens", "money", "resource"),
    [(Budget(tokens=100), 99, 5.0, None), (Budget(tokens=100), 100, 0.0, "tokens"),
     (Budget(money=1.0), 10**9, 0.99, None), (Budget(money=1.0), 5, 1.0, "money"),
     (Budget(tokens=0), 0, 0.0, "tokens"), (Budget(), 10**9, 10.0**9, None)],
)  # fmt: skip
def test_when_no_call_is_left(budget: Budget, tokens: int, money: float, resource: str | None) -> None:
    meter = Meter(budget)
    meter.model_called(tokens, money)
    left = meter.no_call_left()
    assert (left[0] if left else None) == resource


def test_what_the_harness_does_in_a_turn_is_left_out_of_it(clock: list[int]) -> None:
    meter = Meter(Budget())
    meter.agent_thinks()
    clock[0] = 1_000_000
    with meter.aside():
        clock[0] = 8_000_000
    clock[0] = 9_000_000
    assert meter.now_us() == 2000
    assert meter.agent_acts() == Turn(2000, 0)
    with meter.aside():
        clock[0] = 20_000_000
    assert meter.now_us() == 2000
