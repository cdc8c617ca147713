"""Perturbations on a real world: each kind of change, each kind of trigger, and what is written of them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.environment.confine.host import Host
from seatrial.errors import StateOverrun, TaskFault
from seatrial.gateway.disturbing import state_changes
from seatrial.gateway.disturbing.disturbance import Hands
from seatrial.gateway.disturbing.injector import Injector
from seatrial.gateway.gateway import Offer
from seatrial.journal.events import (
    ActionFinished,
    ActionRequested,
    ConstraintViolated,
    EffectRecorded,
    GoalChanged,
    PerturbationArmed,
    PerturbationFired,
)
from seatrial.journal.reader import state_at
from seatrial.spec.task import Goal, Perturbation
from tests.worlds import World, make_task, world

ON_TOUCH = {"action": {"tool": "shell", "where": {"command": "~ ^touch"}}}
GOALS = {
    1: (Goal(version=1, instruction="one.md"), "Write the report.\n"),
    2: (Goal(version=2, instruction="two.md", relation="replace"), "Write a letter.\n"),
    3: (Goal(version=3, instruction="two.md", relation="add", prominent="old"), "Write a letter too.\n"),
}


@dataclass
class Disturbed:
    """A world with an injector at its door."""

    world: World
    injector: Injector
    verified: list[str] = field(default_factory=list)

    def shell(self, command: str) -> Any:
        return self.world.act("shell", command=command)

    def text(self, digest: str) -> str:
        return self.world.objects.get(digest).decode()

    def file(self, path: str) -> str:
        """Content of a state path as the journal has it after the last step."""
        state = state_at(self.world.journal(), self.world.objects, self.world.gateway.step)
        return self.text(state[path].digest or "") if path in state else "<absent>"

    @property
    def fired(self) -> list[PerturbationFired]:
        return self.world.events(PerturbationFired)

    @property
    def only(self) -> PerturbationFired:
        (fired,) = self.fired
        return fired


Disturb = Callable[..., Any]


@pytest.fixture
def disturbed(tmp_path: Path, host: Host) -> Disturb:
    """Makes a disturbed world of one perturbation, given by its keys."""

    @contextmanager
    def make(
        files: dict[str, str] | None = None, constraint: Any = None, while_down: bool = False,
        task: dict[str, Any] | None = None, memory: Any = None, **keys: Any,
    ) -> Iterator[Disturbed]:  # fmt: skip
        spec = msgspec.convert({"id": "p", "kind": "state", "when": ON_TOUCH, **keys}, Perturbation)
        offer = Offer()
        declared = make_task(None if constraint is None else [constraint], **(task or {}))
        with world(tmp_path, host, declared, offer) as w:
            verified: list[str] = []
            hands = Hands(
                journal=w.gateway._journal, objects=w.objects, world=w.sandbox, meter=w.meter,
                file=lambda path: ((files or {})[path].encode(), 0o644), goals=GOALS,
                verified=lambda: verified, approvals=w.gateway._policy.approvals, memory=memory,
            )  # fmt: skip
            injector = Injector([] if while_down else [spec], hands, [spec] if while_down else [])
            injector.arm(w.gateway)
            offer.attendants.append(injector)
            yield Disturbed(w, injector, verified)
            with w.sandbox.frozen():
                w.gateway.settle()
                assert w.sandbox.audit()

    return make


# -- changes of the state -------------------------------------------------------------------------------
def test_a_file_is_written_just_before_the_action_that_triggers_it(disturbed: Disturb) -> None:
    change = {"write": "new.txt", "to": "files:src/a.py"}
    with disturbed({"new.txt": "x = 2\n"}, change=change, affects=["one"]) as d:
        assert d.shell("cat src/a.py").text == "x = 1\n"
        assert d.shell("touch t; cat src/a.py").text == "x = 2\n"
        assert d.shell("touch t; cat src/a.py").text == "x = 2\n"
        (armed,), fired = d.world.events(PerturbationArmed), d.only
        assert (armed.seq, armed.trigger, armed.affects, armed.observable) == (1, ON_TOUCH, ["one"], True)
        assert (fired.step, fired.paths, fired.visible) == (2, ["workspace/src/a.py"], {"paths": fired.paths})
        (effect,) = d.world.events(EffectRecorded)
        assert (effect.actor, effect.note, effect.seq + 1) == ("environment", "perturbation p", fired.seq)
        assert (effect.pre, effect.post) == (fired.pre, fired.post)
        requested = d.world.events(ActionRequested)[1]
        assert requested.seq < effect.seq < d.world.events(ActionFinished)[1].seq
        assert d.world.events(ActionFinished)[1].pre == effect.post


def test_a_written_file_keeps_mode_owner_and_every_name(disturbed: Disturb) -> None:
    change = {"write": "new.txt", "to": "files:notes.txt"}
    with disturbed({"new.txt": "two\n"}, change=change) as d:
        d.shell("chmod 640 notes.txt; ln notes.txt other; ln -s notes.txt link")
        shown = d.shell("touch t; cat other link; stat -c '%a %h %U' notes.txt other; echo 3 > other")
        assert shown.text.splitlines()[:2] == ["two", "two"]
        assert shown.text.splitlines()[2] == shown.text.splitlines()[3]
        assert shown.text.splitlines()[2].startswith("640 2 ")
        assert d.only.paths == ["workspace/notes.txt", "workspace/other"]
        assert d.file("workspace/notes.txt") == "3\n"


def test_missing_folders_are_made_and_a_new_file_can_be_the_bases(disturbed: Disturb, host: Host) -> None:
    change = {"write": "new.txt", "to": "files:deep/er/x", "owner": "base"}
    with disturbed({"new.txt": "x\n"}, change=change) as d:
        assert d.shell("touch t; cat deep/er/x").text == "x\n"
        state = state_at(d.world.journal(), d.world.objects, 1)
        # Without root there is nobody but the agent to own anything.
        owner = "base" if host.mode == "root" else "agent"
        assert (state["workspace/deep/er/x"].owner, state["workspace/deep/er"].owner) == (owner, "agent")


@pytest.mark.parametrize("command", ["mkdir -p deep/er/x", "echo > deep", "mkdir d; ln -s d deep"])
def test_a_change_that_the_world_does_not_admit_is_fired_and_undelivered(
    disturbed: Disturb, command: str
) -> None:
    with disturbed({"n": "x\n"}, change={"write": "n", "to": "files:deep/er/x"}) as d:
        d.shell(command)
        d.shell("touch t")
        assert d.only.pre == d.only.post
        assert "folder" in d.only.details["undelivered"]
        assert not d.world.events(EffectRecorded)


def test_what_is_already_so_is_undelivered(disturbed: Disturb) -> None:
    with disturbed({"n": "one\n"}, change={"write": "n", "to": "files:notes.txt"}) as d:
        d.shell("touch t")
        assert "already" in d.only.details["undelivered"]


def test_a_pattern_is_deleted_with_all_below(disturbed: Disturb) -> None:
    with disturbed(change={"delete": "files:s*"}) as d:
        d.shell("mkdir -p src/sub; echo 1 > src/sub/x; ln -s src spare")
        assert d.shell("touch t; ls").text.split() == ["LICENSE", "notes.txt", "t"]
        assert set(d.only.paths) == {
            "workspace/src", "workspace/src/a.py", "workspace/src/sub", "workspace/src/sub/x",
            "workspace/spare",
        }  # fmt: skip


def test_many_paths_are_counted_and_the_first_named(disturbed: Disturb) -> None:
    with disturbed(change={"delete": "files:many"}) as d:
        d.shell("mkdir many; cd many; seq 300 | xargs touch")
        assert d.shell("touch t; ls").text.split() == ["LICENSE", "notes.txt", "src", "t"]
        assert (len(d.only.paths), d.only.details) == (256, {"paths": 301})


def test_a_process_that_swaps_folders_for_links_leads_nobody_astray(
    disturbed: Disturb, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    swap = f"mkdir real; while :; do mv src real/; ln -s {victim} src; rm src; mv real/src .; done 2>&-"
    change = {"write": "n", "to": "files:src/a.py"}
    with disturbed({"n": "x\n"}, change=change) as d:
        d.shell(f"({swap}) > /dev/null & until [ -e real ]; do :; done")
        d.shell("touch t")
        assert d.only.paths or "folder" in d.only.details["undelivered"]
        assert not list(victim.iterdir())


def test_a_script_runs_as_the_agent_between_actions(disturbed: Disturb) -> None:
    script = "id -un > who; sed -i s/one/uno/ notes.txt"
    with disturbed({"s.sh": script}, change={"script": "s.sh"}, when={"subgoal_verified": "one"}) as d:
        d.shell("id -un")
        d.verified.append("one")
        d.shell("true")
        d.verified.clear()
        assert d.shell("cat notes.txt").text == "uno\n"
        assert d.shell("cat who").text == d.shell("id -un").text
        assert (d.only.step, d.only.paths) == (2, ["workspace/notes.txt", "workspace/who"])


@pytest.mark.parametrize(
    ("script", "piece"),
    [
        ("echo no; exit 3", "exit code 3, 0 processes left.: no. Correct"),
        ("printf 'a.\n\nb.\n'; exit 1", "left.: a. b. Correct"),
        ("exit 1", "exit code 1, 0 processes left.[.] Correct"),
        ("sleep 300 &", "1 processes left"),
    ],
)
def test_a_script_that_fails_is_the_tasks_fault(disturbed: Disturb, script: str, piece: str) -> None:
    with (
        disturbed({"s.sh": script}, change={"script": "s.sh"}) as d,
        pytest.raises(TaskFault, match=f"perturbation p: change: its script s.sh failed .*{piece}"),
    ):
        d.shell("touch t")


DEEPER = "for n in $(seq 30); do mkdir $(printf %0200d 0) && cd -P $(printf %0200d 0) || exit 0; done"


def test_what_a_script_leaves_beyond_all_bounds_is_the_tasks_fault(disturbed: Disturb) -> None:
    with (
        pytest.raises(TaskFault, match=r"p: change: its script s\.sh left what cannot be recorded: .* path"),
        disturbed({"s.sh": DEEPER}, change={"script": "s.sh"}) as d,
    ):
        d.shell("touch t")


def test_what_may_be_the_agents_stays_the_agents(disturbed: Disturb) -> None:
    with pytest.raises(StateOverrun), disturbed({"s.sh": DEEPER}, change={"script": "s.sh"}) as d:
        d.shell("sleep 100 &")
        d.shell("touch t")


def test_a_script_that_hangs_is_stopped_and_named(
    disturbed: Disturb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_changes, "SCRIPT_SECONDS", 1.5)
    with (
        disturbed({"s.sh": "echo begun; sleep 1000"}, change={"script": "s.sh"}) as d,
        pytest.raises(TaskFault, match=r"s\.sh failed \(it was stopped after 1\.5 seconds, .*begun"),
    ):
        d.shell("touch t")


def test_processes_of_the_agents_own_are_not_held_against_a_script(disturbed: Disturb) -> None:
    script = "echo two > notes.txt; until [ -e forked ]; do sleep 0.01; done"
    with disturbed({"s.sh": script}, change={"script": "s.sh"}) as d:
        forks = "until grep -q two notes.txt; do sleep 0.01; done; sleep 100 & sleep 100 & touch forked; wait"
        d.shell(f"({forks}) > log 2>&1 &")
        d.shell("touch t")
        assert "workspace/forked" in d.only.paths


def test_background_processes_stand_still_meanwhile_and_go_on(disturbed: Disturb) -> None:
    with disturbed({"n": "new\n"}, change={"write": "n", "to": "files:notes.txt"}) as d:
        d.shell("(while sleep 0.01; do cat notes.txt; done) > log 2>&1 & until grep one log; do :; done")
        d.shell("touch t")
        shown = d.shell("until grep -q new log; do sleep 0.01; done; sort -u log")
        assert shown.text.split() == ["new", "one"]


def test_a_change_breaks_no_constraint_of_the_agent(disturbed: Disturb) -> None:
    keep = {"id": "keep", "kind": "hard", "forbid": {"write": ["files:LICENSE"]}}
    with disturbed({"n": "paid\n"}, constraint=keep, change={"write": "n", "to": "files:LICENSE"}) as d:
        d.shell("touch t")
        d.shell("cat LICENSE")
        assert not d.world.events(ConstraintViolated)
        assert all(not finished.windows for finished in d.world.events(ActionFinished))
        d.shell("echo mine > LICENSE")
        assert [v.step for v in d.world.events(ConstraintViolated)] == [3]


def test_an_approval_is_revoked(disturbed: Disturb) -> None:
    task = {"approval": [{"id": "go", "tool": "shell", "scope": "trial", "granted_by": "task"}]}
    guarded = {
        "id": "guarded", "kind": "hard", "mode": "prevent", "requires": "go",
        "forbid": {"call": [{"tool": "shell", "where": {"command": "~ ^rm"}}]},
    }  # fmt: skip
    with disturbed(task=task, constraint=guarded, change={"revoke": "go"}) as d:
        assert d.shell("rm -f x").outcome == "ok"
        d.shell("touch t")
        assert d.shell("rm -f x").outcome == "denied"
        assert (d.only.visible, d.only.details) == ({"hidden": True}, {})


def test_channels_are_polluted_one_at_a_time(disturbed: Disturb) -> None:
    lie = {"source": "stale_fact", "value": "the limit is 5"}
    with disturbed(change={"channel": "workspace", "key": "files:STATE.md", **lie}) as d:
        assert d.shell("touch t; cat STATE.md").text == "the limit is 5\n"
        assert d.only.paths == ["workspace/STATE.md"]


def test_a_false_report_comes_with_the_next_answer(disturbed: Disturb) -> None:
    change = {"channel": "report", "source": "other_agent", "key": "billing", "value": "all paid"}
    with disturbed(change=change) as d:
        assert d.shell("touch t; echo done").text == "done\n\n[report: billing]\nall paid"
        assert d.shell("echo on").text == "on\n"
        assert d.text(d.only.visible["notice"]) == "[report: billing]\nall paid"


# -- other kinds ----------------------------------------------------------------------------------------
def test_a_placebo_fires_alike_and_changes_nothing(disturbed: Disturb) -> None:
    with disturbed(kind="placebo") as d:
        d.shell("touch t")
        d.shell("touch t")
        assert (d.only.change, d.only.step, d.only.paths, d.only.visible) == ("placebo", 1, [], {})
        assert d.only.pre == d.only.post
        assert not d.world.events(EffectRecorded)


def test_a_goal_changes_and_the_agent_is_told_once(disturbed: Disturb) -> None:
    with disturbed(kind="goal", change={"goal": 2}, when={"subgoal_verified": "one"}) as d:
        d.verified.append("one")
        assert d.shell("echo a").text == "a\n\n[New instruction]\nWrite a letter."
        assert d.shell("echo b").text == "b\n"
        (changed,) = d.world.events(GoalChanged)
        assert (changed.step, changed.was, changed.to, changed.relation) == (1, 1, 2, "replace")
        assert (changed.prominent, changed.perturbation, changed.goal_version) == ("new", "p", 1)
        assert d.text(changed.instruction) == "[New instruction]\nWrite a letter."
        assert d.only.visible == {"notice": changed.instruction}
        assert [e.goal_version for e in d.world.events(ActionFinished)] == [1, 2]
        assert d.only.goal_version == 2


def test_the_old_goal_can_stand_in_the_more_prominent_place(disturbed: Disturb) -> None:
    with disturbed(kind="goal", change={"goal": 3}) as d:
        shown = d.shell("touch t; echo a").text
        assert shown == "[Instruction]\nWrite the report.\n\na\n\nWrite a letter too."


def test_an_answer_that_was_never_shown_is_told_after_the_restart(disturbed: Disturb) -> None:
    with disturbed(kind="goal", change={"goal": 2}) as d:
        d.shell("touch t")
        d.injector.agent_down(1, acknowledged=False)
        assert d.injector.take_notices() == ["[New instruction]\nWrite a letter."]
        d.injector.agent_down(1, acknowledged=False)
        assert d.injector.take_notices() == []
        assert d.shell("echo a").text == "a\n"


def test_what_happens_while_the_agent_is_down(disturbed: Disturb) -> None:
    with disturbed({"n": "x\n"}, while_down=True, change={"write": "n", "to": "files:notes.txt"}) as d:
        d.shell("touch t")
        assert not d.fired
        assert d.world.events(PerturbationArmed)[0].trigger == {"while_down": True}
        d.injector.agent_down(1)
        assert (d.only.step, d.only.paths) == (1, ["workspace/notes.txt"])


@pytest.mark.parametrize(
    ("moment", "call"), [("checkpoint", "checkpoint_taken"), ("compaction", "compacted")]
)
def test_moments_between_actions(disturbed: Disturb, moment: str, call: str) -> None:
    with disturbed({"n": "x\n"}, when={moment: True}, change={"write": "n", "to": "files:notes.txt"}) as d:
        d.shell("touch t")
        getattr(d.injector, call)(1)
        getattr(d.injector, call)(1)
        assert d.only.step == 1
        assert d.shell("cat notes.txt").text == "x\n"


def test_reading_a_file_is_a_trigger(disturbed: Disturb) -> None:
    with disturbed(
        {"n": "x = 3\n"}, when={"file_read": "files:src/**"}, change={"write": "n", "to": "files:src/a.py"}
    ) as d:
        d.shell("ls src; echo new > src/b.py")
        assert not d.fired
        assert d.shell("cat src/a.py").text == "x = 1\n"
        assert d.only.step == 2
        assert d.world.act("read_file", path="src/a.py").text == "x = 3\n"


def test_nothing_fires_once_the_agent_has_ended(disturbed: Disturb) -> None:
    with disturbed(
        {"n": "x\n"}, when={"subgoal_verified": "one"}, change={"write": "n", "to": "files:n"}
    ) as d:
        d.verified.append("one")
        d.world.act("finish", summary="done")
        assert not d.fired


# -- observations ---------------------------------------------------------------------------------------
def test_an_answer_is_cut_and_the_journal_keeps_both(disturbed: Disturb) -> None:
    with disturbed(kind="observation", change={"truncate": 4}) as d:
        assert d.shell("touch t; echo äöü").text == "äö"
        assert d.shell("touch t; echo äöü").text == "äöü\n"
        assert d.text(d.only.details["original"]) == "äöü\n"
        finished = d.world.events(ActionFinished)[0]
        assert d.only.visible == {"observation": finished.observation}
        assert (d.only.step, finished.notes["perturbation"], finished.outcome) == (1, "p", "ok")


def test_a_short_answer_is_not_cut_and_the_next_is_awaited(disturbed: Disturb) -> None:
    with disturbed(kind="observation", change={"truncate": 4, "times": 2}) as d:
        for text in ("abc", "abcdef", "ab", "uvwxyz", "123456"):
            d.shell(f"touch t; echo {text}")
        assert [(f.step, f.firing) for f in d.fired] == [(2, 1), (4, 2)]


def test_the_answer_that_shows_a_file_is_cut(disturbed: Disturb) -> None:
    when = {"file_read": "files:notes.txt"}
    with disturbed(kind="observation", when=when, change={"truncate": 1}) as d:
        assert d.shell("echo long").text == "long\n"
        assert d.shell("cat notes.txt").text == "o"
        assert d.shell("cat notes.txt").text == "one\n"
        assert d.only.step == 2


def test_after_a_moment_the_next_answers_are_altered(disturbed: Disturb) -> None:
    change = {"append": "note.txt", "times": 2, "tool": "read_file"}
    with disturbed(
        {"note.txt": "see also X"}, kind="observation", when={"checkpoint": True}, change=change
    ) as d:
        d.world.act("read_file", path="notes.txt")
        d.injector.checkpoint_taken(1)
        assert d.shell("echo a").text == "a\n"
        shown = [d.world.act("read_file", path="notes.txt").text for _ in range(3)]
        assert shown == ["one\nsee also X", "one\nsee also X", "one\n"]
        assert [f.step for f in d.fired] == [3, 4]


def test_a_transient_error_keeps_the_action_from_running(disturbed: Disturb) -> None:
    with disturbed(kind="observation", change={"error": "connection reset"}) as d:
        shown = d.shell("touch t")
        assert (shown.text, shown.outcome, shown.exit_code) == ("connection reset", "failed", 1)
        assert not d.world.events(ActionFinished)[0].changes
        assert d.shell("touch t").outcome == "ok"
        assert d.only.details == {"ran": False}


def test_the_same_key_again_runs_what_was_kept_from_running(disturbed: Disturb) -> None:
    with disturbed(kind="observation", change={"error": "connection reset"}) as d:
        assert d.world.act("shell", key="k", command="touch t").outcome == "failed"
        assert d.world.act("shell", key="k", command="touch t; echo").outcome == "ok"
        assert d.world.act("shell", key="k", command="touch t").outcome == "failed"
        assert "given to another request" in d.world.act("shell", key="k", command="touch t").text


def test_the_same_key_again_gets_the_whole_answer(disturbed: Disturb) -> None:
    with disturbed(kind="observation", change={"truncate": 2}) as d:
        command = "touch t; echo x >> log; cat log; echo end"
        assert d.world.act("shell", key="k", command=command).text == "x\n"
        assert d.world.act("shell", key="k", command=command).text == "x\nend\n"
        assert d.shell("cat log").text == "x\n"


def test_the_same_key_again_after_a_lost_acknowledgement_asks_the_world(disturbed: Disturb) -> None:
    with disturbed(kind="execution", change={"fault": "lost_ack"}) as d:
        command = "touch t; mkdir once && echo made"
        assert d.world.act("shell", key="k", command=command).outcome == "unknown"
        assert d.world.act("shell", key="k", command=command).outcome == "failed"


def test_a_delay_is_on_the_trial_clock(disturbed: Disturb) -> None:
    with disturbed(kind="observation", change={"delay": 0.2}) as d:
        d.shell("touch t")
        finished = d.world.events(ActionFinished)[0]
        assert finished.cost.tool_us >= 200_000
        assert d.world.meter.clock_us >= 200_000
        assert d.only.details == {"delayed_us": 200_000}


def test_what_ends_the_work_is_never_altered(disturbed: Disturb) -> None:
    with disturbed(kind="observation", when={"checkpoint": True}, change={"error": "no"}) as d:
        d.injector.checkpoint_taken(0)
        assert d.world.act("finish").done
        assert not d.fired


# -- executions -----------------------------------------------------------------------------------------
def test_the_first_files_of_a_command_change_and_then_it_fails(disturbed: Disturb) -> None:
    first, last = "touch t; mkdir new; echo 1 > new/a", "mkdir late; echo 2 > late/b; rm notes.txt"
    command = f"{first}; sleep 0.02; {last}"
    with disturbed(kind="execution", change={"fault": "partly"}) as d:
        shown = d.shell(f"{command}; printf 'one\\ntwo\\n'")
        assert (shown.outcome, shown.exit_code) == ("partial", 1)
        assert shown.text == "one\n/workspace/late/b: Input/output error\n"
        assert d.shell("ls; cat new/a notes.txt").text.split() == [
            "LICENSE", "new", "notes.txt", "src", "t", "1", "one",
        ]  # fmt: skip
        assert d.only.details["kept"] == ["workspace/new/a", "workspace/t"]
        assert d.only.paths == ["workspace/late", "workspace/late/b", "workspace/notes.txt"]
        assert [e.path for e in d.world.events(ActionFinished)[0].changes] == [
            "workspace/new", "workspace/new/a", "workspace/t",
        ]  # fmt: skip
        assert d.only.pre != d.only.post == d.world.events(ActionFinished)[0].post


def test_one_file_cannot_be_half_done(disturbed: Disturb) -> None:
    with disturbed(kind="execution", change={"fault": "partly"}) as d:
        assert d.shell("touch t").outcome == "ok"
        assert not d.fired
        assert d.shell("touch u v").outcome == "partial"
        assert d.only.step == 2


def test_a_lost_acknowledgement_leaves_the_effect(disturbed: Disturb) -> None:
    with disturbed(kind="execution", change={"fault": "lost_ack"}) as d:
        shown = d.shell("touch t; echo done")
        assert (shown.outcome, shown.exit_code, shown.text) == ("unknown", None, "[no answer came in time]")
        assert d.shell("ls t").text == "t\n"
        assert d.text(d.only.details["original"]) == "done\n"
        assert d.world.events(ActionFinished)[0].outcome == "unknown"


def test_a_transient_fault_does_nothing_and_the_next_try_works(disturbed: Disturb) -> None:
    with disturbed(kind="execution", change={"fault": "transient", "times": 2}) as d:
        assert [d.shell("touch t").outcome for _ in range(3)] == ["failed", "failed", "ok"]
        assert [f.step for f in d.fired] == [1, 2]
