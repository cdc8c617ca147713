"""`docs/requirements.toml` names, for each requirement, the tests that show it or the gap that is left.

A name without `::` stands for all tests of that file.
"""

import ast
import tomllib
from functools import cache

import pytest

from tests.house.files import ROOT

MAP = ROOT / "docs" / "requirements.toml"
LAST = {"A": 22, "B": 8, "C": 18, "D": 15, "E": 14, "F": 31, "G": 24}
IDS = [f"{letter}{number}" for letter, last in LAST.items() for number in range(1, last + 1)]
ENTRIES: dict[str, dict[str, object]] = tomllib.loads(MAP.read_text(encoding="utf-8"))


def functions(body: list[ast.stmt]) -> set[str]:
    """Names of the functions defined directly in a body."""
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@cache
def named_in(file: str) -> frozenset[str]:
    """The tests of one file as they follow its name: `test_x`, `TestY::test_x`, or `TestZ` alone."""
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    body = ast.parse(path.read_text(encoding="utf-8"), file).body
    found = functions(body)
    for node in body:
        if isinstance(node, ast.ClassDef):
            found |= {node.name} | {f"{node.name}::{name}" for name in functions(node.body)}
        # A state machine becomes a test by assignment: `TestX = Machine.TestCase`.
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(name for name in found if name.split("::")[-1].lower().startswith("test"))


def test_the_map_holds_every_requirement_and_nothing_else():
    missing = [key for key in IDS if key not in ENTRIES]
    unknown = [key for key in ENTRIES if key not in IDS]
    assert (missing, unknown) == ([], [])


@pytest.mark.parametrize("key", sorted(ENTRIES))
def test_an_entry_names_tests_or_a_gap(key: str):
    entry = ENTRIES[key]
    assert set(entry) <= {"tests", "gap"}, f"{key}: only `tests` and `gap`, not {sorted(entry)}"
    tests, gap = entry.get("tests", []), entry.get("gap", "")
    assert isinstance(tests, list) and isinstance(gap, str)
    assert tests or gap.strip(), f"{key}: name a test, or say in `gap` what is not shown yet"
    assert len(tests) == len(set(tests)), f"{key}: a test is named twice"


@pytest.mark.parametrize("key", sorted(key for key, entry in ENTRIES.items() if entry.get("tests")))
def test_the_named_tests_exist(key: str):
    absent = []
    for name in ENTRIES[key]["tests"]:
        file, _, test = name.partition("::")
        known = named_in(file)
        if (test not in known) if test else not known:
            absent.append(name)
    assert not absent, f"{key}: no such test: {absent}"
