import pytest

from seatrial.errors import SpecError
from seatrial.spec.faults import Source, check_range, check_unique, choose, shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", '"a"'),
        (True, "true"),
        (1.5, "1.5"),
        (["a", 1], '["a", 1]'),
        ("é", '"é"'),
        ("a\nb", '"a\\nb"'),
        ("\x1b[31m", '"\\u001b[31m"'),
        ("\u202egood", '"\\u202egood"'),
        ({1, 2}, "{1, 2}"),
        ("x" * 100, '"' + "x" * 58 + "…"),
    ],
)
def test_values_are_shown_on_one_line(value, text):
    assert shown(value) == text


def test_choose_offers_the_nearest_or_all_or_says_there_is_none():
    assert choose("shel", ["shell", "finish"], "a tool") == 'Did you mean "shell"?'
    assert choose("zzz", ["shell", "finish"], "a tool") == "Name a tool: finish, shell"
    assert "declare a tool first" in choose("zzz", [], "a tool")


def test_ranges_and_unique_names():
    source = Source("f.toml")
    check_range(source, "a", None, 0, 1)
    check_range(source, "a", 1, 0, 1)
    with pytest.raises(SpecError, match=r"^f\.toml: a: 1\.5 is out of range\. Write a number from 0 to 1 s$"):
        check_range(source, "a", 1.5, 0, 1, "s")
    check_unique(source, "x[{}]", ["a", "b"])
    with pytest.raises(SpecError, match=r'x\[2\]: "a" is used before, at x\[0\]'):
        check_unique(source, "x[{}]", ["a", "b", "a"])
