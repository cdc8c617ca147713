"""Forks of chat agents: what they were told, remembered and had summed up, from fork to fork."""

import json
from pathlib import Path
from typing import Any

from seatrial.journal.events import ActionFinished, ActionRequested, Event, ModelCalled, TrialStarted
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder, TrialPlanned
from seatrial.schedule.fork_candidates import ForkOrders
from seatrial.schedule.queue import Selection
from seatrial.schedule.runner import Orders, run_plan
from seatrial.schedule.watching import Silent
from seatrial.spec.loading import load_experiment
from tests.agents.chats import write_experiment
from tests.agents.model_server import USAGE, ModelServer, model_server, says, tool
from tests.runs import open_run
from tests.trial.forks.test_forking import forked

LOOK = says(tool("read_file", path="notes.txt"))
REMEMBER = says(tool("remember", key="id", value="4711"))
RECALL = says(tool("recall", key="id"))
HISTORY = says(tool("history", step=-1))
WRITE = says(tool("shell", command="echo done > notes.txt"))
FINISH = says(tool("finish", summary="done"))
CALL_TOKENS = sum(count for count in USAGE.values() if isinstance(count, int))
MORE = """
arms = ["compacted:structured", "interrupted:before_effect"]
memory = true
show_budget = true
compaction = { every_tokens = 100, lookups = true }
"""


def ended(folder: Path, server: ModelServer) -> tuple[RunFolder, TrialPlanned]:
    """The run, whose trial with compactions has ended."""
    budget = {"actions": 20, "tokens": 5000}
    path = write_experiment(folder, server.endpoint, budget=budget, more=MORE)
    run = open_run(load_experiment(path), folder / "run")
    run_plan(run, run.manifest(), Silent(), Orders(selection=Selection(arms=["compacted:structured"])))
    return run, next(each for each in run.manifest().plan if each.arm == "compacted:structured")


def events(run: RunFolder, planned: TrialPlanned, kind: type[Event]) -> list[Any]:
    found = read_journal(run.journal_path(planned.trial, 1)).events
    return [event for event in found if isinstance(event, kind)]


def tools(run: RunFolder, planned: TrialPlanned) -> list[str]:
    return [event.tool for event in events(run, planned, ActionRequested)]


def shown(run: RunFolder, planned: TrialPlanned) -> list[str]:
    return [run.objects.get(e.observation).decode() for e in events(run, planned, ActionFinished)]


def begun(run: RunFolder, planned: TrialPlanned) -> dict[str, Any]:
    """The conditions in its first line."""
    (first,) = events(run, planned, TrialStarted)
    conditions: dict[str, Any] = first.conditions
    return conditions


def test_a_chat_goes_on_with_its_conversation_its_memory_and_its_summaries(tmp_path: Path) -> None:
    plays = [LOOK, REMEMBER, WRITE, FINISH]  # the original
    plays += [RECALL, WRITE, FINISH]  # a fork of it after step 2
    plays += [HISTORY, RECALL, FINISH]  # a fork of that after its step 1
    with model_server(*plays) as server:
        run, original = ended(tmp_path, server)
        (fork,) = forked(run, 2, ForkOrders(count=1, seed=5), original)
        (again,) = forked(run, 1, ForkOrders(count=1, seed=5), fork)
    assert tools(run, original) == ["read_file", "remember", "shell", "finish"]
    assert tools(run, fork) == ["recall", "shell", "finish"]
    assert tools(run, again) == ["history", "recall", "finish"]
    for planned in (fork, again):
        conditions = begun(run, planned)
        assert conditions["fork"]["memory"] == "checkpoint"
        assert conditions["fork"]["causal"] is True
        assert conditions["compaction"] == begun(run, original)["compaction"]
        assert "4711" in shown(run, planned)
    # What led to the steps that were not copied is not spent.
    left = [begun(run, planned)["fork"]["budget"] for planned in (fork, again)]
    assert [(each["actions"], each["tokens"]) for each in left] == [
        (18, 5000 - 2 * CALL_TOKENS), (17, 5000 - 3 * CALL_TOKENS),
    ]  # fmt: skip
    # The steps of before are there, counted back from where the fork began.
    assert shown(run, again)[0].startswith("[step -1: remember")


def test_each_is_told_its_own_budget_and_gets_the_summary_of_the_one_before(tmp_path: Path) -> None:
    with model_server(LOOK, REMEMBER, WRITE, FINISH, WRITE, FINISH) as server:
        run, original = ended(tmp_path, server)
        before = len(server.bodies)
        (fork,) = forked(run, 2, ForkOrders(count=1, seed=5), original)
    head = server.bodies[before]["messages"][1]["content"]
    assert "18 actions" in head
    (table,) = [line for line in head.splitlines() if line.startswith('{"goal_version"')]
    told = json.loads(table)
    assert told["remembered"] == [{"key": "id", "value": "4711"}]
    assert len(events(run, fork, ModelCalled)) == 2


def test_without_a_checkpoint_it_begins_anew_with_what_was_remembered(tmp_path: Path) -> None:
    plays = [LOOK, REMEMBER, WRITE, FINISH, RECALL, FINISH]
    with model_server(*plays) as server:
        run, original = ended(tmp_path, server)
        before = len(server.bodies)
        (fork,) = forked(run, 2, ForkOrders(count=1, seed=5, memory="none"), original)
    assert len(server.bodies[before]["messages"]) == 2
    assert shown(run, fork)[0] == "4711"
