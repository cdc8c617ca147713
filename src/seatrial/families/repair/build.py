"""Makes an instance in memory: a package with faults, a pipeline, hidden inputs and expected answers."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seatrial.errors import SpecError
from seatrial.families.repair.draws import Draws
from seatrial.families.repair.expect import Expected, lay, run_pipeline, stage_payload, steady
from seatrial.families.repair.faults import Fault, Proof, broken, pick_faults
from seatrial.families.repair.mutate import Mutation
from seatrial.families.repair.package import Package, Pipeline, Target
from seatrial.families.repair.sdist import unpack
from seatrial.families.repair.transform import observation_program


@dataclass(frozen=True)
class Job:
    """A payload for a probe and the observations it must give."""

    name: str
    payload: Mapping[str, Any]
    expected: Expected


@dataclass(frozen=True)
class Instance:
    """Everything of one instance.

    Attributes:
        package, seed, pipeline: what it was made of.
        pristine: the package's files as released, by path.
        faults: one for each stage.
        focused: hidden inputs for each fault's function.
        products: the day's files with every product, by path.
        suite: upstream test modules as observation programs, and the stages on hidden data.
        dropped: observations left out because they differ between runs of the pristine package.
    """

    package: Package
    seed: int
    pipeline: Pipeline
    pristine: Mapping[str, str]
    faults: tuple[Fault, ...]
    focused: tuple[Job, ...]
    products: Mapping[str, str]
    suite: tuple[Job, ...]
    dropped: int

    def sources(self, mutations: list[Mutation | None]) -> dict[str, str]:
        """The package's files with one mutation or none for each fault's function."""
        files = dict(self.pristine)
        for name in {fault.target.file for fault in self.faults}:
            here = [
                mutation
                for fault, mutation in zip(self.faults, mutations, strict=True)
                if mutation is not None and fault.target.file == name
            ]
            files[name] = broken(files[name], here)
        return files

    def workspace(self) -> dict[str, str]:
        """What the agent starts from."""
        sources = self.sources([fault.mutation for fault in self.faults])
        return {**sources, **self.pipeline.programs, **self.pipeline.data}


def build_instance(package: Package, seed: int, archive: Path) -> Instance:
    """An instance; the same for the same seed.

    Raises:
        SpecError: the package cannot be made into one.
    """
    pipeline = package.pipeline(Draws(seed, "pipeline"))
    with tempfile.TemporaryDirectory() as name:
        view = Path(name)
        unpack(package, archive, view)
        pristine = read_tree(view)
        lay(pipeline.programs, view)
        products = run_pipeline(pipeline, pipeline.data, view)
        hidden = run_pipeline(pipeline, pipeline.hidden, view)

        def prove(index: int, target: Target) -> Proof:
            cases = {"kind": "cases", "names": package.names, "cases": target.cases(Draws(seed, target.name))}
            expected, dropped = steady(cases, view)
            if dropped:
                raise SpecError(
                    target.file, target.name, f"{dropped} hidden inputs have no steady answer", "Drop them"
                )
            stage = stage_payload(pipeline, index, products)
            return Proof(cases, expected, stage, steady(stage, view)[0])

        picked = pick_faults(package.targets, pristine, prove, view, Draws(seed, "faults"))
        tests, dropped = suite_jobs(package, pristine, view)
        stages = [
            Job(
                f"rerun-{index + 1}",
                payload := stage_payload(pipeline, index, hidden),
                steady(payload, view)[0],
            )
            for index in range(len(pipeline.stages))
        ]
    focused = tuple(Job(f"repair-{'abc'[i]}", p.cases, p.cases_expected) for i, (_, p) in enumerate(picked))
    faults = tuple(fault for fault, _ in picked)
    return Instance(
        package, seed, pipeline, pristine, faults, focused, products, tuple(tests + stages), dropped
    )


def read_tree(folder: Path) -> dict[str, str]:
    """Text of every file below a folder, by relative path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def suite_jobs(package: Package, pristine: Mapping[str, str], view: Path) -> tuple[list[Job], int]:
    """The upstream test modules as observation programs, and how many observations were unsteady."""
    jobs, unsteady = [], 0
    for path in sorted(pristine):
        stem = Path(path).stem
        if (
            not path.startswith(f"{package.tests}/")
            or not stem.startswith("test_")
            or stem in package.untested
        ):
            continue
        skip = [key.partition("::")[2] for key in package.untested if key.startswith(f"{stem}::")]
        program = observation_program(pristine[path], stem in package.own_raises)
        payload = {"kind": "suite", "program": program, "skip": skip}
        expected, dropped = steady(payload, view)
        refuse_unrunnable(path, expected)
        jobs.append(Job(stem, payload, expected))
        unsteady += dropped
    return jobs, unsteady


def refuse_unrunnable(path: str, expected: Expected) -> None:
    """A test that breaks on the pristine package shows nothing; it must be left out by name."""
    for test, seen in expected.items():
        if any(each is not None and each.startswith('["escaped"') for each in seen):
            raise SpecError(
                path, test, "does not run as an observation program", "Name it in `untested`, with a reason"
            )
