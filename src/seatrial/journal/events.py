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
    "harness_fault", "task_fault", "verifier_fault", "agent_fault", "killed",
]  # fmt: skip
# A budget ended the trial: what it would have come to is not known.
BUDGET: frozenset[StopReason] = frozenset(
    {"budget_actions", "budget_seconds", "budget_tokens", "budget_money", "budget_human"}
)
# Ends that say nothing about the system. An ``agent_fault`` joins them when no agent came to act.
INFRASTRUCTURE: frozenset[StopReason] = frozenset(
    {"environment_fault", "harness_fault", "task_fault", "verifier_fault", "killed"}
)
# A script of the task's own failed: another attempt would be no different.
TASK_FAULT: StopReason = "task_fault"


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
    """Written before anything happens. ``step`` counts from 1; step 0 is the proven reset.

    ``forced`` marks what a fork carries out without the agent having chosen it: what the agent had asked for
    in its place, empty where it had not been asked.
    """

    step: int
    tool: str
    arguments: dict[str, Any]
    key: str
    pre: str
    forced: dict[str, Any] | None = None


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
    """The state moved between actions (``actor`` is ``background``), or was changed by the harness.

    Where that happens while a command runs, what the command had done so far stands before it, its ``actor``
    being who acts; the command's ``action.finished`` tells it again, with the rest. ``windows`` lists
    constraints that could not be watched meanwhile.
    """

    pre: str
    post: str
    changes: list[Entry] = []
    changes_object: str | None = None
    windows: list[str] = []
    note: str = ""

    @property
    def is_told_again(self) -> bool:
        """Whether it is a part of an action that was under way."""
        return self.actor in ("agent", "human")


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


class PerturbationArmed(Line, tag="perturbation.armed", kw_only=True):
    """The trial may be disturbed once its trigger is met. Written before the first action.

    Attributes:
        change: ``state``, ``observation``, ``goal``, ``execution`` or ``placebo``.
        trigger: as the task declares it.
        affects: subgoals that depend on what is changed.
        observable: false where this host cannot see what the trigger waits for, so that it cannot be met.
    """

    perturbation: str
    version: int
    change: str
    strength: str
    trigger: dict[str, Any] = {}
    affects: list[str] = []
    observable: bool = True


class PerturbationFired(Line, tag="perturbation.fired", kw_only=True):
    """The trigger was met and the change made. A change of the state stands in the ``effect.recorded`` line
    before this one.

    Attributes:
        step: the step at whose commit it fired; for observation and execution, the step that it altered.
        firing: counts the firings of this perturbation in this trial, from 1.
        pre, post: fingerprints; equal where the state is left alone.
        paths: state paths it changed.
        visible: what the agent could see of it from here on: ``paths``, ``notice`` (object with a text it is
            told), ``observation`` (object with the answer as it was altered), ``hidden`` for a change that no
            reading shows.
        details: ``undelivered`` says why nothing came of it: then it was met and disturbed nothing.
    """

    perturbation: str
    change: str
    step: int
    firing: int = 1
    pre: str
    post: str
    paths: list[str] = []
    visible: dict[str, Any] = {}
    details: dict[str, Any] = {}


class GoalChanged(Line, tag="goal.changed", kw_only=True):
    """From the next step on another version of the goal holds; ``goal_version`` of later lines is ``to``.

    Attributes:
        instruction: object with the text the agent was shown.
        prominent: which of the two requirements stands in the more prominent place.
    """

    step: int
    was: int
    to: int
    relation: str
    expect: str | None = None
    instruction: str
    prominent: Literal["old", "new"] = "new"
    perturbation: str | None = None


class CheckpointTaken(Line, tag="checkpoint.taken", kw_only=True):
    """What an agent asked to be kept outside its process, in an object.

    Attributes:
        step: the last step that had ended when it was taken; an action it already chose is not yet one.
        memory: how it is written down.
        size: bytes; ``cut`` of them did not fit into the budget and are gone.
    """

    step: int
    memory: Literal["structured", "prose"]
    state: str
    size: int
    cut: int = 0
    fingerprint: str


class AgentKilled(Line, tag="agent.killed", kw_only=True):
    """The agent's process was ended by SIGKILL and all it held in memory is gone.

    Attributes:
        point: ``subgoal_verified``, ``before_effect``, ``after_effect_before_ack`` or ``compaction``.
        step: the step under way, or the last one that ended.
        occasion: which occasion of the point it was, from 1; drawn from the trial's seed.
        acknowledged: whether the agent was shown how the step ended.
    """

    point: str
    step: int
    occasion: int = 1
    acknowledged: bool
    details: dict[str, Any] = {}


class AgentResumed(Line, tag="agent.resumed", kw_only=True):
    """A new process has what was persisted and nothing else.

    Attributes:
        step: the last step there was.
        memory: the arm: ``structured``, ``prose`` or ``none``.
        checkpoint_step: of the checkpoint it was given; null without one.
        state: object it was given; null without one.
        down_us: from the kill to the new process being ready, off the trial clock.
        changed: state paths that changed while it was down.
    """

    step: int
    memory: Literal["structured", "prose", "none"]
    checkpoint_step: int | None = None
    state: str | None = None
    size: int = 0
    down_us: int = 0
    changed: list[str] = []
    details: dict[str, Any] = {}


class ContextCompacted(Line, tag="context.compacted", kw_only=True):
    """The agent's context was made shorter.

    Attributes:
        strategy: ``raw`` (nothing is taken away), ``gold``, ``automatic`` or ``structured``.
        tokens_before, tokens_after: as the agent or the proxy counts; null where nobody does.
        kept: kinds of state that are still there, in the agent's words.
        summary: object with what stands in place of the history; null for ``raw``.
        lookups: of old history since the compaction before, with their cost in tokens.
    """

    step: int
    strategy: Literal["raw", "gold", "automatic", "structured"]
    tokens_before: int | None = None
    tokens_after: int | None = None
    kept: list[str] = []
    summary: str | None = None
    lookups: int = 0
    lookup_tokens: int | None = None


class HumanIntervened(Line, tag="human.intervened", kw_only=True):
    """A person was asked, or took over.

    Attributes:
        tier: ``approval``, ``facts`` or ``takeover``; ``repair`` is the evaluator's, no user's input.
        by: who answered.
        shown, typed: objects with what the person saw and typed.
        decision: ``approved``, ``refused``, ``edited``, ``answered``, ``took_over``, ``gave_back``,
            ``repaired``.
        arguments: of the action as the person left it, when they edited it.
        waited_us: from asking to the answer.
    """

    step: int
    tier: Literal["approval", "facts", "takeover", "repair"]
    by: Literal["scripted", "terminal", "evaluator"]
    shown: str
    typed: str | None = None
    decision: str
    approval: str | None = None
    arguments: dict[str, Any] | None = None
    waited_us: int = 0


class TemptationOffered(Line, tag="temptation.offered", kw_only=True):
    """A forbidden shortcut, or its lawful look-alike, came before the agent's eyes.

    Attributes:
        offered_in: where: a file, a tool's output, a message.
        lookalike: it looks alike and is lawful.
    """

    step: int
    temptation: str
    offered_in: str
    lookalike: bool = False


class TemptationTaken(Line, tag="temptation.taken", kw_only=True):
    step: int
    temptation: str
    lookalike: bool = False


class TemptationDeclined(Line, tag="temptation.declined", kw_only=True):
    """Written at the end for what was offered and not taken; ``lawful_step`` did the same lawfully."""

    step: int
    temptation: str
    lookalike: bool = False
    lawful_step: int | None = None


class CanaryLeaked(Line, tag="canary.leaked", kw_only=True):
    """A planted secret was found where it has no business.

    Attributes:
        where: ``arguments``, ``output``, ``file`` or ``service``.
        encoding: ``plain``, ``base64``, ``hex``, ``url``, ``reversed``, ``split`` …
        place: tool, path or service call.
    """

    step: int
    canary: str
    where: Literal["arguments", "output", "file", "service"]
    encoding: str = "plain"
    place: str = ""


class ServiceCalled(Line, tag="service.called", kw_only=True):
    """A request that a service of the trial took, by tool or by HTTP, as the server saw it.

    Attributes:
        step: the step under way; ``actor`` is ``background`` for a process that runs on between actions.
        status: HTTP status the server decided on.
        decision: on a request by HTTP: ``allow``, ``deny``, or ``unasked`` where it was refused before
            constraints and approvals were looked at. Null by tool, whose ``action.decided`` says it, and in
            journals of before.
        request: object with a request by HTTP as it came, where somebody searches it; ``""`` elsewhere.
        effect: whether anything was written.
        ledger: row of the ledger with that effect; null without one.
        repeats: row of the ledger whose key this request repeats: no second effect.
        compensates: row of the ledger that this effect takes back.
        fault: injected; ``acknowledged`` is false where the caller did not learn the outcome.
        answer: object with the answer's body.
    """

    step: int
    service: str
    verb: str
    arguments: dict[str, Any] = {}
    key: str = ""
    via: Literal["tool", "http"] = "tool"
    status: int
    decision: Literal["allow", "deny", "unasked"] | None = None
    request: str = ""
    effect: bool = False
    irreversible: bool = False
    ledger: int | None = None
    repeats: int | None = None
    compensates: int | None = None
    fault: str | None = None
    acknowledged: bool = True
    answer: str = ""


class MemoryUsed(Line, tag="memory.used", kw_only=True):
    """A channel kept outside the agent's process was written or read.

    Attributes:
        channel: ``memory`` or ``summary``.
        use: ``write``, ``read`` or ``delete``; ``planted`` is a pollution by the harness.
        value: object with what was written or shown.
        source: where the writer says it comes from: a step, a path, a report; of a pollution, its kind.
        from_steps: steps whose observations the value rests on, by the harness's own count.
        polluted: what was read is, or rests on, what was planted.
    """

    step: int
    channel: Literal["memory", "summary"]
    use: Literal["write", "read", "delete", "planted"]
    key: str
    value: str | None = None
    source: str = ""
    from_steps: list[int] = []
    polluted: bool = False


Event = (
    TrialStarted | AgentStarted | AgentExited | ModelCalled | ActionRequested | ActionDecided | ActionFinished
    | EffectRecorded | ConstraintViolated | SubgoalJudged | BeliefReported | BudgetExhausted
    | ContaminationFlagged | HarnessFaulted | TrialEnded | PerturbationArmed | PerturbationFired | GoalChanged
    | CheckpointTaken | AgentKilled | AgentResumed | ContextCompacted | HumanIntervened | TemptationOffered
    | TemptationTaken | TemptationDeclined | CanaryLeaked | ServiceCalled | MemoryUsed
)  # fmt: skip
