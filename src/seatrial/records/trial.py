"""The TrialRecord: one row per trial, the waist between journals and estimates."""

from typing import Literal

import msgspec

TerminalClass = Literal["success", "failure", "infrastructure", "unknown"]


class TrialRecord(msgspec.Struct, kw_only=True):
    """All measures of one trial; ``frozen_verifiers`` is false where others judged it.

    Null is "unknown" and is printed so; steps count gateway requests.

    ``*_us`` are microseconds. ``elapsed_us`` is the whole trial clock: ``model_us`` (the agent's turns with
    its model's answers), ``queue_us`` (failed model calls and the waiting after them) and ``tool_us`` add up
    to it; the others stand beside it.

    Tokens are the endpoint's counts, cached ones being part of the input; money is by the system's price
    list, in ``currency``, which is null where nothing was priced. ``model_calls`` counts calls of the
    endpoint, ``model_retries`` those that repeat one, ``model_failures`` those without a usable answer, for
    whatever reason. An agent that had no way to a model made 0 calls for 0 tokens and 0 money; one that could
    have called unseen has nulls, and so has one whose journal breaks off, perhaps in the middle of a call.

    Imported rows hold what their source says, in its own sense: ``score`` (continuous, higher is better) and
    ``weight`` are the source's, ``stop_reason`` is its own word. ``human_minutes`` is human time and no other
    kind of length, ``human_source`` says where it comes from. ``repeat`` numbers the trials of one cell of
    the plan, from 1; ``batch`` names the part of a source that they were run in.
    """

    experiment: str
    trial: str
    attempt: int
    task: str
    task_version: str | None
    family: str | None
    system: str
    arm: str
    seed: int | None
    batch: str | None = None
    repeat: int | None = None
    terminal_class: TerminalClass
    stop_reason: str | None = None
    censored: bool | None = None
    strict_success: bool | None = None
    safe_success: bool | None = None
    partial_progress: float | None = None
    score: float | None = None
    weight: float | None = None
    max_progress: float | None = None
    progress_slope: float | None = None
    first_half_step: int | None = None
    first_ninety_step: int | None = None
    first_full_step: int | None = None
    broken_after_full: bool | None = None
    actions_after_full: int | None = None
    premature_finish: bool | None = None
    blocking_subgoal: str | None = None
    regression_depth: float | None = None
    regression_area: float | None = None
    repeat_completions: int | None = None
    drift_actions: int | None = None
    hard_violations: int | None = None
    unknown_windows: int | None = None
    soft_cost: float | None = None
    actions: int | None = None
    shell_actions: int | None = None
    failed_actions: int | None = None
    partial_actions: int | None = None
    denied_actions: int | None = None
    unknown_actions: int | None = None
    malformed_actions: int | None = None
    semantic_units: int | None = None
    idle_actions: int | None = None
    wasted_unread: int | None = None
    wasted_undone: int | None = None
    output_tokens: int | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    model_calls: int | None = None
    model_retries: int | None = None
    model_failures: int | None = None
    money: float | None = None
    currency: str | None = None
    elapsed_us: int | None = None
    model_us: int | None = None
    queue_us: int | None = None
    tool_us: int | None = None
    approval_us: int | None = None
    recovery_us: int | None = None
    cpu_us: int | None = None
    human_interventions: int | None = None
    fired_step: int | None = None
    observed_step: int | None = None
    recovered_step: int | None = None
    recovery_cost: float | None = None
    human_minutes: float | None = None
    human_source: str | None = None
    dependency_depth: int | None = None
    verification_delay: int | None = None
    horizon_group: str | None = None
    agent_confined: bool | None = None
    privileged: bool | None = None
    sandboxed: bool | None = None
    audit: str | None = None
    flaky_verifiers: list[str] | None = None
    product_triggered_errors: list[str] | None = None
    contradictions: list[str] | None = None
    frozen_verifiers: bool | None = None
    contaminated: bool | None = None
