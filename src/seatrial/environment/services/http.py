"""HTTP/1.1 over unix sockets, one a service, for programs in the sandbox.

The other side is the agent's: whatever it sends is bounded in size and time, and nothing it does or leaves
undone keeps the trial waiting. One request a connection.
"""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from seatrial.environment.services.refusal import Refusal, in_words
from seatrial.spec.services import VERBS

HEAD_BYTES, BODY_BYTES = 16 << 10, 128 << 10
# A whole request must have come, and a whole answer gone, within this time each.
PATIENCE_SECONDS = 10.0
# How long what a client still sends after its answer is thrown away; else it might not get the answer.
LEAVE_SECONDS = 1.0
CONNECTIONS = 32
_LOOK_SECONDS, _QUEUE = 0.05, 128
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(frozen=True)
class Request:
    """A request as it came; nothing about it has been checked against the service.

    Attributes:
        service: whose socket it came by.
        verb: the path, or ``get`` and ``submit`` for pages of ``web``.
        arguments: of the query and the body; values of a query are texts.
        key: of the header ``Idempotency-Key``.
        page: whether it asked for a page of ``web`` as browsers do.
        reading: whether its method may change nothing.
        raw: all of it as it came.
    """

    service: str
    verb: str
    arguments: dict[str, Any]
    key: str = ""
    page: bool = False
    reading: bool = False
    raw: bytes = b""


Responder = Callable[[Request], tuple[int, Any]]


class ServiceServer:
    """Serves sockets in a folder until it is closed.

    Args:
        names: of the services.
        folder: new folder for the sockets, ``<service>.sock`` each.

    Attributes:
        responder: answers requests, from several threads; null until somebody does.
        broken: what a responder raised; the trial cannot go on with it.
        closing: nothing may be done any more, not even for a request that has come.
    """

    def __init__(self, names: tuple[str, ...], folder: str) -> None:
        self.folder, self.responder = folder, _nobody
        self.broken: Exception | None = None
        self._slots = threading.BoundedSemaphore(CONNECTIONS)
        self.closing = False
        self._listeners: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        os.makedirs(folder, mode=0o755)
        for name in names:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(f"{folder}/{name}.sock")
            os.chmod(f"{folder}/{name}.sock", 0o666)
            listener.listen(_QUEUE)
            self._listeners.append(listener)
            thread = threading.Thread(target=self._accept, args=(name, listener), daemon=True)
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        """Take no more requests; those under way are cut off."""
        self.closing = True
        for listener in self._listeners:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        for listener in self._listeners:
            listener.close()

    def _accept(self, service: str, listener: socket.socket) -> None:
        """Serve each connection in a thread; more than there are places for wait in the kernel's queue."""
        while not self.closing:
            if not self._slots.acquire(timeout=_LOOK_SECONDS):
                continue
            try:
                connection, _ = listener.accept()
            except OSError:
                self._slots.release()
                time.sleep(_LOOK_SECONDS)  # closing, or too many open files: others will close
                continue
            threading.Thread(target=self._serve, args=(service, connection), daemon=True).start()

    def _serve(self, service: str, connection: socket.socket) -> None:
        try:
            with connection:
                try:
                    request = _receive(service, connection, time.monotonic() + PATIENCE_SECONDS)
                    status, body = self._respond(request)
                except Refusal as refusal:
                    status, body = refusal.status, {
                        "error": in_words(refusal.status), "detail": refusal.problem,
                    }  # fmt: skip
                if not self.closing:
                    _send(connection, status, body)
                    _take_leave(connection)
        except OSError:
            pass  # the client has gone
        finally:
            self._slots.release()

    def _respond(self, request: Request) -> tuple[int, Any]:
        """The answer; what breaks is noted before the client, whose command may then end, can know of it."""
        try:
            return self.responder(request)
        except Refusal:
            raise
        except Exception as fault:
            self.broken = self.broken or fault
            raise ConnectionAbortedError from fault


def _nobody(request: Request) -> tuple[int, Any]:
    raise Refusal(503, "the service is not open yet")


def _receive(service: str, connection: socket.socket, deadline: float) -> Request:
    data = bytearray()
    while (end := data.find(b"\r\n\r\n")) < 0:
        if len(data) > HEAD_BYTES:
            raise Refusal(431, f"the head is longer than {HEAD_BYTES} bytes")
        data += _more(connection, deadline)
    lines = bytes(data[:end]).decode("latin-1").split("\r\n")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon:
            raise Refusal(400, "a header has no colon")
        headers[name.strip().lower()] = value.strip()
    parts = lines[0].split(" ")
    if len(parts) != 3 or parts[0] not in ("GET", "POST"):
        raise Refusal(405, "only GET and POST are served")
    body = bytes(data[end + 4 :])
    length = _length(headers)
    if headers.get("expect", "").lower() == "100-continue" and len(body) < length:
        connection.sendall(_CONTINUE)
    while len(body) < length:
        body += _more(connection, deadline)
    request = _request(service, parts[0], parts[1], headers, body[:length])
    return replace(request, raw=bytes(data[: end + 4]) + body[:length])


def _length(headers: dict[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise Refusal(411, "send a Content-Length")
    text = headers.get("content-length", "0")
    if not (text.isascii() and text.isdigit()) or len(text) > 12:
        raise Refusal(400, "the Content-Length is no number")
    if int(text) > BODY_BYTES:
        raise Refusal(413, f"a body may have {BODY_BYTES} bytes")
    return int(text)


def _more(connection: socket.socket, deadline: float) -> bytes:
    left = deadline - time.monotonic()
    if left <= 0:
        raise Refusal(408, f"the request did not come within {PATIENCE_SECONDS:g} seconds")
    connection.settimeout(left)
    try:
        part = connection.recv(1 << 16)
    except TimeoutError:
        raise Refusal(408, f"the request did not come within {PATIENCE_SECONDS:g} seconds") from None
    if not part:
        raise ConnectionError("the client has gone")
    return part


def _request(service: str, method: str, target: str, headers: dict[str, str], body: bytes) -> Request:
    try:
        split = urlsplit(target)
        path = unquote(split.path, errors="replace")
        query: dict[str, Any] = dict(parse_qsl(split.query, keep_blank_values=True, max_num_fields=100))
        given = _body(headers, body) if body else {}
    except ValueError as fault:
        raise Refusal(400, f"the request cannot be read: {fault}") from fault
    key = headers.get("idempotency-key", "")
    verb = path.removeprefix("/")
    if service == "web" and verb not in VERBS["web"]:
        if method == "GET":
            return Request(service, "get", {**query, "path": path or "/"}, key, page=True, reading=True)
        return Request(service, "submit", {"path": path or "/", "form": {**query, **given}}, key, page=True)
    return Request(service, verb, {**query, **given}, key, reading=method == "GET")


def _body(headers: dict[str, str], body: bytes) -> dict[str, Any]:
    """An object from JSON, or from a form as browsers send it.

    Raises:
        ValueError: it is neither.
    """
    text = body.decode()
    # curl says that JSON is a form unless it is told otherwise.
    if "form-urlencoded" in headers.get("content-type", "") and not text.lstrip().startswith("{"):
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=100))
    try:
        given = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as fault:
        raise ValueError(f"the body is no JSON: {fault}") from fault
    if not isinstance(given, dict):
        raise ValueError("the body is no JSON object")
    return given


def _send(connection: socket.socket, status: int, body: Any) -> None:
    if isinstance(body, str):
        kind, data = "text/html; charset=utf-8", body.encode("utf-8", "replace")
    else:
        kind, data = "application/json", msgspec.json.encode(body) + b"\n"
    head = (
        f"HTTP/1.1 {in_words(status)}\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n"
        "Connection: close\r\n\r\n"
    )
    connection.settimeout(PATIENCE_SECONDS)
    with contextlib.suppress(OSError):
        connection.sendall(head.encode() + data)


def _take_leave(connection: socket.socket) -> None:
    """Close a connection so that what was sent arrives: with unread data the kernel would reset it."""
    deadline = time.monotonic() + LEAVE_SECONDS
    with contextlib.suppress(OSError), connection:
        connection.shutdown(socket.SHUT_WR)
        while True:
            connection.settimeout(max(0.0, deadline - time.monotonic()))
            if not connection.recv(1 << 16):
                return
