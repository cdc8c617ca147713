"""Runs beside the product in a probe: works the product on given inputs and prints what came out.

Its text is sent over standard input, so it imports nothing but the standard library, and it holds no
expected value: whoever shares this process can at most print wrong lines, which are compared elsewhere.

Canonical form. A value is rendered by what ``==`` would see, never by the value's own ``__eq__``,
``__repr__``, ``__iter__`` or ``__class__``: an instance of a built-in type or of a subclass of one by that
type's own slots (so a ``Counter`` is the dict it holds), an instance of a class of the test program by its
``__dict__``, anything else as ``["opaque"]``. Dicts and sets are unordered.

It starts anew for every probe, so what few payloads need is imported where they need it.
"""

from __future__ import annotations

import json
import os
import re
import sys
import types
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

PROGRAM = "observed_program"
LONG = 3000
DEEP = 40
ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,16}")
NONE_SUCH = "/nonexistent"

write, dumps, loads, leave = os.write, json.dumps, json.loads, os._exit
mro_of = type.__dict__["__mro__"].__get__
name_of = type.__dict__["__qualname__"].__get__


def ordered(items: Iterable[Any]) -> list[Any]:
    """Rendered items in an order that does not depend on hashes."""
    return sorted(items, key=dumps)


def render_pairs(value: Any, depth: int) -> list[Any]:
    return ordered([render(key, depth), render(item, depth)] for key, item in dict.items(value))


SLOTS: dict[type, Callable[[Any, int], Any]] = {
    bool: lambda value, depth: ["bool", value is True],
    int: lambda value, depth: ["int", int.__repr__(value)],
    float: lambda value, depth: ["float", float.__repr__(value)],
    complex: lambda value, depth: ["complex", complex.__repr__(value)],
    str: lambda value, depth: ADDRESS.sub("0x", str.__str__(value)),
    bytes: lambda value, depth: ["bytes", bytes.hex(value)],
    bytearray: lambda value, depth: ["bytes", bytearray.hex(value)],
    list: lambda value, depth: ["list", [render(item, depth) for item in list.__iter__(value)]],
    tuple: lambda value, depth: ["tuple", [render(item, depth) for item in tuple.__iter__(value)]],
    dict: lambda value, depth: ["dict", render_pairs(value, depth)],
    set: lambda value, depth: ["set", ordered(render(item, depth) for item in set.__iter__(value))],
    frozenset: lambda value, depth: [
        "set",
        ordered(render(item, depth) for item in frozenset.__iter__(value)),
    ],
    range: lambda value, depth: ["range", repr(value)],
    type: lambda value, depth: ["class", name_of(value)],
}


def render(value: Any, depth: int = DEEP) -> Any:
    """Canonical form of a value, made of JSON's own kinds."""
    if value is None:
        return None
    if depth == 0:
        return ["deep"]
    kind = type(value)
    for base in mro_of(kind):
        if base in SLOTS:
            return SLOTS[base](value, depth - 1)
    if type.__getattribute__(kind, "__module__") == PROGRAM:
        try:
            held = object.__getattribute__(value, "__dict__")
        except AttributeError:
            held = {}
        return ["object", name_of(kind), render(held, depth - 1)]
    return ["opaque"]


def short(form: Any) -> str:
    """A canonical form as text; a long one by its digest, so that output stays small."""
    text = dumps(form, separators=(",", ":"))
    if len(text) <= LONG:
        return text
    import hashlib  # loads a large library, and few values are long

    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()[:32]


def content(text: str) -> list[str]:
    """A product's content, a short text per line of JSON; blank lines and the order of keys do not count."""
    found = []
    for line in text.splitlines():
        if line.strip():
            try:
                form = render(loads(line))
            except (ValueError, RecursionError):
                form = ["not-json", line]
            found.append(short(form))
    return found


def read_stream(output: bytes, nonce: str) -> tuple[dict[str, list[str]], bool]:
    """Observations by test from what a probe printed, and whether it came to its end."""
    found: dict[str, list[str]] = {}
    here: list[str] = []
    for line in output.decode("utf-8", "replace").splitlines():
        mark, _, rest = line.partition("\t")
        if mark != nonce:
            continue
        kind, _, text = rest.partition(" ")
        if kind == "test":
            here = found.setdefault(text, [])
        elif kind == "saw":
            here.append(text)
        elif kind == "end":
            return found, True
    return found, False


class Sight:
    """Where observations go: a copy of standard output that the product's own prints do not reach."""

    def __init__(self, nonce: str) -> None:
        self.nonce = nonce
        self.out = os.dup(1)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)

    def line(self, text: str) -> None:
        data = f"\n{self.nonce}\t{text}\n".encode("ascii", "backslashreplace")
        while data:
            data = data[write(self.out, data) :]

    def test(self, name: str) -> None:
        self.line(f"test {name}")

    def saw(self, form: Any) -> None:
        self.line(f"saw {short(form)}")

    def value(self, value: Any) -> None:
        self.saw(render(value))

    def truth(self, value: Any) -> None:
        self.saw(["truth", bool(value)])

    def compare(self, operators: str, sides: tuple[Any, ...], shown: tuple[bool, ...]) -> None:
        """What a chain of ``==`` and ``!=`` compares: the product's own answer and the sides themselves."""
        answer = True
        for index, operator in enumerate(operators.split()):
            left, right = sides[index], sides[index + 1]
            answer = answer and bool(left == right if operator == "==" else left != right)
        self.saw(["compare", answer, [render(side) for side, show in zip(sides, shown, strict=True) if show]])

    def raising(self, expected: Any, call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        with self.raises(expected):
            call(*args, **kwargs)

    @contextmanager
    def raises(self, expected: Any, **_: Any) -> Iterator[types.SimpleNamespace]:
        """Observes the expected class where the error is one of it, and the error's own class otherwise."""
        caught = types.SimpleNamespace(value=None, type=None)
        try:
            yield caught
        except BaseException as error:
            caught.value, caught.type = error, type(error)
            classes = expected if type(expected) is tuple else (expected,)
            match = [name_of(each) for each in classes if each in mro_of(type(error))]
            self.saw(["raised", *(match[:1] or ["other", name_of(type(error))])])
        else:
            self.saw(["raised", None])

    def guarded(self, call: Callable[[], Any]) -> None:
        """Runs a piece of work; what escapes it is an observation too."""
        try:
            call()
        except BaseException as error:
            self.saw(["escaped", name_of(type(error))])


class Mark:
    """Stands for ``pytest.mark``: only ``parametrize`` means something here."""

    def parametrize(self, names: Any, values: Any, **_: Any) -> Callable[[Any], Any]:
        keys = [key.strip() for key in names.split(",")] if isinstance(names, str) else list(names)
        rows = [dict(zip(keys, row if len(keys) > 1 else (row,), strict=True)) for row in values]

        def mark(function: Any) -> Any:
            function.rows = [{**old, **row} for old in getattr(function, "rows", [{}]) for row in rows]
            return function

        return mark

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: args[0] if len(args) == 1 and callable(args[0]) else (lambda f: f)


def install_pytest(sight: Sight) -> None:
    """Puts a stand-in where tests import pytest."""
    stand_in = types.ModuleType("pytest")

    import warnings  # only a test program needs it

    @contextmanager
    def warns(category: Any, **_: Any) -> Iterator[Any]:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            yield seen
        sight.truth(any(issubclass(each.category, category) for each in seen))

    parts = {"raises": sight.raises, "warns": warns, "mark": Mark(), "param": lambda *values, **_: values}
    stand_in.__dict__.update(parts)
    sys.modules["pytest"] = stand_in


def tests_in(module: types.ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Tests as pytest would find them, a parametrised one once for each row."""
    for name, found in list(vars(module).items()):
        if name.startswith("test") and callable(found):
            yield from rows_of(name, found)
        elif name.startswith("Test") and isinstance(found, type):
            for method in sorted(
                {key for base in found.__mro__ for key in vars(base) if key.startswith("test")}
            ):
                yield from rows_of(f"{name}.{method}", getattr(found(), method))


def rows_of(name: str, found: Callable[..., Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    rows = getattr(found, "rows", None)
    if rows is None:
        yield name, found
    else:
        for index, row in enumerate(rows):
            yield f"{name}[{index}]", lambda row=row: found(**row)


def run_suite(sight: Sight, payload: dict[str, Any]) -> None:
    """Runs an observation program: a test module whose assertions were turned into observations."""
    install_pytest(sight)
    module = types.ModuleType(PROGRAM)
    sys.modules[PROGRAM] = module
    module.__dict__["__sight__"] = sight
    sight.test("import")
    sight.guarded(lambda: exec(compile(payload["program"], PROGRAM, "exec"), module.__dict__))
    for name, test in tests_in(module):
        if name.partition("[")[0] not in payload["skip"]:
            sight.test(name)
            sight.guarded(test)


def run_cases(sight: Sight, payload: dict[str, Any]) -> None:
    """Evaluates expressions over names that are bound once; each has a copy of them."""
    names: dict[str, Any] = {}
    failure: BaseException | None = None
    try:
        exec(payload["names"], names)
    except BaseException as error:
        failure = error
    for index, case in enumerate(payload["cases"]):
        sight.test(f"case {index}")

        def evaluate(case: str = case) -> None:
            if failure is not None:
                raise failure
            sight.value(eval(case, dict(names)))

        sight.guarded(evaluate)


def run_parts(sight: Sight, payload: dict[str, Any]) -> None:
    """Several payloads, one after the other."""
    for part in payload["parts"]:
        RUNNERS[part["kind"]](sight, part)


RUNNERS: dict[str, Callable[[Sight, dict[str, Any]], None]] = {
    "suite": run_suite,
    "cases": run_cases,
    "parts": run_parts,
}


def main(payload: dict[str, Any]) -> None:
    """Entry: the product's folder is the working directory and comes last on the path."""
    sight = Sight(payload["nonce"])
    sys.dont_write_bytecode = True
    # Bytecode lying beside the sources is whatever the product's author left there.
    sys.pycache_prefix = NONE_SUCH
    sys.path.append(os.getcwd())
    RUNNERS[payload["kind"]](sight, payload)
    sight.line("end ")
    # Not sys.exit: what the product registered with atexit is none of our business.
    leave(0)
