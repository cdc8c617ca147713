"""Arms of compaction: when the agent is asked, what it is given, what is written down."""

import json
from pathlib import Path

import pytest

from seatrial.gateway.attend import Asked
from seatrial.journal.events import ActionFinished, ContextCompacted, TrialStarted
from seatrial.journal.objects import ObjectStore
from seatrial.trial.keeping.state_table import StateTable
from tests.trial.keeping.interrupted import SCRIPT, play

AT = '[compaction]\nat_subgoal = "one"\n'
TELLS = """
class Agent:
    def __init__(self, config, seed):
        self.asked, self.words = [], ["one", "two", "three"]
    def act(self, observation):
        if "compact" in observation:
            self.asked.append(observation["compact"])
        if self.words:
            word = self.words.pop(0)
            command = f"echo {word} >> notes.txt; echo out of order >&2; test {word} != two"
            return {"tool": "shell", "arguments": {"command": command}}
        return {"tool": "finish", "arguments": {"summary": __import__("json").dumps(self.asked)}}
    def compact(self, how):
        return {"tokens_before": 90, "tokens_after": 40, "kept": ["words"], "summary": how.get("text", "own")}
"""


@pytest.mark.parametrize("strategy", ["raw", "gold", "automatic", "structured"])
def test_each_strategy_is_asked_for_once(tmp_path: Path, strategy: str) -> None:
    table = AT.replace('"one"', '"two"') + "state_bytes = 700\n"
    ended = play(tmp_path, f"compacted:{strategy}", agent=TELLS, tables=table)
    (how,) = json.loads(ended.end.summary)
    assert (how["strategy"], how["bytes"]) == (strategy, 700)
    event = ended.one(ContextCompacted)
    assert (event.strategy, event.step, event.kept) == (strategy, 2, ["words"])
    assert (event.tokens_before, event.tokens_after) == (90, 40)
    text = how.get("text", "own")
    assert ended.run.objects.get(event.summary or "").decode() == text
    if strategy == "gold":
        assert text == "You have written one already.\n"
    elif strategy == "structured":
        told = json.loads(text)
        assert told["files"] == [{"path": "workspace/notes.txt", "step": 2}]
        (failed,) = told["failed"]
        assert (failed["step"], failed["reason"], told["goal_version"]) == (2, "out of order", 1)
    else:
        assert "text" not in how
    conditions = ended.one(TrialStarted).conditions["compaction"]
    assert (conditions["strategy"], conditions["at_subgoal"]) == (strategy, "two")


def test_other_arms_are_left_alone(tmp_path: Path) -> None:
    ended = play(tmp_path, "baseline", agent=TELLS, tables=AT)
    assert ended.end.summary == "[]"
    assert ended.events(ContextCompacted) == []


def test_an_agent_that_cannot_is_not_said_to_have(tmp_path: Path) -> None:
    source = TELLS[: TELLS.index("    def compact")]
    ended = play(tmp_path, "compacted:raw", agent=source, tables=AT)
    assert len(json.loads(ended.end.summary)) == 1
    assert ended.events(ContextCompacted) == []
    assert ended.end.stop_reason == "finished"


@pytest.mark.parametrize("report", ['"kept": [1]', '"kept": "all"', '"summary": 1', '"tokens_before": -1'])
def test_a_report_that_is_none_is_the_agents_fault(tmp_path: Path, report: str) -> None:
    source = TELLS[: TELLS.index('        return {"tokens_before"')] + f"        return {{{report}}}\n"
    ended = play(tmp_path, "compacted:raw", agent=source, tables=AT)
    assert ended.events(ContextCompacted) == []
    assert ended.end.stop_reason == "agent_fault"


def test_old_history_can_be_looked_up_and_that_is_counted(tmp_path: Path) -> None:
    look = {"tool": "history", "step": 1}
    script = [SCRIPT[0], look, {**look, "step": 9}, {"tool": "finish"}]
    ended = play(tmp_path, "compacted:structured", script, tables=AT + "lookups = true\n")
    shown = [ended.run.objects.get(event.observation).decode() for event in ended.events(ActionFinished)]
    assert shown[1].startswith("[step 1: shell ")
    assert shown[1].endswith("did one\n")
    assert shown[2] == "there is no such step"
    (folder := tmp_path / "without").mkdir()
    ended = play(folder, "compacted:structured", script, tables=AT)
    assert "history" not in ended.one(TrialStarted).conditions["tools"]


def test_the_table_says_what_had_no_room(tmp_path: Path) -> None:
    objects = ObjectStore(tmp_path)
    table = StateTable(objects)
    shown = objects.put(b"first line\nno such account\n")
    for step in range(1, 41):
        asked = Asked(step, "payments.charge", {"account": f"a{step}", "amount": 5}, f"key{step}")
        table.add(
            asked,
            ActionFinished(
                step=step, outcome="ok" if step % 2 else "unknown", pre="", post="", observation=shown,
                notes={"ledger": step},
            ),
        )  # fmt: skip
    for limit in (400, 2000, 100_000):
        text = table.text(2, {"who": "Ada"}, limit)
        told = json.loads(text)
        assert len(text.encode()) <= limit
        kept = len(told["effects"]) + len(told["failed"]) + len(told["remembered"])
        assert kept + told["left_out"] == 61
        assert told["goal_version"] == 2
    last = told["effects"][-1]
    assert (last["call"], last["key"], last["ledger"], last["outcome"]) == (
        "payments.charge", "key40", 40, "unknown",
    )  # fmt: skip
    assert told["failed"][0]["reason"] == "no such account"
    assert told["left_out"] == 0
