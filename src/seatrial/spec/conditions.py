"""The values of a ``where``: what an argument of a call must be for a constraint or trigger to match."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from seatrial.spec.regexes import REMEDY, RegexError, compile_regex

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_FORM = re.compile(r"\s*(>=|<=|==|!=|>|<|~)\s*(.*?)\s*", re.DOTALL)


class ConditionError(ValueError):
    """A condition means nothing.

    Args:
        problem: what is wrong, with the condition shown.
        remedy: what to write instead.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem, self.remedy = problem, remedy
        super().__init__(f"{problem}. {remedy}")


@dataclass(frozen=True)
class Condition:
    """One compiled condition; ``matches`` says whether an argument's value fulfils it."""

    text: str
    matches: Callable[[object], bool]


def compile_condition(value: object) -> Condition:
    """Compile the value of a ``where`` key.

    Text is compared as it is, or by the operator it begins with: ``> 100``, ``>=``, ``<``, ``<=`` on
    numbers, ``== x`` and ``!= x`` on numbers or text, ``~ regex`` anywhere in the text.

    Raises:
        ConditionError: a comparison with something that is no number, or a regex that does not compile.
    """
    if not isinstance(value, str | int | float):
        raise ConditionError(
            f"{value!r} is no condition", 'Write text, a number or an operator such as "> 100"'
        )
    text = as_text(value)
    found = _FORM.fullmatch(text) if isinstance(value, str) else None
    if found is None:
        return Condition(text, lambda actual: as_text(actual) == text)
    sign, operand = found[1], found[2]
    if sign == "~":
        return Condition(text, _search(text, operand))
    if sign in ("==", "!="):
        return Condition(text, lambda actual: _equal(actual, operand) is (sign == "=="))
    bound = as_number(operand)
    if bound is None:
        raise ConditionError(
            f"{text!r} compares with no number", 'Write a number, or "== text" to compare text'
        )
    return Condition(text, _compare(_OPERATORS[sign], bound))


def as_text(value: object) -> str:
    """A value as TOML and JSON write it: ``true``, ``3``, ``abc``."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_number(value: object) -> float | None:
    """The value as a finite number, or null."""
    if isinstance(value, bool):
        return None
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if abs(number) != float("inf") and number == number else None


def _search(text: str, regex: str) -> Callable[[object], bool]:
    try:
        search = compile_regex(regex).search
    except RegexError as fault:
        raise ConditionError(f"{text!r} {fault}", REMEDY) from fault
    return lambda actual: search(as_text(actual)) is not None


def _equal(actual: object, operand: str) -> bool:
    left, right = as_number(actual), as_number(operand)
    return left == right if left is not None and right is not None else as_text(actual).strip() == operand


def _compare(sign: Callable[[float, float], bool], bound: float) -> Callable[[object], bool]:
    def matches(actual: object) -> bool:
        number = as_number(actual)
        return number is not None and sign(number, bound)

    return matches
