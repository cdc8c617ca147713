"""An experiment (``seatrial/experiment@1``) and the scripts that drive scripted agents."""

from typing import Any, Literal

import msgspec

from seatrial.spec.task import Strict
from seatrial.spec.tools import TOOLS

SCHEMA = "seatrial/experiment@1"


class Primary(Strict, frozen=True, kw_only=True):
    measure: str
    compare: list[str] = []
    alpha: float = 0.05


class System(Strict, frozen=True, kw_only=True):
    """Model and harness as tested. ``options`` go to the agent as they are and are part of the digest.

    Args:
        script: for ``scripted``: path relative to each task's folder.
        code: for ``python``: ``module:Class``.
        path: for ``python``: folder that holds the module, relative to the experiment file; it is the only
            thing of the host the agent's sandbox sees.
        privileged: may be told what deployment would not show; marks its trials.
    """

    name: str
    agent: Literal["scripted", "simulated", "python", "chat", "command", "mcp", "human"]
    script: str | None = None
    code: str | None = None
    path: str | None = None
    options: dict[str, Any] = {}
    privileged: bool = False

    @property
    def told_more(self) -> bool:
        """Whether it is privileged; simulated agents always are, since they are given the task's plan."""
        return self.privileged or self.agent == "simulated"


class Retry(Strict, frozen=True, kw_only=True):
    infrastructure: int = 2


class Human(Strict, frozen=True, kw_only=True):
    """Which help people give, and who they are.

    Attributes:
        tier: ``approval``: they grant or refuse what is asked for; ``facts``: they answer questions too;
            ``takeover``: they may act in the agent's place too.
        script: for ``scripted``: path relative to each task's folder; see ``spec.people``.
        timeout_seconds: after which a question nobody answered is refused.
    """

    tier: Literal["none", "approval", "facts", "takeover"] = "none"
    by: Literal["scripted", "terminal"] = "scripted"
    script: str | None = None
    timeout_seconds: float = 600.0


class Interruption(Strict, frozen=True, kw_only=True):
    """How the arms ``interrupted:POINT`` kill the agent, and what a new process is given.

    Attributes:
        state_bytes: of the state that is persisted, structured or prose; what is beyond it is cut off.
        occasions: the seed draws one of the first so many occasions of the point.
        tool: glob of the tools that ``before_effect`` and ``after_effect_before_ack`` count; null counts
            those that can write.
        subgoal: for ``subgoal_verified``; null takes any.
        while_down: perturbation that fires while no process is there.
    """

    state_bytes: int = 8192
    occasions: int = 1
    tool: str | None = None
    subgoal: str | None = None
    while_down: str | None = None


class Compaction(Strict, frozen=True, kw_only=True):
    """When the arms ``compacted:STRATEGY`` make the agent's context shorter: one of the first two keys.

    Attributes:
        every_tokens: whenever its last model call used so many, by the endpoint's count.
        at_subgoal: once, when that subgoal is first verified.
        strategy: of the other arms that need a compaction.
        state_bytes: of what stands in place of the history.
        lookups: offer ``history``, which shows what an earlier step showed.
    """

    every_tokens: int | None = None
    at_subgoal: str | None = None
    strategy: Literal["raw", "gold", "automatic", "structured"] = "automatic"
    state_bytes: int = 8192
    lookups: bool = False


class Experiment(Strict, frozen=True, kw_only=True):
    schema: str
    name: str
    tasks: list[str]
    system: list[System]
    trials_per_task: int = 1
    seed: int = 0
    arms: list[str] = msgspec.field(default_factory=lambda: ["baseline"])
    primary: Primary | None = None
    stop: Literal["agent", "first_success"] = "agent"
    belief: bool = False
    memory: bool = False
    interruption: Interruption = Interruption()
    compaction: Compaction | None = None
    show_budget: bool = False
    human: Human = Human()
    retry: Retry = Retry()
    cache: Literal["cold", "warm"] = "cold"
    final_verdicts: int = 3


class Step(Strict, frozen=True, kw_only=True):
    """One step of a script: a gateway tool and its arguments.

    ``when_shown`` is a regular expression: the step waits (up to ``patience`` seconds, by asking to see
    again) until the last observation matches, and the agent gives up when it never does. ``belief`` is
    reported before the step, where the experiment offers that channel. The arguments of a ``service.verb``
    stand flat in the file like any others and are gathered in ``arguments``. ``check`` is a call
    ``{ tool = …, …, shows = "regex" }`` that shows whether the step is done, for ``retry = "query"``.
    """

    tool: str
    command: str | None = None
    cwd: str | None = None
    path: str | None = None
    content: str | None = None
    old: str | None = None
    new: str | None = None
    summary: str | None = None
    confidence: float | None = None
    reason: str | None = None
    question: str | None = None
    action: str | None = None
    facts: dict[str, Any] | None = None
    plan: list[str] | str | None = None
    goal_version: int | None = None
    key: str | None = None
    value: str | None = None
    source: str | None = None
    step: int | None = None
    arguments: dict[str, Any] = {}
    when_shown: str | None = None
    patience: float = 0.0
    belief: dict[str, Any] | None = None
    check: dict[str, Any] | None = None

    def call(self) -> dict[str, Any]:
        """The tool's arguments as the gateway takes them: only those that were given."""
        if "." in self.tool:
            return dict(self.arguments)
        given = ((name, getattr(self, name)) for name in TOOLS[self.tool].arguments)
        return {name: value for name, value in given if value is not None}


class Script(Strict, frozen=True, kw_only=True):
    """``retry`` says what is done about an action of which an interruption left open whether it happened."""

    step: list[Step]
    retry: Literal["blind", "idempotent", "query"] = "blind"
