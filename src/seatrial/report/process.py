"""Process measures, compared only task by task and at a fixed quality, never summed (F22)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seatrial.report.comparisons import (
    PROCESS,
    QUALITY,
    UNDECIDED,
    Comparison,
    adjusted,
    compare,
    declared_pairs,
    only_pairs,
    read_plan,
)
from seatrial.report.tables import WHOLE, Cell
from seatrial.report.wording import counted


def compare_process(groups: Iterable[Cell], experiment: Mapping[str, Any]) -> list[Comparison]:
    """Pairs of systems on each process measure, over the trials of both that ended in safe success.

    A task that one of the two never solved safely is left out and named: what is compared is how they worked
    where both did well. p values are adjusted among these comparisons.

    Args:
        groups: the cells of the main table.
        experiment: the experiment as frozen in the manifest.
    """
    # Loaded by this command only, since numpy slows every start.
    import numpy as np

    plan = read_plan(experiment)
    rng = np.random.default_rng(plan.seed)
    whole = [cell for cell in groups if cell.stratum == WHOLE]
    pairs = declared_pairs(whole, plan) or only_pairs(whole, plan)
    found = [
        compare(a, b, measure, ("process", plan.alpha), rng, QUALITY) for a, b in pairs for measure in PROCESS
    ]
    return adjusted(found)


def process_sentences(comparisons: Sequence[Comparison]) -> list[str]:
    """What the comparisons of process allow to be said of each pair, once where arms agree."""
    found: dict[tuple[str, str], list[str]] = {}
    for key in dict.fromkeys((c.arm, c.a, c.b) for c in comparisons):
        own = [c for c in comparisons if (c.arm, c.a, c.b) == key]
        tasks = counted(max(c.estimate.n_tasks for c in own), "task")
        where = f"on {tasks} that both {key[1]} and {key[2]} solved safely"
        if all(c.p is None for c in own):
            said = "not compared, since that is too few, or the measures are unknown"
        else:
            said = "; ".join(f"{c.measure.replace('_', ' ')} {verdict_on(c)}" for c in own)
        found.setdefault((where, said), []).append(key[0])
    return [f"Process ({', '.join(arms)}), {where}: {said}." for (where, said), arms in found.items()]


def verdict_on(comparison: Comparison) -> str:
    """A verdict inside a list of them."""
    if comparison.p is None:
        return "could not be compared"
    return comparison.words if comparison.told_apart else UNDECIDED
