"""Looks into the module of a ``python`` agent, without running it, for the name that the experiment gives."""

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path

from seatrial.spec.faults import Source, choose, shown


def check_defined(source: Source, place: str, module: Path, code: str) -> None:
    """Refuse ``module:Class`` whose module does not read as Python or has no such name at its top level.

    A module that could get names in another way (``from … import *``, ``__getattr__``, ``globals()``) is let
    through: only running it would tell.

    Args:
        source: the experiment file.
        place: of ``code`` in it.
        module: file of the module.
        code: as written.

    Raises:
        SpecError: names what the module does define.
    """
    name = code.partition(":")[2]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of style in somebody else's code
            tree = ast.parse(module.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
        line = f", line {fault.lineno}" if isinstance(fault, SyntaxError) and fault.lineno else ""
        said = fault.msg if isinstance(fault, SyntaxError) else str(fault) or type(fault).__name__
        raise source.fault(
            place, f"{shown(code)}: {module}{line} is no Python: {said}", "Correct the module"
        ) from fault
    if _is_open(tree):
        return
    found = list(dict.fromkeys(_names(tree.body)))
    if name not in found:
        problem = f"{shown(code)}: {module} defines no {shown(name)} at its top level"
        raise source.fault(place, f"{problem}; it defines {_offered(tree, found)}", _remedy(name, found))


def _offered(tree: ast.Module, found: list[str]) -> str:
    """Its classes, which are what is looked for; all its names where it has none."""
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    return ", ".join(classes or found) or "nothing"


def _remedy(name: str, found: list[str]) -> str:
    return choose(name, found, "a class") if found else "Define the class there, or name another module"


def _is_open(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            return True
        if isinstance(node, ast.FunctionDef) and node.name == "__getattr__" and node in tree.body:
            return True
        if isinstance(node, ast.Name) and node.id in ("globals", "exec", "setattr", "vars"):
            return True
        if isinstance(node, ast.Global):
            return True
    return False


def _names(body: list[ast.stmt]) -> Iterator[str]:
    """What statements bind in the scope they stand in."""
    left = body[::-1]
    while left:
        node = left.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
            continue
        # ``if``, ``try``, ``with``, loops and ``match`` open no scope.
        branches = (node, *getattr(node, "handlers", []), *getattr(node, "cases", []))
        for branch in branches:
            for field in ("finalbody", "orelse", "body"):
                left += getattr(branch, field, [])[::-1]
        yield from (
            inner.id
            for inner in ast.walk(node)
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
        )
