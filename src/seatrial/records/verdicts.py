"""Verdicts as a derived table: what each subgoal's verifier says of each state of one trial."""

from typing import Any, Literal

import msgspec

Verdict = Literal["pass", "fail", "error", "unknown"]


class VerdictRow(msgspec.Struct, frozen=True, kw_only=True):
    """From ``step`` on (until the next row of the same subgoal) this verdict holds.

    Attributes:
        key: digest of (verifier digest, digest of what it reads): the cache key.
        reads: digest of the declared part of the state.
        evidence: what the verifier gave beside its verdict, and what was left out of its view.
        product_triggered: an error that repeats on this state while calibration states judge well.
    """

    subgoal: str
    step: int
    verdict: Verdict
    key: str
    reads: str
    evidence: Any = None
    product_triggered: bool = False


class TrialVerdicts(msgspec.Struct, kw_only=True):
    """All verdicts of one attempt.

    Attributes:
        journal: digest of the last line of the journal that was judged; empty in tables of older releases.
        goal_version: current at the end.
        rows: by step; only rows at which a subgoal's key changed.
        final: per subgoal, verdicts of the fresh runs on the final state, in order.
        distinct: per subgoal, how many distinct states it was asked about.
        runs: verifier processes started for ``rows`` (cache hits do not count).
    """

    trial: str
    attempt: int
    every_step: bool
    journal: str = ""
    goal_version: int = 1
    rows: list[VerdictRow]
    final: dict[str, list[Verdict]]
    distinct: dict[str, int] = {}
    runs: int = 0
    cached: int = 0
    verifiers: dict[str, str] = {}
