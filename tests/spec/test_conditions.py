import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.spec.conditions import ConditionError, compile_condition

scalars = st.text() | st.integers() | st.floats(allow_nan=False) | st.booleans()


@pytest.mark.parametrize(
    ("condition", "yes", "no"),
    [
        ("> 100", [101, "100.5", 1e9], [100, "abc", None, True, float("nan"), [200]]),
        (">=100", [100], [99]),
        ("< 0", [-1], [0]),
        ("<= 0", [0, "-0"], [1]),
        ("== 5", [5, 5.0, "5", "5.0"], [6, "x", True]),
        ("== yes", ["yes", " yes "], ["no"]),
        ("!= yes", ["no", 3, None], ["yes"]),
        ("== true", [True, "true"], [False]),
        ("~ rm\\s+-r", ["sudo rm  -rf /"], ["rm"]),
        ("~ ^$", [""], ["x"]),
        ("plain", ["plain"], ["plain "]),
        ("", [""], ["x"]),
        (5, [5, "5"], [6, 5.5]),
        (True, [True], [False, 1]),
    ],
)
def test_conditions(condition, yes, no):
    matches = compile_condition(condition).matches
    assert [matches(value) for value in yes] == [True] * len(yes)
    assert [matches(value) for value in no] == [False] * len(no)


@pytest.mark.parametrize("condition", ["> x", "<html>", ">", "< nan", "~ (", "~ [z-a]", None, [], {}])
def test_conditions_that_mean_nothing(condition):
    with pytest.raises(ConditionError) as raised:
        compile_condition(condition)
    assert repr(condition) in raised.value.problem and raised.value.remedy


@given(scalars, scalars)
def test_equal_and_unequal_are_opposites(operand, actual):
    equal, unequal = compile_condition(f"== {operand}"), compile_condition(f"!= {operand}")
    assert equal.matches(actual) is not unequal.matches(actual)


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False), scalars | st.none())
def test_comparisons_agree(bound, actual):
    def holds(sign):
        return compile_condition(f"{sign} {bound}").matches(actual)

    assert not (holds(">") and holds("<="))
    assert not (holds("<") and holds(">="))
    assert holds(">=") + holds("<") == holds("<=") + holds(">")
