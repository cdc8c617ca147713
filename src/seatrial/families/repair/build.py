"""Makes an instance in memory: a package with faults, chains of programs, hidden inputs and answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seatrial.environment.scratch import scratch_folder
from seatrial.errors import SpecError
from seatrial.families.draws import Draws
from seatrial.families.repair.bench import SCRATCH, Bench, Expected, Patch
from seatrial.families.repair.faults import (
    Choice,
    Fault,
    Proof,
    choose,
    failing,
    fault_of,
    patch_of,
    shown_by_product,
)
from seatrial.families.repair.judging.judge import differing
from seatrial.families.repair.mutate import Mutation
from seatrial.families.repair.options import Knobs
from seatrial.families.repair.package import Package, Target, module_of
from seatrial.families.repair.upstream import needed_files, observed_tests
from seatrial.families.repair.world import Link, World, world_of
from seatrial.families.sdist import unpack

ATTEMPTS = 30
BROKE_OFF = '["escaped"'


@dataclass(frozen=True)
class Repair:
    """A link with its fault and what shows it.

    Attributes:
        reads: files of the package that the function needs, by path.
        payload, expected: for a probe: hidden inputs, then upstream tests; and the pristine answers.
        dropped: observations left out because they are not steady or rest on another link's function.
    """

    link: Link
    fault: Fault
    reads: tuple[str, ...]
    payload: Mapping[str, Any]
    expected: Expected
    dropped: int


@dataclass(frozen=True)
class Instance:
    """Everything of one instance.

    Attributes:
        world: names, sources and programs.
        repairs: the links, chain by chain, each in order.
        data: inputs of the chains, by path.
        products: the right product of every link, by path.
    """

    world: World
    repairs: tuple[Repair, ...]
    data: Mapping[str, str]
    products: Mapping[str, str]

    def sources(self, mutations: Sequence[Mutation | None]) -> dict[str, str]:
        """The package's files with one mutation or none for each link."""
        files = dict(self.world.sources)
        pairs = [(each.link.file, mutation) for each, mutation in zip(self.repairs, mutations, strict=True)]
        seeded = [(file, mutation) for file, mutation in pairs if mutation is not None]
        # Spans are those of the pristine source: the last one first, so that the others stay.
        for file, mutation in sorted(seeded, key=lambda pair: pair[1].start, reverse=True):
            files[file] = mutation.apply(files[file])
        return files

    @property
    def programs(self) -> dict[str, str]:
        """The programs that some link uses, by path."""
        used = {name.replace(".", "/") + ".py" for each in self.repairs for name in each.link.programs[:1]}
        shared = {self.world.layout.shared(name) for name in ("records", *self.delayed)}
        used |= {name.replace(".", "/") + ".py" for name in shared}
        return {path: text for path, text in self.world.programs.items() if path in used or not text}

    @property
    def delayed(self) -> tuple[str, ...]:
        return ("recode",) if self.world.knobs.delay else ()

    def workspace(self) -> dict[str, str]:
        """What the agent starts from."""
        sources = self.sources([each.fault.mutation for each in self.repairs])
        return {**sources, **self.programs, **self.data, **self.world.archive()}


@dataclass(frozen=True)
class Chosen:
    """A link's function and the mutations chosen for it."""

    target: Target
    choice: Choice


def build_instance(package: Package, knobs: Knobs, archive: Path) -> Instance:
    """An instance; the same for the same knobs.

    Raises:
        SpecError: the package cannot be made into one.
    """
    with scratch_folder(SCRATCH) as folder:
        unpack(package, archive, folder)
        kept = read_tree(folder)
    original = world_of(package, knobs.original(), kept)
    with bench_for(original, package.targets) as bench:
        chosen, data, products = pick(original, bench)
        if knobs.variant == 0:
            return complete(original, bench, chosen, data, products)
    variant = world_of(package, knobs, kept)
    with bench_for(variant, [each.target for each in chosen]) as bench:
        data, products = renew(variant, bench, chosen)
        return complete(variant, bench, chosen, data, products)


def read_tree(folder: Path) -> dict[str, str]:
    """Text of every file below a folder, by relative path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def bench_for(world: World, targets: Sequence[Target]) -> Bench:
    """Interpreters with what some functions need and all programs."""
    modules = sorted({module_of(world.file(target)) for target in targets})
    return Bench({**world.needed(targets), **world.programs}, modules)


def places(knobs: Knobs) -> list[tuple[int, int]]:
    """Chain and number of every link."""
    return [(chain, number) for chain in range(knobs.breadth) for number in range(1, knobs.depth + 1)]


def pick(world: World, bench: Bench) -> tuple[list[Chosen], dict[str, str], dict[str, str]]:
    """A function and a fault for every link, with data that show it, and the right products."""
    pool = Draws(world.knobs.seed, "links").shuffled(world.package.targets)
    data = world.data(0)
    products: dict[str, str] = {}
    chosen: list[Chosen] = []
    for chain, number in places(world.knobs):
        problem: SpecError | None = None
        for target in pool:
            link = world.link(chain, number, target)
            product = made_by(link, {**data, **products}, bench)
            proof = proof_of(world, link, {**data, **products}, product, bench)
            try:
                draws = Draws(world.knobs.seed, f"fault {target.name}")
                # One link with a repair that is wrong at an edge only is enough.
                wanted = all(each.choice.boundary is None for each in chosen)
                choice = choose(target, proof, bench.first, draws, wanted)
            except SpecError as fault:
                problem = fault
                continue
            pool.remove(target)
            chosen.append(Chosen(target, choice))
            products[link.product] = product
            break
        else:
            assert problem is not None
            raise problem
    return chosen, data, products


def made_by(link: Link, files: Mapping[str, str], bench: Bench) -> str:
    """A link's right product."""
    inputs = {path: files[path] for path in link.inputs}
    made = bench.first.programs(inputs, [link.run])
    product = made.get(link.product)
    if product is None:
        said = made.get(f"error of {link.product}")
        raise SpecError(link.programs[0], "", f"fails on the pristine package: {said}", "Correct the program")
    return product


def cases_of(world: World, link: Link) -> dict[str, Any]:
    """Hidden inputs of a function as a payload."""
    names = f"import {link.module} as t\n{world.package.names}"
    cases = link.target.cases(Draws(world.knobs.seed, link.target.name))
    return {"kind": "cases", "names": names, "cases": cases}


def proof_of(world: World, link: Link, files: Mapping[str, str], product: str, bench: Bench) -> Proof:
    """What can show a fault of a link's function.

    Raises:
        SpecError: the hidden inputs have no steady answer.
    """
    cases = cases_of(world, link)
    expected, dropped = bench.steady(cases)
    if dropped:
        raise SpecError(
            link.file, link.target.name, f"{dropped} hidden inputs have no steady answer", "Drop them"
        )
    inputs = {path: files[path] for path in link.inputs}
    return Proof(world.sources[link.file], link.module, cases, expected, inputs, link.run, product)


def renew(world: World, bench: Bench, chosen: Sequence[Chosen]) -> tuple[dict[str, str], dict[str, str]]:
    """Data of a variant that show the same faults in the same way, and the right products."""
    for attempt in range(ATTEMPTS):
        data = world.data(attempt)
        products: dict[str, str] = {}
        for (chain, number), each in zip(places(world.knobs), chosen, strict=True):
            link = world.link(chain, number, each.target)
            products[link.product] = made_by(link, {**data, **products}, bench)
            proof = proof_of(world, link, {**data, **products}, products[link.product], bench)
            fault = fault_of(each.target, proof.source, each.choice)
            if not shows_alike(proof, fault, bench):
                break
        else:
            return data, products
    raise SpecError(
        world.package.name, f"variant {world.knobs.variant}", f"shows its faults in none of {ATTEMPTS} days",
        "Choose another variant",
    )  # fmt: skip


def shows_alike(proof: Proof, fault: Fault, bench: Bench) -> bool:
    """Whether fault and wrong repairs do here what they were chosen for."""
    wanted = {"wrong": fault.mutation, "right": fault.boundary}
    for effect, mutation in wanted.items():
        if mutation is not None:
            patch = patch_of(proof.module, proof.source, mutation)
            if shown_by_product(proof, bench.first, patch) != effect:
                return False
    shown = [fault.mutation, fault.wrong, *([fault.boundary] if fault.boundary else [])]
    patches = [patch_of(proof.module, proof.source, each) for each in shown]
    return all(failing(proof.expected, bench.first.observe(proof.cases, [each])) for each in patches)


def complete(
    world: World, bench: Bench, chosen: Sequence[Chosen], data: Mapping[str, str], products: Mapping[str, str]
) -> Instance:
    """The instance with what its verifiers need, after a proof that no link rests on another's function."""
    links = [
        (world.link(chain, number, each.target), each.choice)
        for (chain, number), each in zip(places(world.knobs), chosen, strict=True)
    ]
    faults = [fault_of(link.target, world.sources[link.file], choice) for link, choice in links]
    repairs = []
    for index, (link, _) in enumerate(links):
        others = [
            (other.module, world.sources[other.file], fault)
            for place, ((other, _), fault) in enumerate(zip(links, faults, strict=True))
            if place != index
        ]
        sets = disturbances(others)
        inputs = {path: {**data, **products}[path] for path in link.inputs}
        made = bench.first.programs(inputs, [link.run], sets[0])
        if made.get(link.product) != products[link.product]:
            remedy = "Correct the targets"
            raise SpecError(link.file, link.target.name, "its program rests on another function", remedy)
        repairs.append(repair_of(world, bench, link, faults[index], sets))
    return Instance(world, tuple(repairs), data, products)


def disturbances(others: Sequence[tuple[str, str, Fault]]) -> list[list[Patch]]:
    """Everything that may stand in the other links' functions: their faults and their wrong repairs."""
    kinds = [
        [fault.mutation for *_, fault in others],
        [fault.wrong for *_, fault in others],
        [fault.boundary or fault.mutation for *_, fault in others],
    ]
    return [
        [
            patch_of(module, source, mutation)
            for (module, source, _), mutation in zip(others, kind, strict=True)
        ]
        for kind in kinds
    ]


def repair_of(
    world: World, bench: Bench, link: Link, fault: Fault, disturbed: Sequence[Sequence[Patch]]
) -> Repair:
    """A link with its payload; upstream tests that other links' functions can spoil are left out."""
    reads = needed_files(world.sources, link.file)
    parts = [cases_of(world, link), *upstream_of(world, link, reads)]
    payload = {"kind": "parts", "parts": parts}
    expected, dropped = bench.steady(payload)
    tests = {test for test in expected if not test.startswith("case ")}
    # A test that breaks off on the pristine package shows nothing.
    spoiled = {test for test in tests if any(seen and seen.startswith(BROKE_OFF) for seen in expected[test])}
    for patches in disturbed:
        spoiled |= set(differing(expected, bench.first.observe(payload, patches)[0]))
    if spoiled - tests:
        remedy = "Correct the targets"
        raise SpecError(link.file, link.target.name, "its hidden inputs rest on another function", remedy)
    # A parametrised test goes as a whole.
    skipped = {test.partition("[")[0] for test in spoiled}
    for part in parts[1:]:
        part["skip"] = sorted({*part["skip"], *skipped})
    kept = {test: seen for test, seen in expected.items() if test.partition("[")[0] not in skipped}
    dropped += sum(len(seen) for test, seen in expected.items() if test not in kept)
    return Repair(link, fault, reads, payload, kept, dropped)


def upstream_of(world: World, link: Link, reads: Sequence[str]) -> list[dict[str, Any]]:
    """The upstream tests of a link's module as payloads: one or none."""
    package = world.package
    stem = f"test_{module_of(link.target.file).rpartition('.')[2]}"
    source = world.sources.get(world.layout.renamed(f"{package.tests}/{stem}.py"))
    if source is None:
        return []
    about = {link.target.name, *link.target.parts}
    draws = Draws(world.knobs.seed, f"tests {link.target.name}")
    program = observed_tests(source, {module_of(path) for path in reads}, about, draws)
    skip = [test for key in package.untested for module, _, test in [key.partition("::")] if module == stem]
    return [{"kind": "suite", "program": program, "skip": skip}]
