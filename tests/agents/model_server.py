"""A scripted server that speaks the protocol of OpenAI-compatible endpoints, over real sockets.

It plays a list of plays, one for each request; the last one is played for ever. A play is a callable that is
given the handler; those below make the usual ones.
"""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Play = Callable[["Handler"], None]
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}}


class Handler(BaseHTTPRequestHandler):
    """One request; ``body`` is its JSON."""

    server: "ModelServer"
    body: dict[str, Any]

    def do_POST(self) -> None:
        """Play the next play."""
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.close_connection = True
        with contextlib.suppress(OSError):  # the other side may hang up on us
            self.server.next_play(self)(self)

    def reply(self, status: int, data: bytes, kind: str = "application/json", **headers: str) -> None:
        """Send a whole answer."""
        self.begin(status, kind, **headers, Content_Length=str(len(data)))
        self.wfile.write(data)

    def begin(self, status: int, kind: str, **headers: str) -> None:
        """Send the head of an answer."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class ModelServer(ThreadingHTTPServer):
    """Listens on a free local port; ``requests`` holds what was asked: path, headers and body."""

    daemon_threads = True

    def __init__(self, plays: list[Play]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self._plays, self._lock = plays, threading.Lock()
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.stopping = threading.Event()

    def next_play(self, handler: Handler) -> Play:
        """The play for a request."""
        with self._lock:
            play = self._plays[min(len(self.requests), len(self._plays) - 1)]
            self.requests.append((handler.path, dict(handler.headers), handler.body))
        return play

    @property
    def endpoint(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """What was asked."""
        return [body for _, _, body in self.requests]


@contextlib.contextmanager
def model_server(*plays: Play) -> Iterator[ModelServer]:
    """A server in a thread, stopped at the end."""
    server = ModelServer(list(plays))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def nobody_listens() -> Iterator[str]:
    """An endpoint that is not there; its port is taken meanwhile, so that nobody else listens on it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def completion(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A chat completion with one message."""
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}}
    answer = {
        "id": "c1",
        "object": "chat.completion",
        "model": "small-1",
        "choices": [choice],
        "usage": USAGE,
    }
    return {**answer, **more}


def tool(name: str, **arguments: Any) -> dict[str, Any]:
    """A tool call with its arguments as the protocol has them."""
    return raw_tool(name, json.dumps(arguments))


def raw_tool(name: str, arguments: str) -> dict[str, Any]:
    """A tool call with these very bytes as arguments."""
    function = {"name": name, "arguments": arguments}
    return {"id": f"id-{name}-{len(arguments)}", "type": "function", "function": function}


def says(*calls: dict[str, Any], content: str | None = None, **more: Any) -> Play:
    """An answer with these tool calls."""
    message: dict[str, Any] = {"content": content}
    if calls:
        message["tool_calls"] = list(calls)
    return sends(completion(message, **more))


def sends(value: Any, status: int = 200, **headers: str) -> Play:
    """A JSON answer."""
    return lambda handler: handler.reply(status, json.dumps(value).encode(), **headers)


def page(status: int = 200, text: str = "<html><body>Sign in</body></html>") -> Play:
    """An HTML page."""
    return lambda handler: handler.reply(status, text.encode(), "text/html")


def fails(status: int, message: str = "try later", code: str | None = None, **headers: str) -> Play:
    """An error of the endpoint."""
    return sends({"error": {"message": message, "code": code}}, status, **headers)


def streams(*chunks: Any, end: bool = True) -> Play:
    """A stream of chunks."""

    def play(handler: Handler) -> None:
        handler.begin(200, "text/event-stream")
        lines = [json.dumps(chunk) for chunk in chunks] + (["[DONE]"] if end else [])
        for line in lines:
            handler.wfile.write(f"data: {line}\n\n".encode())
            handler.wfile.flush()

    return play


def never_ends(handler: Handler) -> None:
    """A body that goes on until the other side hangs up."""
    handler.begin(200, "text/event-stream")
    while not handler.server.stopping.wait(0.02):
        handler.wfile.write(b'data: {"choices": [{"delta": {"content": "and "}}]}\n\n')
        handler.wfile.flush()


def never_begins(handler: Handler) -> None:
    """Takes the request and says nothing."""
    handler.server.stopping.wait(60)


def breaks_off(handler: Handler) -> None:
    """Closes the connection in the middle of a body that was announced as longer."""
    handler.begin(200, "application/json", Content_Length="1000")
    handler.wfile.write(b'{"choices": [')
    handler.wfile.flush()


def hangs_up(handler: Handler) -> None:
    """Closes the connection without a word."""
    handler.connection.close()


def huge(size: int) -> Play:
    """A valid answer with a content of so many characters."""
    return says(content="x" * size)


def wait_a_moment(play: Play, seconds: float) -> Play:
    """The same, later."""

    def later(handler: Handler) -> None:
        time.sleep(seconds)
        play(handler)

    return later
