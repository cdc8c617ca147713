"""What is asked of a service and what it answers."""

from dataclasses import dataclass, field
from typing import Any, Literal

from seatrial.environment.services.refusal import in_words

Via = Literal["tool", "http"]
NO_ANSWER = 504
PARTLY_DONE = 500
_NO_ANSWER_SAID = "no answer came in time; whether it was done is not known"


@dataclass(frozen=True)
class Call:
    """One request.

    Attributes:
        arguments: checked against the verb.
        key: idempotency key; empty without one.
        step: the step under way.
    """

    service: str
    verb: str
    arguments: dict[str, Any] = field(default_factory=dict)
    key: str = ""
    via: Via = "tool"
    step: int = 0

    @property
    def tool(self) -> str:
        """The gateway tool that does the same."""
        return f"{self.service}.{self.verb}"


@dataclass(frozen=True)
class Answer:
    """What the server did and decided; ``shown`` is what its caller learns of it.

    Attributes:
        status: HTTP status: 2xx done, 4xx refused, 5xx a fault.
        body: any JSON.
        effect: whether anything was written.
        ledger: number of the ledger row with the effect; null without one.
        repeats: number of the ledger row whose key this call repeats: no second effect.
        compensates: number of the ledger row that the effect takes back.
        fault: kind of the fault that was injected; null without one.
        acknowledged: false where the caller does not learn what became of the request.
        delay: seconds to wait before the answer is given.
        first_step: of the call that this one repeats.
    """

    status: int
    body: Any
    effect: bool = False
    ledger: int | None = None
    repeats: int | None = None
    compensates: int | None = None
    fault: str | None = None
    acknowledged: bool = True
    delay: float = 0.0
    first_step: int | None = None

    def shown(self) -> tuple[int, Any]:
        """Status and body as the caller gets them."""
        if self.acknowledged:
            return self.status, self.body
        return NO_ANSWER, refused(NO_ANSWER, _NO_ANSWER_SAID)


def refused(status: int, problem: str) -> dict[str, Any]:
    """The body of an answer that is no success."""
    return {"error": in_words(status), "detail": problem}
