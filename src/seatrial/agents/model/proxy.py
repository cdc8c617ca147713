"""The proxy an agent talks to: an OpenAI-compatible server on a unix socket, outside the agent's sandbox."""

import asyncio
import contextlib
import json
import os
import socket
import threading
from typing import TYPE_CHECKING, Any

from seatrial.agents.model.answers import Answer
from seatrial.agents.model.calling import Caller, Ending
from seatrial.agents.model.recorder import CallRecorder
from seatrial.agents.model.secret import Secret
from seatrial.agents.model.stream import tell
from seatrial.agents.model.upstream import open_client
from seatrial.errors import EnvironmentFault, SeatrialError
from seatrial.gateway.asked import plain
from seatrial.spec.chat import ChatOptions

if TYPE_CHECKING:
    import httpx
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

REQUEST_BYTES = 32 << 20
CONNECTIONS = 32
START_SECONDS = 60.0
_STOP_SECONDS = 20.0


class ModelProxy:
    """Serves one trial from a thread of its own until it is closed.

    Args:
        path: of the unix socket to listen on; it must not exist.
        options: of the system.
        secret: the endpoint's key.
        recorder: where calls are written and counted.

    Attributes:
        wake: a descriptor that becomes readable when no further call will be made.

    Raises:
        EnvironmentFault: the server does not start.
    """

    def __init__(self, path: str, options: ChatOptions, secret: Secret, recorder: CallRecorder) -> None:
        self.socket_path, self._options, self._secret = path, options, secret
        self._caller = Caller(options, secret, recorder)
        self._broken: BaseException | None = None
        self._calls: set[asyncio.Task[Answer | None]] = set()
        self._client: httpx.AsyncClient | None = None
        self._one_at_a_time = asyncio.Lock()
        self._loop = asyncio.new_event_loop()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        os.chmod(path, 0o666)
        self._listener.listen(CONNECTIONS)
        self.wake = os.eventfd(0, os.EFD_CLOEXEC)
        self._server = self._make_server()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        if not self._started.wait(START_SECONDS) or self._broken is not None:
            self.close()
            raise EnvironmentFault(f"the model proxy did not start: {self._broken or 'no reason given'}.")

    @property
    def ending(self) -> Ending | None:
        """Why no further call is made; null while calls are.

        Raises:
            SeatrialError: the proxy itself broke; a call could not be written down.
        """
        if self._broken is not None:
            raise self._broken
        return self._caller.ending

    def close(self) -> None:
        """End a call under way, which is written down as cut off, and stop serving. May be called again."""
        if self.wake < 0:
            return
        with contextlib.suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(_STOP_SECONDS)
        self._listener.close()
        os.close(self.wake)
        self.wake = -1

    def _stop(self) -> None:
        for call in self._calls:
            call.cancel()
        self._server.should_exit = self._server.force_exit = True

    def _run(self) -> None:
        try:
            asyncio.set_event_loop(self._loop)
            self._loop.run_until_complete(self._serve())
        except BaseException as fault:
            self._break(fault)
        finally:
            self._started.set()
            self._loop.close()

    async def _serve(self) -> None:
        async with open_client(self._secret.headers()) as self._client:
            serving = asyncio.ensure_future(self._server.serve(sockets=[self._listener]))
            while not self._server.started and not serving.done():
                await asyncio.sleep(0.005)
            self._started.set()
            await serving
            await asyncio.gather(*self._calls, return_exceptions=True)

    def _break(self, fault: BaseException) -> None:
        known = isinstance(fault, SeatrialError | OSError)
        said = self._secret.text(repr(fault))
        self._broken = fault if known else EnvironmentFault(f"the model proxy broke: {said}.")
        os.eventfd_write(self.wake, 1)

    def _make_server(self) -> "uvicorn.Server":
        # Imported here because only trials with a model need it.
        import uvicorn

        config = uvicorn.Config(
            self._application(), http="h11", ws="none", lifespan="off", limit_concurrency=CONNECTIONS,
            log_config=None, log_level="critical", access_log=False, timeout_graceful_shutdown=1,
        )  # fmt: skip
        return uvicorn.Server(config)

    def _application(self) -> "Starlette":
        # Imported here because only trials with a model need it.
        from starlette.applications import Starlette
        from starlette.routing import Route

        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
                Route("/v1/models", self._models, methods=["GET"]),
            ]
        )

    async def _models(self, _: "Request") -> "Response":
        from starlette.responses import JSONResponse

        model = {"id": self._options.model, "object": "model"}
        return JSONResponse({"object": "list", "data": [model]})

    async def _complete(self, request: "Request") -> "Response":
        from starlette.responses import JSONResponse, Response

        body, problem = await self._read(request)
        if body is None:
            return JSONResponse({"error": {"message": problem, "code": "bad_request"}}, status_code=400)
        call = asyncio.ensure_future(self._call(body))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        try:
            answer = await asyncio.shield(call)
        except asyncio.CancelledError:
            answer = None
        if answer is None or answer.body is None:
            return JSONResponse(
                {"error": {"message": "the work has ended", "code": "ended"}}, status_code=403
            )
        if answer.call_class == "context_exceeded":
            return JSONResponse(
                {"error": {"message": answer.problem, "code": "context_length_exceeded"}}, status_code=400
            )
        if body.get("stream"):
            return Response(tell(answer.body), media_type="text/event-stream")
        return JSONResponse(answer.body)

    async def _call(self, body: dict[str, Any]) -> Answer | None:
        """One request at a time; wakes the trial when it was the last."""
        assert self._client is not None
        async with self._one_at_a_time:
            try:
                answer = await self._caller.complete(self._client, body)
            except Exception as fault:
                self._break(fault)
                return None
            if answer is None:
                os.eventfd_write(self.wake, 1)
            return answer

    async def _read(self, request: "Request") -> tuple[dict[str, Any] | None, str]:
        """The body to send on, or what is wrong with the request."""
        data = bytearray()
        async for piece in request.stream():
            data += piece
            if len(data) > REQUEST_BYTES:
                return None, f"the request is larger than {REQUEST_BYTES} bytes"
        try:
            body, problem = plain(json.loads(data))
        except (ValueError, RecursionError):
            return None, "the request is no JSON"
        if problem is not None or not isinstance(body, dict):
            return None, problem or "the request is no JSON object"
        if not isinstance(body.get("messages"), list):
            return None, "the request has no messages"
        if body.get("model") != self._options.model:
            asked = str(body.get("model"))[:80]
            return None, f"there is no model {asked!r}; there is {self._options.model!r}"
        if body.get("n", 1) != 1:
            return None, "one answer is given to a request: leave n out"
        if body.get("stream"):
            # Without it, streams do not say what they used.
            body["stream_options"] = {"include_usage": True}
        return body, ""
