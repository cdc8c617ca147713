"""The trajectory as a graph of dependence (E4).

Nodes are actions; an edge i → j says that j read a path whose last writer was i. Sources: H_dep is the length
of the longest path, in nodes; H_val(i) = v(i) − i, with v(i) the first step at which what i wrote could be
told right or wrong; R_i = |Desc(i)|, how many later actions rest on i. So a hundred look-ups that do not
depend on each other have depth 1, and ten chained steps depth 10.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence

import msgspec

from seatrial.journal.entries import is_row
from seatrial.measure.acts import Act, Shift, Trail, names_row
from seatrial.measure.coverage import Coverage
from seatrial.measure.verdict_course import VerdictCourse
from seatrial.spec.task import Task

# Descendants are gathered for so many targets at a time: a few megabytes whatever the trial's length.
BLOCK = 8192


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """Edges between actions.

    Attributes:
        steps: of the nodes, in order; talk is no node.
        before: for each step, the steps it rests on.
        written: for each step, the paths it wrote.
    """

    steps: Sequence[int]
    before: Mapping[int, frozenset[int]]
    written: Mapping[int, frozenset[str]]


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Names are the TrialRecord's columns; null where the reads of an action could not be seen.

    Attributes:
        h_dep: actions on the longest path; 0 without actions.
        h_val_max: largest H_val, in steps, over actions whose work was told right or wrong; null where no
            action's was.
        spread_max: largest R_i, in actions.
        spread_weight_max: largest share of the goal's weight that rests on one action, in [0, 1].
    """

    h_dep: int | None = None
    h_val_max: int | None = None
    spread_max: int | None = None
    spread_weight_max: float | None = None


def dependence(trail: Trail) -> Graph | None:
    """The graph; null where the reads of an action could not be seen, since an edge might be missing."""
    if not trail.reads_seen:
        return None
    writer: dict[str, int] = {}
    rows: dict[str, set[str]] = {}
    before: dict[int, frozenset[int]] = {}
    written: dict[int, frozenset[str]] = {}
    for move in trail.moves:
        if isinstance(move, Shift):
            # What somebody else wrote rests on no action of the agent.
            for entry in () if move.own else move.changes:
                writer.pop(entry.path, None)
            continue
        if move.talk:
            continue
        before[move.step] = _rests_on(move, writer, rows)
        written[move.step] = frozenset(entry.path for entry in move.writes)
        for path in written[move.step]:
            writer[path] = move.step
            if is_row(path):
                rows.setdefault(path.split("/")[1], set()).add(path)
    return Graph(steps=list(before), before=before, written=written)


def _rests_on(act: Act, writer: Mapping[str, int], rows: Mapping[str, set[str]]) -> frozenset[int]:
    read = [path for path in act.reads or () if path in writer]
    for call in act.calls:
        read += [path for path in rows.get(call.service, ()) if path in writer and names_row(call, path)]
    return frozenset(writer[path] for path in read)


def depth(graph: Graph) -> int:
    """Nodes on the longest path."""
    longest: dict[int, int] = {}
    for step in graph.steps:
        longest[step] = 1 + max((longest[earlier] for earlier in graph.before[step]), default=0)
    return max(longest.values(), default=0)


def descendants(graph: Graph, seeds: Sequence[int]) -> set[int]:
    """Actions that rest on one of the seeds, the seeds left out."""
    reached = set(seeds)
    for step in graph.steps:
        if not reached.isdisjoint(graph.before[step]):
            reached.add(step)
    return reached - set(seeds)


def spreads(graph: Graph) -> dict[int, int]:
    """R_i of every action: how many later ones rest on it. Word-parallel over blocks of targets."""
    place = {step: index for index, step in enumerate(graph.steps)}
    count = dict.fromkeys(graph.steps, 0)
    for start in range(0, len(graph.steps), BLOCK):
        block = graph.steps[start : start + BLOCK]
        reach = dict.fromkeys(graph.steps[: start + len(block)], 0)
        for step in reversed(graph.steps[: start + len(block)]):
            own = 1 << (place[step] - start) if place[step] >= start else 0
            count[step] += reach[step].bit_count()
            for earlier in graph.before[step]:
                reach[earlier] |= reach[step] | own
    return count


def verified_delays(graph: Graph, coverage: Coverage, course: VerdictCourse) -> dict[int, int]:
    """H_val of every action whose work was told right or wrong.

    That is first the case when a subgoal that reads what it wrote, or what an action that rests on it wrote,
    turns to pass, or from pass to fail, at that step or later. A verdict that stays at fail tells nothing:
    the work may be right and the rest of it missing.
    """
    told: dict[str, list[int]] = {}
    first = dict.fromkeys(graph.steps, 0)
    for step in reversed(graph.steps):
        seen = [first[step]] if first[step] else []
        for name in {name for path in graph.written[step] for name in coverage.readers(path)}:
            if name not in told:
                turns = course.turns(name)
                told[name] = [at for at, was, now in turns if at and (now or (was and now is False))]
            place = bisect_left(told[name], step)
            seen += told[name][place : place + 1]
        first[step] = min(seen, default=0)
        for earlier in graph.before[step]:
            if first[step]:
                known = first[earlier]
                first[earlier] = min(known, first[step]) if known else first[step]
    return {step: at - step for step, at in first.items() if at}


def weights_resting(graph: Graph, task: Task, coverage: Coverage, goal_version: int) -> dict[int, float]:
    """By action, the share of the goal's weight whose subgoals read what it or its descendants wrote."""
    weights = {s.id: s.weight for s in task.subgoals_for(goal_version)}
    total = sum(weights.values())
    names = dict.fromkeys(graph.steps, frozenset[str]())
    for step in reversed(graph.steps):
        own = {name for path in graph.written[step] for name in coverage.readers(path)}
        names[step] |= own
        for earlier in graph.before[step]:
            names[earlier] |= names[step]
    if not total:
        return {}
    return {step: sum(weights.get(name, 0.0) for name in found) / total for step, found in names.items()}


def measure_trajectory(
    graph: Graph | None, task: Task, coverage: Coverage, course: VerdictCourse, goal_version: int
) -> Spread:
    """All columns of the trajectory; null where the journal does not show them."""
    if graph is None:
        return Spread()
    delays = verified_delays(graph, coverage, course) if course.stepwise else {}
    resting = weights_resting(graph, task, coverage, goal_version)
    return Spread(
        h_dep=depth(graph),
        h_val_max=max(delays.values(), default=None),
        spread_max=max(spreads(graph).values(), default=0),
        spread_weight_max=round(max(resting.values()), 12) if resting else None,
    )
