import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.errors import SpecError
from seatrial.families.repair.mutate import mutations

SOURCE = '''\
def pick(items, limit=0, strict=False):
    """Items below a limit: 1 < 2."""
    # Größe zählt nicht: columns count bytes, text counts characters.
    found = []
    label = "ü"; total = 0
    for item in items[limit:]:
        if item not in found and item < 10:
            found.append(item)
        elif strict:
            continue
        total = max(item, total)
    return found, total
'''


def changes(source: str, part: str = "pick") -> set[tuple[str, str, str]]:
    return {(m.kind, source[m.start : m.end].strip(), m.new) for m in mutations(source, part)}


@pytest.mark.parametrize(
    "change",
    [
        ("comparison", "not in", "in"),
        ("comparison", "<", "<="),
        ("comparison", "<", ">"),
        ("bound", "limit", "limit + 1"),
        ("bound", "limit", "limit - 1"),
        ("constant", "10", "11"),
        ("constant", "0", "1"),
        ("constant", "False", "True"),
        ("order", "item, total", "total, item"),
        ("order", "found, total", "total, found"),
        ("branch", "strict", "not strict"),
        ("branch", "item not in found and item < 10", "not (item not in found and item < 10)"),
        ("statement", "total = max(item, total)", ""),
    ],
)
def test_an_operator_finds_its_place(change: tuple[str, str, str]):
    assert change in changes(SOURCE)


def test_every_mutation_parses_and_changes_the_tree():
    before = ast.dump(ast.parse(SOURCE))
    for mutation in mutations(SOURCE, "pick"):
        assert ast.dump(ast.parse(mutation.apply(SOURCE))) != before


def test_docstrings_and_comments_are_left_alone():
    for mutation in mutations(SOURCE, "pick"):
        changed = mutation.apply(SOURCE)
        assert '"""Items below a limit: 1 < 2."""' in changed
        assert "# Größe zählt nicht" in changed


def test_other_functions_are_left_alone():
    source = SOURCE + "\n\ndef other(a, b):\n    return a < b\n"
    assert all(mutation.apply(source).endswith("return a < b\n") for mutation in mutations(source, "pick"))


def test_a_function_that_is_not_there_is_an_error():
    with pytest.raises(SpecError, match="no top-level function 'absent'"):
        mutations(SOURCE, "absent")


@given(st.lists(st.sampled_from(["a < b", "a[b:]", "f(a, b)", "not a", "a + 1", "a is not b"]), min_size=1))
def test_mutations_are_found_in_the_same_order(expressions: list[str]):
    body = "\n".join(f"    x{i} = {text}" for i, text in enumerate(expressions))
    source = f"def f(a, b):\n{body}\n    return a\n"
    found = mutations(source, "f")
    assert found == mutations(source, "f") == sorted(found, key=lambda m: (m.start, m.end, m.kind, m.new))
