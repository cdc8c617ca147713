"""Picks the fault of a link and proves it: hidden inputs and the program's product both show it."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seatrial.errors import SpecError
from seatrial.families.draws import Draws
from seatrial.families.repair.bench import Expected, Patch, Server, Stream
from seatrial.families.repair.edits import smallest_edit
from seatrial.families.repair.judging.judge import differing
from seatrial.families.repair.mutate import Mutation, Text, find_function, mutations
from seatrial.families.repair.package import Target

MEMORY = "MemoryError"


@dataclass(frozen=True)
class Choice:
    """Mutations of one function by their place among all of them; the same for every variant.

    Attributes:
        fault: what is seeded.
        wrong: a plausible repair that is not right: the nearest other fault.
        boundary: a repair that makes the right product and is wrong elsewhere; null where none was found.
    """

    fault: int
    wrong: int
    boundary: int | None


@dataclass(frozen=True)
class Fault:
    """A seeded fault and its repairs that are none."""

    target: Target
    mutation: Mutation
    wrong: Mutation
    boundary: Mutation | None


@dataclass(frozen=True)
class Proof:
    """What shows that a function is broken.

    Attributes:
        source: the pristine file.
        module: its import name.
        cases, expected: hidden inputs and the pristine package's answers.
        files, run, product: what the program reads, how it is run, and what it makes of it.
    """

    source: str
    module: str
    cases: Mapping[str, Any]
    expected: Expected
    files: Mapping[str, str]
    run: tuple[str, Sequence[str]]
    product: str


def candidates(target: Target, source: str) -> list[Mutation]:
    """Every fault that can be seeded in a function, in an order that renaming does not change."""
    return [each for part in target.parts for each in mutations(source, part)]


def fault_of(target: Target, source: str, choice: Choice) -> Fault:
    """The chosen mutations in a source."""
    found = candidates(target, source)
    boundary = None if choice.boundary is None else found[choice.boundary]
    return Fault(target, found[choice.fault], found[choice.wrong], boundary)


def function_span(source: str, part: str) -> tuple[int, int]:
    """Where a top-level function begins, with its decorators, and ends."""
    node = find_function(source, part)
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    starts = Text(source).starts
    return starts[first - 1], starts[node.end_lineno or node.lineno]


def function_text(source: str, part: str) -> str:
    """A top-level function, from its first line to its last."""
    start, end = function_span(source, part)
    return source[start:end]


def mutated_function(source: str, mutation: Mutation) -> str:
    """The function as a mutation leaves it."""
    start, end = function_span(source, mutation.part)
    return source[start : mutation.start] + mutation.new + source[mutation.end : end]


def patch_of(module: str, source: str, mutation: Mutation) -> Patch:
    """A mutated function, to be put in the place of the imported one."""
    return module, mutated_function(source, mutation)


def failing(expected: Expected, answer: tuple[Stream, bool]) -> int:
    """How many hidden inputs fail; 0 also where the answer says nothing."""
    found, complete = answer
    # Where memory ends is no property of the fault.
    exhausted = any(MEMORY in each for seen in found.values() for each in seen)
    return 0 if exhausted or not complete else len(differing(expected, found))


def shown_by_product(proof: Proof, server: Server, patch: Patch) -> str:
    """What a fault does to the product: ``wrong``, ``right``, or ``broken`` where the program fails."""
    product = proof.run[1][-1]
    made = server.programs(proof.files, [proof.run], [patch]).get(product)
    if made is None:
        return "broken"
    return "right" if made == proof.product else "wrong"


def is_told_apart(source: str, mutation: Mutation) -> bool:
    """Whether the line that repairs the fault has code in its middle: any slip there must matter."""
    _, new = smallest_edit(mutation.apply(source), source)
    middle = len(new) // 2
    places = sorted((abs(place - middle), place) for place, sign in enumerate(new) if sign.isalnum())
    if not places:
        return True
    place = places[0][1]
    slipped = new[:place] + ("b" if new[place] == "a" else "a") + new[place + 1 :]
    try:
        return code_of(source.replace(new, slipped, 1), mutation.part) != code_of(source, mutation.part)
    except SyntaxError:
        return True


def code_of(source: str, part: str) -> str:
    """A function's tree without the texts in it, which may change without a difference to any caller."""
    function = ast.parse(function_text(source, part))
    for node in ast.walk(function):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(function)


class Trials:
    """What every mutation of a function does, tried out when it is first asked for."""

    def __init__(self, target: Target, proof: Proof, server: Server) -> None:
        self._proof, self._server = proof, server
        self.found = candidates(target, proof.source)
        self._failing: dict[int, int] = {}
        self._effects: dict[int, str] = {}

    def patch(self, index: int) -> Patch:
        return patch_of(self._proof.module, self._proof.source, self.found[index])

    def failing(self, index: int) -> int:
        """Hidden inputs that fail."""
        if index not in self._failing:
            answer = self._server.observe(self._proof.cases, [self.patch(index)])
            self._failing[index] = failing(self._proof.expected, answer)
        return self._failing[index]

    def effect(self, index: int) -> str:
        """See ``shown_by_product``."""
        if index not in self._effects:
            self._effects[index] = shown_by_product(self._proof, self._server, self.patch(index))
        return self._effects[index]

    def is_fault(self, index: int) -> bool:
        """Whether only its effect gives it away: some inputs fail but not all, and the program runs."""
        return (
            0 < self.failing(index) < len(self._proof.expected)
            and self.effect(index) == "wrong"
            and is_told_apart(self._proof.source, self.found[index])
        )


def choose(target: Target, proof: Proof, server: Server, draws: Draws, boundary: bool) -> Choice:
    """A fault that only its effect gives away, with its repairs that are none.

    Args:
        target, proof, server: the function, and what shows that it is broken.
        draws: decide between faults.
        boundary: whether to look for a repair that is wrong at an edge only.

    Raises:
        SpecError: the function offers no two faults that can be proved.
    """
    trials = Trials(target, proof, server)
    order = draws.shuffled(range(len(trials.found)))
    fault = next((index for index in order if trials.is_fault(index)), None)
    if fault is None:
        raise SpecError(
            target.file, target.name, "offers no provable fault on these data", "Widen its cases or data"
        )
    place = trials.found[fault].start
    others = sorted(
        # In the same function, so that to replace it is to replace all that was done to it.
        (i for i in order if i != fault and trials.found[i].part == trials.found[fault].part),
        key=lambda index: (abs(trials.found[index].start - place), index),
    )
    wrong = next((index for index in others if trials.failing(index)), None)
    if wrong is None:
        raise SpecError(target.file, target.name, "has one fault only", "Leave it out")
    edge = next((i for i in others if boundary and trials.failing(i) and trials.effect(i) == "right"), None)
    return Choice(fault, wrong, edge)
