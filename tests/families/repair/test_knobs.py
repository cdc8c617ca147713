"""What each knob does to the task, and what it must leave alone."""

import json
import tomllib
from pathlib import Path

import pytest

from seatrial.families.repair.programs import own_names
from seatrial.spec.lint import dependency_depth, lint_task
from seatrial.spec.loading import load_task
from tests.families.repair.conftest import Made


def faults(task: Path) -> list[tuple[object, ...]]:
    """What was seeded, without the names of the variant."""
    listed = json.loads((task / "solutions" / "faults.json").read_text())
    return [
        (each["link"], each["function"], each["part"], each["kind"], each["line"], each["new"])
        for each in listed
    ]


def environment(task: Path) -> set[str]:
    return {
        p.relative_to(task / "environment").as_posix()
        for p in (task / "environment").rglob("*")
        if p.is_file()
    }


@pytest.mark.parametrize(
    ("package", "knobs"),
    [
        ("toolz", {"depth": 2}),
        ("funcy", {"depth": 2, "delay": 2, "size": 40, "variant": 1}),
        ("boltons", {"depth": 1, "breadth": 3}),
    ],
)
def test_every_package_makes_a_clean_task_of_the_declared_depth(made: Made, package: str, knobs):
    loaded = load_task(made(package, **knobs))
    assert lint_task(loaded) == []
    depth, breadth = knobs["depth"], knobs.get("breadth", 1)
    assert loaded.spec.horizon.dependency_depth == dependency_depth(loaded.spec) == depth + 1
    assert len(loaded.spec.subgoal) == 2 * depth * breadth
    assert loaded.spec.horizon.verification_delay == 1 + knobs.get("delay", 0)
    assert loaded.spec.horizon.state_size == len(environment(loaded.folder))
    assert loaded.spec.horizon.group == ("long and shallow" if breadth > depth else "short and deep")


def test_breadth_adds_chains_that_do_not_touch(made: Made):
    spec = load_task(made("boltons", depth=1, breadth=3)).spec
    assert {subgoal.id: subgoal.after for subgoal in spec.subgoal} == {
        "repair-a1": [], "stage-a1": ["repair-a1"], "repair-b1": [], "stage-b1": ["repair-b1"],
        "repair-c1": [], "stage-c1": ["repair-c1"],
    }  # fmt: skip


def test_delay_puts_programs_between_a_repair_and_its_product(made: Made):
    task = made("funcy", depth=2, delay=2, size=40, variant=1)
    steps = tomllib.loads((task / "solutions" / "reference.toml").read_text())["step"]
    runs = [step.get("command", "").split() for step in steps if " -m " in step.get("command", "")]
    assert len(runs) == 2 * 3
    for first, second, third in (runs[:3], runs[3:]):
        # Each reads what the one before it wrote, in another form.
        assert second[-2] == first[-1] and third[-2] == second[-1] and third[-1].endswith(".jsonl")
        assert len({path.rpartition(".")[2] for path in (first[-1], second[-1], third[-1])}) == 3


def test_size_adds_files_that_nothing_needs(made: Made):
    task = made("funcy", depth=2, delay=2, size=40, variant=1)
    archived = [path for path in environment(task) if path.startswith("earlier/")]
    assert len(archived) == 40
    assert "earlier/" not in (task / "instruction.md").read_text()


def test_a_variant_is_the_same_task_under_other_names(made: Made):
    original, variant = made("toolz", depth=2), made("toolz", depth=2, variant=1)
    assert faults(original) == faults(variant)
    specs = [load_task(each).spec for each in (original, variant)]
    assert [s.id for s in specs[0].subgoal] == [s.id for s in specs[1].subgoal]
    assert [s.after for s in specs[0].subgoal] == [s.after for s in specs[1].subgoal]
    assert specs[0].horizon == specs[1].horizon
    assert specs[1].provenance["variant_of"] == specs[0].id != specs[1].id
    verdicts = [(each / "solutions" / "verdicts.json").read_text() for each in (original, variant)]
    assert verdicts[0] == verdicts[1]


def test_a_variant_shares_no_name_with_the_original(made: Made):
    original, variant = made("toolz", depth=2), made("toolz", depth=2, variant=1)
    legal = {"LICENSE.txt", "README.rst", "AUTHORS.md"}
    paths = [{path for path in environment(each) if path not in legal} for each in (original, variant)]
    assert not paths[0] & paths[1]
    programs = [
        [(each / "environment" / path) for path in found if path.split("/")[0] in ("pipeline", "steps")]
        for each, found in zip((original, variant), paths, strict=True)
    ]
    names = [set().union(*(own_names(path.read_text()) for path in found)) for found in programs]
    assert names[0] and names[1] and not names[0] & names[1]
    for path in (variant / "environment").rglob("*.py"):
        assert "toolz" not in path.read_text() and "tlz" not in path.read_text()
    rows = [
        {key for path in (each / "environment" / folder).rglob("*.jsonl")
         for key in json.loads(path.read_text().splitlines()[0])}
        for each, folder in ((original, "data"), (variant, "given"))
    ]  # fmt: skip
    assert len(rows[0]) == 4 and not rows[0] & rows[1]
    products = [set((each / "verifiers" / "expected").glob("stage-*.json")) for each in (original, variant)]
    texts = [{path.read_text() for path in found} for found in products]
    assert len(texts[0]) == 2 and not texts[0] & texts[1]
