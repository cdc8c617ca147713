"""People beside the agent: tiers, edits, silence, budgets, takeovers and the evaluator's repairs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from seatrial.environment.confine.host import Host
from seatrial.gateway.constraining.humans import Act, Mended, Reply, Request
from seatrial.gateway.meter import Meter
from seatrial.gateway.recalling import counted_back, past_of
from seatrial.journal.events import (
    ActionFinished,
    ActionRequested,
    BudgetExhausted,
    EffectRecorded,
    HumanIntervened,
)
from tests.gateway.people import calling, scripted, watched_world
from tests.worlds import make_task

RULE = {"id": "no-pay", "mode": "prevent", "requires": "pay", "forbid": {"call": calling(command="~ ^pay")}}
APPROVAL = {"id": "pay", "tool": "shell", "where": {"command": "~ ^pay"}}
TASK = make_task([RULE], approval=[APPROVAL])


def pay(amount: int) -> dict[str, str]:
    return {"command": f"pay() {{ echo $1 > paid; }}; pay {amount}"}


def test_an_edited_call_is_the_only_one_allowed(tmp_path: Path, host: Host) -> None:
    said = '[[approval]]\ndecision = "edit"\nreason = "less"\n[approval.arguments]\ncommand = '
    said += json.dumps(pay(5)["command"])
    with watched_world(tmp_path, host, TASK, scripted(said)) as w:
        answer = w.act("request_approval", action="shell", arguments=pay(50))
        assert answer.outcome == "ok"
        assert "approved with changes" in answer.text
        assert json.dumps(pay(5)) in answer.text
        assert w.act("shell", **pay(50)).outcome == "denied"
        assert w.act("shell", **pay(5)).outcome == "ok"
        (event,) = w.events(HumanIntervened)
        assert (event.decision, event.arguments) == ("edited", pay(5))
        assert event.typed is not None
        assert w.objects.get(event.typed) == b"edit: less"


def test_an_edit_that_no_tool_takes_is_a_refusal(tmp_path: Path, host: Host) -> None:
    said = '[[approval]]\ndecision = "edit"\narguments = { command = 3 }\n'
    with watched_world(tmp_path, host, TASK, scripted(said)) as w:
        answer = w.act("request_approval", action="shell", arguments=pay(50))
        assert answer.outcome == "denied"
        assert w.act("shell", **pay(50)).outcome == "denied"


def test_what_no_table_says_is_refused(tmp_path: Path, host: Host) -> None:
    with watched_world(tmp_path, host, TASK, scripted("")) as w:
        assert w.act("request_approval", action="shell", arguments=pay(1)).text == "This was refused."
        assert w.act("ask_human", question="which port?").text == "I cannot tell you that."
        assert [e.decision for e in w.events(HumanIntervened)] == ["refused", "refused"]
        assert [e.outcome for e in w.events(ActionFinished)] == ["denied", "denied"]


def test_answers_run_out_and_conditions_choose(tmp_path: Path, host: Host) -> None:
    said = """
[[approval]]
tool = "shell"
where = { command = "~ pay 1$" }
decision = "approve"
times = 1
[[fact]]
question = "~ (?i)port"
answer = "8080"
"""
    with watched_world(tmp_path, host, TASK, scripted(said)) as w:
        outcomes = [w.act("request_approval", action="shell", arguments=pay(n)).outcome for n in (2, 1, 1)]
        assert outcomes == ["denied", "ok", "denied"]
        assert w.act("ask_human", question="Which PORT?").text == "8080"
        facts = [e for e in w.events(HumanIntervened) if e.tier == "facts"]
        assert [(e.decision, w.objects.get(e.shown)) for e in facts] == [("answered", b"Which PORT?")]


def test_waiting_is_a_time_of_its_own_on_the_clock_and_in_no_budget(tmp_path: Path, host: Host) -> None:
    said = '[[approval]]\ndecision = "approve"\nseconds = 30\n'
    task = make_task([RULE], approval=[APPROVAL], budget={"seconds": 20})
    with watched_world(tmp_path, host, task, scripted(said)) as w:
        w.act("request_approval", action="shell", arguments=pay(1))
        finished = w.events(ActionFinished)[0]
        assert finished.cost.approval_us == w.events(HumanIntervened)[0].waited_us == 30_000_000
        assert finished.elapsed >= 30_000_000
        assert w.gateway.stop_reason is None


@pytest.mark.parametrize("said", ['decision = "silent"', 'decision = "approve"\nseconds = 61'])
def test_who_never_answers_has_refused_when_the_time_is_up(tmp_path: Path, host: Host, said: str) -> None:
    with watched_world(tmp_path, host, TASK, scripted(f"[[approval]]\n{said}\n", timeout=60)) as w:
        answer = w.act("request_approval", action="shell", arguments=pay(1))
        assert answer.outcome == "denied"
        (event,) = w.events(HumanIntervened)
        assert (event.decision, event.typed, event.waited_us) == ("refused", None, 60_000_000)


def test_the_budget_of_requests_ends_the_trial_at_the_first_beyond_it(tmp_path: Path, host: Host) -> None:
    task = make_task([RULE], approval=[APPROVAL], budget={"human_requests": 1})
    with watched_world(tmp_path, host, task, scripted("")) as w:
        assert not w.act("ask_human", question="a?").done
        assert w.act("ask_human", question="b?").done
        assert w.gateway.stop_reason == "budget_human"
        (over,) = w.events(BudgetExhausted)
        assert (over.resource, over.limit, over.used) == ("human_requests", 1, 1)
        assert len(w.events(HumanIntervened)) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "rm", "arguments": {}},
        {"action": "shell", "arguments": {"cmd": "x"}},
        {"action": "shell", "arguments": ["x"]},
        {"action": "shell"},
    ],
)
def test_nobody_is_asked_for_a_call_that_cannot_be(
    tmp_path: Path, host: Host, arguments: dict[str, Any]
) -> None:
    with watched_world(tmp_path, host, TASK, scripted('[[approval]]\ndecision = "approve"\n')) as w:
        assert w.gateway.act("request_approval", arguments).outcome == "failed"
        assert not w.events(HumanIntervened)


def test_a_person_may_stop_the_trial_for_safety(tmp_path: Path, host: Host) -> None:
    said = '[[approval]]\ndecision = "stop"\n'
    with watched_world(tmp_path, host, TASK, scripted(said)) as w:
        assert w.act("request_approval", action="shell", arguments=pay(1)).done
        assert w.gateway.stop_reason == "safety_stop"
        assert [e.decision for e in w.events(HumanIntervened)] == ["stopped"]


TAKES = """
[[takeover]]
question = "~ stuck"
seconds = 2
[[takeover.step]]
tool = "shell"
command = "echo by hand > made"
[[takeover.step]]
tool = "read_file"
path = "made"
"""


def test_a_person_who_takes_over_acts_through_the_gateway(tmp_path: Path, host: Host) -> None:
    with watched_world(tmp_path, host, TASK, scripted(TAKES)) as w:
        answer = w.act("ask_human", question="I am stuck")
        assert "I take over from here." in answer.text
        assert "read_file" in answer.text
        assert not answer.done
        assert [(e.step, e.actor, e.tool) for e in w.events(ActionRequested)] == [
            (1, "agent", "ask_human"), (2, "human", "shell"), (3, "human", "read_file"),
        ]  # fmt: skip
        took, gave = w.events(HumanIntervened)
        assert (took.step, took.tier, took.decision) == (1, "takeover", "took_over")
        assert (gave.step, gave.decision, gave.waited_us) == (3, "gave_back", 4_000_000)
        assert [e.cost.approval_us for e in w.events(ActionFinished)] == [0, 2_000_000, 2_000_000]
        assert w.objects.get(gave.shown).decode() in answer.text
        assert w.act("shell", command="cat made").text == "by hand\n"
        assert w.events(ActionRequested)[-1].actor == "agent"
        assert w.act("ask_human", question="stuck again").outcome == "denied"


def test_nobody_takes_over_below_that_tier(tmp_path: Path, host: Host) -> None:
    with watched_world(tmp_path, host, TASK, scripted(TAKES, tier="facts")) as w:
        assert w.act("ask_human", question="I am stuck").outcome == "denied"
        assert w.gateway.step == 1


def test_a_person_who_ends_the_work_ends_the_trial(tmp_path: Path, host: Host) -> None:
    said = '[[takeover]]\nafter_step = 2\n[[takeover.step]]\ntool = "finish"\nsummary = "mine"\n'
    with watched_world(tmp_path, host, TASK, scripted(said)) as w:
        assert not w.act("shell", command="true").done
        answer = w.act("shell", command="true")
        assert answer.done
        assert (w.gateway.stop_reason, w.gateway.summary, w.gateway.step) == ("finished", "mine", 3)
        assert [e.decision for e in w.events(HumanIntervened)] == ["took_over", "gave_back"]


def test_the_evaluators_repair_is_no_input_of_a_users(tmp_path: Path, host: Host) -> None:
    said = '[[repair]]\nafter_step = 1\nwrite = "fixed.txt"\nto = "files:notes.txt"\n'
    with watched_world(tmp_path, host, TASK, scripted(said, **{"fixed.txt": b"mended\n"})) as w:
        w.act("shell", command="true")
        (event,) = w.events(HumanIntervened)
        assert (event.tier, event.by, event.decision, event.actor) == (
            "repair",
            "evaluator",
            "repaired",
            "harness",
        )
        (effect,) = w.events(EffectRecorded)
        assert (effect.actor, effect.note) == ("environment", "repair")
        assert [e.path for e in effect.changes] == ["workspace/notes.txt"]
        assert w.act("read_file", path="notes.txt").text == "mended\n"
        assert len(w.events(HumanIntervened)) == 1


def test_a_trial_that_goes_on_from_a_journal_finds_the_person_where_it_was(
    tmp_path: Path, host: Host
) -> None:
    said = '[[fact]]\nquestion = "~ ."\nanswer = "once"\ntimes = 1\n' + TAKES
    with watched_world(tmp_path / "a", host, TASK, scripted(said)) as w:
        assert w.act("ask_human", question="a?").text == "once"
        w.act("ask_human", question="I am stuck")
        past = past_of(counted_back(w.journal().events, w.gateway.step), w.gateway.step, w.objects)
    with watched_world(tmp_path / "b", host, TASK, scripted(said)) as w:
        w.humans.recall(past)
        assert w.act("ask_human", question="a?").text == "I cannot tell you that."
        assert w.act("ask_human", question="stuck").outcome == "denied"
        assert w.gateway.step == 2


class Slow:
    """A person who says how long they took; the clock stands still meanwhile."""

    by: Literal["terminal"] = "terminal"

    def __init__(self, meter: Callable[[], Meter]) -> None:
        self._meter, self.clocks = meter, list[int]()

    def approve(self, request: Request) -> Reply:
        return Reply("refused")

    def answer(self, question: str) -> Reply:
        return Reply("took_over")

    def wants_to_act(self, step: int) -> bool:
        return False

    def acts(self, act: Act) -> str:
        for _ in range(2):
            act("shell", {"command": "true"}, 1_000_000)
            self.clocks += [self._meter().now_us() for _ in range(2)]
        return "typed"

    def repairs(self, step: int) -> list[Mended]:
        return []


def test_a_person_who_acts_is_waited_for_once(tmp_path: Path, host: Host) -> None:
    slow = Slow(lambda: w.meter)
    with watched_world(tmp_path, host, TASK, slow) as w:
        w.act("ask_human", question="x")
        assert slow.clocks[0] == slow.clocks[1]
        assert slow.clocks[2] == slow.clocks[3]
        own = [e.cost.approval_us for e in w.events(ActionFinished)]
        assert own == [0, 1_000_000, 1_000_000]
