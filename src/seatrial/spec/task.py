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
    version: int = 1
    instruction: str
    relation: Literal["add", "narrow", "replace", "reprioritise", "conflict"] | None = None
    expect: Literal["stop-and-surface"] | None = None


class Subgoal(Strict, frozen=True, kw_only=True):
    """A node of the DAG. ``verifier`` is a path inside the task folder, executable.

    ``composition`` says how this check stands beside others of the same ``group``: a gated one counts only
    while the cheaper layers before it pass, parallel ones are reported when they contradict.
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


class Perturbation(Strict, frozen=True, kw_only=True):
    """Read and linted now; delivered by a later release, and refused at run time until then."""

    id: str
    version: int = 1
    kind: Literal["state", "observation", "goal", "execution", "placebo"]
    when: dict[str, Any]
    change: dict[str, Any] = {}
    strength: Literal["cosmetic", "local", "core"] = "core"
    affects: list[str] = []
    observed_when: dict[str, Any] = {}
    recovered_when: dict[str, Any] = {}
    oracle: dict[str, Any] = {}


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
    perturbation: list[Perturbation] = []
    provenance: dict[str, Any] = {}

    @property
    def family(self) -> str:
        """The part of the id before the slash."""
        return self.id.partition("/")[0]

    def subgoals_for(self, goal_version: int) -> list[Subgoal]:
        """Subgoals that belong to a goal version (those that name no version belong to all)."""
        return [s for s in self.subgoal if not s.goals or goal_version in s.goals]
