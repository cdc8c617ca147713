"""Small faults in real functions: found in the syntax tree, written into the text, so comments stay."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from seatrial.errors import SpecError

FLIPPED = {
    "<": ("<=", ">"),
    ">": (">=", "<"),
    "<=": ("<", ">="),
    ">=": (">", "<="),
    "==": ("!=",),
    "!=": ("==",),
    "in": ("not in",),
    "not in": ("in",),
    "is": ("is not",),
    "is not": ("is",),
}
OPERATOR = re.compile(r"not\s+in|is\s+not|[<>=!]=|[<>]|\bin\b|\bis\b")
REMOVABLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.Continue, ast.Break)


@dataclass(frozen=True)
class Mutation:
    """A replacement of one span of a source file.

    Attributes:
        part: the top-level function it lies in.
        kind: the operator: ``comparison``, ``bound``, ``constant``, ``order``, ``branch``, ``statement``.
        start, end: span in characters.
        new: what the span becomes.
    """

    part: str
    kind: str
    start: int
    end: int
    new: str

    def apply(self, source: str) -> str:
        """The source with the fault in it."""
        return source[: self.start] + self.new + source[self.end :]


class Text:
    """Source text with the spans of its nodes (the tree counts bytes, the text characters)."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        """Offset of a position; lines count from 1, columns are bytes."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Where a node begins and ends."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def of(self, node: ast.expr | ast.stmt) -> str:
        """A node's text."""
        start, end = self.span(node)
        return self.source[start:end]


@lru_cache(maxsize=32)
def tree_of(source: str) -> ast.Module:
    """A source's tree; not to be changed, for others will be given the same one."""
    return ast.parse(source)


def find_function(source: str, name: str, file: str = "source") -> ast.FunctionDef:
    """A top-level function by name.

    Raises:
        SpecError: there is none.
    """
    for node in tree_of(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise SpecError(file, "", f"has no top-level function {name!r}", "Correct the package's targets")


def mutations(source: str, part: str) -> list[Mutation]:
    """Every fault that can be seeded in a function, in the order of the text."""
    text = Text(source)
    found = set(_in_function(text, find_function(source, part)))
    return sorted((Mutation(part, *each) for each in found), key=lambda m: (m.start, m.end, m.kind, m.new))


Found = Iterator[tuple[str, int, int, str]]


def _in_function(text: Text, function: ast.FunctionDef) -> Found:
    for node in ast.walk(function):
        if isinstance(node, ast.Compare):
            yield from _comparison(text, node)
        elif isinstance(node, ast.Slice):
            yield from _bounds(text, node)
        elif isinstance(node, ast.Constant):
            yield from _constant(text, node)
        elif isinstance(node, ast.Call | ast.Tuple):
            yield from _order(text, node)
        elif isinstance(node, ast.If):
            yield from _branch(text, node)
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(block, list):
                yield from _statements(text, block)


def _comparison(text: Text, node: ast.Compare) -> Found:
    sides = [node.left, *node.comparators]
    for left, right in pairwise(sides):
        start, end = text.span(left)[1], text.span(right)[0]
        match = OPERATOR.search(text.source, start, end)
        if match:
            for new in FLIPPED.get(re.sub(r"\s+", " ", match.group()), ()):
                yield "comparison", match.start(), match.end(), new


def _bounds(text: Text, node: ast.Slice) -> Found:
    for bound in (node.lower, node.upper):
        if bound is not None and not isinstance(bound, ast.Constant):
            start, end = text.span(bound)
            for step in (" + 1", " - 1"):
                yield "bound", start, end, text.of(bound) + step


def _constant(text: Text, node: ast.Constant) -> Found:
    start, end = text.span(node)
    if node.value is True or node.value is False:
        yield "constant", start, end, str(not node.value)
    elif type(node.value) is int:
        for new in (node.value + 1, node.value - 1):
            if new >= 0:
                yield "constant", start, end, str(new)


def _order(text: Text, node: ast.Call | ast.Tuple) -> Found:
    items = node.args if isinstance(node, ast.Call) else node.elts
    if isinstance(getattr(node, "ctx", None), ast.Store) or any(
        isinstance(item, ast.Starred) for item in items
    ):
        return
    for first, second in pairwise(items):
        (start, middle), (later, end) = text.span(first), text.span(second)
        if text.of(first) != text.of(second):
            yield "order", start, end, text.of(second) + text.source[middle:later] + text.of(first)


def _branch(text: Text, node: ast.If) -> Found:
    start, end = text.span(node.test)
    if isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not):
        yield "branch", start, end, text.of(node.test.operand)
    elif not isinstance(node.test, ast.Compare):
        inner = text.of(node.test)
        yield "branch", start, end, f"not ({inner})" if isinstance(node.test, ast.BoolOp) else f"not {inner}"


def _statements(text: Text, block: list[ast.stmt]) -> Found:
    for index, node in enumerate(block):
        documents = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if len(block) < 2 or documents or not isinstance(node, REMOVABLE):
            continue
        # The whole lines of the statement go, so nothing shows where it stood.
        start, end = text.starts[node.lineno - 1], text.starts[(node.end_lineno or node.lineno)]
        alone = text.source[start:end].strip() == text.of(node)
        if alone and (index > 0 or len(block) > 1):
            yield "statement", start, end, ""
