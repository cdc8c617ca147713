"""The sockets of services, from a client that may be anything."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from seatrial.environment.services import http
from seatrial.environment.services.http import Request, ServiceServer
from tests.waiting import PATIENCE


@contextmanager
def serving(folder: Path, answer: Any = None) -> Iterator[tuple[ServiceServer, list[Request]]]:
    server, heard = ServiceServer(("mail", "web"), str(folder / "s")), list[Request]()

    def respond(request: Request) -> tuple[int, Any]:
        heard.append(request)
        return 200, {"got": request.arguments} if answer is None else answer

    server.responder = respond
    try:
        yield server, heard
    finally:
        server.close()


def ask(server: ServiceServer, data: bytes, service: str = "mail") -> tuple[int, bytes]:
    """What comes back for these bytes."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(f"{server.folder}/{service}.sock")
        with suppress(OSError):
            client.sendall(data)
        answer = b""
        while part := client.recv(1 << 16):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), body


def post(path: str, body: bytes, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: mail", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def test_requests_as_programs_send_them(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, heard):
        curl = "Content-Type: application/x-www-form-urlencoded"
        assert ask(server, post("/send", b'{"to": "x"}', curl, "Idempotency-Key: k"))[0] == 200
        assert ask(server, post("/send?a=1", b"to=x+y&n=%C3%A9", curl))[0] == 200
        assert ask(server, b"GET /list?folder=in%20box&after=3 HTTP/1.1\r\n\r\n")[0] == 200
        assert ask(server, post("/get", b'{"path": "/"}'), "web")[0] == 200
        assert ask(server, b"GET /a%2Fb?page=2 HTTP/1.1\r\n\r\n", "web")[0] == 200
        assert ask(server, post("/", b"q=1", curl), "web")[0] == 200
        assert [(r.service, r.verb, r.arguments, r.key, r.page, r.reading) for r in heard] == [
            ("mail", "send", {"to": "x"}, "k", False, False),
            ("mail", "send", {"a": "1", "to": "x y", "n": "é"}, "", False, False),
            ("mail", "list", {"folder": "in box", "after": "3"}, "", False, True),
            ("web", "get", {"path": "/"}, "", False, False),
            ("web", "get", {"page": "2", "path": "/a/b"}, "", True, True),
            ("web", "submit", {"path": "/", "form": {"q": "1"}}, "", True, False),
        ]
        assert b"Idempotency-Key: k" in heard[0].raw and heard[0].raw.endswith(b'{"to": "x"}')


def test_a_body_may_be_waited_for(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, heard), socket.socket(socket.AF_UNIX) as client:
        client.connect(f"{server.folder}/mail.sock")
        client.settimeout(PATIENCE)
        request = post("/send", b'{"a": 1}', "Expect: 100-continue")
        client.sendall(request[:-8])
        assert client.recv(100).startswith(b"HTTP/1.1 100")
        client.sendall(request[-8:])
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        assert heard[0].arguments == {"a": 1}


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", 405),
        (b"DELETE /x HTTP/1.1\r\n\r\n", 405),
        (b"\x00\xff\xfe\r\n\r\n", 405),
        (b"GET /x HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET /x HTTP/1.1\r\nX: " + b"y" * (20 << 10), 431),
        (post("/send", b"{"), 400),
        (post("/send", b"[1]"), 400),
        (post("/send", b"\xff\xfe"), 400),
        (post("/send", b"[" * 100_000), 400),
        (post("/send", b'{"a": NaN}'), 400),
        (b"POST /send HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"POST /send HTTP/1.1\r\nContent-Length: 1e3\r\n\r\n", 400),
        (b"POST /send HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST /send HTTP/1.1\r\nContent-Length: ²\r\n\r\n".encode(), 400),
        (b"POST /send HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"GET /list?" + b"a=1&" * 500 + b" HTTP/1.1\r\n\r\n", 400),
        (b"GET http://[bad/ HTTP/1.1\r\n\r\n", 400),
    ],
)
def test_what_is_no_request_is_refused(tmp_path: Path, data: bytes, status: int) -> None:
    with serving(tmp_path) as (server, heard):
        got, body = ask(server, data)
        assert got == status and json.loads(body).keys() == {"error", "detail"}
        assert not heard and server.broken is None
        assert ask(server, post("/send", b"{}"))[0] == 200


def test_a_client_that_dawdles_or_leaves_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "PATIENCE_SECONDS", 0.3)
    with serving(tmp_path, "x" * (8 << 20)) as (server, _):
        assert ask(server, b"GET /x")[0] == 408
        assert ask(server, b"POST /send HTTP/1.1\r\nContent-Length: 10\r\n\r\n{")[0] == 408
        monkeypatch.setattr(http, "PATIENCE_SECONDS", PATIENCE)
        for data in (b"", b"GET", post("/send", b"{}")):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(f"{server.folder}/mail.sock")
                client.sendall(data)
        deaf = socket.socket(socket.AF_UNIX)
        deaf.connect(f"{server.folder}/mail.sock")
        deaf.sendall(post("/send", b"{}"))  # and reads nothing of a large answer
        assert ask(server, post("/send", b"{}"))[0] == 200
        deaf.close()
        assert server.broken is None


def test_more_connections_than_there_are_places_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PATIENCE_SECONDS", 1.0)
    with serving(tmp_path) as (server, _):
        idle = [socket.socket(socket.AF_UNIX) for _ in range(2 * http.CONNECTIONS)]
        for client in idle:
            client.connect(f"{server.folder}/mail.sock")
        assert ask(server, post("/send", b"{}"))[0] == 200  # their time is soon up
        for client in idle:
            client.close()


def test_many_at_once_are_all_answered(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, heard):
        statuses: list[int] = []

        def some(start: int) -> None:
            statuses.extend(ask(server, post("/send", b'{"n": %d}' % n))[0] for n in range(start, start + 25))

        threads = [threading.Thread(target=some, args=(100 * n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [200] * 100
        assert len({request.arguments["n"] for request in heard}) == 100


def test_a_responder_that_breaks_is_noticed(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _):
        server.responder = lambda request: 1 / 0
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"{server.folder}/mail.sock")
            client.sendall(post("/send", b"{}"))
            assert client.recv(10) == b""
        assert isinstance(server.broken, ZeroDivisionError)


def test_nobody_is_there_before_the_trial_begins_or_after_it(tmp_path: Path) -> None:
    server = ServiceServer(("mail",), str(tmp_path / "s"))
    assert ask(server, post("/send", b"{}"))[0] == 503
    server.close()
    with pytest.raises(OSError), socket.socket(socket.AF_UNIX) as client:
        client.connect(f"{server.folder}/mail.sock")
