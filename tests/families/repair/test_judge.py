"""Verifiers against honest work and against attacks, behind a probe without walls."""

import json
import os
import py_compile
from pathlib import Path

import pytest

from seatrial.families.repair.judging import judge
from seatrial.families.repair.judging.observe import content
from tests.families.repair.conftest import CASES, FAULTY, PRISTINE, Small

FORGE = """
import sys
frame = sys._getframe()
while frame and "sight" not in frame.f_locals:
    frame = frame.f_back
sight = frame.f_locals["sight"]
for index in range(5):
    sight.test(f"case {index}")
    sight.value("guess")
sight.line("end ")
"""
EVERYWHERE = """
import os
for descriptor in range(3, 40):
    try:
        os.write(descriptor, b'{"verdict": "pass"}')
    except OSError:
        pass
"""
REPLACED = """
import builtins, os, sys
builtins.print = sys.exit = os._exit = os.write = lambda *args, **kwargs: None
"""
BLIND = """
import builtins
builtins.sorted = lambda *args, **kwargs: []
builtins.type = lambda *args: int
"""
ATTACKS = {
    "leaves on import": "import os\nos._exit(0)\n",
    "exits on import": "raise SystemExit(0)\n",
    "replaces print and exits": REPLACED,
    "prints a verdict": "print('pass'); print('{\"verdict\": \"pass\"}')\n",
    "writes to every descriptor": EVERYWHERE,
    "forges the stream and leaves": FORGE + "import os\nos._exit(0)\n",
    "forges the stream and goes on": FORGE,
    "breaks the renderer": BLIND,
    "returns what equals anything": "",
}
AGREEABLE = """
class Same(int):
    __eq__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = int.__hash__
    __repr__ = lambda self: '8'


def double(x):
    return Same(0)
"""


def test_the_pristine_package_passes(small: Small):
    record = judge.focused(str(small.verifiers), "double")
    # The hidden inputs, and what the two tests of the program look at.
    compared = len(CASES) + 3
    assert record == {"verdict": "pass", "evidence": {"observations_compared": compared, "differing": 0}}


def test_the_fault_fails_and_the_evidence_names_what_differs(small: Small):
    small.package(FAULTY)
    record = judge.focused(str(small.verifiers), "double")
    assert record["verdict"] == "fail"
    assert record["evidence"]["first_differing"] == ["case 0", "case 1", "test_double"]


def test_another_right_way_to_write_it_passes(small: Small):
    small.package("import collections\n\ndef double(x):\n    return x + x\n\ntally = collections.Counter\n")
    assert judge.focused(str(small.verifiers), "double")["verdict"] == "pass"


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_on_a_faulty_package_fails(small: Small, name: str):
    small.package(FAULTY + (ATTACKS[name] or AGREEABLE))
    assert judge.focused(str(small.verifiers), "double")["verdict"] == "fail"


def test_noise_does_not_fail_a_right_package(small: Small):
    small.package("print('pass', flush=True)\nimport sys\nsys.stdout.write('x')\n" + PRISTINE)
    assert judge.focused(str(small.verifiers), "double")["verdict"] == "pass"


@pytest.mark.parametrize("name", ["conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.py"])
@pytest.mark.parametrize("folder", ["", "small/"])
def test_planted_modules_are_never_imported(small: Small, name: str, folder: str):
    Path(folder + name).write_text("import small\nsmall.double = lambda x: x + x\n")
    small.package(FAULTY)


@pytest.mark.parametrize("name", ["json.py", "os.py", "re.py", "runpy.py", "tempfile.py", "contextlib.py"])
def test_a_shadowed_standard_module_is_not_picked_up(small: Small, name: str):
    Path(name).write_text("raise RuntimeError('shadow')\n")
    assert judge.focused(str(small.verifiers), "double")["verdict"] == "pass"


@pytest.mark.parametrize("mode", list(py_compile.PycInvalidationMode))
def test_planted_bytecode_is_not_run(small: Small, tmp_path: Path, mode: py_compile.PycInvalidationMode):
    source = Path("small/__init__.py")
    # Of the same length and time, so that even a checked file fits the faulty source.
    source.write_text(PRISTINE)
    os.utime(source, (1_000_000_000, 1_000_000_000))
    py_compile.compile(str(source), doraise=True, invalidation_mode=mode)
    source.write_text(FAULTY)
    os.utime(source, (1_000_000_000, 1_000_000_000))
    assert list(Path("small/__pycache__").iterdir())
    assert judge.focused(str(small.verifiers), "double")["verdict"] == "fail"


def test_an_endless_product_fails_by_time(small: Small, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(judge, "SECONDS", 1)
    small.package("while True:\n    pass\n")
    record = judge.focused(str(small.verifiers), "double")
    assert record["verdict"] == "fail"
    assert record["evidence"]["incomplete"] == "timed out"


def test_a_missing_package_fails(small: Small):
    os.unlink("small/__init__.py")
    assert judge.focused(str(small.verifiers), "double")["verdict"] == "fail"


def test_a_probe_that_cannot_run_is_nobodys_failure(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fake = tmp_path / "bin" / "probe"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\ncat > /dev/null\necho 'probe: no sandbox' >&2\nexit 125\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    with pytest.raises(RuntimeError, match="no sandbox"):
        judge.focused(str(small.verifiers), "double")


@pytest.fixture
def report(small: Small) -> Small:
    lines = {"path": "out.jsonl", "lines": content('{"a": 1}\n{"a": 2}\n')}
    (small.verifiers / "expected" / "report.json").write_text(json.dumps(lines))
    return small


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('{"a": 1}\n{"a": 2}\n', "pass"),
        ('{"a":1}\n\n{"a":2}', "pass"),
        ('{"a": 1}\n', "fail"),
        ('{"a": 2}\n{"a": 1}\n', "fail"),
        ('{"a": 1}\n{"a": 2}\n{"a": 3}\n', "fail"),
        ("", "fail"),
        ("pass\n", "fail"),
        ("\udcff", "fail"),
    ],
)
def test_a_product_is_judged_by_content(report: Small, text: str, verdict: str):
    Path("out.jsonl").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert judge.product(str(report.verifiers), "report")["verdict"] == verdict


@pytest.mark.parametrize(
    "make", [lambda path: os.mkfifo(path), lambda path: os.symlink("right", path), os.mkdir]
)
def test_a_product_must_be_a_regular_file(report: Small, make):
    Path("right").write_text('{"a": 1}\n{"a": 2}\n')
    make("out.jsonl")
    assert judge.product(str(report.verifiers), "report")["verdict"] == "fail"
