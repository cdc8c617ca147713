"""Sums over model calls: unknown parts make the sum unknown, calls that were turned away do not."""

from typing import Any

import pytest

from seatrial.journal.events import AgentStarted, Cost, Event, ModelCalled, TrialEnded
from seatrial.measure.costs import count_costs
from seatrial.measure.models import ModelCosts, count_model_calls
from tests.measure.trials import finished, requested, started


def call(call_class: str = "ok", status: int | None = 200, counts: Any = (100, 10, 40), **more: Any) -> Event:
    spent, given, cached = counts
    return ModelCalled(
        number=1, step=1, attempt=more.pop("attempt", 1), asked="m", call_class=call_class, status=status,
        input_tokens=spent, output_tokens=given, cached_tokens=cached, latency_us=1, request="r", **more,
    )  # fmt: skip


NONE = (None, None, None)


def agent(seen: object = "proxy") -> Event:
    return AgentStarted(agent="chat", confined=True, details={"model_calls": seen})


END = TrialEnded(stop_reason="finished", fingerprint="f", elapsed=90, last_turn=Cost(model_us=7, queue_us=3))


def costs(*calls: Event, seen: object = "proxy") -> ModelCosts:
    return count_model_calls([agent(seen), *calls, END])


def test_known_parts_add_up() -> None:
    found = costs(call(money=0.5, currency="EUR"), call("bad_tool_call", attempt=2, money=0.25))
    assert found == ModelCosts(
        input_tokens=200, output_tokens=20, cached_tokens=80, money=0.75, currency="EUR",
        model_calls=2, model_retries=1, model_failures=0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("call_class", "status"),
    [
        ("rate_limited", 429),
        ("server_error", 503),
        ("refused", 401),
        ("context_exceeded", 400),
        ("unreachable", None),
    ],
)
def test_what_was_turned_away_used_nothing(call_class: str, status: int | None) -> None:
    found = costs(call(money=0.5), call(call_class, status, NONE))
    assert (found.input_tokens, found.output_tokens, found.money) == (100, 10, 0.5)
    assert (found.model_calls, found.model_failures) == (2, 1)


@pytest.mark.parametrize(
    ("call_class", "status"),
    [("timeout", None), ("endless", 200), ("unreachable", 200), ("not_json", 200), ("malformed", 200),
     ("cut_off", None), ("cut_off", 200), ("ok", 200)],
)  # fmt: skip
def test_what_may_have_used_some_makes_the_sums_unknown(call_class: str, status: int | None) -> None:
    found = costs(call(money=0.5), call(call_class, status, NONE))
    assert (found.input_tokens, found.output_tokens, found.cached_tokens, found.money) == (None,) * 4
    assert found.model_calls == 2


def test_money_that_nobody_priced_is_no_zero() -> None:
    found = costs(call(), call("rate_limited", 429, NONE))
    assert (found.money, found.currency, found.output_tokens) == (None, None, 10)
    refused = call("rate_limited", 429, NONE)
    assert costs(refused).money is None
    # A price list names its currency at every call, also where none of them used anything.
    priced = costs(call("rate_limited", 429, NONE, currency="EUR"))
    assert (priced.money, priced.currency) == (0.0, "EUR")
    assert costs().money == 0.0


def test_cached_tokens_that_are_not_told_are_no_zero() -> None:
    found = costs(call(counts=(100, 10, None)))
    assert (found.input_tokens, found.cached_tokens) == (100, None)


def test_without_a_way_to_a_model_there_were_no_calls() -> None:
    assert costs(seen="none") == ModelCosts(
        input_tokens=0, output_tokens=0, cached_tokens=0, model_calls=0, model_retries=0, model_failures=0,
        money=0.0,
    )  # fmt: skip


@pytest.mark.parametrize("seen", ["unwatched", None])
def test_calls_that_nobody_could_see_are_unknown(seen: object) -> None:
    assert costs(seen=seen) == ModelCosts()
    assert count_model_calls([]) == ModelCosts()


def test_the_last_turn_belongs_to_the_time() -> None:
    found = count_costs([started(), requested(1), finished(1), END])
    assert (found.model_us, found.queue_us, found.tool_us, found.elapsed_us) == (12, 3, 10, 90)


def test_a_journal_of_before_does_not_say_the_last_turn() -> None:
    end = TrialEnded(stop_reason="finished", fingerprint="f", elapsed=90)
    found = count_costs([started(), requested(1), finished(1), end])
    assert (found.model_us, found.queue_us, found.tool_us, found.elapsed_us) == (None, None, 10, 90)


@pytest.mark.parametrize("calls", [[], [call(money=0.5)]])
def test_a_call_may_be_missing_where_a_journal_breaks_off(calls: list[Event]) -> None:
    found = count_costs([started(), agent(), *calls, requested(1), finished(1)])
    unknown = (found.input_tokens, found.output_tokens, found.cached_tokens, found.money, found.model_calls)
    assert unknown == (None,) * 5
    assert (found.elapsed_us, found.model_us, found.queue_us) == (None,) * 3
    # Requests and what tools did are written down as they come.
    assert (found.actions, found.tool_us) == (1, 10)


def test_an_agent_without_a_way_to_a_model_has_none_missing() -> None:
    found = count_costs([started(), agent("none"), requested(1), finished(1)])
    assert (found.model_calls, found.output_tokens, found.money, found.elapsed_us) == (0, 0, 0.0, None)
