"""Costs read from growing journals, and the bounds on them."""

from pathlib import Path

import msgspec
import pytest

from seatrial.errors import UsageError
from seatrial.journal.events import ActionRequested, AgentStarted, ModelCalled, TrialEnded
from seatrial.schedule.spending import Cap, CostFollower, Spent
from seatrial.schedule.watching import Running, seconds_left
from seatrial.spec.experiment import System


def call(**more: object) -> bytes:
    plain = {"number": 1, "step": 1, "attempt": 1, "asked": "m", "call_class": "ok", "status": 200}
    event = msgspec.convert(
        {"kind": "model.called", "latency_us": 5, "request": "", **plain, **more}, ModelCalled
    )
    return msgspec.json.encode(event) + b"\n"


STEP = msgspec.json.encode(ActionRequested(step=1, tool="shell", arguments={}, key="k", pre="")) + b"\n"


def test_a_journal_is_counted_as_it_grows_and_a_torn_line_waits(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    follower = CostFollower(path)
    follower.look()
    assert (follower.steps, follower.spent) == (0, Spent())
    metered = call(input_tokens=90, output_tokens=10, cached_tokens=50, money=0.5)
    path.write_bytes(STEP + metered + STEP[:20])
    for _ in range(2):
        follower.look()
        assert (follower.steps, follower.spent) == (1, Spent(1, 100, 0, 0.5, 0))
    path.write_bytes(STEP + metered + STEP + call(input_tokens=5) + b'{"kind":"model.called","seq":"x"}\n')
    follower.look()
    # Half a count is no count, though there was an answer; a line that does not fit its kind was a call.
    assert (follower.steps, follower.spent) == (2, Spent(3, 100, 2, 0.5, 2, 1, 1))


def begun(seen: str) -> bytes:
    return msgspec.json.encode(AgentStarted(agent="a", confined=True, details={"model_calls": seen})) + b"\n"


END = msgspec.json.encode(TrialEnded(stop_reason="finished", fingerprint="")) + b"\n"


@pytest.mark.parametrize(
    ("lines", "spent"),
    [
        (begun("proxy") + END, Spent()),
        (begun("proxy") + STEP, Spent(1, 0, 1, 0.0, 1)),
        (begun("none") + STEP, Spent()),
        (STEP, Spent()),
        (begun("unwatched") + END, Spent(unseen=1)),
    ],
)
def test_a_call_may_be_missing_where_a_journal_breaks_off(tmp_path: Path, lines: bytes, spent: Spent) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(lines)
    follower = CostFollower(path)
    follower.look()
    assert follower.spent.calls == 0, "it may go on"
    for _ in range(2):
        follower.close()
        assert follower.spent == spent


def test_answers_that_do_not_say_what_they_used_cannot_be_bounded(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    follower = CostFollower(path)
    path.write_bytes(call(call_class="timeout", status=None) + call(call_class="cut_off", status=None))
    follower.look()
    assert Cap(money=9.0, tokens=9).reached(follower.spent) is None
    assert Cap(money=9.0).leaves_out(follower.spent) == (
        "--max-money 9 bounds what is known, which 2 calls are not"
    )
    assert Cap().leaves_out(follower.spent) is None and Cap(tokens=9).leaves_out(Spent()) is None
    with path.open("ab") as file:
        file.write(call(input_tokens=1, output_tokens=2))
    follower.look()
    assert Cap(tokens=9).reached(follower.spent) is None
    assert str(Cap(money=9.0).reached(follower.spent)).startswith("--max-money 9 cannot be held: 1 answered")


def test_a_bound_that_could_not_be_held_is_refused() -> None:
    chat, python = System(name="c", agent="chat"), System(name="p", agent="python")
    priced = System(name="d", agent="chat", options={"price": {"currency": "EUR"}})
    with pytest.raises(UsageError, match="'c' has no price"):
        Cap(money=1.0).check([priced, chat], unsafe=False)
    with pytest.raises(UsageError, match=r"--max-tokens: without a sandbox nobody sees .* 'p'"):
        Cap(tokens=1).check([python], unsafe=True)
    Cap(money=1.0).check([priced, python], unsafe=False)
    Cap(tokens=1).check([chat, priced], unsafe=True)
    Cap().check([chat, python], unsafe=True)


def test_a_bound_is_reached_by_what_is_known_and_says_what_is_not() -> None:
    spent = Spent(calls=4, tokens=1000, without_tokens=1, money=2.5, without_money=3)
    assert Cap().reached(spent) is None
    assert Cap(money=2.6, tokens=1001).reached(spent) is None
    assert Cap(money=2.5).reached(spent) == (
        "--max-money 2.5 is reached: 2.5 spent and 3 calls of unknown cost"
    )
    assert "--max-tokens 1000 is reached" in str(Cap(tokens=1000).reached(spent))
    assert Cap(tokens=0).reached(Spent()) is not None


@pytest.mark.parametrize("cap", [{"money": -1.0}, {"tokens": -1}, {"money": float("nan")}])
def test_a_bound_that_is_none_is_refused(cap: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="is no amount"):
        Cap(**cap)


def test_the_time_left_is_unknown_until_something_ended() -> None:
    running = [Running("a", 1, 3, seconds=4.0), Running("b", 1, 3, seconds=30.0)]
    assert seconds_left([], 10, running, 2) is None
    assert seconds_left([10.0, 20.0], 4, running, 2) == (4 * 15 + 11) / 2
