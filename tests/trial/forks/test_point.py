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
    GoalChanged,
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
)


class Written:
    """A journal under way."""

    def __init__(self, folder: Path, arm: str = "baseline", **conditions: Any) -> None:
        self.objects = ObjectStore(folder / "objects")
        self.clock = 0
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
        data = self.objects.put(f"content {self.step}".encode())
        entry = Entry(path=f"workspace/f{self.step}", kind="file", digest=data)
        self.clock += 1_000_000
        self.writer.append(
            ActionFinished(
                step=self.step, outcome=outcome, pre=f"f{self.step - 1}", post=f"f{self.step}",
                changes=[entry], observation=self.objects.put(b"shown"), notes=notes,
            )
        )  # fmt: skip

    def request(self) -> None:
        self.step += 1
        pre, arguments = f"f{self.step - 1}", {"command": str(self.step)}
        self.writer.append(
            ActionRequested(actor="agent", step=self.step, tool="shell", arguments=arguments, key="", pre=pre)
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


def test_what_is_left_of_a_budget_is_what_the_steps_before_left(written: Written) -> None:
    written.act()
    written.writer.append(
        ModelCalled(
            number=1, step=2, attempt=1, asked="m", call_class="ok", input_tokens=30, output_tokens=12,
            money=0.25, latency_us=1, request="r",
        )
    )  # fmt: skip
    written.act()
    written.act()
    left = remaining(written.point(2), Budget(actions=5, seconds=10.0, tokens=40, money=1.0))
    assert left == Budget(actions=3, seconds=8.0, tokens=0, money=0.75)


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


def test_a_perturbation_still_armed_and_an_interruption_to_come_are_lost(tmp_path: Path) -> None:
    written = Written(tmp_path, arm="interrupted:before_effect")
    written.writer.append(PerturbationArmed(perturbation="p", version=1, change="state", strength="core"))
    written.act()
    fired = PerturbationFired(perturbation="p", change="state", step=1, pre="f1", post="f1")
    written.writer.append(fired)
    written.writer.append(AgentKilled(point="before_effect", step=1, acknowledged=False))
    written.act()
    journal = written.journal()
    assert fork_point(journal, written.objects, 0).lost == [
        "the perturbation 'p' had fired 0 of 1 times",
        "the agent had not been interrupted yet",
    ]
    assert fork_point(journal, written.objects, 1).lost == []
    still = fork_point(journal, written.objects, 1, {"p": 3}).lost
    assert still == ["the perturbation 'p' had fired 1 of 3 times"]


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
