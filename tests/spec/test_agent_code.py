"""A ``python`` agent's name is looked up in its module before anything is run (a typo is no result)."""

import pytest

from seatrial.errors import SpecError
from seatrial.spec.loading import load_experiment
from tests.spec.folders import assert_error, write_experiment


def experiment(tmp_path, code, module, name="agent.py"):
    file = tmp_path / "code" / name
    file.parent.mkdir(parents=True)
    file.write_bytes(module if isinstance(module, bytes) else module.encode())
    system = {"name": "p", "agent": "python", "code": code, "path": "code"}
    return write_experiment(tmp_path, {"system.0": system})


@pytest.mark.parametrize(
    ("module", "pieces"),
    [
        (
            "class Slow: ...\nclass Other: ...\n",
            ['defines no "Slw"', "it defines Slow, Other", 'mean "Slow"'],
        ),
        ("class Careful: ...\n", ["it defines Careful", "Name a class: Careful"]),
        ("def make(config, seed): ...\n", ["it defines make"]),
        ("class Outer:\n    class Slw: ...\n", ["it defines Outer"]),
        ("def outer():\n    class Slw: ...\n", ["it defines outer"]),
        ("x = [Slw for y in ()]\n", ["it defines x"]),
        ("", ["it defines nothing", "Define the class there"]),
        ("class Slw:\n", ["agent.py, line 1 is no Python", "Correct the module"]),
        (b"class Slw: '\xff'\n", ["is no Python"]),
        ("(" * 5000, ["is no Python"]),
    ],
)
def test_a_name_that_is_not_there_is_refused(tmp_path, module, pieces):
    path = experiment(tmp_path, "agent:Slw", module)
    with pytest.raises(SpecError) as raised:
        load_experiment(path)
    assert_error(raised, path, "system[0].code", '"agent:Slw"', *pieces)


@pytest.mark.parametrize(
    "module",
    [
        "class Agent: ...\n",
        "def Agent(config, seed): ...\n",
        "class Real: ...\nAgent = Real\n",
        "a, (Agent, b) = 1, (2, 3)\n",
        "from other import Agent\n",
        "from other import Real as Agent\n",
        "from other import *\n",
        "def __getattr__(name): ...\n",
        "globals()['Agent'] = int\n",
        "try:\n    import fast\nexcept ImportError:\n    class Agent: ...\n",
        "if 1:\n    pass\nelse:\n    class Agent: ...\n",
        "if 0: pass\n" + "elif 0: pass\n" * 300 + "else:\n    class Agent: ...\n",
        "match 1:\n    case 1:\n        class Agent: ...\n",
        "# coding: latin-1\nclass Agent: '\xe9'\n".encode("latin-1"),
        "raise SystemExit  # nothing of it is run\nclass Agent: '\\d'\n",
    ],
)
def test_every_way_to_have_the_name_is_let_through(tmp_path, module):
    assert load_experiment(experiment(tmp_path, "agent:Agent", module)).code["p"]


def test_a_package_is_looked_into(tmp_path):
    path = experiment(tmp_path, "pack:Agent", "class Agent: ...\n", "pack/__init__.py")
    (tmp_path / "code" / "pack.py").write_text("class Other: ...\n")
    assert load_experiment(path).code["p"]
