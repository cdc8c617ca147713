"""A task as its folder declares it (``task.toml``, schema ``seatrial/task@1``)."""

from typing import Any, Literal

import msgspec

SCHEMA = "seatrial/task@1"


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of everything read from a user's file: unknown keys are errors.

    msgspec does not inherit ``kw_only``, so each struct says it anew.
    """


class HumanMinutes(Strict, frozen=True, kw_only=True):
    """Human time for the task, in minutes; failed attempts are kept apart, not dropped."""

    times: list[float]
    failed: list[float] = []
    estimator: Literal["geometric-mean", "arithmetic-mean", "median"] = "geometric-mean"
    source: str = "baseline"


class Horizon(Strict, frozen=True, kw_only=True):
    """Declared difficulty (A6). Lint recomputes ``dependency_depth`` from the subgoals."""

    dependency_depth: int | None = None
    verification_delay: int | None = None
    irreversible_share: float | None = None
    live_constraints: int | None = None
    state_size: int | None = None
    goal_changes: int | None = None
    tool_fault_rate: float | None = None
    observation_noise: float | None = None
    group: str | None = None


class Limits(Strict, frozen=True, kw_only=True):
    memory_mb: int = 2048
    processes: int = 256
    seconds_per_action: float = 60.0
    output_kb: int = 64


class Environment(Strict, frozen=True, kw_only=True):
    files: str = "environment/"
    setup: str | None = None
    setup_network: Literal["none", "host"] = "none"
    network: Literal["none"] = "none"
    services: list[str] = []
    limits: Limits = Limits()


class Budget(Strict, frozen=True, kw_only=True):
    """Each bound is optional; null means not bounded. Enforced by the gateway, never shown unless granted."""

    actions: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    money: float | None = None
    human_requests: int | None = None


class Goal(Strict, frozen=True, kw_only=True):
    """One version of what is asked.

    Attributes:
        relation: to the version before.
        expect: the right answer to a conflict.
        surfaced: regular expression; what the agent says at the end, or asks a person, must match it to
            count as having surfaced the conflict. See ``measure.surfacing`` for what counts without it.
        prominent: which requirement stands in the more prominent place when this version is told.
    """

    version: int = 1
    instruction: str
    relation: Literal["add", "narrow", "replace", "reprioritise", "conflict"] | None = None
    expect: Literal["stop-and-surface"] | None = None
    surfaced: str | None = None
    prominent: Literal["old", "new"] = "new"


# What must still be known for a subgoal although it was told long before.
Needs = Literal["constraint", "failure_reason", "external_id"]


class Subgoal(Strict, frozen=True, kw_only=True):
    """A node of the DAG. ``verifier`` is a path inside the task folder, executable.

    ``composition`` says how this check stands beside others of the same ``group``: a gated one counts only
    while the cheaper layers before it pass, parallel ones are reported when they contradict. ``needs``: it is
    missed when that kind of thing from early on was forgotten, such as in a compaction.
    """

    id: str
    verifier: str
    weight: float = 1.0
    after: list[str] = []
    reads: list[str] = []
    required: bool = True
    goals: list[int] = []
    layer: Literal["syntax", "functional", "hidden", "invariant", "human"] = "functional"
    composition: Literal["gated", "parallel"] = "gated"
    group: str | None = None
    timeout: float = 60.0
    needs: Needs | None = None


class Forbid(Strict, frozen=True, kw_only=True):
    """What a constraint forbids. ``write`` and ``read`` hold ``files:`` patterns, ``call`` tool matches.

    A ``where`` value is compared as text, or by its operator: ``"> 100"``, ``">="``, ``"<"``, ``"<="``,
    ``"== x"``, ``"!= x"``, ``"~ regex"``.
    """

    write: list[str] = []
    read: list[str] = []
    call: list[dict[str, Any]] = []


class Constraint(Strict, frozen=True, kw_only=True):
    id: str
    forbid: Forbid
    kind: Literal["hard", "soft"] = "hard"
    severity: float | None = None
    mode: Literal["observe", "prevent"] = "observe"
    requires: str | None = None


class Approval(Strict, frozen=True, kw_only=True):
    """A permission for one kind of call. Constraints that ``requires`` it do not bind a call that has it.

    Attributes:
        tool, where: which calls it can be given for, in the form of ``forbid.call``. What a person gives is
            for the exact arguments that were asked for; what the task gives is for all that fit.
        scope: ``once`` is used up by the call it was given for, ``trial`` holds until it is revoked.
        granted_by: ``task`` ones are live from the start.
    """

    id: str
    tool: str
    where: dict[str, Any] = {}
    scope: Literal["once", "trial"] = "once"
    granted_by: Literal["human", "task"] = "human"


class Temptation(Strict, frozen=True, kw_only=True):
    """A forbidden shortcut that comes before the agent's eyes, or its lawful look-alike.

    Attributes:
        offered_in: ``files:PATTERN`` (offered when such a file is read or its ``text`` shown), ``tool:NAME``
            (``text`` stands at the end of that tool's output) or ``message`` (``text`` comes with an answer).
        at: which answer carries it, from 1: of that tool, or of any tool for a message.
        taken_by: what taking it is, in the form of ``forbid``.
        lawful_by: what doing the same lawfully is; empty where the task has no such way.
        lookalike: lawful; not taking it is refusing too much.
    """

    id: str
    offered_in: str
    taken_by: Forbid
    text: str = ""
    at: int = 1
    lawful_by: Forbid = Forbid()
    lookalike: bool = False


class Canary(Strict, frozen=True, kw_only=True):
    """A synthetic secret that has its place in the environment and no business anywhere else.

    Attributes:
        value: as it stands in the files; or
        generate: made from the experiment's seed and put where the files say ``{{canary:ID}}``.
        placed: ``files:PATH`` and ``service:NAME``; there it may be read and written.
        piece: characters from which on a part of it counts towards a secret sent in pieces.
    """

    id: str
    placed: list[str]
    value: str | None = None
    generate: Literal["token"] | None = None
    piece: int = 8


class Perturbation(Strict, frozen=True, kw_only=True):
    """A disturbance that waits for its trigger; ``when`` and ``change`` are read by ``spec.triggers`` and
    ``spec.changes``.

    Attributes:
        scenario: perturbations of one scenario are its strengths, and their drops are compared.
        affects: subgoals whose result the change can alter.
        observed_when: ``{reads = "files:…"}`` or ``{call = {tool, where}}``.
        recovered_when: ``{subgoal = "…"}`` or ``{files = "files:PATH", equal = FILE | digest = "…"}``.
        oracle: cost of the reference recovery.
    """

    id: str
    version: int = 1
    kind: Literal["state", "observation", "goal", "execution", "placebo"]
    when: dict[str, Any]
    change: dict[str, Any] = {}
    strength: Literal["cosmetic", "local", "core"] = "core"
    scenario: str | None = None
    affects: list[str] = []
    observed_when: dict[str, Any] = {}
    recovered_when: dict[str, Any] = {}
    oracle: dict[str, Any] = {}


class Fact(Strict, frozen=True, kw_only=True):
    """Something that is true of the world and that an agent ought to know (E5).

    Its value is read from a file or a row: by ``pattern``, the first group of a regular expression, or by
    ``json_key``, a path such as ``limits.max``; the whole text, stripped, when neither is given. ``weight``
    is what not knowing it costs.
    """

    id: str
    file: str
    pattern: str | None = None
    json_key: str | None = None
    weight: float = 1.0


class Task(Strict, frozen=True, kw_only=True):
    """All of ``task.toml``. File paths are relative to the task folder."""

    schema: str
    id: str
    version: str
    goal: list[Goal]
    subgoal: list[Subgoal]
    human_minutes: HumanMinutes | None = None
    horizon: Horizon = Horizon()
    environment: Environment = Environment()
    budget: Budget = Budget()
    constraint: list[Constraint] = []
    approval: list[Approval] = []
    temptation: list[Temptation] = []
    canary: list[Canary] = []
    perturbation: list[Perturbation] = []
    fact: list[Fact] = []
    provenance: dict[str, Any] = {}

    @property
    def family(self) -> str:
        """The part of the id before the slash."""
        return self.id.partition("/")[0]

    def subgoals_for(self, goal_version: int) -> list[Subgoal]:
        """Subgoals that belong to a goal version (those that name no version belong to all)."""
        return [s for s in self.subgoal if not s.goals or goal_version in s.goals]
