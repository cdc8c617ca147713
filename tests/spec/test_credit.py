import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.spec.credit import credited, progress
from seatrial.spec.task import Goal, Subgoal, Task


def task(*subgoals: Subgoal, goals: int = 1) -> Task:
    versions = [Goal(version=v, instruction="i") for v in range(1, goals + 1)]
    return Task(schema="s", id="a/b", version="1", goal=versions, subgoal=list(subgoals))


def node(name: str, *after: str, weight: float = 1.0, goals: tuple[int, ...] = ()) -> Subgoal:
    return Subgoal(id=name, verifier="v", after=list(after), weight=weight, goals=list(goals))


@st.composite
def tasks(draw):
    """Random graphs of up to seven subgoals over two goal versions, as the loader lets through."""
    count = draw(st.integers(1, 7))
    weights = st.sampled_from([0.0, 0.1, 0.2, 1 / 3, 1.0, 5.0]) | st.floats(0, 1e6)
    nodes: list[Subgoal] = []
    for i in range(count):
        goals = draw(st.sampled_from([(), (), (1,), (2,)]))
        fitting = [n.id for n in nodes if not n.goals or n.goals == list(goals)]
        after = draw(st.lists(st.sampled_from(fitting), unique=True)) if fitting else []
        nodes.append(node(f"n{i}", *after, weight=draw(weights), goals=goals))
    nodes.append(node("sure", weight=1.0))
    return task(*draw(st.permutations(nodes)), goals=2)


def subsets(some: Task) -> st.SearchStrategy[set[str]]:
    return st.sets(st.sampled_from([s.id for s in some.subgoal]))


def test_credit_waits_for_prerequisites():
    chain = task(node("a"), node("b", "a"), node("c", "b"))
    assert credited(chain, {"b", "c"}, 1) == set()
    assert credited(chain, {"a", "c"}, 1) == {"a"}
    assert credited(chain, {"c", "b", "a", "other"}, 1) == {"a", "b", "c"}


def test_goal_versions_have_their_own_weights():
    two = task(node("a"), node("b", weight=3, goals=(1,)), node("c", goals=(2,)), goals=2)
    assert progress(two, {"a", "b"}, 1) == 1.0
    assert progress(two, {"a", "b"}, 2) == 0.5
    assert credited(two, {"a", "b", "c"}, 2) == {"a", "c"}


@pytest.mark.parametrize("weight", [1.0, 0.2, 0.1, 7.3])
def test_equal_weights_give_the_fractions_one_expects(weight):
    five = task(*(node(f"n{i}", weight=weight) for i in range(5)))
    scores = [progress(five, {f"n{i}" for i in range(done)}, 1) for done in range(6)]
    assert scores == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]


def test_the_worked_example_of_weighted_subgoals():
    four = task(*(node(f"n{i}", weight=i / 10) for i in range(1, 5)))
    assert progress(four, {"n1", "n2", "n3"}, 1) == 0.6


@given(st.data())
def test_completing_a_subgoal_never_lowers_the_score(data):
    some = data.draw(tasks())
    passed = data.draw(subsets(some))
    for version in (1, 2):
        before = progress(some, passed, version)
        for more in some.subgoal:
            assert progress(some, passed | {more.id}, version) >= before


@given(st.data())
def test_a_node_with_a_missing_prerequisite_never_scores(data):
    some = data.draw(tasks())
    passed = data.draw(subsets(some))
    after = {s.id: set(s.after) for s in some.subgoal}
    for version in (1, 2):
        counted = credited(some, passed, version)
        belonging = {s.id for s in some.subgoals_for(version)}
        assert counted <= passed & belonging
        for name in belonging:
            above, waiting = set(), [name]
            while waiting:
                above |= (new := after[waiting.pop()] - above)
                waiting += new
            assert (name in counted) == (name in passed and above <= passed)
        # What is not counted weighs nothing: the score is that of the counted alone.
        assert progress(some, passed, version) == progress(some, counted, version)


@given(tasks())
def test_nothing_is_zero_and_everything_is_one(some):
    for version in (1, 2):
        assert progress(some, set(), version) == 0.0
        assert progress(some, {s.id for s in some.subgoal}, version) == 1.0
