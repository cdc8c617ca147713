"""Forked trials: in the true state, bit for bit; apart from each other; to the same end as the original."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from seatrial.environment.confine.host import Host
from seatrial.environment.sandbox import BubblewrapSandbox
from seatrial.errors import EnvironmentFault, UsageError
from seatrial.journal.entries import State
from seatrial.journal.events import ActionFinished, ActionRequested, AgentStarted, TrialEnded, TrialStarted
from seatrial.journal.reader import Journal, base_state, read_journal, state_at
from seatrial.journal.run import RunFolder, TrialPlanned
from seatrial.schedule.amendments import add_trials
from seatrial.schedule.fork_candidates import ForkOrders
from seatrial.schedule.forks import ForkPlace, plan_forks, prove_places
from seatrial.schedule.queue import Selection
from seatrial.schedule.runner import Orders, run_plan
from seatrial.schedule.watching import Silent
from seatrial.schedule.workers import run_job
from seatrial.spec.frozen import frozen_task
from seatrial.trial.forks.point import fork_point
from seatrial.trial.forks.restore import difference, world_at
from seatrial.trial.ground import prepare_ground
from tests.environment.walk import walk
from tests.trial.test_trial import experiment, job, script

COMMANDS = (
    "mkdir -p a/b; echo 1 > a/b/one; ln a/b/one two; ln -s two three",
    "echo more >> two; chmod 640 a/b/one; mkfifo pipe; setfattr -n user.note -v x two 2>/dev/null; true",
    "rm -r services; mkdir services; echo new > services/only",
    "mv a moved; printf 'a b' > 'odd name'; head -c 300000 /dev/zero > /var/tmp/large",
    "rm two pipe; echo end > /tmp/end; echo h > ~/home-file",
)


def ended(folder: Path, *commands: str, **task: Any) -> RunFolder:
    """A run whose one trial gave these commands and finished."""
    run = experiment(folder, script(*commands), **task)
    run_plan(run, run.manifest(), Silent())
    return run


def journal_of(run: RunFolder, trial: str, attempt: int = 1) -> Journal:
    return read_journal(run.journal_path(trial, attempt))


def orders(count: int = 1, **more: Any) -> ForkOrders:
    return ForkOrders(count=count, seed=5, **more)


def forked(
    run: RunFolder, step: int, wanted: ForkOrders, planned: TrialPlanned | None = None
) -> list[TrialPlanned]:
    """Fork a trial, the run's first one if none is named, and run the forks."""
    manifest = run.manifest()
    at = ForkPlace(planned or manifest.plan[0], 1, step)
    forks = plan_forks(run, at, wanted)
    prove_places(run, [at])
    add_trials(run, manifest, forks)
    run_plan(run, manifest, Silent(), Orders(selection=Selection(trials=[fork.trial for fork in forks])))
    return forks


def seen(world: BubblewrapSandbox, host: Host) -> dict[str, tuple[object, ...]]:
    """Every path of a live tree with kind, mode, owner, content, target, links and attributes."""
    upper = f"{world.ground.scratch}/worlds/{Path(world.tree).name}/upper"
    return walk(world.tree, upper, host.uid("world"), stable=host.mode == "root")


def test_every_step_comes_to_be_byte_for_byte(tmp_path: Path, host: Host) -> None:
    run = ended(tmp_path, *COMMANDS)
    (line,) = run.index()
    task = run.manifest().tasks[0]
    live = BubblewrapSandbox(prepare_ground(run, task, host))
    try:
        for step in range(len(COMMANDS) + 1):
            if step:
                live.shell(COMMANDS[step - 1])
                live.settle()
            point = fork_point(journal_of(run, line.trial), run.objects, step)
            world = world_at(run, host, line.trial, 1, step)
            assert isinstance(world, BubblewrapSandbox)
            try:
                assert seen(world, host) == seen(live, host)
                assert world.settle().changes == []
                assert world.tracker.fingerprint() == point.fingerprint == live.tracker.fingerprint()
            finally:
                world.close()
    finally:
        live.close()


def test_forks_of_a_script_come_to_the_end_of_the_original(tmp_path: Path) -> None:
    run = ended(tmp_path, *COMMANDS)
    original = run.manifest().plan[0].trial
    before = run.journal_path(original, 1).read_bytes()
    last = journal_of(run, original).events[-1]
    assert isinstance(last, TrialEnded)
    for step in (0, 2, 4):
        first, second = forked(run, step, orders(2))
        assert first.seed != second.seed
        for fork in (first, second):
            journal = journal_of(run, fork.trial)
            end = journal.events[-1]
            assert isinstance(end, TrialEnded)
            assert (end.fingerprint, end.stop_reason, end.audit) == (last.fingerprint, "finished", "equal")
            asked = [e.arguments.get("command") for e in journal.events if isinstance(e, ActionRequested)]
            assert asked == [*COMMANDS[step:], None]
    assert run.journal_path(original, 1).read_bytes() == before


def test_the_first_line_says_where_a_fork_comes_from_and_lists_its_state(tmp_path: Path) -> None:
    run = ended(tmp_path, *COMMANDS)
    original = run.manifest().plan[0]
    (fork,) = forked(run, 3, orders())
    journal = journal_of(run, fork.trial)
    first = journal.events[0]
    assert isinstance(first, TrialStarted)
    told = first.conditions["fork"]
    assert (told["trial"], told["attempt"], told["step"]) == (original.trial, 1, 3)
    posts = [e.post for e in journal_of(run, original.trial).events if isinstance(e, ActionFinished)]
    assert told["fingerprint"] == first.fingerprint == posts[2]
    assert told["budget"]["actions"] == 40 - 3
    assert (told["memory"], told["causal"], told["goal_version"]) == ("replay", True, 1)
    assert first.arm == fork.arm == f"forked:{original.trial}@3"

    def identities(state: State) -> dict[str, Any]:
        return {path: entry.identity() for path, entry in state.items()}

    recorded = state_at(journal_of(run, original.trial), run.objects, 3)
    assert identities(base_state(journal, run.objects)) == identities(recorded)


def test_worlds_of_one_state_diverge_alone(tmp_path: Path, host: Host) -> None:
    run = ended(tmp_path, *COMMANDS)
    (line,) = run.index()
    task = run.manifest().tasks[0]
    ground = prepare_ground(run, task, host)
    state = state_at(journal_of(run, line.trial), run.objects, 2)
    parent = BubblewrapSandbox(ground)
    first, second = parent.forks(difference(ground.base.state, state), 2)
    try:
        untouched = seen(second, host)
        first.shell("echo first >> two; rm three; mkdir -p a/new; echo x > a/new/file; echo y > services/z")
        changed = {entry.path for entry in first.settle().changes}
        assert {"workspace/two", "workspace/a/b/one", "workspace/three", "workspace/a/new/file"} <= changed
        assert second.settle().changes == []
        assert seen(second, host) == untouched
        assert second.shell("cat two").output == b"1\nmore\n"
        second.shell("echo second >> a/b/one")
        assert {entry.path for entry in second.settle().changes} == {"workspace/two", "workspace/a/b/one"}
        assert first.shell("cat two").output == b"1\nmore\nfirst\n"
        assert first.audit()
        assert second.audit()
    finally:
        for world in (first, second, parent):
            world.close()


def test_another_action_takes_the_place_of_the_next_one(tmp_path: Path) -> None:
    run = ended(tmp_path, *COMMANDS)
    calls = [{"tool": "shell", "arguments": {"command": "echo other > other"}}]
    control, changed = forked(run, 2, orders(actions=[("other", calls)]))
    for fork, first in ((control, COMMANDS[2]), (changed, "echo other > other")):
        journal = journal_of(run, fork.trial)
        requests = [e for e in journal.events if isinstance(e, ActionRequested)]
        assert [e.arguments.get("command") for e in requests] == [first, *COMMANDS[3:], None]
        assert requests[0].forced == {"tool": "shell", "arguments": {"command": COMMANDS[2]}}
        assert [e.forced for e in requests[1:]] == [None] * (len(requests) - 1)
    assert control.seed == changed.seed
    assert run.verdicts_path(changed.trial, 1).exists()


def test_an_agent_without_memory_begins_after_what_was_forced(tmp_path: Path) -> None:
    run = ended(tmp_path, "echo 1 > one", "echo 2 > two")
    calls = [{"tool": "shell", "arguments": {"command": "echo other > other"}}]
    (fork,) = forked(run, 1, orders(actions=[("other", calls)], control=False, memory="none"))
    events = journal_of(run, fork.trial).events
    requests = [e for e in events if isinstance(e, ActionRequested)]
    asked = [e.arguments.get("command") for e in requests]
    assert asked == ["echo other > other", "echo 1 > one", "echo 2 > two", None]
    assert requests[0].forced == {}
    kinds = [type(e) for e in events if isinstance(e, ActionRequested | AgentStarted)]
    assert kinds[:2] == [ActionRequested, AgentStarted]


def test_a_running_process_is_refused_or_told(tmp_path: Path) -> None:
    run = ended(
        tmp_path,
        "echo 1 > one; sleep 300 & true",
        "pkill sleep; while pgrep -r S -x sleep; do :; done",
        "true",
    )
    with pytest.raises(UsageError, match=r"1 background processes were running.*--non-causal"):
        plan_forks(run, ForkPlace(run.manifest().plan[0], 1, 1), orders())
    (fork,) = forked(run, 1, orders(non_causal=True))
    assert fork.fork is not None
    assert not fork.fork.causal
    first = journal_of(run, fork.trial).events[0]
    assert isinstance(first, TrialStarted)
    assert first.conditions["fork"]["causal"] is False
    assert first.conditions["fork"]["lost"] == ["1 background processes were running"]


def test_an_attempt_that_was_killed_can_be_forked_before_its_last_action(tmp_path: Path) -> None:
    run = experiment(tmp_path, script("echo 1 > one", "echo 2 > two"))
    run_job(run, job(run, kill_at=("after_effect_before_ack", 2)))
    planned = run.manifest().plan[0]
    with pytest.raises(UsageError, match="nobody knows how action 2 ended"):
        plan_forks(run, ForkPlace(planned, 1, 2), orders())
    (fork,) = forked(run, 1, orders())
    asked = [
        e.arguments.get("command")
        for e in journal_of(run, fork.trial).events
        if isinstance(e, ActionRequested)
    ]
    assert asked == ["echo 2 > two", None]


def test_a_fork_can_be_forked(tmp_path: Path) -> None:
    run = ended(tmp_path, "echo 1 > one", "echo 2 > two", "echo 3 > three")
    (fork,) = forked(run, 1, orders())
    (again,) = forked(run, 1, orders(), fork)
    journal = journal_of(run, again.trial)
    paths = base_state(journal, run.objects)
    assert "workspace/two" in paths
    assert "workspace/three" not in paths
    first = journal.events[0]
    assert isinstance(first, TrialStarted)
    assert first.conditions["fork"]["budget"]["actions"] == 40 - 2
    assert first.conditions["fork"]["memory"] == "replay"
    asked = [e.arguments.get("command") for e in journal.events if isinstance(e, ActionRequested)]
    assert asked == ["echo 3 > three", None]


def test_a_base_that_is_not_what_it_was_is_refused_before_anything_is_planned(tmp_path: Path) -> None:
    run = ended(tmp_path, "echo 1 > one", "echo 2 > two")
    (index,) = (run.folder / "scratch" / "bases").glob("*.index")
    found = json.loads(index.read_bytes())
    found["digest"] = "0" * 64
    index.write_text(json.dumps(found))
    at = ForkPlace(run.manifest().plan[0], 1, 1)
    with pytest.raises(EnvironmentFault, match="base is not the one this trial ran on"):
        prove_places(run, [at])
    shutil.rmtree(run.folder / "scratch" / "bases")
    prove_places(run, [at])


def test_the_same_orders_give_the_same_trials_and_a_greater_number_more(tmp_path: Path) -> None:
    run = ended(tmp_path, "echo 1 > one", "echo 2 > two")
    at = ForkPlace(run.manifest().plan[0], 1, 1)
    two, three = plan_forks(run, at, orders(2)), plan_forks(run, at, orders(3))
    assert two == three[:2]
    assert len({fork.trial for fork in three}) == len({fork.seed for fork in three}) == 3
    same = plan_forks(run, at, orders(2, same_seed=True))
    assert {fork.seed for fork in same} == {at.planned.seed}
    assert not {fork.trial for fork in same} & {fork.trial for fork in three}


def test_a_task_is_left_as_it_was_frozen(tmp_path: Path) -> None:
    run = ended(tmp_path, "echo 1 > one", "echo 2 > two")
    before = run.manifest()
    forked(run, 1, orders())
    after = run.manifest()
    assert after.experiment_id == before.experiment_id
    assert frozen_task(after.tasks[0], run.folder) == frozen_task(before.tasks[0], run.folder)
    assert after.amendments[-1]["added"] == [after.plan[-1].trial]
