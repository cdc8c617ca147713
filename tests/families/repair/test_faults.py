"""How a fault is told from what is none."""

from seatrial.families.repair.faults import (
    code_of,
    failing,
    function_text,
    is_told_apart,
    mutated_function,
    patch_of,
)
from seatrial.families.repair.mutate import Mutation, mutations

SOURCE = '''\
LIMIT = 3


@staticmethod
def first(x):
    """Doc."""
    return x < 1


def second(x):
    return x  # a long remark: whatever stands in the middle of this line is no code at all
'''


def fault(part: str, old: str, new: str) -> Mutation:
    start = SOURCE.index(old, SOURCE.index(f"def {part}"))
    return Mutation(part, "constant", start, start + len(old), new)


def test_a_function_is_cut_out_with_its_decorators():
    assert function_text(SOURCE, "first").startswith("@staticmethod\ndef first")
    assert function_text(SOURCE, "first").endswith("return x < 1\n")


def test_a_mutated_function_is_what_the_mutated_file_holds():
    for part in ("first", "second"):
        for each in mutations(SOURCE, part):
            assert mutated_function(SOURCE, each) == function_text(each.apply(SOURCE), part)
            assert patch_of("m", SOURCE, each) == ("m", mutated_function(SOURCE, each))


def test_a_repair_whose_middle_is_a_remark_is_left_out():
    assert is_told_apart(SOURCE, fault("first", "1", "2"))
    assert not is_told_apart(SOURCE, fault("second", "return x", "return -x"))


def test_texts_do_not_count_as_code():
    assert code_of(SOURCE, "first") == code_of(SOURCE.replace("Doc.", "Other."), "first")
    assert code_of(SOURCE, "first") != code_of(SOURCE.replace("x < 1", "x > 1"), "first")


def test_an_answer_that_says_nothing_shows_no_fault():
    expected: dict[str, list[str | None]] = {"case 0": ["1"], "case 1": ["2"]}
    assert failing(expected, ({"case 0": ["1"], "case 1": ["3"]}, True)) == 1
    assert failing(expected, ({"case 0": ["1"]}, True)) == 1
    assert failing(expected, ({"case 0": ["1"], "case 1": ["3"]}, False)) == 0
    assert failing(expected, ({"case 0": ["1"], "case 1": ['["escaped","MemoryError"]']}, True)) == 0
