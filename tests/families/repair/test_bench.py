"""The interpreter that answers questions about a package of our own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.families.repair.bench import Bench, Server, agreeing, lay

MODULE = """\
import time

print("noise on import")


def double(x):
    return x * 2


def order(names):
    return list(set(names))


def place():
    return __file__
"""
PROGRAM = """\
import sys
from thing import double

text = open(sys.argv[1]).read()
open(sys.argv[2], "w").write(str(double(len(text))))
"""


def cases(*expressions: str) -> dict[str, object]:
    return {"kind": "cases", "names": "import thing as t", "cases": list(expressions)}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    lay({"thing.py": MODULE, "run.py": PROGRAM}, tmp_path)
    made = Server(tmp_path, ["thing"], 0)
    yield made
    made.close()


def test_a_function_is_replaced_for_one_question_only(server: Server):
    patch = ("thing", "def double(x):\n    return x + 1\n")
    assert server.observe(cases("t.double(4)"), [patch]) == ({"case 0": ['["int","5"]']}, True)
    assert server.observe(cases("t.double(4)")) == ({"case 0": ['["int","8"]']}, True)


@pytest.mark.parametrize(
    "body", ["while True: pass", "import os; os._exit(0)", "import os; os.kill(os.getpid(), 9)"]
)
def test_what_does_not_come_to_its_end_is_incomplete(server: Server, body: str):
    found, complete = server.observe(cases("t.double(4)"), [("thing", f"def double(x):\n    {body}\n")])
    assert not complete and not found.get("case 0")
    assert server.observe(cases("t.double(4)"))[1]


def test_a_patch_that_is_no_python_is_incomplete(server: Server):
    assert server.observe(cases("t.double(4)"), [("thing", "def double(:\n")]) == ({}, False)


def test_programs_run_in_a_folder_of_their_own(server: Server):
    runs = [("run", ["in", "out/one"]), ("run", ["out/one", "out/two"]), ("run", ["absent", "out/three"])]
    made = server.programs({"in": "abc", "out/keep": ""}, runs)
    assert (made["out/one"], made["out/two"], made["out/three"]) == ("6", "2", None)
    assert "FileNotFoundError" in str(made["error of out/three"])
    assert server.programs({}, [("run", ["in", "out"])])["out"] is None


def test_what_depends_on_place_or_order_is_not_steady():
    with Bench({"thing.py": MODULE}, ["thing"]) as bench:
        expected, dropped = bench.steady(cases("t.double(1)", "t.order('abcdefgh')", "t.place()"))
    assert expected == {"case 0": ['["int","2"]'], "case 1": [None], "case 2": [None]}
    assert dropped == 2


def test_a_test_with_another_number_of_observations_is_left_out():
    assert agreeing([{"a": ["1"], "b": ["1", "2"]}, {"a": ["1"], "b": ["1"]}]) == ({"a": ["1"]}, 2)
