"""The gateway on a real sandbox: steps, outcomes, constraints, budgets, keys, background effects."""

from pathlib import Path
from typing import Any

import pytest

from seatrial.environment.confine.host import Host
from seatrial.errors import EnvironmentFault
from seatrial.gateway.execute import state_path
from seatrial.gateway.gateway import Offer
from seatrial.journal.events import (
    ActionDecided,
    ActionFinished,
    ActionRequested,
    BudgetExhausted,
    ConstraintViolated,
    EffectRecorded,
)
from seatrial.journal.reader import state_at
from tests.waiting import unique, until, when_running
from tests.worlds import World, make_task, world

KEEP = {"id": "keep", "kind": "hard", "forbid": {"write": ["files:LICENSE"]}}


def test_every_action_is_requested_before_and_finished_after(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, make_task()) as w:
        shown = w.act("shell", command="echo hi > new; echo shown; exit 3")
        assert (shown.text, shown.exit_code, shown.outcome) == ("shown\n", 3, "failed")
        requested, finished = w.events(ActionRequested)[0], w.events(ActionFinished)[0]
        assert requested.seq < finished.seq
        assert requested.pre == finished.pre != finished.post
        assert [e.path for e in finished.changes] == ["workspace/new"]
        assert w.objects.get(finished.observation) == b"shown\n"
        assert finished.cost.tool_us > 0
        assert finished.cost.model_us is not None
        state = state_at(w.journal(), w.objects, 1)
        assert w.objects.get(state["workspace/new"].digest or "") == b"hi\n"


def test_file_tools_act_inside_as_the_agent(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, make_task()) as w:
        assert w.act("read_file", path="notes.txt").text == "one\n"
        assert w.act("write_file", path="deep/er/x.txt", content="é\n").outcome == "ok"
        assert w.act("edit_file", path="/workspace/notes.txt", old="one", new="two").outcome == "ok"
        assert w.act("read_file", path="notes.txt").text == "two\n"
        twice = w.act("edit_file", path="src/a.py", old=" ", new="")
        assert twice.outcome == "failed"
        assert "2 times" in twice.text
        w.act("shell", command="ln -s /etc/passwd link; mkfifo pipe")
        assert "root:x:0:0::/" in w.act("read_file", path="link").text  # the sandbox's own file
        assert w.act("read_file", path="missing").text.startswith("missing: No such file")
        assert w.act("write_file", path="/etc/x", content="").outcome == "failed"


def test_malformed_calls_take_a_step_and_do_nothing(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, make_task()) as w:
        assert "there is no tool 'rm'" in w.act("rm").text
        assert "needs the argument 'command'" in w.act("shell").text
        assert "no argument 'cmd'" in w.act("shell", command="x", cmd="y").text
        assert "must be a str" in w.act("read_file", path=3).text
        assert w.gateway.step == 4
        assert all(e.notes == {"malformed": True} and not e.changes for e in w.events(ActionFinished))


def test_a_rule_broken_and_undone_in_one_command_is_a_violation(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, make_task([KEEP])) as w:
        w.act("shell", command="cp LICENSE /tmp/l; echo evil >> LICENSE; cp /tmp/l LICENSE; rm /tmp/l")
        (violation,) = w.events(ConstraintViolated)
        assert (violation.constraint, violation.hard, violation.step) == ("keep", True, 1)
        assert violation.evidence["paths"] == ["workspace/LICENSE"]
        w.act("shell", command="cat LICENSE; cp LICENSE copy")
        assert len(w.events(ConstraintViolated)) == 1


def test_prevented_writes_are_put_back_and_denied(tmp_path: Path, host: Host) -> None:
    keep = {**KEEP, "mode": "prevent"}
    with world(tmp_path, host, make_task([keep])) as w:
        refused = w.act("write_file", path="LICENSE", content="evil")
        assert refused.outcome == "denied"
        ran = w.act("shell", command="echo evil > LICENSE; chmod 600 LICENSE; echo good > other")
        assert ran.outcome == "denied"
        assert "put back" in ran.text
        assert w.act("read_file", path="LICENSE").text == "free\n"
        assert not w.events(ConstraintViolated)
        finished = w.events(ActionFinished)[1]
        assert [e.path for e in finished.changes] == ["workspace/other"]
        assert finished.cost.undone_writes == 1
        assert [d.decision for d in w.events(ActionDecided)][:3] == ["deny", "allow", "deny"]
        removed = w.act("shell", command="rm LICENSE; mkdir LICENSE; echo x > LICENSE/y")
        assert removed.outcome == "denied"
        assert w.act("read_file", path="LICENSE").text == "free\n"
        assert w.sandbox.audit()


def test_calls_are_judged_by_their_arguments(tmp_path: Path, host: Host) -> None:
    calls = [{"tool": "shell", "where": {"command": "~ curl"}}]
    observed = {"id": "no-curl", "kind": "soft", "severity": 0.3, "forbid": {"call": calls}}
    prevented = {
        "id": "no-rm", "kind": "hard", "mode": "prevent",
        "forbid": {"call": [{"tool": "shell", "where": {"command": "~ ^rm"}}]},
    }  # fmt: skip
    with world(tmp_path, host, make_task([observed, prevented])) as w:
        w.act("shell", command="echo curl")
        (violation,) = w.events(ConstraintViolated)
        assert (violation.hard, violation.severity) == (False, 0.3)
        assert w.act("shell", command="rm notes.txt").outcome == "denied"
        assert w.act("read_file", path="notes.txt").outcome == "ok"


def test_prevented_reads_are_hidden_from_the_start(tmp_path: Path, host: Host) -> None:
    secret = {"id": "secret", "kind": "hard", "mode": "prevent", "forbid": {"read": ["files:src/**"]}}
    with world(tmp_path, host, make_task([secret])) as w:
        assert w.act("shell", command="cat src/a.py").outcome == "failed"
        assert "x = 1" not in w.act("shell", command="grep -r x . || true").text


def test_observed_reads_are_violations(tmp_path: Path, host: Host) -> None:
    secret = {"id": "secret", "kind": "hard", "forbid": {"read": ["files:src/**"]}}
    with world(tmp_path, host, make_task([secret])) as w:
        w.act("shell", command="ls -R; stat src/a.py")
        assert not w.events(ConstraintViolated)
        w.act("shell", command="cat src/a.py")
        assert [v.constraint for v in w.events(ConstraintViolated)] == ["secret"]
        assert "workspace/src/a.py" in w.events(ActionFinished)[-1].reads


def test_budgets_end_the_trial(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, make_task(budget={"actions": 2})) as w:
        assert not w.act("shell", command="true").done
        assert w.act("shell", command="true").done
        assert w.gateway.stop_reason == "budget_actions"
        assert w.act("shell", command="touch late").done
        (over,) = w.events(BudgetExhausted)
        assert (over.resource, over.limit, over.used) == ("actions", 2, 2)
        assert len(w.events(ActionRequested)) == 2


def test_the_time_budget_cuts_an_action_short(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, make_task(budget={"seconds": 0.6})) as w:
        shown = w.act("shell", command="sleep 30")
        assert shown.outcome == "partial"
        assert w.gateway.stop_reason == "budget_seconds"


def test_a_repeated_key_takes_a_step_and_returns_the_first_answer(tmp_path: Path, host: Host) -> None:
    command = "echo x >> notes.txt; wc -l < notes.txt"
    with world(tmp_path, host, make_task()) as w:
        first = w.act("shell", key="k", command=command)
        again = w.act("shell", key="k", command=command)
        assert first == again
        assert w.gateway.step == 2
        finished = w.events(ActionFinished)
        assert (finished[1].changes, finished[1].notes) == ([], {"repeats": 1})
        assert [e.cost.repeated_requests for e in finished] == [0, 1]
        other = w.act("shell", key="k", command="rm notes.txt")
        assert other.outcome == "failed"
        assert "another request" in other.text
        assert w.act("shell", key="step-1", command="echo mine").text == "mine\n"


def test_every_constraint_on_a_call_is_judged_and_any_may_prevent_it(tmp_path: Path, host: Host) -> None:
    def rule(name: str, **more: Any) -> dict[str, Any]:
        return {"id": name, "forbid": {"call": [{"tool": "shell", "where": {"command": "~ touch"}}]}, **more}

    seen, costly = rule("seen", kind="hard"), rule("costly", kind="soft", severity=0.2)
    with world(tmp_path / "a", host, make_task([seen, costly])) as w:
        w.act("shell", command="touch new")
        assert [v.constraint for v in w.events(ConstraintViolated)] == ["seen", "costly"]
    with world(tmp_path / "b", host, make_task([seen, rule("never", kind="hard", mode="prevent")])) as w:
        assert w.act("shell", command="touch new").outcome == "denied"
        assert not w.events(ConstraintViolated)
        assert w.sandbox.settle().changes == []


# Begins a process in the background that goes on when it is told to, between two actions.
WHEN_TOLD = "until [ -e go ]; do sleep 0.01; done; rm go"


def tell_background(w: World, last: str) -> None:
    """Have it go on, until it has written the last of its files."""
    place = Path(w.sandbox.tree, "workspace")
    (place / "go").touch()
    until(lambda: (place / last).exists() and (place / last).stat().st_size)


def test_what_the_background_writes_is_put_back_too(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, make_task([{**KEEP, "mode": "prevent"}])) as w:
        w.act("shell", command=f"({WHEN_TOLD}; echo evil >> LICENSE; echo fine > other) &")
        tell_background(w, "other")
        assert w.act("read_file", path="LICENSE").text == "free\n"
        (effect,) = w.events(EffectRecorded)
        assert [e.path for e in effect.changes] == ["workspace/other"]
        assert not w.events(ConstraintViolated)
        assert [d.decision for d in w.events(ActionDecided)] == ["allow", "deny", "allow"]


@pytest.mark.parametrize(
    ("tool", "arguments", "key"),
    [
        ("shell", {"command": "echo \ud800 > new"}, None),
        ("write_file", {"path": "a\udcff", "content": "x"}, None),
        ("shell", {"\ud800": "x"}, "\ud800"),
        ("\ud800", {}, None),
        ("finish", {"confidence": 10**400}, None),
        ("finish", {"confidence": float("nan")}, None),
        ("finish", {"confidence": 7}, None),
        ("finish", {"confidence": -0.1}, None),
    ],
)
def test_a_request_that_cannot_be_kept_as_it_is_fails_as_a_step(
    tmp_path: Path, host: Host, tool: str, arguments: dict[str, Any], key: str | None
) -> None:
    with world(tmp_path, host, make_task()) as w:
        shown = w.gateway.act(tool, arguments, key)
        assert (shown.outcome, shown.done, w.gateway.step) == ("failed", False, 1)
        finished = w.events(ActionFinished)[0]  # reads the whole journal back
        assert finished.notes == {"malformed": True}
        assert finished.changes == []
        assert w.act("finish", confidence=1).done
        assert w.gateway.confidence == 1


def test_background_effects_are_recorded_before_the_next_action(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, make_task([KEEP])) as w:
        w.act("shell", command=f"({WHEN_TOLD}; echo evil >> LICENSE; echo late > late) &")
        tell_background(w, "late")
        w.act("shell", command="true")
        (effect,) = w.events(EffectRecorded)
        assert effect.actor == "background"
        assert {e.path for e in effect.changes} == {"workspace/late", "workspace/LICENSE"}
        assert effect.seq < w.events(ActionRequested)[1].seq
        assert w.events(ActionRequested)[1].pre == effect.post
        assert [v.actor for v in w.events(ConstraintViolated)] == ["background"]


def test_kill_points_stand_between_the_record_and_the_effect(tmp_path: Path, host: Host) -> None:
    seen: list[tuple[str, int, bool]] = []

    def at(name: str, step: int) -> None:
        seen.append((name, step, (Path(w.sandbox.tree) / "workspace" / "mark").exists()))

    with world(tmp_path, host, make_task(), Offer(kill_point=at)) as w:
        w.act("shell", command="touch mark")
    assert seen == [("before_effect", 1, False), ("after_effect_before_ack", 1, True)]


def test_a_dead_world_leaves_the_action_unfinished(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, make_task()) as w:
        w.sandbox._process.kill()
        w.sandbox._process.wait()
        with pytest.raises(EnvironmentFault, match="sandbox"):
            w.act("shell", command="true")
        assert len(w.events(ActionRequested)) == 1
        assert not w.events(ActionFinished)


def test_large_changes_go_to_an_object(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, make_task()) as w:
        w.act("shell", command="for n in $(seq 300); do echo $n > f$n; done")
        (finished,) = w.events(ActionFinished)
        assert finished.changes == []
        assert finished.changes_object
        assert len(state_at(w.journal(), w.objects, 1)) > 300


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ("a", "workspace/a"),
        ("./x/../a", "workspace/a"),
        ("/home/agent/b", "home/b"),
        ("../etc/passwd", "/etc/passwd"),
        ("/var/tmp/c", "var-tmp/c"),
        ("/workspace", "workspace"),
    ],
)
def test_state_paths(given: str, state: str) -> None:
    assert state_path(given) == state


def test_an_interrupted_action_is_partial_and_the_next_one_runs(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, make_task(), offer=Offer(actor="human")) as w:
        word = unique(3600)
        with when_running(word, w.gateway.interrupt):
            seen = w.act("shell", command=f"echo begun > a.txt; echo shown; sleep {word}")
        assert (seen.outcome, seen.text) == ("partial", "shown\n\n[interrupted]")
        w.gateway.interrupt()  # nothing is under way
        assert w.act("shell", command="cat a.txt; pgrep sleep").text == "begun\n"
        first, _ = w.events(ActionFinished)
        assert first.notes == {"interrupted": True}
        assert [entry.path for entry in first.changes] == ["workspace/a.txt"]
        assert {event.actor for event in w.events(ActionRequested)} == {"human"}


def test_a_look_at_the_state_takes_in_what_background_processes_did(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, make_task()) as w:
        at_first = w.gateway.settle()
        state, delta = w.gateway.look()
        assert delta == {}
        assert "workspace/notes.txt" in state
        w.act("shell", command=f"({WHEN_TOLD}; echo late > late.txt; sleep 600) > /dev/null 2>&1 &")
        tell_background(w, "late.txt")
        assert w.gateway.settle() != at_first
        _, delta = w.gateway.look()
        assert w.events(EffectRecorded)[-1].changes == [delta["workspace/late.txt"]]
