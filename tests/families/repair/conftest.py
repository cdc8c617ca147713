"""A small package to attack, and one generated task that all workers of a run share."""

import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from seatrial.families.repair import RepairOptions, generate
from seatrial.families.repair.expect import lay, steady
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
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Small]:
    """Verifiers for the small package, with ``probe`` on the path and the workspace as working directory."""
    made = Small(tmp_path / "verifiers", tmp_path / "workspace")
    made.package(PRISTINE)
    payloads = {
        "cases": {"kind": "cases", "names": NAMES, "cases": CASES},
        "tests": {"kind": "suite", "program": PROGRAM, "skip": []},
    }
    expected = {name: steady(payload, made.workspace)[0] for name, payload in payloads.items()}
    files = {f"cases/{name}.json": payload for name, payload in payloads.items()}
    files |= {"expected/cases.json": expected["cases"]}
    files |= {"expected/suite.json": [{"name": "tests", "expected": expected["tests"]}]}
    lay({path: json.dumps(value) for path, value in files.items()}, made.verifiers)
    monkeypatch.chdir(made.workspace)
    with commands() as path:
        monkeypatch.setenv("PATH", path)
        yield made


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The task of seed 1, generated once for all workers. Needs the package index the first time."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "repair-toolz-1"
    with open(shared / "repair.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            generate("toolz", 1, folder, DOWNLOADS, RepairOptions(check=False))
    return folder
