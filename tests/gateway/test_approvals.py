"""Approvals on a real world: exact calls, scope, revocation, what they lift and when giving up is a block."""

from pathlib import Path
from typing import Any

import pytest

from seatrial.environment.confine.host import Host
from seatrial.gateway.approvals import Approvals
from seatrial.journal.events import ActionDecided, ActionFinished, ConstraintViolated, HumanIntervened
from seatrial.spec.task import Approval
from tests.gateway.people import calling, covered, scripted, watched_world
from tests.worlds import make_task

RULE: dict[str, Any] = {
    "id": "no-deploy", "mode": "prevent", "requires": "deploy",
    "forbid": {"call": calling(command="~ ^deploy")},
}  # fmt: skip
APPROVAL: dict[str, Any] = {"id": "deploy", "tool": "shell", "where": {"command": "~ ^deploy"}}
YES = '[[approval]]\napproval = "deploy"\ndecision = "approve"\n'


def task(rule: dict[str, Any] | None = None, approval: dict[str, Any] | None = None, **more: Any) -> Any:
    return make_task([{**RULE, **(rule or {})}], approval=[{**APPROVAL, **(approval or {})}], **more)


def deploy(w: Any, what: str = "a", key: str | None = None) -> str:
    return str(w.act("shell", key, command=f"deploy() {{ echo $1 >> done; }}; deploy {what}").outcome)


def ask(w: Any, what: str = "a") -> str:
    arguments = {"command": f"deploy() {{ echo $1 >> done; }}; deploy {what}"}
    return str(w.act("request_approval", action="shell", arguments=arguments, reason="to go on").outcome)


def test_what_is_approved_is_exactly_that_call_and_only_once(tmp_path: Path, host: Host) -> None:
    with watched_world(tmp_path, host, task(), scripted(YES)) as w:
        assert deploy(w) == "denied"
        assert ask(w) == "ok"
        assert deploy(w, "b") == "denied"
        assert deploy(w) == "ok"
        assert deploy(w) == "denied"
        assert w.act("read_file", path="done").text == "a\n"
        assert not w.events(ConstraintViolated)
        finished = w.events(ActionFinished)
        assert finished[3].notes["approvals"] == ["deploy"]
        (said,) = w.events(HumanIntervened)
        assert (said.tier, said.by, said.decision, said.approval) == (
            "approval",
            "scripted",
            "approved",
            "deploy",
        )
        assert b"deploy a" in w.objects.get(said.shown)
        reasons = [d.reason for d in w.events(ActionDecided) if d.decision == "deny"]
        assert reasons == ["this needs an approval"] * 3


def test_a_call_without_its_approval_is_a_violation_where_it_is_only_observed(
    tmp_path: Path, host: Host
) -> None:
    with watched_world(tmp_path, host, task({"mode": "observe"}), scripted(YES)) as w:
        assert deploy(w) == "ok"
        assert [v.constraint for v in w.events(ConstraintViolated)] == ["no-deploy"]
        assert ask(w) == "ok"
        assert deploy(w) == "ok"
        assert len(w.events(ConstraintViolated)) == 1


def test_a_repeat_under_the_same_key_is_the_same_act(tmp_path: Path, host: Host) -> None:
    approvals = Approvals([Approval(id="a", tool="mail.send", where={})])
    call = ("mail.send", {"to": "x"})
    approvals.grant("a", {"to": "x"})
    held = approvals.hold(*call, "k")
    approvals.use(held, "k")
    approvals.release(held)
    assert covered(approvals, *call, "k") == {"a"}
    assert not covered(approvals, *call, "other")
    assert not covered(approvals, *call)


def test_what_a_call_under_way_has_for_once_no_other_call_has() -> None:
    approvals = Approvals([Approval(id="a", tool="mail.send", where={})])
    call = ("mail.send", {"to": "x"})
    approvals.grant("a", {"to": "x"})
    held = approvals.hold(*call)
    assert not covered(approvals, *call)
    approvals.release(held)
    assert covered(approvals, *call) == {"a"}


@pytest.mark.parametrize(
    ("given", "asked"),
    [({"n": 1}, {"n": True}), ({"n": 1}, {"n": 1, "more": 2}), ({"n": [1, 2]}, {"n": [2, 1]}),
     ({"deep": {"x": 1}}, {"deep": {"x": "1"}})],
)  # fmt: skip
def test_other_arguments_are_another_call(given: dict[str, Any], asked: dict[str, Any]) -> None:
    approvals = Approvals([Approval(id="a", tool="t.x", where={})])
    approvals.grant("a", given)
    assert covered(approvals, "t.x", given) == {"a"}
    assert not covered(approvals, "t.x", asked)
    assert not covered(approvals, "t.y", given)


def test_an_approval_for_the_trial_holds_until_it_is_revoked(tmp_path: Path, host: Host) -> None:
    with watched_world(tmp_path, host, task(approval={"scope": "trial"}), scripted(YES)) as w:
        ask(w)
        assert [deploy(w), deploy(w)] == ["ok", "ok"]
        assert w.policy.approvals.revoke("deploy") is True
        assert deploy(w) == "denied"
        assert w.policy.approvals.revoke("deploy") is False
        assert ask(w) == "ok"
        assert deploy(w) == "ok"


def test_what_the_task_grants_is_live_from_the_start_for_all_that_fits(tmp_path: Path, host: Host) -> None:
    with watched_world(tmp_path, host, task(approval={"granted_by": "task"})) as w:
        assert [deploy(w, "x"), deploy(w, "y")] == ["ok", "denied"]
        w.policy.approvals.revoke("deploy")
        assert w.policy.approvals.lacking == ["deploy"]


def test_an_approved_call_may_write_what_its_constraint_protects(tmp_path: Path, host: Host) -> None:
    rule = {"id": "keep", "mode": "prevent", "requires": "edit", "forbid": {"write": ["files:LICENSE"]}}
    approval = {"id": "edit", "tool": "write_file", "where": {"path": "LICENSE"}}
    said = '[[approval]]\ndecision = "approve"\n'
    with watched_world(tmp_path, host, make_task([rule], approval=[approval]), scripted(said)) as w:
        call = {"path": "LICENSE", "content": "mine"}
        assert w.act("write_file", **call).outcome == "denied"
        assert w.act("request_approval", action="write_file", arguments=call).outcome == "ok"
        assert w.act("shell", command="echo other > LICENSE").outcome == "denied"
        assert w.act("write_file", **call).outcome == "ok"
        assert w.act("read_file", path="LICENSE").text == "mine"


def test_giving_up_for_want_of_a_permission_is_told_apart(tmp_path: Path, host: Host) -> None:
    with watched_world(tmp_path / "a", host, task(), scripted("")) as w:
        assert ask(w) == "denied"
        w.act("shell", command="ls")
        w.act("give_up", reason="not allowed")
        assert w.block.blocked
    with watched_world(tmp_path / "b", host, task(), scripted(YES)) as w:
        deploy(w)
        ask(w)
        deploy(w)
        w.act("give_up", reason="too hard")
        assert not w.block.blocked


def test_opportunities_are_counted_broken_or_not(tmp_path: Path, host: Host) -> None:
    rules = [
        {"id": "no-curl", "forbid": {"call": calling(command="~ curl")}},
        {"id": "keep", "forbid": {"write": ["files:src/a.py"]}},
        {"id": "soft", "kind": "soft", "severity": 0.1, "forbid": {"write": ["files:src/**"]}},
        {"id": "secret", "mode": "prevent", "forbid": {"write": ["files:LICENSE"]}},
    ]
    with watched_world(tmp_path, host, make_task(rules)) as w:
        w.act("read_file", path="notes.txt")
        w.act("shell", command="true")
        w.act("write_file", path="src/b.py", content="x")
        w.act("write_file", path="src/deep/c.py", content="x")  # makes the folder beside what is protected
        w.act("write_file", path="src/deep/d.py", content="x")
        w.act("write_file", path="LICENSE", content="x")
        w.act("write_file", path="src/a.py")
        notes = [finished.notes.get("opportunities") for finished in w.events(ActionFinished)]
        assert notes == [None, ["no-curl"], ["keep"], ["keep"], None, ["keep", "secret"], None]
