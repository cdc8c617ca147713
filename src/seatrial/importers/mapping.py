"""The mapping file: which column of a foreign table becomes which column of a TrialRecord."""

from functools import cache
from typing import Any

import msgspec

from seatrial.records.trial import TrialRecord
from seatrial.spec.faults import Source, choose, shown
from seatrial.spec.reading import check_schema, convert, parse_toml

SCHEMA = "seatrial/mapping@1"
SEPARATORS = (",", ";", "\t", "|")
NEEDED = ("task", "system")
Scalar = str | bool | int | float
# Seconds in one of each; a column's own unit is known by its name.
SECONDS = {"microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1.0, "minutes": 60.0, "hours": 3600.0}
_KINDS = {
    msgspec.inspect.BoolType: bool, msgspec.inspect.IntType: int, msgspec.inspect.FloatType: float,
    msgspec.inspect.StrType: str, msgspec.inspect.LiteralType: str,
}  # fmt: skip
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


class Column(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where a target's values come from.

    Attributes:
        column: of the source.
        unit: of the source's numbers; null where the target has no unit or they are in it already.
        values: the source's word to the target's value; null takes words as they are. An empty word stands
            for empty cells, which mean unknown where it is not listed.
        otherwise: the value for words that ``values`` does not list; null refuses them.
        at_least: true from this number on; for targets that are true or false.
        missing: more words that mean unknown in this column.
    """

    column: str
    unit: str | None = None
    values: dict[str, Scalar] | None = None
    otherwise: Scalar | None = None
    at_least: float | None = None
    missing: list[str] = []


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    schema: str
    columns: dict[str, str | dict[str, Any]]
    constants: dict[str, Scalar] = {}
    missing: list[str] = []
    ignore: list[str] = []
    limits: list[str] = []
    separator: str = ","


class Mapping(msgspec.Struct, frozen=True, kw_only=True):
    """A mapping file, checked.

    Attributes:
        columns: by target, in the file's order.
        constants: by target.
        missing: words that mean unknown in every column; an empty cell does too, unless ``values`` has it.
        ignore: columns of the source that are left out on purpose.
        limits: what the rows cannot say, in the author's words.
        separator: one character between the cells of a CSV.
    """

    columns: dict[str, Column]
    constants: dict[str, Scalar]
    missing: frozenset[str]
    ignore: frozenset[str]
    limits: list[str]
    separator: str = ","


def target_kinds() -> dict[str, type]:
    """Columns that can be mapped, with what they hold; lists and what the import itself sets are left out."""
    found = {}
    for field in msgspec.structs.fields(TrialRecord):
        shape = msgspec.inspect.type_info(field.type)
        if isinstance(shape, msgspec.inspect.UnionType):
            shape = next(part for part in shape.types if not isinstance(part, msgspec.inspect.NoneType))
        if type(shape) in _KINDS and field.name != "experiment":
            found[field.name] = _KINDS[type(shape)]
    return found


@cache
def allowed_words(target: str) -> tuple[str, ...]:
    """The words a target may hold; none where it may hold any."""
    field = next(field for field in msgspec.structs.fields(TrialRecord) if field.name == target)
    shape = msgspec.inspect.type_info(field.type)
    return tuple(map(str, shape.values)) if isinstance(shape, msgspec.inspect.LiteralType) else ()


KINDS = target_kinds()


def read_mapping(file: str, text: str) -> Mapping:
    """A mapping from its text.

    Args:
        file: what messages call it.
        text: TOML.

    Raises:
        SpecError: not TOML, not of this schema, an unknown target, or a rule that does not fit its target.
    """
    source, plain = Source(file), parse_toml(file, text)
    check_schema(source, plain, SCHEMA)
    read = convert(source, plain, _File)
    if read.separator not in SEPARATORS:
        listed = ", ".join(map(shown, SEPARATORS))
        raise source.fault("separator", f"{shown(read.separator)} is no separator", f"Write one of {listed}")
    columns: dict[str, Column] = {}
    for target, rule in read.columns.items():
        place = f"columns.{target}"
        _check_target(source, place, target)
        whole = {"column": rule} if isinstance(rule, str) else rule
        columns[target] = convert(source.within(place), whole, Column)
        _check_rule(source, place, target, columns[target])
    for target, value in read.constants.items():
        place = f"constants.{target}"
        _check_target(source, place, target)
        if target in columns:
            raise source.fault(place, f"{shown(target)} is also under columns", "Leave one of the two out")
        _check_value(source, place, target, value)
    for target in NEEDED:
        if target not in columns and target not in read.constants:
            raise source.fault(f"columns.{target}", "the key is missing", "Name the column that holds it")
    for index, name in enumerate(read.ignore):
        if any(rule.column == name for rule in columns.values()):
            raise source.fault(
                f"ignore[{index}]", f"{shown(name)} is also mapped", "Leave one of the two out"
            )
    return Mapping(
        columns=columns,
        constants=read.constants,
        missing=frozenset(["", *read.missing]),
        ignore=frozenset(read.ignore),
        limits=read.limits,
        separator=read.separator,
    )


def _check_target(source: Source, place: str, target: str) -> None:
    if target not in KINDS:
        raise source.fault(
            place, f"{shown(target)} is no column that can be mapped", choose(target, KINDS, "one")
        )


def _check_rule(source: Source, place: str, target: str, rule: Column) -> None:
    kind = KINDS[target]
    if rule.unit is not None:
        if unit_of(target) is None:
            raise source.fault(f"{place}.unit", f"{shown(target)} has no unit of time", "Leave the unit out")
        if rule.unit not in SECONDS:
            raise source.fault(
                f"{place}.unit", f"unknown value {shown(rule.unit)}", choose(rule.unit, SECONDS, "a unit")
            )
    if rule.at_least is not None:
        if kind is not bool:
            raise source.fault(f"{place}.at_least", f"{shown(target)} is not true or false", "Leave it out")
        if rule.values is not None:
            raise source.fault(f"{place}.at_least", "stands beside values", "Leave one of the two out")
    if rule.otherwise is not None and rule.values is None:
        raise source.fault(f"{place}.otherwise", "there are no values beside it", "Add values = { … }")
    for word, value in (rule.values or {}).items():
        _check_value(source, f"{place}.values.{word}", target, value)
    if rule.otherwise is not None:
        _check_value(source, f"{place}.otherwise", target, rule.otherwise)


def _check_value(source: Source, place: str, target: str, value: Scalar) -> None:
    kind, words = KINDS[target], allowed_words(target)
    fits = isinstance(value, int | float) if kind is float else isinstance(value, kind)
    if not fits or (kind is not bool and isinstance(value, bool)):
        raise source.fault(place, f"{shown(value)} does not fit {target}", f"Write {_WORDS[kind]}")
    if words and value not in words:
        raise source.fault(place, f"unknown value {shown(value)}", choose(value, words, "one of these"))
    low = least(target)
    if low is not None and isinstance(value, int | float) and kind is not bool and value < low:
        raise source.fault(place, f"{shown(value)} is below {low:g}", f"Write a number of {low:g} or more")


def unit_of(target: str) -> str | None:
    """The unit of time a column is in; null for the others."""
    if target.endswith("_us"):
        return "microseconds"
    return "minutes" if target == "human_minutes" else None


def least(target: str) -> float | None:
    """The least value a number may have; null where it may be any: scores and slopes are the source's own."""
    return None if target in {"score", "progress_slope", "seed", "recovery_cost"} else 0
