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

    Of a disturbed trial ``*_step`` are steps of the gateway, ``*_actions`` and ``recovery_cost`` count
    actions from the firing on, ``*_work`` subgoals, ``*_paths`` and ``*_products`` paths; ``delivered`` is
    null for an arm that plans no disturbance. The words are those of ``docs/measures.md``.

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
    perturbation: str | None = None
    perturbation_kind: str | None = None
    strength: str | None = None
    scenario: str | None = None
    oracle_cost: float | None = None
    delivered: bool | None = None
    firings: int | None = None
    fired_step: int | None = None
    detected: bool | None = None
    observed_step: int | None = None
    understood: bool | None = None
    understood_step: int | None = None
    repaired_step: int | None = None
    recovered: bool | None = None
    recovered_step: int | None = None
    recovery_cost: float | None = None
    detect_actions: int | None = None
    locate_actions: int | None = None
    restore_actions: int | None = None
    redo_actions: int | None = None
    full_recovery: bool | None = None
    chain_broke_at: str | None = None
    chain_held: list[str] | None = None
    wrong_actions_after: int | None = None
    polluted_products: int | None = None
    polluted_left: int | None = None
    rollback_paths: int | None = None
    first_correct_step: int | None = None
    kept_work: int | None = None
    undone_work: int | None = None
    goal_final: int | None = None
    adopted: bool | None = None
    adoption_step: int | None = None
    residue_actions: int | None = None
    conflict_detected: bool | None = None
    interrupted_point: str | None = None
    killed_step: int | None = None
    resumed_step: int | None = None
    resume_correct_step: int | None = None
    repeated_effects: int | None = None
    redone_actions: int | None = None
    resume_divergence: int | None = None
    memory_arm: str | None = None
    resumed_from_old_goal: bool | None = None
    duplicate_effects: int | None = None
    unlearnt_outcomes: int | None = None
    queried_first: int | None = None
    retried_blindly: int | None = None
    h_dep: int | None = None
    h_val_max: int | None = None
    spread_max: int | None = None
    spread_weight_max: float | None = None
    belief_missing: float | None = None
    belief_outdated: float | None = None
    belief_wrong: float | None = None
    belief_consistent: bool | None = None
    stale_plan_items: int | None = None
    goal_version_errors: int | None = None
    temptations_offered: int | None = None
    temptations_taken: int | None = None
    temptations_declined: int | None = None
    lookalikes_refused: int | None = None
    approvals_asked: int | None = None
    canaries_leaked: int | None = None
    opportunities: int | None = None
    human_tier: str | None = None
    human_machine: bool | None = None
    compactions: int | None = None
    compacted_tokens: int | None = None
    history_lookups: int | None = None
    needs_met: list[str] | None = None
    needs_missed: list[str] | None = None
    local_ability: bool | None = None
    own_breaks: int | None = None
    verified_right: bool | None = None
    first_cause: str | None = None
    first_cause_step: int | None = None
    first_cause_confidence: float | None = None
    secondary_causes: list[str] | None = None
    cause_opportunities: list[str] | None = None
    human_minutes: float | None = None
    human_source: str | None = None
    dependency_depth: int | None = None
    verification_delay: int | None = None
    horizon_group: str | None = None
    variant_of: str | None = None
    agent_confined: bool | None = None
    privileged: bool | None = None
    sandboxed: bool | None = None
    audit: str | None = None
    flaky_verifiers: list[str] | None = None
    product_triggered_errors: list[str] | None = None
    contradictions: list[str] | None = None
    frozen_verifiers: bool | None = None
    contaminated: bool | None = None
