"""Does a set of tasks still tell systems apart? Ceiling and floor flags, and tasks that say nothing more."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import rate_over_tasks
from seatrial.estimate.trials import Outcomes, count_unknown, measured

Flag = Literal[
    "saturated", "perhaps saturated", "at the floor", "perhaps at the floor", "in range", "unknown"
]
CEILING, FLOOR = 0.95, 0.05


class SystemRange(msgspec.Struct, frozen=True, kw_only=True):
    """Where one system stands.

    Attributes:
        rate: success over tasks.
        flag: "saturated" where the whole interval is at or above the ceiling, "perhaps" where only the rate
            is; the floor likewise; unknown where the rate is.
    """

    rate: Estimate
    flag: Flag


class Saturation(msgspec.Struct, frozen=True, kw_only=True):
    """What is left to measure with a set of tasks.

    Attributes:
        systems: name to where it stands.
        always, never: tasks every trial of every system solved, or none did: they tell no one apart.
        telling: share of judged tasks that are neither, in [0, 1]; null without tasks.
        ceiling, floor: the rates that were declared.
    """

    systems: dict[str, SystemRange]
    always: list[str]
    never: list[str]
    telling: float | None
    ceiling: float
    floor: float


def saturation(
    systems: Mapping[str, Outcomes], ceiling: float = CEILING, floor: float = FLOOR, level: float = 0.95
) -> Saturation:
    """Flag systems at the ceiling or floor, and tasks that are the same for all.

    Args:
        systems: name to task to the outcomes of its valid trials.
        ceiling, floor: declared rates, 0 <= floor < ceiling <= 1.
        level: confidence level, in (0, 1).

    Raises:
        ValueError: no system, or the rates are out of order.
    """
    if not systems or not 0 <= floor < ceiling <= 1:
        raise ValueError(
            f"saturation: {len(systems)} systems, floor {floor}, ceiling {ceiling}; out of range"
        )
    found = {}
    for name, outcomes in sorted(systems.items()):
        rate = rate_over_tasks(outcomes, level)
        found[name] = SystemRange(rate=rate, flag=_flag(rate, ceiling, floor))
    tasks = sorted({task for outcomes in systems.values() for task in measured(outcomes)})
    seen = {task: [v for outcomes in systems.values() for v in outcomes.get(task, ())] for task in tasks}
    sure = [task for task in tasks if not count_unknown({task: seen[task]})]
    always = [task for task in sure if all(seen[task])]
    never = [task for task in sure if not any(seen[task])]
    return Saturation(
        systems=found,
        always=always,
        never=never,
        telling=1 - len(always + never) / len(tasks) if tasks else None,
        ceiling=ceiling,
        floor=floor,
    )


def _flag(rate: Estimate, ceiling: float, floor: float) -> Flag:
    if rate.value is None or rate.low is None or rate.high is None:
        return "unknown"
    if rate.value >= ceiling:
        return "saturated" if rate.low >= ceiling else "perhaps saturated"
    if rate.value <= floor:
        return "at the floor" if rate.high <= floor else "perhaps at the floor"
    return "in range"
