"""What a verifier needs of a package: the modules that a file rests on, and the tests that fit them."""

import ast
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath

from seatrial.families.draws import Draws
from seatrial.families.repair.mutate import tree_of
from seatrial.families.repair.package import module_of
from seatrial.families.repair.transform import observation_program

# A program of observations is no file; a test that asks for its own place cannot run in it.
PLACELESS = "__file__"
OTHER_TESTS = 8
# Modules that the package or the runtime loads anyway; a test that needs another one must be worth its time.
LOADED = {
    "collections",
    "contextlib",
    "functools",
    "itertools",
    "json",
    "math",
    "operator",
    "os",
    "pytest",
    "re",
}


def needed_files(sources: Mapping[str, str], file: str) -> tuple[str, ...]:
    """A module's file and those of its package that it imports, directly or not.

    The package's own ``__init__`` is left out: it would bring everything, and Python needs none.
    """
    modules = {module_of(each): each for each in sources if each.endswith(".py")}
    found: list[str] = []
    pending = [file]
    while pending:
        path = pending.pop(0)
        if path not in found:
            found.append(path)
            pending += [modules[name] for name in imported(path, sources[path]) if name in modules]
    return tuple(sorted(path for path in found if PurePosixPath(path).name != "__init__.py"))


def imported(path: str, source: str) -> Iterator[str]:
    """Modules that a file imports names from."""
    here = module_of(path).split(".")
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            base = here[: len(here) - node.level] if node.level else []
            yield ".".join([*base, node.module])


def observed_tests(source: str, modules: set[str], about: Collection[str], draws: Draws) -> str:
    """Tests of a test module as an observation program that does with some modules of its package.

    Args:
        source: the test module's text.
        modules: those that are there, by import name; the standard library and pytest are there as well.
        about: names of functions: every test that mentions one is kept.
        draws: choose some of the other tests, which show whether the rest of the module still works.
    """
    tree = ast.parse(source)
    lost = {PLACELESS}
    kept: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) and not is_there(node, modules):
            lost |= {bound_name(alias) for alias in node.names}
        else:
            kept.append(node)
    kept = list(without_lost(kept, lost))
    tests = [test for node in kept for test in tests_in(node)]
    others = [test for test in tests if not names_in(test) & set(about)]
    slow = {name for node in kept for name in bound_slowly(node, modules)}
    worth = [test for test in others if not names_in(test) & slow]
    chosen = draws.shuffled(worth)[:OTHER_TESTS]
    dropped = [test for test in others if test not in chosen]
    for node in kept:
        if isinstance(node, ast.ClassDef):
            node.body = [each for each in node.body if each not in dropped] or [ast.Pass()]
    tree.body = without_unused([node for node in kept if node not in dropped])
    return observation_program(ast.unparse(tree))


def tests_in(node: ast.stmt) -> list[ast.stmt]:
    """A test function, or those of a class."""
    inside = node.body if isinstance(node, ast.ClassDef) else [node]
    return [each for each in inside if isinstance(each, ast.FunctionDef) and each.name.startswith("test")]


def bound_slowly(node: ast.stmt, modules: set[str]) -> set[str]:
    """Names that an import binds for which a further module is loaded."""
    if isinstance(node, ast.ImportFrom) and node.module not in LOADED | modules:
        return {bound_name(alias) for alias in node.names}
    if isinstance(node, ast.Import):
        return {bound_name(alias) for alias in node.names if alias.name not in LOADED | modules}
    return set()


def bound_name(alias: ast.alias) -> str:
    """The name that an import binds."""
    return alias.asname or alias.name.partition(".")[0]


def without_unused(nodes: list[ast.stmt]) -> list[ast.stmt]:
    """A module's statements without definitions and imports that nothing uses: they cost time for nothing."""
    left = nodes
    while True:
        mentions = Counter(name for node in left for name in names_in(node))
        before, left = left, [node for node in left if is_used(node, mentions)]
        if len(before) == len(left):
            return left


def is_used(node: ast.stmt, mentions: Mapping[str, int]) -> bool:
    """Whether a statement is a test, binds a name that another one mentions, or binds none."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        node.names = [each for each in node.names if each.name == "*" or mentions.get(bound_name(each))]
        return bool(node.names)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name.startswith(("test", "Test")) or mentions.get(node.name, 0) > 0
    if isinstance(node, ast.Assign):
        return any(mentions.get(name, 0) > 1 for name in bound_by(node))
    return True


def is_there(node: ast.Import | ast.ImportFrom, modules: set[str]) -> bool:
    """Whether an import can be carried out."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or "."]
    around = {"pytest", *sys.stdlib_module_names}
    return all(name in modules or name.partition(".")[0] in around for name in names)


def without_lost(nodes: list[ast.stmt], lost: set[str]) -> Iterator[ast.stmt]:
    """Statements that do without lost names; what a dropped one binds is lost too."""
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            node.body = [each for each in node.body if not names_in(each) & lost] or [ast.Pass()]
        if names_in(node) & lost:
            lost |= bound_by(node)
        else:
            yield node


def names_in(node: ast.AST) -> set[str]:
    """Every name and attribute a piece of code mentions."""
    named = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return named | {inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}


def bound_by(node: ast.stmt) -> set[str]:
    """Names that a statement of a module binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    return {
        each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
