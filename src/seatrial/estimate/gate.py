"""Release gates: judged on the end of an interval, per stratum, and free to say that evidence is lacking."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from seatrial.estimate.estimate import Estimate

Verdict = Literal["pass", "fail", "insufficient evidence"]
OVERALL = "all"


class GateRule(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement.

    Attributes:
        measure: which of the estimates, for example "safe_success" or "p95_seconds".
        at_least, at_most: the limit; exactly one is given. Of a difference (candidate − baseline), the
            allowed worsening with its sign: success at_least −0.02, cost at_most 0.1.
        strata: where it must hold, each by itself; "all" is the whole.
    """

    measure: str
    at_least: float | None = None
    at_most: float | None = None
    strata: tuple[str, ...] = (OVERALL,)


class GateFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One rule in one stratum.

    Attributes:
        rule, stratum: which.
        verdict: pass where the whole interval keeps the limit, fail where none of it does; neither with one
            task, whose interval says nothing of others.
        estimate: what it was judged on; null where there is none.
        more_tasks, more_trials: about how many more would settle it if the value stays; 0 once settled, null
            where no number can be told.
        reason: in words.
    """

    rule: GateRule
    stratum: str
    verdict: Verdict
    estimate: Estimate | None
    more_tasks: int | None
    more_trials: int | None
    reason: str


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """All findings; the whole fails if one fails, and passes only if all pass."""

    verdict: Verdict
    findings: list[GateFinding]


def gate(rules: Sequence[GateRule], estimates: Mapping[str, Mapping[str, Estimate]]) -> GateResult:
    """Judge every rule in every stratum it names.

    Args:
        rules: at least one; a gate without rules would pass anything.
        estimates: measure to stratum to its estimate ("all" for the whole).

    Raises:
        ValueError: no rule, a rule without exactly one finite limit or without strata, or a measure or
            stratum with no estimate: a gate that silently skips one would pass it.
    """
    if not rules:
        raise ValueError("gate: no rule. Name at least one measure and its limit.")
    findings = []
    for rule in rules:
        _refuse(rule)
        for stratum in rule.strata:
            if stratum not in estimates.get(rule.measure, {}):
                raise ValueError(f"gate: no estimate of {rule.measure} in stratum {stratum}")
            findings.append(_judge(rule, stratum, estimates[rule.measure][stratum]))
    verdicts = {finding.verdict for finding in findings}
    whole: Verdict = "pass"
    if "fail" in verdicts:
        whole = "fail"
    elif "insufficient evidence" in verdicts:
        whole = "insufficient evidence"
    return GateResult(verdict=whole, findings=findings)


def _refuse(rule: GateRule) -> None:
    limits = [limit for limit in (rule.at_least, rule.at_most) if limit is not None]
    if len(limits) != 1 or not math.isfinite(limits[0]) or not rule.strata:
        raise ValueError(f"gate: {rule.measure} needs exactly one of at_least and at_most, and a stratum")


def _judge(rule: GateRule, stratum: str, estimate: Estimate) -> GateFinding:
    sign = 1.0 if rule.at_least is not None else -1.0
    limit = rule.at_least if rule.at_least is not None else rule.at_most
    assert limit is not None
    worse, better = (estimate.low, estimate.high) if sign > 0 else (estimate.high, estimate.low)
    word = "at least" if sign > 0 else "at most"
    where = f"{rule.measure} in {stratum} must be {word} {limit:g}"
    verdict: Verdict = "insufficient evidence"
    more: int | None = None
    if estimate.n_tasks == 1:
        reason = f"{where}, and one task says nothing of others, however many its trials. Add tasks."
    elif worse is not None and sign * (worse - limit) >= 0:
        verdict, more, reason = "pass", 0, f"{where}, and its interval ends at {worse:.3g}."
    elif better is not None and sign * (better - limit) < 0:
        verdict, more, reason = "fail", 0, f"{where}, but its interval reaches only {better:.3g}."
    elif worse is None or better is None:
        reason = f"{where}, and there is no interval to judge by. " + " ".join(estimate.notes)
    else:
        more = _more_tasks(estimate, limit)
        told = (
            "no number of trials can be told" if more is None else f"about {more} more tasks would settle it"
        )
        if _end_of(estimate, limit) in (math.inf, -math.inf):
            why = [note for note in estimate.notes if note.startswith("No high end")]
            told = " ".join(["that end is unbounded, so no number of trials can be told.", *why]).rstrip(".")
        if estimate.value == limit:
            told = (
                "the value is the limit itself, which no number of trials shows to be kept: allow a margin, "
                "or prove an improvement"
            )
        reason = f"{where}, which its interval [{estimate.low:.3g}, {estimate.high:.3g}] leaves open; {told}."
    return GateFinding(
        rule=rule,
        stratum=stratum,
        verdict=verdict,
        estimate=estimate,
        more_tasks=more,
        more_trials=None if more is None else math.ceil(more * estimate.n_trials / max(1, estimate.n_tasks)),
        reason=reason.strip(),
    )


def _end_of(estimate: Estimate, limit: float) -> float | None:
    """The end between the value and a limit that is left open, or beyond it; null without either."""
    if estimate.value is None:
        return None
    return estimate.low if estimate.value > limit else estimate.high


def _more_tasks(estimate: Estimate, limit: float) -> int | None:
    """Tasks to add until the end that straddles the limit reaches it, if the value stays."""
    value, low, high, end = estimate.value, estimate.low, estimate.high, _end_of(estimate, limit)
    if value is None or low is None or high is None or end is None or value == limit:
        return None
    if not math.isfinite(end) or not math.isfinite(value):
        return None
    is_rate = 0 <= low <= value <= high <= 1 and 0 < end < 1
    growth = _spread(limit) / _spread(end) if is_rate else 1.0
    tasks = estimate.n_tasks
    return max(1, math.ceil(tasks * growth * ((end - value) / (limit - value)) ** 2 - tasks))


def _spread(rate: float) -> float:
    """Score intervals end where (end − rate)² = z²·end·(1 − end)/n; widths of other quantities go as 1/√n."""
    return rate * (1 - rate)
