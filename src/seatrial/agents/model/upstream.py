"""One exchange with an endpoint over HTTP, bounded in time and bytes, whatever the other side does."""

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import httpx

# An answer larger than this is no answer.
ANSWER_BYTES = 16 << 20

End = Literal["whole", "timeout", "endless", "unreachable"]


@dataclass(frozen=True)
class Exchange:
    """What came back.

    Attributes:
        end: ``whole``, or what cut it short.
        status: null when no answer began.
        retry_after: seconds the endpoint asks to wait; null when it does not say.
        latency_us: from sending to the end.
    """

    end: End
    status: int | None
    content_type: str
    body: bytes
    problem: str
    retry_after: float | None
    latency_us: int


class Exchanging:
    """An exchange under way: what has come so far is here even when it is cancelled."""

    def __init__(self) -> None:
        self._begun = time.monotonic_ns()
        self._status: int | None = None
        self._content_type = ""
        self._retry_after: float | None = None
        self._body = bytearray()

    def ended(self, end: End, problem: str = "") -> Exchange:
        """What there is by now."""
        return Exchange(
            end, self._status, self._content_type, bytes(self._body), problem, self._retry_after,
            (time.monotonic_ns() - self._begun) // 1000,
        )  # fmt: skip

    async def send(
        self, client: "httpx.AsyncClient", url: str, body: dict[str, Any], seconds: float
    ) -> Exchange:
        """Send and take in the answer.

        Args:
            client: with the headers that every request carries.
            url: where to.
            body: sent as JSON.
            seconds: for all of it.
        """
        # Imported here because only trials with a model need it.
        import httpx

        try:
            async with asyncio.timeout(seconds):
                return await self._receive(client, url, body)
        except TimeoutError:
            if self._status is None:
                return self.ended("timeout", f"no answer within {seconds:g} seconds")
            return self.ended("endless", f"the answer did not end within {seconds:g} seconds")
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as fault:
            return self.ended("unreachable", worded(fault))

    async def _receive(self, client: "httpx.AsyncClient", url: str, body: dict[str, Any]) -> Exchange:
        async with client.stream("POST", url, json=body) as response:
            self._status = response.status_code
            self._content_type = response.headers.get("content-type", "")
            self._retry_after = _seconds(response.headers.get("retry-after"))
            async for piece in response.aiter_bytes():
                self._body += piece
                if len(self._body) > ANSWER_BYTES:
                    del self._body[ANSWER_BYTES:]
                    return self.ended("endless", f"the answer grew beyond {ANSWER_BYTES} bytes")
        return self.ended("whole")


def open_client(headers: dict[str, str]) -> "httpx.AsyncClient":
    """A client that takes nothing from the environment and follows no redirect."""
    # Imported here because only trials with a model need it.
    import httpx

    return httpx.AsyncClient(
        headers={**headers, "Accept-Encoding": "identity", "User-Agent": "seatrial"},
        timeout=None,
        trust_env=False,
        follow_redirects=False,
    )


def worded(fault: BaseException) -> str:
    """The kind of a failure and its reason; where it has none of its own, that of what caused it."""
    kind, cause = type(fault).__name__, fault
    while not str(cause):
        deeper = cause.__cause__ or cause.__context__
        if deeper is None:
            return f"{kind}: the connection broke, and nothing says why"
        cause = deeper
    return f"{kind}: {cause}"


def _seconds(retry_after: str | None) -> float | None:
    """The header's number of seconds; null for a date, which would need the endpoint's clock."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < 1e9 else None
