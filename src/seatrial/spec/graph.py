"""The subgoals as a graph of prerequisites: its order, its cycles, its depth."""

import graphlib
from collections.abc import Collection, Mapping

Edges = Mapping[str, Collection[str]]


def find_cycle(after: Edges) -> list[str] | None:
    """A cycle as the ids along it, each a prerequisite of the next, the first one repeated at the end.

    Args:
        after: id to the ids of its prerequisites.
    """
    try:
        graphlib.TopologicalSorter(after).prepare()
    except graphlib.CycleError as fault:
        return list(fault.args[1])
    return None


def ordered(after: Edges) -> list[str]:
    """The ids, prerequisites first. The graph must have no cycle."""
    return list(graphlib.TopologicalSorter(after).static_order())


def depth(after: Edges) -> int:
    """Longest path in nodes: 1 for subgoals that need nothing of each other, 0 for none."""
    return max(depths(after).values(), default=0)


def depths(after: Edges) -> dict[str, int]:
    """For each id the nodes on the longest path that ends in it: 1 for those that need nothing."""
    longest: dict[str, int] = {}
    for node in ordered(after):
        longest[node] = 1 + max((longest[before] for before in after[node]), default=0)
    return longest
