"""Every function of every package: faults that can be proved, and another right way to write it."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.families.draws import Draws
from seatrial.families.repair import PACKAGES, Knobs
from seatrial.families.repair.bench import Bench
from seatrial.families.repair.build import bench_for, made_by, proof_of, read_tree
from seatrial.families.repair.edits import with_body
from seatrial.families.repair.faults import (
    choose,
    failing,
    fault_of,
    function_text,
    patch_of,
    shown_by_product,
)
from seatrial.families.repair.packages import shared_stages
from seatrial.families.repair.world import World, world_of
from seatrial.families.sdist import archive_of, unpack
from tests.families.repair.conftest import DOWNLOADS

Ready = tuple[World, Bench]


@pytest.fixture(scope="module", params=PACKAGES.values(), ids=PACKAGES)
def ready(request: pytest.FixtureRequest) -> Iterator[Ready]:
    package = request.param
    with tempfile.TemporaryDirectory() as folder:
        unpack(package, archive_of(package, DOWNLOADS), Path(folder))
        world = world_of(package, Knobs(depth=1), read_tree(Path(folder)))
    with bench_for(world, package.targets) as bench:
        yield world, bench


def test_there_is_enough_to_choose_from(ready: Ready):
    world, _ = ready
    assert len(world.package.targets) >= 11
    assert len({target.name for target in world.package.targets}) == len(world.package.targets)
    assert len({target.stage.names for target in world.package.targets}) == len(world.package.targets)


def test_programs_that_packages_share_are_written_once():
    stages = [target.stage for package in PACKAGES.values() for target in package.targets]
    assert not [
        (one.names, other.names) for one in stages for other in stages if one == other and one is not other
    ]
    texts = [path.read_text() for path in Path(shared_stages.__file__).parent.glob("*_stages.py")]
    helpers = [found for text in texts for found in re.findall(r"^def (?!work)(?:.+\n)+", text, re.M)]
    assert sorted(set(helpers)) == sorted(helpers)
    assert any(helper.startswith("def drawn(") for helper in helpers)


def test_another_right_way_to_write_a_function_is_right(ready: Ready):
    world, bench = ready
    data = world.data(0)
    for target in world.package.targets:
        link = world.link(0, 1, target)
        product = made_by(link, data, bench)
        proof = proof_of(world, link, data, product, bench)
        for part in target.parts:
            source = with_body(proof.source, part, target.equivalents[part])
            assert function_text(source, part) != function_text(proof.source, part)
            patch = (link.module, function_text(source, part))
            answer = bench.first.observe(proof.cases, [patch])
            assert answer[1] and failing(proof.expected, answer) == 0, part
            assert shown_by_product(proof, bench.first, patch) == "right", part


def test_every_function_offers_a_fault_that_only_its_effect_gives_away(ready: Ready):
    world, bench = ready
    data = world.data(0)
    for target in world.package.targets:
        link = world.link(0, 1, target)
        proof = proof_of(world, link, data, made_by(link, data, bench), bench)
        fault = fault_of(
            target, proof.source, choose(target, proof, bench.first, Draws(1, target.name), False)
        )
        patches = [patch_of(link.module, proof.source, each) for each in (fault.mutation, fault.wrong)]
        shown = [failing(proof.expected, bench.first.observe(proof.cases, [each])) for each in patches]
        assert 0 < shown[0] < len(proof.expected) and shown[1] > 0, target.name
        assert shown_by_product(proof, bench.first, patches[0]) == "wrong", target.name


def test_no_function_rests_on_another(ready: Ready):
    world, bench = ready
    data = world.data(0)
    broken = {
        target.name: [
            (world.link(0, 1, target).module, f"def {part}(*a, **k):\n    raise RuntimeError\n")
            for part in target.parts
        ]
        for target in world.package.targets
    }
    for target in world.package.targets:
        others = [patch for name, patches in broken.items() if name != target.name for patch in patches]
        link = world.link(0, 1, target)
        product = made_by(link, data, bench)
        proof = proof_of(world, link, data, product, bench)
        answer = bench.first.observe(proof.cases, others)
        assert answer[1] and failing(proof.expected, answer) == 0, target.name
        assert bench.first.programs(proof.files, [proof.run], others)[link.product] == product, target.name
