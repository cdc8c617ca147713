from hypothesis import given
from hypothesis import strategies as st

from seatrial.families.repair.edits import smallest_edit, with_body

LINES = st.lists(st.sampled_from(["a\n", "b\n", "    a\n", "\n"]), max_size=12)


@given(LINES, LINES)
def test_an_edit_names_one_place_and_makes_the_other_text(old: list[str], new: list[str]):
    before, after = "x\n" + "".join(old) + "y\n", "x\n" + "".join(new) + "y\n"
    part, other = smallest_edit(before, after)
    assert before.count(part) == 1
    assert before.replace(part, other) == after


def test_a_new_body_keeps_the_docstring_and_what_follows():
    source = 'def f(x):\n    """Doc."""\n    y = x\n    return y\n\n\ndef g():\n    pass\n'
    assert with_body(source, "f", "    return x\n") == (
        'def f(x):\n    """Doc."""\n    return x\n\n\ndef g():\n    pass\n'
    )
