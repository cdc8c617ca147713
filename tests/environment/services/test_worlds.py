"""Services in real worlds, with a sandbox and without: sockets, rows in the state, forks, reset, audit."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from seatrial.environment.confine.host import prepare_host, release_host
from seatrial.environment.ground import Ground
from seatrial.environment.sandbox import BubblewrapSandbox
from seatrial.environment.services.http import Request
from seatrial.environment.services.opened import OpenServices
from seatrial.environment.state.base import index_base, lay_out
from seatrial.environment.world import World, open_world
from seatrial.errors import EnvironmentFault, StateOverrun
from seatrial.journal.entries import State, is_row
from seatrial.journal.objects import ObjectStore
from tests.environment.lab import Lab, output
from tests.stocks import make_stock

SEND = {"to": "bob@there.org", "subject": "s", "body": "b"}


def ground_with_services(lab: Lab) -> Ground:
    """A ground whose base holds the rows of every service."""
    stock = make_stock(lab.folder, lab.objects)
    plain = lab.base()
    uid = lab.host.uid("world")
    base = index_base(plain.folder, lab.objects, uid, (), stock.rows, stock.digests)
    return replace(lab.ground(base), stock=stock)


def services_of(world: World) -> OpenServices:
    assert world.services is not None
    return world.services


def answer_by_http(world: World) -> None:
    """Let calls by HTTP through as they are."""
    opened = services_of(world)

    def respond(request: Request) -> tuple[int, object]:
        answer = opened.services.call(
            request.service, request.verb, request.arguments, request.key, "http", 1
        )
        return answer.shown()

    opened.server.responder = respond


def rows(state: State) -> dict[str, object]:
    return {path: entry.identity() for path, entry in state.items() if is_row(path)}


def test_a_call_is_a_change_of_the_state_and_nothing_else_is_looked_at(lab: Lab) -> None:
    world = lab.world(ground_with_services(lab))
    first = world.prove_reset()
    assert set(rows(world.tracker.state())) == set(services_of(world).services.entries())
    services_of(world).services.call("mail", "send", SEND)
    assert world.unsettled
    delta = world.settle()
    assert [entry.path for entry in delta.changes] == [
        "services/mail/deliveries/1.json", "services/mail/ledger/1.json", "services/mail/messages/2.json",
    ]  # fmt: skip
    sent = json.loads(lab.objects.get(delta.changes[2].digest or ""))
    assert sent == {"id": 2, "folder": "sent", "from": "me@here.org", **SEND}
    assert delta.fingerprint != first and not world.unsettled
    assert world.settle().changes == []
    assert world.audit()


def test_programs_inside_reach_the_sockets_and_nothing_else_of_them(lab: Lab) -> None:
    world = lab.world(ground_with_services(lab))
    world.prove_reset()
    answer_by_http(world)
    asked = (
        "curl -s --unix-socket $SERVICE_SOCKETS/payments.sock http://payments/charge "
        """-d '{"account": "main", "amount": 0.5, "reference": "r"}'"""
    )
    assert json.loads(output(world, asked)) == {"charge": 1, "balance": 100}
    python = (
        "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/services/mail.sock'); "
        "s.sendall(b'GET /list HTTP/1.1\\r\\n\\r\\n'); print(s.recv(9999).decode())"
    )
    assert "ann@here.org" in output(world, f'python3 -c "{python}"')
    assert output(world, "ls /run/services").split() == [
        "deploy.sock", "mail.sock", "payments.sock", "sql.sock", "tickets.sock", "web.sock",
    ]  # fmt: skip
    for command in (
        "rm /run/services/mail.sock",
        "touch /run/services/x",
        "ls /services",
        "mv /run/services /x",
    ):
        assert world.shell(command).exit_code != 0
    assert {entry.path for entry in world.settle().changes if is_row(entry.path)} == {
        f"services/payments/{name}.json" for name in ("accounts/main", "charges/1", "ledger/1")
    }


def test_a_fork_has_the_same_rows_and_goes_its_own_way(lab: Lab) -> None:
    ground = ground_with_services(lab)
    world = lab.world(ground)
    call = services_of(world).services.call
    world.shell("echo 1 > new; rm a.txt")
    call("mail", "send", SEND, "k")
    call("sql", "execute", {"statement": "DELETE FROM u WHERE id = 2"})
    call("sql", "execute", {"statement": "INSERT INTO u VALUES (9, 'b')"})
    delta = world.settle()
    forks = [
        lab.keep(world.fork(world.tracker.delta())),
        *map(lab.keep, world.forks(world.tracker.delta(), 2)),
    ]
    for fork in forks:
        assert fork.settle().changes == []
        assert fork.tracker.fingerprint() == delta.fingerprint
        assert services_of(fork).services.entries() == services_of(world).services.entries()
        assert fork.audit()
    assert services_of(forks[0]).services.call("mail", "send", SEND, "k").repeats == 1
    services_of(forks[1]).services.call("mail", "send", SEND)
    assert forks[1].settle().changes
    assert forks[0].settle().changes == forks[2].settle().changes == world.settle().changes == []
    assert services_of(world).services.entries() == services_of(forks[0]).services.entries()


def test_rows_alone_make_no_layer(lab: Lab) -> None:
    world = lab.world(ground_with_services(lab))
    services_of(world).services.call("tickets", "create", {"title": "t", "body": ""})
    world.settle()
    fork = lab.keep(world.fork(world.tracker.delta()))
    assert fork.tracker.fingerprint() == world.tracker.fingerprint()
    assert output(fork, "cat a.txt") == "A\n"
    assert not (lab.scratch / "layers").exists()


def test_a_full_scan_leaves_rows_alone(lab: Lab) -> None:
    world = lab.world(ground_with_services(lab))
    services_of(world).services.call("mail", "send", SEND)
    world.settle()
    before = world.tracker.fingerprint()
    assert world.tracker.rescan() == []
    assert world.tracker.fingerprint() == before


def test_an_audit_sees_a_row_that_nobody_told_of(lab: Lab) -> None:
    world = lab.world(ground_with_services(lab))
    world.prove_reset()
    store = services_of(world).services._store
    store._connection.execute("UPDATE rows SET body = CAST('{}' AS BLOB) WHERE service = 'tickets'")
    assert world.settle().changes == []
    assert not world.audit()


def test_a_stock_that_was_changed_opens_no_world(lab: Lab) -> None:
    ground = ground_with_services(lab)
    assert ground.stock is not None
    with open(f"{ground.stock.folder}/rows.db", "ab") as file:
        file.write(b"x")
    with pytest.raises(EnvironmentFault, match="was changed"):
        BubblewrapSandbox(ground)
    assert not any((lab.scratch / "worlds").iterdir())


def test_rows_count_towards_what_is_recorded(lab: Lab) -> None:
    world = lab.world(ground_with_services(lab))
    world.tracker.bound = 100_000
    services_of(world).services.call("mail", "send", {**SEND, "body": "x" * 200_000})
    with pytest.raises(StateOverrun):
        world.settle()


def test_what_broke_a_request_breaks_the_trial(lab: Lab) -> None:
    world = lab.world(ground_with_services(lab))
    services_of(world).server.broken = EnvironmentFault("the disk is full.")
    with pytest.raises(EnvironmentFault, match="the disk is full"):
        world.settle()


def test_a_closed_world_leaves_nothing(lab: Lab) -> None:
    world = lab.world(ground_with_services(lab))
    folder = services_of(world).server.folder
    world.close()
    assert not Path(folder).exists()
    assert not list((lab.scratch / "worlds").iterdir())


@contextmanager
def plain_world(folder: Path) -> Iterator[World]:
    """A world without a sandbox."""
    host, objects = prepare_host(0, unsafe=True), ObjectStore(folder / "objects")
    try:
        (folder / "files").mkdir()
        (folder / "files" / "a.txt").write_text("A\n")
        place = folder / "scratch" / "bases" / "b"
        lay_out(folder / "files", place, None)
        stock = make_stock(folder, objects)
        base = index_base(str(place), objects, host.uid("world"), (), stock.rows, stock.digests)
        world = open_world(Ground(host, str(folder / "scratch"), base, objects, stock=stock))
        try:
            yield world
            again = open_world(world.ground, world.tracker.delta())
            assert again.tracker.fingerprint() == world.tracker.fingerprint()
            assert again.settle().changes == [] and again.audit()
            again.close()
        finally:
            world.close()
    finally:
        release_host(host)


def test_without_a_sandbox_too(tmp_path: Path) -> None:
    with plain_world(tmp_path) as world:
        world.prove_reset()
        answer_by_http(world)
        asked = (
            "curl -s --unix-socket $SERVICE_SOCKETS/mail.sock http://mail/send -d '" + json.dumps(SEND) + "'"
        )
        assert world.shell(f"{asked}; echo 1 > new").output.startswith(b'{"id":2')
        assert [entry.path for entry in world.settle().changes] == [
            "services/mail/deliveries/1.json", "services/mail/ledger/1.json", "services/mail/messages/2.json",
            "workspace/new",
        ]  # fmt: skip
        assert world.audit()
