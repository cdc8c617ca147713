"""What overcoming a disturbance costs, against a reference recovery (D4).

(C_disturbed − C_base)/C_oracle, trial by trial: near 1 the extra cost is near that of the reference, above 1
detection, rollback or replay wasted something, and below 1 the baseline had paid for part of it already. Only
trials that recovered have such a cost. A large number for the others would make the mean arbitrary, so
the recovery rate stands beside it instead.
"""

from collections.abc import Mapping, Sequence

import msgspec

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.means import mean_over_tasks
from seatrial.estimate.rates import rate_over_tasks


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """One disturbed trial and its baseline partner: same task, system and repeat.

    Attributes:
        recovered: null where a verdict is unknown.
        extra: cost of the disturbed trial minus that of its partner; null where either is unknown or there is
            no partner.
        oracle: cost of the reference recovery, above 0; null where not declared.
    """

    recovered: bool | None
    extra: float | None = None
    oracle: float | None = None


class Amplification(msgspec.Struct, frozen=True, kw_only=True):
    """Cost of recovery, with what it must not be read without.

    Attributes:
        ratio: (C_disturbed − C_base)/C_oracle, mean of task means over recovered trials.
        extra: C_disturbed − C_base likewise, in the unit of cost.
        recovery_rate: recovered trials over delivered ones.
        pairs: recovered trials that have a ratio.
    """

    ratio: Estimate
    extra: Estimate
    recovery_rate: Estimate
    pairs: int


def recovery_amplification(
    trials: Mapping[str, Sequence[Recovered]], unit: str, level: float = 0.95
) -> Amplification:
    """Amplification over tasks, with the t interval over tasks.

    Args:
        trials: task to its trials, of those that the disturbance was delivered to.
        unit: what cost is counted in, for example "actions".
        level: confidence level, in (0, 1).

    Raises:
        ValueError: a cost is not finite.
    """
    overcome = {task: [t for t in of_task if t.recovered] for task, of_task in trials.items()}
    ratios = {
        task: [t.extra / t.oracle for t in of_task if t.extra is not None and t.oracle]
        for task, of_task in overcome.items()
    }
    extras = {task: [t.extra for t in of_task if t.extra is not None] for task, of_task in overcome.items()}
    total, pairs = sum(map(len, overcome.values())), sum(map(len, ratios.values()))
    ratio = _noted(mean_over_tasks(ratios, "amplification", level), total - pairs, "ratio")
    without = total - sum(map(len, extras.values()))
    return Amplification(
        ratio=ratio,
        extra=_noted(mean_over_tasks(extras, unit, level), without, "extra cost"),
        recovery_rate=rate_over_tasks(
            {task: [t.recovered for t in of_task] for task, of_task in trials.items()}, level
        ),
        pairs=pairs,
    )


def _noted(estimate: Estimate, without: int, what: str) -> Estimate:
    """With what it is taken over, in words."""
    notes = ["Over recovered trials only: read it beside the recovery rate."]
    if without:
        reason = "no oracle cost, no baseline partner or an unknown cost"
        notes.append(f"{without} recovered trials have no {what}: {reason}.")
    kept = [note for note in estimate.notes if not note.startswith("No valid trial of")]
    return msgspec.structs.replace(estimate, notes=[*notes, *kept])
