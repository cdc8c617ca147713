"""What canonical form makes of honest values and of values that lie about themselves."""

import collections
import enum

import pytest

from seatrial.families.repair.bench import Server, lay
from seatrial.families.repair.judging.observe import PROGRAM, content, read_stream, render, short


class Agreeable:
    """Equal to everything, whatever it is asked."""

    __class__ = list  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __repr__(self) -> str:
        return "[1, 2]"

    def __iter__(self):
        return iter([1, 2])

    __hash__ = None  # type: ignore[assignment]


class Liar(list):
    def __iter__(self):
        return iter([1, 2])

    def __repr__(self) -> str:
        return "[1, 2]"

    def __len__(self) -> int:
        return 2


class LyingDict(dict):
    def items(self):
        return [("a", 1)]


class Colour(enum.IntEnum):
    RED = 3


@pytest.mark.parametrize("value", [Agreeable(), Liar([9]), iter([1, 2]), (1, 2), [1, 2.0], [True, 2]])
def test_nothing_else_passes_for_a_list(value: object):
    assert render(value) != render([1, 2])


def test_a_subclass_is_rendered_by_what_it_holds():
    assert render(collections.Counter("aab")) == render({"b": 1, "a": 2})
    assert render(collections.OrderedDict(a=1)) == render({"a": 1})
    assert render(Liar([9])) == render([9])
    assert render(LyingDict(b=2)) == render({"b": 2})
    assert render(Colour.RED) == render(3)


def test_kinds_that_compare_unequal_are_told_apart():
    values = [None, True, 1, 1.0, "1", b"1", [1], (1,), {1}, {1: None}, range(1), 1j, int, object()]
    forms = [short(render(value)) for value in values]
    assert len(set(forms)) == len(values)


def test_order_counts_only_where_it_means_something():
    assert render({"x", "y", "z"}) == render({"z", "y", "x"})
    assert render({"a": 1, "b": 2}) == render({"b": 2, "a": 1})
    assert render([1, 2]) != render([2, 1])


def test_addresses_are_no_property():
    assert render(repr(object())) == render(repr(object()))


def test_a_value_that_holds_itself_ends():
    loop: list[object] = []
    loop.append(loop)
    assert short(render(loop))


def test_only_classes_of_the_test_program_show_their_attributes():
    ours = type("Ours", (), {"__module__": PROGRAM})()
    ours.x = 1
    assert render(ours) == ["object", "Ours", ["dict", [["x", ["int", "1"]]]]]
    assert render(Agreeable()) == ["opaque"]


def test_content_ignores_spacing_and_order_of_keys():
    assert content('{"a": 1, "b": [2]}\n') == content('\n{"b":[2],"a":1}')
    assert content('{"a": 1}') != content('{"a": 1.0}') != content("{'a': 1}")
    assert content("[" * 100_000) and content("NaN") == content("NaN")


def test_lines_without_the_nonce_are_ignored():
    output = b"n\ttest a\nsaw 1\nm\tsaw 2\nn\tsaw 3\nn\tend \nn\tsaw 4\n"
    assert read_stream(output, "n") == ({"a": ["3"]}, True)
    assert read_stream(output[:20], "n")[1] is False


def test_a_test_program_runs_with_a_stand_in_for_pytest(tmp_path):
    lay({"thing.py": "def f(x):\n    print('noise')\n    return x\n"}, tmp_path)
    program = """
import pytest
from thing import f

@pytest.mark.parametrize('a, b', [(1, 2), (3, 4)])
def test_rows(a, b):
    __sight__.value(f(a) + b)

@pytest.mark.slow
class TestThing:
    @pytest.mark.skipif(False, reason='')
    def test_method(self):
        with pytest.raises(KeyError):
            f({})['x']

    def test_skipped(self):
        1 / 0

def test_breaks():
    __sight__.value(f(1))
    f()
"""
    skip = ["TestThing.test_skipped"]
    server = Server(tmp_path, [], 0)
    found, complete = server.observe({"kind": "suite", "program": program, "skip": skip})
    server.close()
    assert complete
    assert found == {
        "import": [],
        "test_rows[0]": ['["int","3"]'],
        "test_rows[1]": ['["int","7"]'],
        "TestThing.test_method": ['["raised","KeyError"]'],
        "test_breaks": ['["int","1"]', '["escaped","TypeError"]'],
    }
