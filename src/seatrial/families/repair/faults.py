"""Picks the faults of an instance and proves each: hidden inputs and the stage's product both show it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seatrial.errors import SpecError
from seatrial.families.repair.draws import Draws
from seatrial.families.repair.expect import Expected, observe
from seatrial.families.repair.judging.judge import differing
from seatrial.families.repair.mutate import Mutation, mutations
from seatrial.families.repair.package import Target

# The pristine package needs a tenth of one; a fault that loops for ever is of no use.
SECONDS = 3


@dataclass(frozen=True)
class Fault:
    """A seeded fault. ``wrong`` is a plausible repair that is not right: another fault of the same function,
    where it offers one."""

    target: Target
    mutation: Mutation
    wrong: Mutation | None


@dataclass(frozen=True)
class Proof:
    """What shows that a function is broken: payloads with the pristine package's answers."""

    cases: Mapping[str, Any]
    cases_expected: Expected
    stage: Mapping[str, Any]
    stage_expected: Expected


def broken(source: str, faults: list[Mutation]) -> str:
    """A file with several faults in it; spans are those of the pristine source."""
    for fault in sorted(faults, key=lambda each: each.start, reverse=True):
        source = fault.apply(source)
    return source


@contextmanager
def replaced(path: Path, text: str) -> Iterator[None]:
    """A file with another text for a while."""
    before = path.read_bytes()
    path.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        path.write_bytes(before)


def shows(proof: Proof, view: Path) -> tuple[bool, bool]:
    """Whether the package in a folder fails the hidden inputs, and whether it spoils the product silently."""
    found, complete = observe(proof.cases, view, seconds=SECONDS)
    wrong = differing(proof.cases_expected, found)
    # A function that fails everywhere is a crash, not a fault that somebody has to look for.
    if not complete or not wrong or len(wrong) == len(proof.cases_expected):
        return False, False
    made, complete = observe(proof.stage, view, seconds=SECONDS)
    ran = complete and made.get("run") == [] and made.get("product") != ['["missing"]']
    return True, ran and bool(differing(proof.stage_expected, made))


def pick_fault(target: Target, source: str, proof: Proof, view: Path, draws: Draws) -> Fault:
    """A fault that only its effect gives away, and the nearest other one to serve as a wrong repair.

    Raises:
        SpecError: the function offers none.
    """

    def shown_by(mutation: Mutation) -> tuple[bool, bool]:
        with replaced(view / target.file, mutation.apply(source)):
            return shows(proof, view)

    candidates = [each for part in target.parts for each in mutations(source, part)]
    chosen = next((each for each in draws.shuffled(candidates) if shown_by(each)[1]), None)
    if chosen is None:
        raise SpecError(
            target.file, target.name, "offers no provable fault on these data", "Widen its cases or data"
        )
    others = sorted(
        (each for each in candidates if each != chosen), key=lambda each: abs(each.start - chosen.start)
    )
    wrong = next((each for each in others if shown_by(each)[0]), None)
    return Fault(target, chosen, wrong)


def pick_faults(
    targets: tuple[tuple[Target, ...], ...],
    sources: Mapping[str, str],
    prove: Callable[[int, Target], Proof],
    view: Path,
    draws: Draws,
) -> list[tuple[Fault, Proof]]:
    """One fault for each stage; a function that offers none gives way to the next of its stage."""
    picked = []
    for index, choices in enumerate(targets):
        problem: SpecError | None = None
        for target in draws.shuffled(choices):
            proof = prove(index, target)
            try:
                picked.append((pick_fault(target, sources[target.file], proof, view, draws), proof))
                break
            except SpecError as fault:
                problem = fault
        else:
            assert problem is not None
            raise problem
    return picked
