"""Calls of services, by tool and by HTTP: the same policy, the same record."""

import contextlib
import html
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import msgspec

from seatrial.environment.services.call import Answer, refused
from seatrial.environment.services.http import Request
from seatrial.environment.services.opened import OpenServices
from seatrial.environment.services.refusal import Refusal
from seatrial.gateway.answers import SHOWN_NAME
from seatrial.gateway.asked import plain, readable
from seatrial.gateway.attend import Asked, Handler, Window
from seatrial.gateway.gateway import Gateway
from seatrial.gateway.tools import Tool, service_tools
from seatrial.journal.digest import canonical_json
from seatrial.journal.events import Outcome, ServiceCalled
from seatrial.journal.objects import ObjectStore
from seatrial.journal.writer import JournalWriter
from seatrial.spec.services import VERBS

# Requests by HTTP that are carried out in one step; what comes after is refused.
REQUESTS_IN_STEP = 1000
# Arguments above this size stand in an object instead of the journal's line.
LARGE_ARGUMENTS = 16 << 10
# Told of each request by HTTP: service, tool, all of it as it came; from the thread that serves it.
Listener = Callable[[str, str, bytes], None]


class ServiceDoor:
    """The way to a trial's services.

    Args:
        opened: the services of the world.
        journal: gets a ``service.called`` for every request.
        objects: for bodies of answers.
        patience: seconds that a caller waits for an answer; longer delays it sees as no answer.
        shown_bytes: what a tool shows of an answer.

    Attributes:
        tools: one for each verb.
        heard: listeners, to be added before the first action; what they hear is kept in objects.
        admitted: told of tool and arguments of each request by HTTP that is about to be carried out, from the
            thread that serves it.
    """

    def __init__(
        self, opened: OpenServices, journal: JournalWriter, objects: ObjectStore, patience: float,
        shown_bytes: int,
    ) -> None:  # fmt: skip
        self._opened, self._services = opened, opened.services
        self._journal, self._objects = journal, objects
        self._patience, self._shown_bytes = patience, shown_bytes
        self.tools = {tool.name: tool for tool in service_tools(self._services.names)}
        self.heard: list[Listener] = []
        self.admitted: list[Callable[[str, dict[str, Any]], None]] = []
        self._gateway: Gateway | None = None
        self._in_step = (0, 0)

    def handlers(self) -> dict[str, Handler]:
        """Of every tool."""
        return dict.fromkeys(self.tools, self._by_tool)

    def attach(self, gateway: Gateway) -> None:
        """The gateway is there: requests by HTTP are answered from now on."""
        self._gateway = gateway
        self._opened.server.responder = self._by_http

    # -- by tool --------------------------------------------------------------------------------------
    def _by_tool(self, asked: Asked) -> Window:
        assert self._gateway is not None
        begun = time.monotonic_ns()
        service, _, verb = asked.tool.partition(".")
        with self._services.turn(hurry=True):
            answer = self._services.call(service, verb, asked.arguments, asked.key or "", "tool", asked.step)
            answer = self._in_patience(answer)
            line = ServiceCalled(
                actor=self._gateway.actor, step=asked.step, service=service, verb=verb,
                arguments=asked.arguments, key=asked.key or "", status=answer.status,
            )  # fmt: skip
            self._write(line, answer)
        self._wait(answer)
        status, body = answer.shown()
        window = Window(_outcome(status), self._text(status, body), notes=_notes(answer))
        window.tool_us = (time.monotonic_ns() - begun) // 1000
        return window

    def _text(self, status: int, body: Any) -> str:
        """The body as JSON, after the status in words where it is no success."""
        text = msgspec.json.encode(body).decode()
        if len(text.encode()) > self._shown_bytes:
            data, half = text.encode(), self._shown_bytes // 2
            omitted = len(data) - 2 * half
            parts = [part.decode("utf-8", "replace") for part in (data[:half], data[-half:])]
            text = f"{parts[0]}\n[… {omitted} bytes omitted …]\n{parts[1]}"
        if status == 200:
            return text
        said = f"{body['error']}: {body['detail']}" if _is_error(body) else f"{status} (a part only)"
        return f"{said}\n{text}" if status < 300 else said

    # -- by HTTP --------------------------------------------------------------------------------------
    def _by_http(self, request: Request) -> tuple[int, Any]:
        """Answer a request of a command or of a process that runs on; from several threads."""
        assert self._gateway is not None
        arguments, problem = plain(request.arguments)
        key, verb = readable(request.key), readable(request.verb)[:SHOWN_NAME]
        with self._services.turn():
            step, actor = self._gateway.moment()
            if self._opened.server.closing:
                raise Refusal(503, "the service has closed")
            too_many = self._too_many(step)
            arguments, answer = self._checked(request, verb, arguments, problem)
            answer = too_many or answer
            name = f"{request.service}.{verb}"
            decision: Literal["allow", "deny", "unasked"] = "unasked"
            if answer is None:
                with self._gateway.judged(name, arguments, key or None, actor) as denied:
                    decision = "deny" if denied else "allow"
                    answer = _no(403, denied) if denied else self._carry_out(request, verb, arguments, step)
            line = ServiceCalled(
                actor=actor, step=step, service=request.service, verb=verb, arguments=self._kept(arguments),
                key=key, via="http", status=answer.status, decision=decision,
                request=self._objects.put(request.raw) if self.heard else "",
            )  # fmt: skip
            self._write(line, answer)
            for listener in self.heard:
                listener(request.service, name, request.raw)
        self._wait(answer)
        status, body = answer.shown()
        return status, _as_page(body) if request.page and not _is_error(body) else body

    def _carry_out(self, request: Request, verb: str, arguments: dict[str, Any], step: int) -> Answer:
        service, key = request.service, readable(request.key)
        for told in self.admitted:
            told(f"{service}.{verb}", arguments)
        return self._in_patience(self._services.call(service, verb, arguments, key, "http", step))

    def _too_many(self, step: int) -> Answer | None:
        """Count a request; null while there are few. The first one too many is written down with its refusal.

        Raises:
            Refusal: it is a later one, of which nothing is written.
        """
        before = self._in_step[1] if self._in_step[0] == step else 0
        self._in_step = (step, before + 1)
        problem = f"more than {REQUESTS_IN_STEP} requests in one step"
        if before > REQUESTS_IN_STEP:
            raise Refusal(429, problem)
        return _no(429, problem) if before == REQUESTS_IN_STEP else None

    def _checked(
        self, request: Request, verb: str, arguments: dict[str, Any], problem: str | None
    ) -> tuple[dict[str, Any], Answer | None]:
        """The arguments as the verb takes them, and a refusal where they are none."""
        tool = self.tools.get(f"{request.service}.{verb}")
        if tool is None:
            verbs = ", ".join(VERBS[request.service])
            return arguments, _no(404, f"{request.service} has no verb {verb!r}; it has {verbs}")
        if request.reading and VERBS[request.service][verb].writes:
            return arguments, _no(405, f"{verb} is called by POST")
        arguments = _with_numbers(tool, arguments)
        wrong = problem or tool.problem_with(arguments)
        return arguments, None if wrong is None else _no(400, wrong)

    # -- both -----------------------------------------------------------------------------------------
    def _in_patience(self, answer: Answer) -> Answer:
        """An answer that is later than its caller waits is none."""
        if answer.delay < self._patience:
            return answer
        return replace(answer, acknowledged=False, delay=self._patience)

    def _wait(self, answer: Answer) -> None:
        if answer.delay:
            time.sleep(answer.delay)

    def _kept(self, arguments: dict[str, Any]) -> dict[str, Any]:
        data = canonical_json(arguments)
        return arguments if len(data) <= LARGE_ARGUMENTS else {"$object": self._objects.put(data)}

    def _write(self, line: ServiceCalled, answer: Answer) -> None:
        declared = VERBS[line.service].get(line.verb)
        line.effect, line.ledger, line.repeats = answer.effect, answer.ledger, answer.repeats
        line.compensates, line.fault, line.acknowledged = (
            answer.compensates,
            answer.fault,
            answer.acknowledged,
        )
        line.irreversible = answer.effect and declared is not None and declared.irreversible
        line.answer = self._objects.put(canonical_json(answer.body))
        self._journal.append(line)


def _no(status: int, problem: str) -> Answer:
    return Answer(status, refused(status, problem))


def _is_error(body: Any) -> bool:
    return isinstance(body, dict) and body.keys() == {"error", "detail"}


def _outcome(status: int) -> Outcome:
    """How an action ended whose caller saw a status."""
    by_status: dict[int, Outcome] = {206: "partial", 500: "partial", 504: "unknown"}
    return by_status.get(status, "ok" if status < 300 else "failed")


def _notes(answer: Answer) -> dict[str, Any]:
    """For ``action.finished``, which says what the caller may know."""
    notes: dict[str, Any] = {"status": answer.shown()[0]}
    if answer.repeats is not None and answer.acknowledged:
        notes |= {"repeats": answer.first_step, "ledger": answer.repeats}
    if answer.ledger is not None:
        notes["ledger"] = answer.ledger
    if answer.fault is not None:
        notes["fault"] = answer.fault
    return notes


def _with_numbers(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Texts of a query as numbers where the verb wants numbers."""
    wanted = {argument.name for argument in tool.arguments if argument.kind == "number"}
    return {name: _number(value) if name in wanted else value for name, value in arguments.items()}


def _number(value: Any) -> Any:
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return int(value)
        with contextlib.suppress(ValueError):
            number = float(value)
            return number if number - number == 0 else value
    return value


def _as_page(body: dict[str, Any]) -> str:
    """A page of ``web`` as HTML."""
    return "".join(_html(body))


def _html(body: dict[str, Any]) -> Iterator[str]:
    yield f"<!doctype html>\n<title>{html.escape(str(body.get('title', '')))}</title>\n"
    yield f"<pre>{html.escape(str(body['text']))}</pre>\n"
    for link in body.get("links", ()):
        yield f'<a href="{html.escape(str(link))}">{html.escape(str(link))}</a>\n'
    if body.get("pages", 1) > body.get("page", 1):
        yield f'<a href="?page={body["page"] + 1}">more</a>\n'
    if form := body.get("form"):
        yield '<form method="post">\n'
        for field in form["fields"]:
            yield f'<input name="{html.escape(field["name"])}">\n'
        yield "</form>\n"
