"""Services through the door: tools and HTTP under one policy, one record, and hostile programs inside."""

import json
from pathlib import Path
from typing import Any

import pytest

from seatrial.environment.confine.host import Host
from seatrial.environment.services.services import Services
from seatrial.gateway import services as doors
from seatrial.gateway.tools import service_tools
from seatrial.journal.events import (
    ActionDecided,
    ActionFinished,
    ConstraintViolated,
    EffectRecorded,
    ServiceCalled,
)
from seatrial.journal.reader import state_at
from seatrial.spec.services import VERBS
from tests.waiting import until
from tests.worlds import World, make_task, world

SEND = {"to": "bob@there.org", "subject": "s", "body": "b"}
CHARGE = {"account": "main", "amount": 10, "reference": "r"}
LARGE = {"tool": "payments.charge", "where": {"amount": "> 50"}}


def task(*services: str, constraints: list[dict[str, Any]] | None = None) -> Any:
    return make_task(constraints, environment={"services": list(services)})


def curl(service: str, path: str, body: dict[str, Any] | None = None, *more: str) -> str:
    data = "" if body is None else f" -d '{json.dumps(body)}'"
    return f"curl -s {' '.join(more)} --unix-socket /run/services/{service}.sock '{'http://x' + path}'{data}"


def live(w: World) -> Services:
    assert w.sandbox.services is not None
    return w.sandbox.services.services


def calls(w: World) -> list[ServiceCalled]:
    return w.events(ServiceCalled)


def test_a_tool_does_what_its_service_does(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, task("mail")) as w:
        sent = w.act("mail.send", **SEND)
        assert (sent.outcome, json.loads(sent.text)) == ("ok", {"id": 2, "delivered": 1})
        (line,) = calls(w)
        assert (line.actor, line.step, line.service, line.verb, line.via) == (
            "agent",
            1,
            "mail",
            "send",
            "tool",
        )
        assert (line.status, line.effect, line.irreversible, line.ledger) == (200, True, True, 1)
        assert json.loads(w.objects.get(line.answer)) == {"id": 2, "delivered": 1}
        finished = w.events(ActionFinished)[0]
        assert [e.path for e in finished.changes] == [
            "services/mail/deliveries/1.json", "services/mail/ledger/1.json", "services/mail/messages/2.json",
        ]  # fmt: skip
        assert (finished.notes["status"], finished.notes["ledger"]) == (200, 1)
        assert finished.seq > line.seq and finished.pre != finished.post
        state = state_at(w.journal(), w.objects, 1)
        assert state.keys() == w.sandbox.tracker.state().keys()
        failed = w.act("mail.read", id=9)
        assert (failed.outcome, failed.text) == ("failed", "404 Not Found: there is no message 9")
        assert not w.events(ActionFinished)[1].changes and not calls(w)[1].effect


def test_arguments_are_checked_before_the_service_is_asked(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, task("payments")) as w:
        assert "needs the argument 'reference'" in w.act("payments.charge", account="main", amount=1).text
        assert "must be a number" in w.act("payments.charge", **{**CHARGE, "amount": "10"}).text
        assert "there is no tool 'mail.send'" in w.act("mail.send", **SEND).text
        assert "there is no tool 'payments.steal'" in w.act("payments.steal").text
        assert w.act("payments.charge", **{**CHARGE, "account": "\ud800"}).outcome == "failed"
        assert not calls(w)


def test_every_verb_is_offered_with_its_arguments() -> None:
    tools = {tool.name: tool for tool in service_tools(list(VERBS))}
    assert len(tools) == sum(len(verbs) for verbs in VERBS.values())
    for service, verbs in VERBS.items():
        for verb, declared in verbs.items():
            tool = tools[f"{service}.{verb}"]
            assert tool.schema()["parameters"]["properties"].keys() == declared.arguments.keys()
            assert tool.idempotent is not declared.writes and not tool.ends


def test_http_is_the_same_door(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, task("payments", "web")) as w:
        heard: list[tuple[str, str, bytes]] = []
        assert w.door is not None
        w.door.heard.append(lambda *request: heard.append(request))
        charged = w.act("shell", command=curl("payments", "/charge", CHARGE, "-H", "'Idempotency-Key: k'"))
        assert json.loads(charged.text) == {"charge": 1, "balance": 90.5}
        by_tool = w.act("payments.charge", key="k", **CHARGE)
        assert json.loads(by_tool.text) == {"charge": 1, "balance": 90.5}
        first, second = calls(w)
        assert (first.via, first.actor, first.step, first.key, first.effect) == (
            "http",
            "agent",
            1,
            "k",
            True,
        )
        assert (second.via, second.repeats, second.effect) == ("tool", 1, False)
        assert w.events(ActionFinished)[1].cost.repeated_requests == 1
        assert heard[0][:2] == ("payments", "payments.charge") and b"Idempotency-Key: k" in heard[0][2]
        listed = w.act("shell", command=curl("payments", "/list?reference=r&after=0"))
        assert json.loads(listed.text)["charges"][0]["amount"] == 10
        assert "<title>Home</title>" in w.act("shell", command=curl("web", "/")).text
        w.act("shell", command=curl("web", "/list") + " -d what=a")
        assert calls(w)[-1].arguments == {"path": "/list", "form": {"what": "a"}}


@pytest.mark.parametrize("mode", ["prevent", "observe"])
def test_the_policy_holds_for_both_ways(tmp_path: Path, host: Host, mode: str) -> None:
    rule = {"id": "small", "kind": "hard", "mode": mode, "forbid": {"call": [LARGE]}}
    with world(tmp_path, host, task("payments", constraints=[rule])) as w:
        large = {**CHARGE, "amount": 60}
        by_http = w.act("shell", command=curl("payments", "/charge", large, "-w", "'%{http_code}'"))
        by_tool = w.act("payments.charge", **{**large, "amount": 51} if mode == "prevent" else CHARGE)
        charged = live(w).rows("payments", "charges")
        if mode == "prevent":
            assert by_http.text.endswith("403") and by_tool.outcome == "denied"
            assert not charged and not w.events(ConstraintViolated)
            assert [d.constraint for d in w.events(ActionDecided) if d.decision == "deny"] == [
                "small",
                "small",
            ]
            (line,) = calls(w)
            assert (line.status, line.effect) == (403, False)
        else:
            assert len(charged) == 2 and by_http.text.endswith("200")
            (violation,) = w.events(ConstraintViolated)
            assert (violation.actor, violation.step, violation.constraint) == ("agent", 1, "small")


def test_an_effect_that_nobody_heard_of_is_unknown_and_the_key_tells(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, task("payments")) as w:
        services = live(w)
        services.arm("lost_ack", "payments", "charge", times=2)
        lost = w.act("payments.charge", key="k", **CHARGE)
        assert lost.outcome == "unknown" and "504 Gateway Timeout: no answer came" in lost.text
        by_http = w.act("shell", command=curl("payments", "/charge", CHARGE, "-H", "'Idempotency-Key: k'"))
        assert "504" in by_http.text
        again = w.act("payments.charge", key="k", **CHARGE)
        assert again.outcome == "ok" and len(services.rows("payments", "charges")) == 1
        first, second, third = calls(w)
        assert (first.status, first.effect, first.acknowledged, first.fault) == (200, True, False, "lost_ack")
        assert (second.repeats, second.effect, second.acknowledged) == (1, False, False)
        assert (third.repeats, third.acknowledged, third.fault) == (1, True, None)
        assert w.events(ActionFinished)[0].notes["fault"] == "lost_ack"


def test_a_delay_longer_than_the_action_is_no_answer(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, task("mail"), seconds=0.3) as w:
        services = live(w)
        services.arm("delay", "mail", "send", seconds=0.05)
        assert w.act("mail.send", **SEND).outcome == "ok"
        services.arm("delay", "mail", "send", seconds=99)
        assert w.act("mail.send", **SEND).outcome == "unknown"
        assert [(line.fault, line.acknowledged) for line in calls(w)] == [("delay", True), ("delay", False)]
        assert len(services.rows("mail", "deliveries")) == 2


def test_a_process_that_runs_on_is_told_apart(tmp_path: Path, host: Host) -> None:
    rule = {"id": "small", "kind": "hard", "forbid": {"call": [LARGE]}}
    with world(tmp_path, host, task("payments", constraints=[rule])) as w:
        asked = curl("payments", "/charge", {**CHARGE, "amount": 60})
        w.act(
            "shell", command=f"(while [ ! -e go ]; do sleep 0.05; done; {asked}; sleep 30) >/dev/null 2>&1 &"
        )
        Path(w.sandbox.tree, "workspace", "go").touch()
        until(lambda: calls(w))
        w.act("payments.balance", account="main")
        line = calls(w)[0]
        assert (line.actor, line.step, line.effect) == ("background", 1, True)
        assert [(v.actor, v.constraint) for v in w.events(ConstraintViolated)] == [("background", "small")]
        (effect,) = w.events(EffectRecorded)
        assert effect.actor == "background"
        assert "services/payments/charges/1.json" in {e.path for e in effect.changes}
        assert not [e for e in w.events(ActionFinished)[1].changes if e.path.startswith("services/")]


def test_what_the_action_under_way_may_do_a_process_that_runs_on_may_not(tmp_path: Path, host: Host) -> None:
    rule = {
        "id": "leave", "mode": "prevent", "requires": "small",
        "forbid": {"call": [{"tool": "payments.charge"}]},
    }  # fmt: skip
    small = {"id": "small", "tool": "payments.charge", "where": {"amount": "<= 50"}}
    granted = {**small, "granted_by": "task", "scope": "trial"}
    made = make_task([rule], environment={"services": ["payments"]}, approval=[granted])
    with world(tmp_path, host, made) as w:
        asked = curl("payments", "/charge", {**CHARGE, "amount": 60})
        w.act("shell", command=f"(while [ ! -e stop ]; do {asked}; sleep 0.05; done) >/dev/null 2>&1 &")
        during, steps = list[ServiceCalled](), 1
        while not during:  # some of its requests must come while the action's own is delayed
            live(w).arm("delay", "payments", "charge", seconds=1.0)
            assert w.act("payments.charge", **CHARGE).outcome == "ok"
            steps += 1
            during = [call for call in calls(w) if (call.via, call.step) == ("http", steps)]
        w.act("shell", command="touch stop")
        assert {(call.actor, call.status) for call in during} == {("background", 403)}
        amounts = [charge["amount"] for charge in live(w).rows("payments", "charges")]
        assert amounts == [10] * (steps - 1)


def test_what_comes_after_the_last_process_is_gone_is_not_lost(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, task("mail")) as w:
        w.act("shell", command="true")
        assert not w.sandbox.alive
        live(w).call("mail", "send", SEND)
        w.act("shell", command="true")
        (effect,) = w.events(EffectRecorded)
        assert len(effect.changes) == 3 and w.sandbox.audit()


def test_a_flood_of_requests_ends_in_refusals(
    tmp_path: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors, "REQUESTS_IN_STEP", 20)
    many = (
        "import socket\n"
        "for n in range(60):\n"
        "    s = socket.socket(socket.AF_UNIX); s.connect('/run/services/tickets.sock')\n"
        '    b = b\'{"id": 1, "body": "x"}\'\n'
        "    s.sendall(b'POST /comment HTTP/1.1\\r\\nContent-Length: %d\\r\\n\\r\\n' % len(b) + b)\n"
        "    print(s.recv(100)[9:12].decode())\n"
    )
    with world(tmp_path, host, task("tickets")) as w:
        w.act("write_file", path="many.py", content=many)
        shown = w.act("shell", command="python3 many.py").text.split()
        assert shown == ["200"] * 20 + ["429"] * 40
        assert [call.status for call in calls(w)] == [200] * 20 + [429]
        assert not calls(w)[-1].effect
        assert w.act("shell", command="python3 many.py | sort | uniq -c").text.split() == [
            "20",
            "200",
            "40",
            "429",
        ]


def test_malformed_requests_are_answered_and_written_down(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, task("mail")) as w:
        for command, status in (
            (curl("mail", "/nope", {}), 404),
            (curl("mail", "/" + "x" * 500, {}), 404),
            (curl("mail", "/send", {"to": "x"}), 400),
            (curl("mail", "/send?to=a@b.org&subject=&body="), 405),
            (curl("mail", "/read?id=one"), 400),
            (curl("mail", "/read?id=1e999"), 400),
            (curl("mail", "/read", {"id": 10**30}), 400),
            (curl("mail", "/read", {"id": 2**63}), 400),
            (curl("mail", "/../etc/passwd", {}, "--path-as-is"), 404),
        ):
            w.act("shell", command=command)
            line = calls(w)[-1]
            assert (line.status, line.effect) == (status, False), command
        # Half a surrogate pair is no JSON: such a request never comes as far as the service.
        assert "400" in w.act("shell", command=curl("mail", "/send", {**SEND, "subject": "\ud800"})).text
        assert len(calls(w)) == 9
        assert max(len(line.verb) for line in calls(w)) <= 80
        assert w.sandbox.audit()


def test_large_bodies_stay_out_of_the_journals_lines(tmp_path: Path, host: Host) -> None:
    with world(tmp_path, host, task("mail"), output_kb=4) as w:
        w.act("write_file", path="b", content=json.dumps({**SEND, "body": "x" * 100_000}))
        w.act("shell", command=f"{curl('mail', '/send')} -d @b")
        (line,) = calls(w)
        assert line.effect and line.arguments.keys() == {"$object"}
        assert len(json.loads(w.objects.get(line.arguments["$object"]))["body"]) == 100_000
        assert "bytes omitted" in w.act("mail.read", id=2).text
        w.act("shell", command=f"head -c 300000 /dev/zero > big; {curl('mail', '/send')} --data-binary @big")
        assert len(calls(w)) == 2  # refused before it was read


def test_programs_at_once_lose_and_double_nothing(tmp_path: Path, host: Host) -> None:
    one = curl("payments", "/charge", {"account": "main", "amount": 1, "reference": "p"})
    keyed = curl(
        "payments",
        "/charge",
        {"account": "main", "amount": 1, "reference": "k"},
        "-H",
        "'Idempotency-Key: k'",
    )
    with world(tmp_path, host, task("payments")) as w:
        w.act("shell", command=f"for i in 1 2 3 4 5 6 7 8; do {one} & {keyed} & done; wait")
        services = live(w)
        assert services.rows("payments", "accounts")[1]["balance"] == 100.5 - 9
        charges = services.rows("payments", "charges")
        assert [c["reference"] for c in charges].count("k") == 1 and len(charges) == 9
        effects = [line for line in calls(w) if line.effect]
        assert sorted(line.ledger or 0 for line in effects) == list(range(1, 10))
        assert [line.ledger for line in effects] == list(range(1, 10))  # the journal's order is the ledger's
        assert w.sandbox.audit()
