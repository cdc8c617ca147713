"""What stands after a step: read from a journal alone."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.errors import UsageError
from seatrial.journal.entries import Entry
from seatrial.journal.events import (
    ActionFinished,
    ActionRequested,
    AgentKilled,
    AgentStarted,
    CheckpointTaken,
    Cost,
    GoalChanged,
    HumanIntervened,
    ModelCalled,
    Outcome,
    PerturbationArmed,
    PerturbationFired,
    TrialEnded,
    TrialStarted,
)
from seatrial.journal.objects import ObjectStore
from seatrial.journal.reader import Journal, read_journal
from seatrial.journal.writer import JournalWriter
from seatrial.spec.task import Budget
from seatrial.trial.forks.forking import remaining
from seatrial.trial.forks.point import (
    ForkPoint,
    ended_by_then,
    fork_point,
    memory_of,
    next_call,
    still_armed,
    whole_past,
)
from tests.worlds import make_task


class Written:
    """A journal under way."""

    def __init__(self, folder: Path, arm: str = "baseline", **conditions: Any) -> None:
        self.objects = ObjectStore(folder / "objects")
        folder.mkdir(exist_ok=True)
        self.clock, self.cost = 0, Cost()
        self.writer = JournalWriter(folder / "journal.jsonl", lambda: self.clock)
        base = [Entry(path="workspace", kind="dir")]
        self.writer.append(
            TrialStarted(
                trial="t", attempt=1, task="a/b", system="s", arm=arm, seed=1,
                base=self.objects.put(msgspec.json.encode(base)), fingerprint="f0", reset_proved=True,
                conditions=conditions,
            )
        )  # fmt: skip
        self.step = 0

    def agent(self, kind: str) -> None:
        self.writer.append(AgentStarted(agent=kind, confined=True))

    def act(self, outcome: Outcome = "ok", **notes: Any) -> None:
        self.request()
        self.finish(outcome, **notes)

    def finish(self, outcome: Outcome = "ok", **notes: Any) -> None:
        data = self.objects.put(f"content {self.step}".encode())
        entry = Entry(path=f"workspace/f{self.step}", kind="file", digest=data)
        self.clock += 1_000_000
        self.writer.append(
            ActionFinished(
                step=self.step, outcome=outcome, pre=f"f{self.step - 1}", post=f"f{self.step}",
                changes=[entry], observation=self.objects.put(b"shown"), cost=self.cost, notes=notes,
            )
        )  # fmt: skip

    def request(self, tool: str = "shell") -> None:
        self.step += 1
        pre, arguments = f"f{self.step - 1}", {"command": str(self.step)}
        self.writer.append(
            ActionRequested(actor="agent", step=self.step, tool=tool, arguments=arguments, key="", pre=pre)
        )

    def journal(self) -> Journal:
        self.writer.close()
        return read_journal(self.writer.path)

    def point(self, step: int) -> ForkPoint:
        return fork_point(self.journal(), self.objects, step)


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path)


def test_the_state_is_that_before_the_next_request(written: Written) -> None:
    written.act()
    written.act()
    point = written.point(1)
    assert sorted(point.state) == ["workspace", "workspace/f1"]
    assert point.fingerprint == "f1"
    assert next_call(point) == [{"tool": "shell", "arguments": {"command": "2"}}]
    assert list(point.calls) == [1]


def test_the_goal_in_force_is_the_one_that_the_step_ended_with(written: Written) -> None:
    written.act()
    written.writer.append(GoalChanged(step=1, was=1, to=2, relation="replace", instruction="i"))
    written.writer.goal_version = 2
    written.act()
    journal = written.journal()
    assert [fork_point(journal, written.objects, step).goal_version for step in (0, 1, 2)] == [1, 2, 2]


def called(step: int) -> ModelCalled:
    return ModelCalled(
        number=step, step=step, attempt=1, asked="m", call_class="ok", input_tokens=30, output_tokens=12,
        money=0.25, latency_us=1, request="r",
    )  # fmt: skip


def test_what_is_left_of_a_budget_is_what_the_steps_before_left(written: Written) -> None:
    written.act()
    written.writer.append(called(2))
    written.act()
    written.writer.append(called(3))  # led to a step that is not copied
    written.act()
    left = remaining(written.point(2), Budget(actions=5, seconds=10.0, tokens=40, money=1.0))
    assert left == Budget(actions=3, seconds=8.0, tokens=0, money=0.75)


def test_waiting_for_people_and_endpoints_is_in_no_budget(written: Written) -> None:
    written.cost = Cost(queue_us=300_000, approval_us=500_000)
    written.act()
    written.act()
    assert remaining(written.point(1), Budget(seconds=10.0)).seconds == 9.8


def test_a_person_is_asked_once_whatever_they_and_the_evaluator_do_then(written: Written) -> None:
    def said(tier: Any, decision: str) -> HumanIntervened:
        return HumanIntervened(step=written.step, tier=tier, by="scripted", shown="s", decision=decision)

    written.request("ask_human")
    written.writer.append(said("takeover", "took_over"))
    written.finish()
    written.writer.append(said("repair", "repaired"))
    written.writer.append(said("takeover", "gave_back"))
    written.act()
    assert remaining(written.point(1), Budget(human_requests=3)).human_requests == 2


def test_a_fork_of_a_fork_has_what_the_first_had_left(tmp_path: Path) -> None:
    written = Written(tmp_path, arm="forked:t@3", fork={"budget": {"actions": 4}})
    written.act()
    written.act()
    assert remaining(written.point(1), Budget(actions=60)).actions == 3


@pytest.mark.parametrize("step", [-1, 3])
def test_a_step_that_is_not_there_is_refused(written: Written, step: int) -> None:
    written.act()
    written.act()
    with pytest.raises(UsageError, match=f"has no step {step}. Its steps are 0 to 2"):
        written.point(step)


def test_an_action_that_never_finished_is_refused_and_the_one_before_named(written: Written) -> None:
    written.act()
    written.request()
    with pytest.raises(UsageError, match=r"nobody knows how action 2 ended.*Fork at t@1"):
        written.point(2)


def test_a_content_that_is_gone_is_named(written: Written) -> None:
    written.act()
    written.act()
    finished = written.journal().events[2]
    assert isinstance(finished, ActionFinished)
    digest = finished.changes[0].digest
    assert digest is not None
    Path(written.objects.path(digest)).unlink()
    with pytest.raises(UsageError, match="contents of 1 paths are not in the run, first workspace/f1"):
        written.point(1)
    assert written.point(0).lost == []


def test_processes_that_were_running_are_lost(written: Written) -> None:
    written.act()
    written.act(alive=2)
    written.act()
    journal = written.journal()
    lost = [fork_point(journal, written.objects, step).lost for step in (1, 2, 3)]
    assert lost == [[], ["2 background processes were running"], []]


def test_processes_of_a_journal_that_does_not_tell_are_unknown(written: Written) -> None:
    written.act()
    written.act()
    written.writer.append(TrialEnded(stop_reason="finished", fingerprint="f2", details={"processes_lost": 1}))
    assert written.point(1).lost == [
        "background processes may have been running: the journal does not say since when"
    ]


def test_an_interruption_to_come_is_lost(tmp_path: Path) -> None:
    written = Written(tmp_path, arm="interrupted:before_effect")
    written.act()
    written.writer.append(AgentKilled(point="before_effect", step=1, acknowledged=False))
    written.act()
    journal = written.journal()
    assert fork_point(journal, written.objects, 0).lost == ["the agent had not been interrupted yet"]
    assert fork_point(journal, written.objects, 1).lost == []


def armed(name: str, **trigger: Any) -> PerturbationArmed:
    return PerturbationArmed(perturbation=name, version=1, change="state", strength="core", trigger=trigger)


def test_what_has_not_fired_as_often_as_it_may_is_still_armed(written: Written) -> None:
    for line in (armed("p"), armed("thrice"), armed("down", while_down=True)):
        written.writer.append(line)
    written.act()
    for name in ("p", "thrice"):
        fired = PerturbationFired(perturbation=name, change="state", step=1, pre="f1", post="f1")
        written.writer.append(fired)
    written.act()
    spec = make_task(perturbation=[
        {"id": "p", "kind": "placebo", "when": {"action": {}}},
        {"id": "thrice", "kind": "observation", "when": {"action": {}}, "change": {"delay": 1, "times": 3}},
        {"id": "down", "kind": "placebo", "when": {"action": {}}},
    ])  # fmt: skip
    journal = written.journal()
    found = [still_armed(fork_point(journal, written.objects, step), spec) for step in (0, 1)]
    assert found == [["p", "thrice"], ["thrice"]]


def test_a_person_in_the_middle_of_acting_is_lost(written: Written) -> None:
    def said(decision: str) -> HumanIntervened:
        step = written.step
        return HumanIntervened(step=step, tier="takeover", by="scripted", shown="s", decision=decision)

    written.act()
    written.writer.append(said("took_over"))
    written.act()
    written.writer.append(said("gave_back"))
    written.act()
    journal = written.journal()
    lost = [fork_point(journal, written.objects, step).lost for step in (0, 1, 2)]
    assert lost == [[], ["a person was acting in the agent's place"], []]


def test_what_was_before_is_counted_back_through_every_fork(tmp_path: Path) -> None:
    first = Written(tmp_path / "first")
    first.agent("scripted")
    first.act()
    first.act()
    origin = {"trial": "t", "attempt": 1, "step": 1, "memory": "replay"}
    second = Written(tmp_path / "second", fork=origin)
    second.agent("scripted")
    second.act()
    second.act()
    point = fork_point(second.journal(), second.objects, 1, first.point(1))
    assert [e.step for e in point.past if isinstance(e, ActionFinished)] == [-1, 0]
    assert point.steps == 2
    assert memory_of(point) == "replay"
    lived = whole_past(point)
    assert lived is not None and [each.step for each in lived] == [1, 1]


@pytest.mark.parametrize(
    ("memory", "agent", "same_seed", "had"),
    [
        ("checkpoint", "python", True, "checkpoint"),  # the one that its original was given
        ("none", "python", True, "replay"),  # it began anew, and all of that is known
        ("none", "python", False, "none"),
        ("replay", "python", False, "none"),
    ],
)
def test_what_a_fork_of_a_fork_can_be_given(
    tmp_path: Path, memory: str, agent: str, same_seed: bool, had: str
) -> None:
    first = Written(tmp_path / "first")
    first.agent(agent)
    first.act()
    if memory == "checkpoint":
        first.writer.append(checkpoint(1))
    first.act()
    second = Written(tmp_path / "second", fork={"trial": "t", "attempt": 1, "step": 1, "memory": memory})
    second.agent(agent)
    second.act()
    second.act()
    point = fork_point(second.journal(), second.objects, 1, first.point(1))
    assert memory_of(point, same_seed) == had
    if had == "checkpoint":
        assert point.checkpoint is not None
        assert (point.checkpoint.state, point.checkpoint.step) == ("c1", 0)


def checkpoint(step: int) -> CheckpointTaken:
    return CheckpointTaken(step=step, memory="structured", state=f"c{step}", size=1, fingerprint="f")


def test_the_checkpoint_is_the_last_one_at_or_before_the_step(written: Written) -> None:
    written.agent("python")
    written.writer.append(checkpoint(0))
    for step in (1, 2, 3):
        written.act()
        written.writer.append(checkpoint(step))
    journal = written.journal()
    found = [fork_point(journal, written.objects, step).checkpoint for step in (0, 1, 3)]
    assert [kept and kept.state for kept in found] == ["c0", "c1", "c3"]


@pytest.mark.parametrize(
    ("agent", "same_seed", "kept", "memory"),
    [
        ("scripted", False, True, "replay"),
        ("python", False, True, "checkpoint"),
        ("python", False, False, "none"),
        ("python", True, False, "replay"),
        ("simulated", True, False, "replay"),
        ("chat", True, False, "none"),
        ("chat", False, True, "checkpoint"),
    ],
)
def test_what_can_be_had_of_an_agents_memory(
    written: Written, agent: str, same_seed: bool, kept: bool, memory: str
) -> None:
    written.agent(agent)
    written.act()
    if kept:
        written.writer.append(checkpoint(1))
    written.act()
    assert memory_of(written.point(1), same_seed) == memory
    assert memory_of(written.point(1), same_seed, other_agent=True) == "none"


def test_an_agent_that_was_killed_is_not_told_its_past_again(written: Written) -> None:
    written.agent("scripted")
    written.act()
    written.writer.append(AgentKilled(point="before_effect", step=1, acknowledged=False))
    written.act()
    assert memory_of(written.point(1)) == "none"


def test_at_the_beginning_there_is_nothing_to_forget(written: Written) -> None:
    written.agent("chat")
    written.act()
    assert memory_of(written.point(0)) == "replay"


@pytest.mark.parametrize(("reason", "over"), [("finished", "finished"), ("agent_fault", None)])
def test_a_trial_goes_on_after_its_last_step_only_if_it_was_broken_off(
    written: Written, reason: Any, over: str | None
) -> None:
    written.act()
    written.writer.append(TrialEnded(stop_reason=reason, fingerprint="f1"))
    point = written.point(1)
    assert ended_by_then(point) == over
    with pytest.raises(UsageError, match="is the last step"):
        next_call(point)
