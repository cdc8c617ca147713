"""Calls, ledger, keys and compensation; rows as state; faults. Real databases, no world."""

from pathlib import Path
from typing import Any

import pytest

from seatrial.environment.services.call import Answer
from seatrial.environment.services.row import read_row, row_path
from seatrial.environment.services.services import Services
from seatrial.spec.services import VERBS
from tests.stocks import FILES, Shop

CHARGE = {"account": "main", "amount": 10.25, "reference": "r"}
SEND = {"to": "bob@there.org, eve@there.org", "subject": "s", "body": "b"}


def call(services: Services, tool: str, key: str = "", **arguments: Any) -> Answer:
    service, verb = tool.split(".")
    return services.call(service, verb, arguments, key, "tool", 7)


def everything(services: Services) -> None:
    """Something of every service, written and taken back."""
    for tool, arguments in (
        ("mail.send", SEND),
        ("payments.charge", CHARGE),
        ("payments.refund", {"charge": 1, "amount": 0.25}),
        ("deploy.release", {"service": "api", "version": "3"}),
        ("deploy.rollback", {"service": "api", "version": "1"}),
        ("tickets.create", {"title": "New", "body": ""}),
        ("tickets.comment", {"id": 1, "body": "é\n\0"}),
        ("tickets.transition", {"id": 1, "state": "done"}),
        ("web.submit", {"path": "/list", "form": {"what": "a"}}),
        ("sql.execute", {"statement": "DELETE FROM u WHERE id = 2"}),
        ("sql.execute", {"statement": "UPDATE u SET id = id + 10"}),
        ("sql.execute", {"statement": "INSERT INTO t VALUES (NULL, x'00ff'), (1.5, 9e999)"}),
    ):
        answer = call(services, tool, **arguments)
        assert answer.status == 200 and answer.effect, (tool, answer)


def test_a_message_is_kept_and_delivered(tmp_path: Path) -> None:
    with Shop(tmp_path).open() as services:
        assert call(services, "mail.send", **SEND).body == {"id": 2, "delivered": 2}
        assert [row["to"] for row in services.rows("mail", "deliveries")] == [
            "bob@there.org",
            "eve@there.org",
        ]
        assert call(services, "mail.read", id=2).body["from"] == "me@here.org"
        assert [m["subject"] for m in call(services, "mail.list").body["messages"]] == ["Hi"]
        assert call(services, "mail.list", folder="sent").body["messages"][0]["id"] == 2
        assert call(services, "mail.read", id=99).status == 404
        assert call(services, "mail.send", to="nobody", subject="", body="").status == 400
        assert len(services.rows("mail", "ledger")) == 1


def test_money_is_kept_to_the_cent_and_never_taken_twice_back(tmp_path: Path) -> None:
    with Shop(tmp_path).open() as services:
        for _ in range(3):
            assert call(services, "payments.charge", account="main", amount=0.1, reference="x").effect
        assert call(services, "payments.balance", account="main").body["balance"] == 100.2
        assert call(services, "payments.charge", account="empty", amount=1, reference="x").status == 402
        for amount in (0, -1, 0.001, 1e300, True):
            assert (
                call(services, "payments.charge", account="main", amount=amount, reference="").status == 400
            )
        assert call(services, "payments.refund", charge=1, amount=0.1).effect
        assert call(services, "payments.refund", charge=1, amount=0.01).status == 409
        charges = call(services, "payments.list", reference="x").body["charges"]
        assert [charge["refunded"] for charge in charges] == [0.1, 0, 0]


def test_every_effect_has_a_ledger_row_with_what_it_takes_back(tmp_path: Path) -> None:
    with Shop(tmp_path).open() as services:
        call(services, "payments.charge", **CHARGE)
        refund = call(services, "payments.refund", charge=1, amount=10.25)
        assert (refund.ledger, refund.compensates) == (2, 1)
        call(services, "deploy.release", service="api", version="2")
        assert call(services, "deploy.rollback", service="api", version="1").compensates == 1
        call(services, "tickets.transition", id=1, state="done")
        assert call(services, "tickets.transition", id=1, state="open").compensates == 1
        first = services.rows("payments", "ledger")[0]
        assert first["arguments"] == CHARGE
        assert (first["step"], first["verb"], first["key"], first["compensates"]) == (7, "charge", "", None)
        assert first["effect"] == ["services/payments/charges/1.json", "services/payments/accounts/main.json"]


def test_a_key_is_done_once(tmp_path: Path) -> None:
    with Shop(tmp_path).open() as services:
        first = call(services, "payments.charge", "k", **CHARGE)
        again = call(services, "payments.charge", "k", **CHARGE)
        assert (again.status, again.body, again.effect) == (200, first.body, False)
        assert (again.repeats, again.first_step) == (1, 7)
        other = call(services, "payments.charge", "k", **{**CHARGE, "amount": 1})
        assert (other.status, other.effect) == (409, False)
        assert call(services, "payments.refund", "k", charge=1, amount=1).status == 409
        assert len(services.rows("payments", "charges")) == 1
        # A refusal is not remembered: the request may come again when it can be done.
        assert call(services, "payments.charge", "n", account="empty", amount=1, reference="").status == 402
        services.set_rows("payments", {"accounts": [{"id": "empty", "balance": 5}]})
        assert call(services, "payments.charge", "n", account="empty", amount=1, reference="").effect


def test_a_release_must_be_one_that_exists_and_a_rollback_an_earlier_one(tmp_path: Path) -> None:
    with Shop(tmp_path).open() as services:
        assert call(services, "deploy.release", service="api", version="9").status == 404
        assert call(services, "deploy.release", service="api", version="1").status == 409
        assert call(services, "deploy.rollback", service="api", version="2").status == 409
        assert call(services, "deploy.release", service="api", version="3").effect
        assert call(services, "deploy.rollback", service="api", version="2").effect
        history = call(services, "deploy.status", service="api").body["history"]
        assert [(row["kind"], row["version"], row["was"]) for row in history] == [
            ("rollback", "2", "3"), ("release", "3", "1"),
        ]  # fmt: skip


def test_pages_have_parts_and_forms_have_rules(tmp_path: Path) -> None:
    with Shop(tmp_path).open() as services:
        first = call(services, "web.get", path="/").body
        assert (first["text"], first["pages"], first["form"]) == ("1\n2", 2, None)
        assert call(services, "web.get", path="/", page=2).body["text"] == "3"
        assert call(services, "web.get", path="/", page=3).status == 404
        assert call(services, "web.submit", path="/", form={}).status == 405
        for form in ({}, {"what": "c"}, {"what": "a", "more": 1}, {"what": ["a"]}, []):
            assert call(services, "web.submit", path="/list", form=form).status == 400
        call(services, "web.submit", path="/list", form={"note": "n", "what": "b"})
        assert call(services, "web.get", path="/list").body["text"] == "what: b, note: n"


def test_lists_and_searches_come_in_pages(tmp_path: Path) -> None:
    with Shop(tmp_path).open() as services:
        services.set_rows("tickets", {"tickets": [{"title": f"Number {n}"} for n in range(120)]})
        seen, after = [], None
        while True:
            body = call(services, "tickets.search", text="NUMBER", after=after).body
            seen += [ticket["title"] for ticket in body["tickets"]]
            after = body["more"]
            if after is None:
                break
        assert seen == [f"Number {n}" for n in range(120)]
        assert not call(services, "tickets.search", text="title").body["tickets"]  # a column's name
        assert not call(services, "tickets.search", state="done").body["tickets"]


def test_rows_are_the_state_and_bring_it_back(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    with shop.open() as services:
        assert services.entries() == shop.stock.rows and not services.unsettled
        everything(services)
        settled = {entry.path: entry for entry in services.settle()}
        live = services.entries()
        told = {**shop.stock.rows, **settled}
        assert {path: entry for path, entry in told.items() if entry.kind != "absent"} == live
        assert not services.unsettled and services.settle() == []
        rows = {(s, t): services.rows(s, t) for s, t in (("sql", "u"), ("mail", "messages"))}
    with shop.open(shop.delta(live)) as again:
        assert again.entries() == live
        assert not again.unsettled
        assert {key: again.rows(*key) for key in rows} == rows
        # What comes next has the same numbers and answers as it would have had.
        assert call(again, "tickets.create", title="x", body="").body["id"] == 3
        assert call(again, "payments.refund", charge=1, amount=10.01).status == 409
        assert call(again, "sql.execute", statement="INSERT INTO u(name) VALUES ('z')").effect
        assert again.rows("sql", "u")[-1]["id"] == 14


def test_a_key_is_known_after_a_fork(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    with shop.open() as services:
        call(services, "mail.send", "k", **SEND)
        services.settle()
        live = services.entries()
    with shop.open(shop.delta(live)) as again:
        repeated = call(again, "mail.send", "k", **SEND)
        assert (repeated.repeats, repeated.effect) == (1, False)


def test_two_trials_of_one_stock_do_not_touch(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    with shop.open() as one, shop.open() as other:
        everything(one)
        assert other.entries() == shop.stock.rows


@pytest.mark.parametrize(
    ("fault", "status", "shown", "done"),
    [
        ("lost_ack", 200, 504, True), ("delay", 200, 200, True), ("rate_limit", 429, 429, False),
        ("transient", 503, 503, False), ("expired_credential", 401, 401, False), ("partly", 500, 500, True),
    ],
)  # fmt: skip
def test_faults_of_writing_verbs(tmp_path: Path, fault: Any, status: int, shown: int, done: bool) -> None:
    with Shop(tmp_path).open() as services:
        armed = services.arm(fault, "payments", "charge", where={"amount": "> 5"}, seconds=2)
        assert call(services, "payments.charge", account="main", amount=1, reference="").fault is None
        answer = call(services, "payments.charge", "k", **CHARGE)
        assert (answer.status, answer.shown()[0], answer.effect) == (status, shown, done)
        assert (answer.fault, answer.acknowledged) == (fault, fault != "lost_ack")
        assert (armed.fired, armed.left) == (1, 0)
        assert answer.delay == (2 if fault == "delay" else 0)
        if fault == "expired_credential":
            assert call(services, "payments.balance", account="main").status == 401
            assert call(services, "payments.renew").status == 200
        again = call(services, "payments.charge", "k", **CHARGE)
        assert (again.status, again.repeats is not None) == (500 if fault == "partly" else 200, done)
        assert len(services.rows("payments", "charges")) == 2  # one of 1, one of 10.25


def test_partly_leaves_the_first_row_alone(tmp_path: Path) -> None:
    with Shop(tmp_path).open() as services:
        services.arm("partly", "payments")
        answer = call(services, "payments.charge", **CHARGE)
        assert services.rows("payments", "ledger")[0]["effect"] == ["services/payments/charges/1.json"]
        assert answer.ledger == 1
        assert call(services, "payments.balance", account="main").body["balance"] == 100.5
        services.arm("partly", "sql", "execute")
        call(services, "sql.execute", statement="UPDATE u SET name = name || '!'")
        assert [row["name"] for row in services.rows("sql", "u")] == ["a!", "b", "c"]
        assert call(services, "sql.execute", statement="UPDATE u SET name = name || '?'").status == 200


def test_a_partial_answer_is_half_of_its_lists(tmp_path: Path) -> None:
    with Shop(tmp_path).open() as services:
        services.set_rows("mail", {"messages": [{"from": "x"} for _ in range(9)]})
        services.arm("partial", "mail", times=1)
        call(services, "mail.send", **SEND)
        cut = call(services, "mail.list")
        assert (cut.status, len(cut.body["messages"])) == (206, 5)
        assert len(call(services, "mail.list").body["messages"]) == 10


def test_a_credential_stays_expired_after_a_fork(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    with shop.open() as services:
        services.arm("expired_credential", "mail")
        assert call(services, "mail.list").status == 401
        services.settle()
        live = services.entries()
    with shop.open(shop.delta(live)) as again:
        assert call(again, "mail.list").status == 401
        call(again, "mail.renew")
        assert call(again, "mail.list").status == 200


def test_rows_are_changed_from_outside_as_asked(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    with shop.open() as services:
        paths = services.set_rows(
            "tickets", {"tickets": [{"id": 1, "state": "done"}, {"title": "New"}], "comments": []}
        )
        assert paths == [row_path("tickets", "tickets", 1), row_path("tickets", "tickets", 2)]
        assert [(t["title"], t["state"]) for t in services.rows("tickets", "tickets")] == [
            ("Broken", "done"), ("New", "open"),
        ]  # fmt: skip
        services.set_rows("tickets", {"tickets": [{"id": 2, "_delete": True}]})
        services.set_rows(
            "sql", {"u": [{"rowid": 1, "name": "z"}, {"name": "n"}, {"rowid": 3, "_delete": True}]}
        )
        assert [row["name"] for row in services.rows("sql", "u")] == ["z", "b", "n"]
        assert not services.rows("tickets", "ledger")
        assert {entry.path for entry in services.settle()} >= {*paths, "services/sql/u/3.json"}
        before = services.entries()
        for service, tables in (
            ("tickets", {"tickets": [{"id": 1, "state": "x"}, {"body": "no title"}]}),
            ("tickets", {"tickets": [{"id": 1, "colour": "red"}]}),
            ("tickets", {"ledger": [{"id": 1}]}),
            ("tickets", {"tickets": [{"id": "one", "title": "x"}]}),
            ("sql", {"u": [{"rowid": 1, "name": "b"}]}),
            ("sql", {"u": [{"name": ["list"]}]}),
            ("sql", {"v": [{"name": "x"}]}),
            ("fax", {}),
        ):
            with pytest.raises(ValueError):
                services.set_rows(service, tables)
        assert services.entries() == before


def test_strange_keys_have_names_of_their_own() -> None:
    keys = ["a", "a/b", "a=b", ".", "..", ".a", "", "é", "x" * 300, "x" * 301, "a%2Fb", "A"]
    paths = {row_path("web", "pages", key) for key in keys}
    assert len(paths) == len(keys)
    for path in paths:
        assert path.count("/") == 3 and len(path.rpartition("/")[2]) < 255
        assert path.isascii() and not path.rpartition("/")[2].startswith(".")


def test_rows_hold_what_they_are_called(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    for path, entry in shop.stock.rows.items():
        row = read_row(shop.objects.get(entry.digest or ""))
        if not path.startswith("services/sql/"):
            _, service, table, _ = path.split("/")
            assert row_path(service, table, row["id"]) == path


def test_every_verb_is_there(tmp_path: Path) -> None:
    with Shop(tmp_path).open() as services:
        assert set(services.names) == set(FILES) == set(VERBS)
        for service, verbs in VERBS.items():
            for verb in verbs:
                assert callable(services._services[service].verb(verb))
