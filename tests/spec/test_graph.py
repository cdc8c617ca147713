import itertools

from hypothesis import given
from hypothesis import strategies as st

from seatrial.spec.graph import depth, find_cycle, ordered

NODES = [f"n{i}" for i in range(8)]
# Edges from later to earlier nodes only, so there is no cycle.
acyclic = st.builds(
    lambda picks: {NODES[i]: [NODES[j] for j in range(i) if picks[i * 8 + j]] for i in range(8)},
    st.lists(st.booleans(), min_size=64, max_size=64),
)


def test_depth_of_known_graphs():
    chain = {NODES[i]: NODES[i - 1 : i] if i else [] for i in range(8)}
    assert depth(chain) == 8
    assert depth({node: [] for node in NODES}) == 1
    assert depth({"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}) == 3
    assert depth({}) == 0


@given(acyclic)
def test_order_puts_prerequisites_first(after):
    order = ordered(after)
    assert sorted(order) == NODES and find_cycle(after) is None
    assert all(
        order.index(before) < order.index(node) for node, befores in after.items() for before in befores
    )


@given(acyclic, st.integers(0, 7), st.integers(0, 7))
def test_a_cycle_is_found_and_is_one(after, low, high):
    low, high = min(low, high), max(low, high)
    cyclic = {**after, NODES[low]: [*after[NODES[low]], NODES[high]]}
    reachable, waiting = set(), [NODES[high]]
    while waiting:
        node = waiting.pop()
        reachable.add(node)
        waiting += [before for before in after[node] if before not in reachable]
    cycle = find_cycle(cyclic)
    assert (cycle is not None) == (NODES[low] in reachable)
    if cycle is not None:
        assert cycle[0] == cycle[-1] and len(set(cycle)) == len(cycle) - 1
        assert all(before in cyclic[node] for before, node in itertools.pairwise(cycle))
