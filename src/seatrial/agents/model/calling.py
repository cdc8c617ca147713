"""Sends an agent's request to the endpoint: retries by class, budgets, and one event for every call."""

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from seatrial.agents.model.answers import USABLE, Answer, understand
from seatrial.agents.model.recorder import CallRecorder
from seatrial.agents.model.secret import Secret
from seatrial.agents.model.upstream import Exchange, Exchanging
from seatrial.journal.calls import keep_request, used_money, used_tokens
from seatrial.journal.events import CallClass, ModelCalled
from seatrial.spec.chat import Backoff, ChatOptions

if TYPE_CHECKING:
    import httpx


class Ending(NamedTuple):
    """Why no further call is made: a ``budget`` is used up, or the endpoint is at ``fault``."""

    kind: Literal["budget", "fault"]
    problem: str


class Caller:
    """Makes the calls of one trial, one at a time.

    Args:
        options: of the system.
        secret: the endpoint's key.
        recorder: where each call is written down.
    """

    def __init__(self, options: ChatOptions, secret: Secret, recorder: CallRecorder) -> None:
        self._options, self._secret, self._recorder = options, secret, recorder
        self._url = options.endpoint.rstrip("/") + "/chat/completions"
        self._number = 0
        self.ending: Ending | None = None

    async def complete(self, client: "httpx.AsyncClient", body: dict[str, Any]) -> Answer | None:
        """The answer to one request; null when the trial ends instead, and ``ending`` says why.

        Args:
            client: for the endpoint.
            body: of the request, without the key.

        Raises:
            JournalError: the call cannot be written down.
        """
        if self._recorder.meter.no_call_left():
            self.ending = self.ending or Ending("budget", "nothing is left for another model call")
        if self.ending is not None:
            return None
        request = keep_request(self._recorder.objects, body)
        deadline = time.monotonic() + self._options.total_seconds
        tried: Counter[CallClass] = Counter()
        wait_us = 0
        while True:
            seconds = min(self._options.timeout, max(0.01, deadline - time.monotonic()))
            exchanging = Exchanging()
            call = ModelCalled(
                number=self._number + 1, step=self._recorder.step(), attempt=tried.total() + 1,
                asked=self._options.model, call_class="cut_off", latency_us=0, wait_us=wait_us,
                streamed=bool(body.get("stream")), request=request,
            )  # fmt: skip
            self._recorder.meter.call_begins()
            try:
                exchange = await exchanging.send(client, self._url, body, seconds)
            except asyncio.CancelledError:
                self._recorder.meter.call_ends(failed=False)
                self._write(call, exchanging.ended("whole"), Answer("cut_off", problem="the trial ended"))
                raise
            answer = understand(exchange, self._secret)
            # What is about the model or the conversation is the system's own time, the rest the endpoint's.
            owned = answer.call_class in USABLE or answer.call_class == "context_exceeded"
            self._recorder.meter.call_ends(failed=not owned)
            self._write(call, exchange, answer)
            self._settle(call)
            if self.ending is not None:
                return None
            if owned:
                return answer
            tried[answer.call_class] += 1
            pause = self._pause(answer, exchange, tried, deadline)
            if pause is None:
                return None
            wait_us = await self._wait(pause)

    def _write(self, call: ModelCalled, exchange: Exchange, answer: Answer) -> None:
        """Complete and append the event of a call."""
        self._number += 1
        usage, price = answer.usage, self._options.price
        call.call_class, call.answered, call.problem = answer.call_class, answer.model, answer.problem
        call.status, call.latency_us = exchange.status, exchange.latency_us
        call.input_tokens, call.output_tokens, call.cached_tokens = usage.input, usage.output, usage.cached
        if price is not None:
            call.money, call.currency = price.of(usage.input, usage.output, usage.cached), price.currency
        call.response = self._recorder.objects.put(answer.kept) if answer.kept is not None else None
        self._recorder.journal.append(call)

    def _settle(self, call: ModelCalled) -> None:
        """Count the call against the budgets; what cannot be counted ends the trial, it is never guessed.

        So a call that may have used something and does not say what is not sent again under such a budget.
        """
        meter = self._recorder.meter
        tokens, money = used_tokens(call), used_money(call)
        for budget, used, unit in (
            (meter.budget.tokens, tokens, "tokens"), (meter.budget.money, money, "money"),
        ):  # fmt: skip
            if budget is not None and used is None:
                problem = f": {call.problem}" if call.problem else ""
                self._fault(
                    f"does not say what a call used (class {call.call_class}{problem}), and the task bounds "
                    f"{unit}, so that it is not sent again. {self._remedy(call, unit)}"
                )
                return
        meter.model_called(sum(tokens or ()), money or 0.0)
        if meter.no_call_left():
            self.ending = Ending("budget", "")

    def _remedy(self, call: ModelCalled, unit: str) -> str:
        """What to do about a call that does not say what it used."""
        if call.call_class in ("timeout", "endless"):
            change = "Raise the option timeout"
        elif call.call_class not in USABLE:
            change = "Make the endpoint answer with whole chat completions"
        elif used_tokens(call) is None:
            change = "Make the endpoint report usage"
        else:
            change = "Leave cached out of the price"
        return f"{change}, or take {unit} out of the task's budget."

    def _pause(
        self, answer: Answer, exchange: Exchange, tried: Counter[CallClass], deadline: float
    ) -> float | None:
        """Seconds to wait before the next attempt; null when there is none, which ends the trial."""
        failed = answer.call_class
        said = f"{answer.call_class} ({answer.problem}) at call {tried.total()} of the same request"
        if tried[failed] > getattr(self._options.retries, failed):
            self._fault(f"failed: {said}")
            return None
        pause = pause_before(self._options.backoff, tried.total(), exchange.retry_after)
        if time.monotonic() + pause >= deadline:
            limit = self._options.total_seconds
            self._fault(f"failed: {said}; no other call fits into {limit:g} seconds")
            return None
        return pause

    def _fault(self, problem: str) -> None:
        self.ending = Ending("fault", f"the model endpoint {self._options.endpoint} {problem}")

    async def _wait(self, pause: float) -> int:
        self._recorder.meter.wait_begins()
        try:
            await asyncio.sleep(pause)
        finally:
            waited = self._recorder.meter.wait_ends()
        return waited


def pause_before(backoff: Backoff, failed: int, retry_after: float | None) -> float:
    """Seconds to wait after so many failed attempts of one request, where the endpoint may name its own."""
    if retry_after is not None:
        return min(retry_after, backoff.longest)
    # At most 20 retries of each of 8 classes and a factor of at most 100: no overflow.
    return float(min(backoff.first * backoff.factor ** min(failed - 1, 100), backoff.longest))
