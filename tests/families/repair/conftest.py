"""A small package to attack, and generated tasks that all workers of a run share."""

import fcntl
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seatrial.families.repair import Knobs, generate
from seatrial.families.repair.bench import Bench, lay
from seatrial.families.repair.rehearse import commands
from tests.house.files import ROOT

DOWNLOADS = ROOT / "build" / "downloads"

PRISTINE = '''\
def double(x):
    """Twice a number, or a sequence after itself."""
    return x * 2


def tally(words):
    found = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return found
'''
FAULTY = PRISTINE.replace("x * 2", "x * 3")
NAMES = "import small"
CASES = [
    "small.double(4)",
    "small.double('ab')",
    "small.double(None)",
    "small.tally('aab')",
    "small.tally([])",
]
PROGRAM = """\
from small import double, tally

def test_double():
    __sight__.value(double(4))
    __sight__.raising(TypeError, lambda: double(None))

def test_tally():
    __sight__.compare('==', (tally('ab'), tally('ba')), (True, True))
"""


@dataclass(frozen=True)
class Small:
    """A package of one module, its verifiers' folder and a workspace to change."""

    verifiers: Path
    workspace: Path

    def package(self, text: str) -> None:
        """Sets the package's source."""
        lay({"small/__init__.py": text}, self.workspace)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Small:
    """Verifiers for the small package, with ``probe`` on the path and the workspace as working directory."""
    small = Small(tmp_path / "verifiers", tmp_path / "workspace")
    small.package(PRISTINE)
    cases = {"kind": "cases", "names": NAMES, "cases": CASES}
    payload = {"kind": "parts", "parts": [cases, {"kind": "suite", "program": PROGRAM, "skip": []}]}
    with Bench({"small/__init__.py": PRISTINE}, ["small"]) as bench:
        expected, _ = bench.steady(payload)
    files = {"cases/double.json": payload, "expected/double.json": expected}
    lay({path: json.dumps(value) for path, value in files.items()}, small.verifiers)
    monkeypatch.chdir(small.workspace)
    monkeypatch.setenv("PATH", commands(tmp_path / "commands"))
    return small


Made = Callable[..., Path]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Generates a task of a package and knobs, once for all workers. Needs the index the first time."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def make(package: str, **knobs: Any) -> Path:
        wanted = Knobs(**knobs)
        name = wanted.name(package)
        with open(shared / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (shared / name).exists():
                generate(package, wanted, shared / name, DOWNLOADS, check=False)
        return shared / name

    return make


@pytest.fixture(scope="session")
def task(made: Made) -> Path:
    """toolz, one chain of two links."""
    return made("toolz", depth=2)
