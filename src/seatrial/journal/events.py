"""The kinds of event a journal holds. One struct a kind; ``kind`` is the tag on the line.

Adding a kind or an optional field keeps old readers working (unknown ones are tolerated and counted).
Times are RFC 3339 in UTC; ``elapsed`` and all ``*_us`` are microseconds.
"""

from typing import Any, Literal

import msgspec

from seatrial.journal.entries import Entry

SCHEMA = "seatrial/journal@0.1"

Outcome = Literal["ok", "failed", "partial", "unknown", "denied", "compensated"]
StopReason = Literal[
    "finished", "gave_up", "budget_actions", "budget_seconds", "budget_tokens", "budget_money",
    "budget_human", "first_success", "permission_block", "safety_stop", "environment_fault",
    "harness_fault", "verifier_fault", "agent_fault", "killed",
]  # fmt: skip
# A budget ended the trial: what it would have come to is not known.
BUDGET: frozenset[StopReason] = frozenset(
    {"budget_actions", "budget_seconds", "budget_tokens", "budget_money", "budget_human"}
)
# Ends that say nothing about the system. An ``agent_fault`` joins them when no agent came to act.
INFRASTRUCTURE: frozenset[StopReason] = frozenset(
    {"environment_fault", "harness_fault", "verifier_fault", "killed"}
)


# How one call of a model ended. Only ``ok``, ``bad_tool_call`` and ``context_exceeded`` are about the model
# and its harness; ``cut_off`` is a call that the end of the trial interrupted; the rest is infrastructure.
CallClass = Literal[
    "ok",  # an answer of the right shape
    "bad_tool_call",  # likewise, but the arguments of a tool call are no JSON object
    "context_exceeded",  # refused because the conversation is too long
    "rate_limited",  # HTTP 429
    "server_error",  # HTTP 5xx
    "refused",  # any other status but 200
    "not_json",  # HTTP 200 with something else, such as a page
    "malformed",  # JSON of another shape
    "timeout",  # no answer began in time
    "endless",  # an answer began and did not end in time, or grew beyond the bound
    "unreachable",  # no connection, or it broke before the answer was whole
    "cut_off",
]


class Cost(msgspec.Struct, frozen=True, omit_defaults=True):
    """Raw units spent by one action; null is unknown, never zero by default for what was not metered.

    Attributes:
        model_us: from the last observation to this request: the agent's own time with its model's answers.
        queue_us: what is not the system's doing: failed model calls and the waiting after them.
        tool_us: executing.
        approval_us: waiting for a person.
        recovery_us: restoring after a prevented write or a fault.
        overhead_us: the harness's bookkeeping, outside the trial clock.
        cpu_us: processor time of the sandbox in this action.
        units: semantic units (one per file a tool wrote, at least one).
        undone_writes: paths restored because a constraint prevented them.
        repeated_requests: external requests that repeat an earlier idempotency key.
    """

    model_us: int | None = None
    queue_us: int | None = None
    tool_us: int | None = None
    approval_us: int | None = None
    recovery_us: int | None = None
    overhead_us: int | None = None
    cpu_us: int | None = None
    units: int = 1
    undone_writes: int = 0
    repeated_requests: int = 0


class Line(msgspec.Struct, kw_only=True, tag_field="kind"):
    """What every line has. ``prev`` is the digest of the previous line's bytes, ``""`` on the first."""

    seq: int = -1
    time: str = ""
    elapsed: int = 0
    actor: Literal["harness", "agent", "background", "human", "environment"] = "harness"
    goal_version: int = 1
    prev: str = ""


class TrialStarted(Line, tag="trial.started", kw_only=True):
    """First line. ``base`` names the object that lists the base entries; ``fingerprint`` the proven reset."""

    schema: str = SCHEMA
    trial: str
    attempt: int
    task: str
    system: str
    arm: str
    seed: int
    base: str
    fingerprint: str
    reset_proved: bool
    conditions: dict[str, Any] = {}


class AgentStarted(Line, tag="agent.started", kw_only=True):
    agent: str
    confined: bool
    details: dict[str, Any] = {}


class AgentExited(Line, tag="agent.exited", kw_only=True):
    status: int | None
    note: str = ""


class ModelCalled(Line, tag="model.called", kw_only=True):
    """One call of a model's endpoint, as the proxy saw it. Counts of tokens are the endpoint's; null where it
    reports none.

    Attributes:
        number: of the call in this trial, from 1.
        step: the step that the call leads to.
        attempt: of the same request, from 1.
        asked, answered: the model's name in the request and in the answer.
        call_class: see ``CallClass``.
        status: HTTP status; null when no answer began.
        input_tokens: with the cached ones.
        money: by the system's price list; null without a list or without counts.
        currency: of the price list; null without one.
        latency_us: from sending to the end of the answer.
        wait_us: waited before sending, because a call before it failed.
        request: object with the body that was sent; see ``journal.calls``.
        response: object with what came back, the key redacted; null when nothing did.
    """

    number: int
    step: int
    attempt: int
    asked: str
    answered: str | None = None
    call_class: CallClass
    status: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    money: float | None = None
    currency: str | None = None
    latency_us: int
    wait_us: int = 0
    streamed: bool = False
    request: str
    response: str | None = None
    problem: str = ""


class ActionRequested(Line, tag="action.requested", kw_only=True):
    """Written before anything happens. ``step`` counts from 1; step 0 is the proven reset."""

    step: int
    tool: str
    arguments: dict[str, Any]
    key: str
    pre: str


class ActionDecided(Line, tag="action.decided", kw_only=True):
    step: int
    decision: Literal["allow", "deny"]
    constraint: str | None = None
    reason: str = ""


class ActionFinished(Line, tag="action.finished", kw_only=True):
    """How an action ended. ``observation`` names the object with the text the agent was shown.

    ``changes`` holds the delta of the state, or ``changes_object`` names the object that does when it is
    large. ``reads`` is null where the host could not see reads. ``windows`` lists constraints that could
    not be watched during this action: for them the action is unknown, not clean.
    """

    step: int
    outcome: Outcome
    exit_code: int | None = None
    pre: str
    post: str
    changes: list[Entry] = []
    changes_object: str | None = None
    reads: list[str] | None = None
    observation: str
    shown_bytes: int = 0
    cost: Cost = Cost()
    key: str = ""
    windows: list[str] = []
    notes: dict[str, Any] = {}


class EffectRecorded(Line, tag="effect.recorded", kw_only=True):
    """The state moved between actions (``actor`` is ``background``), or was put back by the harness.

    ``windows`` lists constraints that could not be watched meanwhile.
    """

    pre: str
    post: str
    changes: list[Entry] = []
    changes_object: str | None = None
    windows: list[str] = []
    note: str = ""


class ConstraintViolated(Line, tag="constraint.violated", kw_only=True):
    """``certain`` is false where the host could not watch the window: unknown, not a violation."""

    step: int
    constraint: str
    hard: bool
    severity: float
    certain: bool = True
    evidence: dict[str, Any] = {}


class SubgoalJudged(Line, tag="subgoal.judged", kw_only=True):
    """A verdict taken while the trial ran (label ``online``), off the trial clock."""

    step: int
    subgoal: str
    verdict: Literal["pass", "fail", "error", "unknown"]
    reads: str
    label: str = "online"


class BeliefReported(Line, tag="belief.reported", kw_only=True):
    step: int
    belief: dict[str, Any]


class BudgetExhausted(Line, tag="budget.exhausted", kw_only=True):
    resource: str
    limit: float
    used: float


class ContaminationFlagged(Line, tag="contamination.flagged", kw_only=True):
    step: int
    marker: str
    where: str


class HarnessFaulted(Line, tag="harness.faulted", kw_only=True):
    where: str
    problem: str


class TrialEnded(Line, tag="trial.ended", kw_only=True):
    """Last line. ``last_turn`` is what the agent spent after its last action, which no action carries; null
    in journals of before, which do not say it.
    """

    stop_reason: StopReason
    fingerprint: str
    audit: Literal["equal", "different", "not run"] = "not run"
    censored: bool = False
    summary: str = ""
    confidence: float | None = None
    details: dict[str, Any] = {}
    last_turn: Cost | None = None


Event = (
    TrialStarted | AgentStarted | AgentExited | ModelCalled | ActionRequested | ActionDecided | ActionFinished
    | EffectRecorded | ConstraintViolated | SubgoalJudged | BeliefReported | BudgetExhausted
    | ContaminationFlagged | HarnessFaulted | TrialEnded
)  # fmt: skip
