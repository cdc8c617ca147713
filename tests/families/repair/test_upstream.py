from seatrial.families.draws import Draws
from seatrial.families.repair.upstream import OTHER_TESTS, needed_files, observed_tests

SOURCES = {
    "box/__init__.py": "from .lid import *\nfrom .nail import *\n",
    "box/lid.py": "from .hinge import turn\nfrom box.screw import fix\n",
    "box/hinge.py": "from . import metal\n",
    "box/screw.py": "import os\n",
    "box/nail.py": "",
}
TESTS = """\
import os, json
from math import floor, ceil
from elsewhere import thing
from box.lid import close, open_
from box import nail
HERE = os.path.dirname(__file__)
LIMIT = 4
UNUSED = 5

def helper(x):
    return ceil(x)

def test_close():
    assert close(helper(LIMIT)) == 2

def test_elsewhere():
    assert thing(close) == 2

def test_here():
    assert close(HERE) == 1

class TestOpen:
    def test_open(self):
        assert open_(1) == 3

    def test_nail(self):
        assert nail.drive(1) == 3
"""


def program(source: str, about: set[str]) -> str:
    return observed_tests(source, {"box.lid", "box.hinge"}, about, Draws(1, "tests"))


def test_a_file_needs_what_it_imports_but_not_the_whole_package():
    assert needed_files(SOURCES, "box/lid.py") == ("box/hinge.py", "box/lid.py", "box/screw.py")


def test_tests_that_need_what_is_not_there_are_left_out():
    made = program(TESTS, {"close"})
    assert "test_close" in made and "test_open" in made
    for gone in ("test_elsewhere", "test_here", "test_nail", "elsewhere", "HERE", "UNUSED", "json", "floor"):
        assert gone not in made
    assert "from box.lid import close, open_" in made and "def helper" in made and "LIMIT = 4" in made


def test_every_test_of_the_function_is_kept_and_a_few_others():
    others = "".join(f"def test_{n}():\n    assert open_({n}) == 1\n" for n in range(30))
    ours = "".join(f"def test_of_{n}():\n    assert close({n}) == 1\n" for n in range(12))
    made = program(f"from box.lid import close, open_\n{others}{ours}", {"close"})
    assert made.count("def test_of_") == 12
    assert made.count("def test_") == 12 + OTHER_TESTS
    assert made == program(f"from box.lid import close, open_\n{others}{ours}", {"close"})


def test_another_test_is_not_worth_a_further_module():
    tests = "import random\nfrom box.lid import close, open_\n"
    tests += "def test_open():\n    assert open_(random.random()) == 1\n"
    tests += "def test_close():\n    assert close(1) == 1\n"
    assert "random" not in program(tests, {"close"})
    assert "import random" in program(tests, {"open_"})
