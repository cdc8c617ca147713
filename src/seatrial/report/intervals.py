"""Success rates by every interval that suits repeated trials, beside the default of the main table (F1)."""

from collections.abc import Iterable

import msgspec

from seatrial.estimate.estimate import Estimate
from seatrial.report.tables import RATES, WHOLE, Cell, by_task


class Intervals(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``intervals`` in ``report.json``: several estimates of one rate, the default first."""

    system: str
    arm: str
    stratum: str
    measure: str
    estimates: list[Estimate]


def rate_table(groups: Iterable[Cell], seed: int) -> list[Intervals]:
    """Strict and safe success over all tasks; none where a system has one task, which has nothing to draw.

    Args:
        groups: the cells of the main table.
        seed: of the bootstraps.
    """
    # Loaded by this command only, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.intervals import rate_intervals

    rng = np.random.default_rng(seed)
    found = []
    for cell in groups:
        for measure in ("strict_success", "safe_success") if cell.stratum == WHOLE else ():
            estimates = rate_intervals(by_task(cell, [RATES[measure](r) for r in cell.valid]), rng)
            if len(estimates) > 1:
                found.append(
                    Intervals(
                        system=cell.system,
                        arm=cell.arm,
                        stratum=cell.stratum,
                        measure=measure,
                        estimates=estimates,
                    )
                )
    return found
