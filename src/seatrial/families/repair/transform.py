"""Turns upstream test modules into observation programs: assertions stop judging and start reporting.

``assert A == B`` becomes a report of the sides that are not literal; ``assert raises(E, call)`` and
``with raises(E):`` report which error came; any other assertion reports its truth. Expected literals, and
local names that only held them, are dropped.
"""

import ast

SIGHT = "__sight__"
# What depends on addresses, hash seeds or the interpreter's release is no property of the package.
UNSTEADY = {"hash", "id"}
# Compilers of later releases strip indentation.
UNSTEADY_ATTRIBUTES = {"__doc__"}
LITERAL_CALLS = {"list", "tuple", "set", "dict", "frozenset", "range"}


def observation_program(source: str) -> str:
    """The observation program of a test module.

    Args:
        source: the module's text.
    """
    tree = ast.parse(source)
    _Rewriter().visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def is_raises(node: ast.expr) -> bool:
    """Whether an expression names ``raises`` or ``pytest.raises``."""
    return (isinstance(node, ast.Name) and node.id == "raises") or (
        isinstance(node, ast.Attribute) and node.attr == "raises"
    )


def sight(method: str, *arguments: ast.expr) -> ast.Expr:
    target = ast.Attribute(ast.Name(SIGHT, ast.Load()), method, ast.Load())
    return ast.Expr(ast.Call(target, list(arguments), []))


class _Rewriter(ast.NodeTransformer):
    def __init__(self) -> None:
        self.literals: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        before = self.literals
        self.literals = before | expected_names(node)
        self.generic_visit(node)
        for inner in ast.walk(node):
            for name in ("body", "orelse"):
                block = getattr(inner, name, None)
                if isinstance(block, list):
                    setattr(inner, name, self.without_expected(block))
        self.literals = before
        return node

    def without_expected(self, block: list[ast.stmt]) -> list[ast.stmt]:
        left = [node for node in block if assigned_name(node) not in self.literals]
        return left if left or not block else [ast.Pass()]

    def visit_With(self, node: ast.With) -> ast.With:
        self.generic_visit(node)
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and is_raises(call.func):
                call.func = ast.Attribute(ast.Name(SIGHT, ast.Load()), "raises", ast.Load())
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        self.generic_visit(node)
        call = node.value
        if isinstance(call, ast.Call) and is_raises(call.func) and len(call.args) > 1:
            call.func = ast.Attribute(ast.Name(SIGHT, ast.Load()), "raising", ast.Load())
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        test = node.test
        if isinstance(test, ast.Call) and is_raises(test.func):
            made = sight("raising", *test.args)
            assert isinstance(made.value, ast.Call)
            made.value.keywords = test.keywords
            return made
        if isinstance(test, ast.Compare):
            return self.comparison(test)
        return sight("truth", test)

    def comparison(self, test: ast.Compare) -> ast.stmt:
        sides = [test.left, *test.comparators]
        shown = [not self.is_literal(side) for side in sides]
        identity = isinstance(test.ops[0], ast.Is | ast.IsNot) and len(test.ops) == 1
        equality = all(isinstance(op, ast.Eq | ast.NotEq) for op in test.ops)
        if is_unsteady(test) or not (equality or identity) or (identity and all(shown)):
            return sight("truth", test)
        if len(sides) == 2 and sum(shown) == 1:
            # The other side is a literal, so the value says it all and the literal need not be there.
            return sight("value", sides[shown.index(True)])
        if not any(shown):
            return ast.Pass()
        operators = " ".join("==" if isinstance(op, ast.Eq) else "!=" for op in test.ops)
        flags: list[ast.expr] = [ast.Constant(flag) for flag in shown]
        pair = ast.Tuple(sides, ast.Load())
        return sight("compare", ast.Constant(operators), pair, ast.Tuple(flags, ast.Load()))

    def is_literal(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name) and node.id in self.literals:
            return True
        return is_literal(node)


def is_literal(node: ast.expr) -> bool:
    """Whether an expression is made of constants alone."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return all(is_literal(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        return all(key is not None and is_literal(key) for key in node.keys) and all(
            map(is_literal, node.values)
        )
    if isinstance(node, ast.UnaryOp):
        return is_literal(node.operand)
    if isinstance(node, ast.BinOp):
        return is_literal(node.left) and is_literal(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return node.func.id in LITERAL_CALLS and all(map(is_literal, node.args))
    return False


def is_unsteady(node: ast.expr) -> bool:
    """Whether an expression asks for a hash, an address or a docstring."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and inner.attr in UNSTEADY_ATTRIBUTES:
            return True
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id in UNSTEADY:
            return True
    return False


def assigned_name(node: ast.stmt) -> str | None:
    """The name of a plain ``name = …``."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None


def expected_names(function: ast.FunctionDef) -> set[str]:
    """Local names that hold a literal and serve only as a side of asserted comparisons."""
    uses: dict[str, int] = {}
    compared: dict[str, int] = {}
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            uses[node.id] = uses.get(node.id, 0) + 1
        elif isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            for side in [node.test.left, *node.test.comparators]:
                if isinstance(side, ast.Name):
                    compared[side.id] = compared.get(side.id, 0) + 1
        elif isinstance(node, ast.Assign) and (name := assigned_name(node)) is not None:
            values.setdefault(name, []).append(node.value)
    return {
        name
        for name, bound in values.items()
        if len(bound) == 1 and is_literal(bound[0]) and uses[name] == 1 + compared.get(name, 0) > 1
    }
