"""Cost per success: what all attempts cost, failed ones too, over the safe successes among them (F8)."""

import math
from collections.abc import Iterable

import msgspec

from seatrial.estimate.estimate import Estimate
from seatrial.report.tables import QUANTITIES, RATES, Cell, Row, by_task, currency_of, make_row

PER_SUCCESS = "_per_success"
# Resources a success is priced in, as the main table names them.
RESOURCES = ("actions", "elapsed_seconds", "output_tokens", "money")
UNBOUNDED = "The upper end is unbounded."


def unit_cost_rows(groups: Iterable[Cell], seed: int) -> list[Row]:
    """A line of the main table for each cell and resource, named ``actions_per_success`` and so on.

    JSON has no infinity: an infinite value or end is null, and a note says so.

    Args:
        groups: the cells of the main table.
        seed: of the bootstraps.
    """
    # Loaded by this command only, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.cost import cost_per_success

    rng = np.random.default_rng(seed)
    rows = []
    for cell in groups:
        outcomes = [RATES["safe_success"](record) for record in cell.valid]
        for resource in RESOURCES:
            paid: dict[str, list[float | None]] = {record.task: [] for record in cell.records}
            for record in cell.every:
                paid[record.task].append(QUANTITIES[resource][0](record))
            found = cost_per_success(paid, by_task(cell, outcomes), rng).estimate
            currency = currency_of(cell.every) if resource == "money" else None
            if currency is not None:
                found = msgspec.structs.replace(found, notes=[*found.notes, f"In {currency}."])
            row = make_row(cell, resource + PER_SUCCESS, finite(found), outcomes)
            successes = outcomes.count(True)
            denominators = msgspec.structs.replace(row.denominators, events=successes)
            rows.append(msgspec.structs.replace(row, denominators=denominators))
    return rows


def finite(estimate: Estimate) -> Estimate:
    """The same with null in place of infinities, and a note for an unbounded end."""
    ends = [None if end is None or math.isinf(end) else end for end in (estimate.low, estimate.high)]
    value = None if estimate.value is None or math.isinf(estimate.value) else estimate.value
    unbounded = [UNBOUNDED] if estimate.high is not None and math.isinf(estimate.high) else []
    return msgspec.structs.replace(
        estimate, value=value, low=ends[0], high=ends[1], notes=[*estimate.notes, *unbounded]
    )
