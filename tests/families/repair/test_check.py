"""The proof of a task, and that it finds what is wrong with one."""

import json
import shutil
from pathlib import Path

import pytest

from seatrial.errors import SpecError
from seatrial.families.repair import check_instance
from seatrial.families.repair.check import leaks
from tests.families.repair.conftest import Made


@pytest.fixture
def copy(task: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(task, tmp_path / "copy"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "knobs"),
    [
        ("toolz", {"depth": 2}),
        ("funcy", {"depth": 2, "delay": 2, "size": 40, "variant": 1}),
        ("boltons", {"depth": 1, "breadth": 3}),
    ],
)
def test_every_script_and_the_plan_get_the_verdicts_they_must(made: Made, package: str, knobs):
    check_instance(made(package, **knobs))


def test_a_task_whose_reference_fails_is_refused(copy: Path):
    reference = copy / "solutions" / "reference.toml"
    reference.write_text(reference.read_text().replace("python3 -B -m", "true", 1))
    with pytest.raises(SpecError, match=r"reference\.toml.*(fails)"):
        check_instance(copy)


def test_a_verifier_that_passes_anything_is_found(copy: Path):
    (copy / "verifiers" / "expected" / "repair-a1.json").write_text("{}")
    with pytest.raises(SpecError, match=r"the untouched workspace.*repair-a1 passes"):
        check_instance(copy)


def test_the_agent_is_shown_nothing_hidden(task: Path):
    assert leaks(task) == []
    shown = {path.relative_to(task / "environment").as_posix() for path in (task / "environment").rglob("*")}
    assert not [path for path in shown if path.startswith(("out", "work", "verifiers", "solutions"))]
    assert shown > {"LICENSE.txt", "pipeline/records.py", "toolz/itertoolz.py", "data"}


def test_a_leak_is_found(copy: Path):
    case = json.loads((copy / "verifiers/cases/repair-a1.json").read_text())["parts"][0]["cases"][5]
    (copy / "environment" / "notes.txt").write_text(case)
    (copy / "instruction.md").write_text("Please the verifier.")
    found = leaks(copy)
    assert any("'verifier'" in each for each in found)
    assert any("stands in the workspace" in each for each in found)


def test_a_leaked_product_is_found(copy: Path):
    products = (copy / "solutions" / "hard-coded.toml").read_text()
    line = next(line for line in products.splitlines() if line.startswith("{"))
    (copy / "environment" / "data" / "old.jsonl").write_text(line.replace('\\"', '"') + "\n")
    assert any("stands in the workspace" in each for each in leaks(copy))


def test_no_observation_rests_on_a_place_or_an_address(task: Path):
    for path in (task / "verifiers" / "expected").glob("repair-*.json"):
        text = path.read_text()
        assert "/tmp" not in text and "0x0" not in text and "at 0x7" not in text


def test_repairs_compare_hidden_inputs_and_upstream_tests(task: Path):
    for path in (task / "verifiers" / "expected").glob("repair-*.json"):
        names = json.loads(path.read_text())
        assert sum(name.startswith("case ") for name in names) >= 18
        assert sum(name.startswith(("test", "Test")) for name in names) >= 5
