"""Functions of funcy that faults go into, with hidden inputs and second right implementations."""

from seatrial.families.draws import Draws
from seatrial.families.repair.package import Target
from seatrial.families.repair.packages import funcy_stages as stages
from seatrial.families.repair.packages import shared_stages as shared

SEQS, TREE = "funcy/seqs.py", "funcy/tree.py"

# Bound once for all cases: nothing in them may keep a state.
NAMES = """
import itertools
import operator


def even(x):
    return x % 2 == 0


def tens(x):
    return x // 10


def less(a, b):
    return a * 2 - b


def stream(items):
    for item in items:
        yield item


def endless(start=0, step=1):
    return itertools.count(start, step)


def some(n, seq):
    return list(itertools.islice(seq, n))


def both(pair):
    first, second = pair
    return [list(first), list(second)]


def shape(tree):
    return [type(node).__name__ if isinstance(node, (list, tuple)) else node for node in tree]
"""

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "amber", "cedar")


def distinct_cases(draws: Draws) -> list[str]:
    cases = ["list(t.distinct([]))", "t.ldistinct('abca')", "some(3, t.distinct(endless(), key=tens))"]
    for _ in range(6):
        numbers = draws.numbers(draws.between(1, 14), 0, 45)
        words = [draws.pick(WORDS) for _ in range(draws.between(2, 9))]
        cases += [f"list(t.distinct({numbers}))", f"list(t.distinct({numbers}, key=tens))"]
        cases += [f"t.ldistinct(stream({numbers}), key=even)", f"t.ldistinct({words}, key=len)"]
        cases += [f"t.ldistinct({words}, key=0)", f"list(t.distinct(stream({words})))"]
    return cases


def chunks_cases(draws: Draws) -> list[str]:
    cases = [
        "list(t.chunks(3, []))",
        "t.lchunks(2, stream([]))",
        "t.lpartition(3, 'ab')",
        "t.lchunks(1, 'ab')",
    ]
    for size in range(1, 6):
        for step in (1, 2, 3, 5, 7):
            numbers = draws.numbers(draws.between(0, 15), -9, 9)
            cases += [
                f"t.lchunks({size}, {step}, {numbers})",
                f"t.lchunks({size}, {step}, stream({numbers}))",
            ]
            cases.append(f"t.lpartition({size}, {step}, {numbers})")
            cases.append(f"t.lpartition({size}, {step}, stream({numbers}))")
        cases.append(f"some(3, t.chunks({size}, endless()))")
        cases.append(f"t.lchunks({size}, stream(range({draws.between(4, 13)})))")
    return cases


def lsplit_cases(draws: Draws) -> list[str]:
    cases = ["t.lsplit(even, [])", "t.lsplit(None, [0, 1, '', 'a'])", "t.lsplit({1, 2}, [1, 3, 2, 4])"]
    for _ in range(10):
        numbers = draws.numbers(draws.between(1, 12), 0, 50)
        cases += [f"t.lsplit(even, {numbers})", f"t.lsplit(lambda x: x > 20, stream({numbers}))"]
    return [*cases, "t.lsplit(r'^a', ['ab', 'ba', 'a', ''])", "t.lsplit(bool, [0, 0])"]


def with_next_cases(draws: Draws) -> list[str]:
    cases = ["list(t.with_next([]))", "list(t.with_next([1]))", "list(t.with_next([1], fill=9))"]
    for length in range(2, 9):
        numbers = draws.numbers(length, 0, 9)
        cases += [f"list(t.with_next({numbers}))", f"list(t.with_next(stream({numbers}), fill=-1))"]
        cases.append(f"[a * 10 + b for a, b in t.with_next({numbers}, fill=0)]")
    return [*cases, "some(3, t.with_next(endless()))", "list(t.with_next('abc', fill='z'))"]


def reductions_cases(draws: Draws) -> list[str]:
    cases = ["t.lreductions(less, [])", "t.lreductions(less, [], 4)", "t.lreductions(less, [4])"]
    cases += ["t.lsums([])", "t.lsums([[1], [2]], [])", "some(4, t.sums(endless(1)))"]
    for _ in range(7):
        numbers = draws.numbers(draws.between(1, 9), -20, 20)
        start = draws.between(-9, 9)
        cases += [f"t.lreductions(less, {numbers})", f"t.lreductions(less, {numbers}, {start})"]
        cases += [f"t.lreductions(operator.add, stream({numbers}))", f"t.lsums({numbers}, {start})"]
        cases.append(f"t.lreductions(max, stream({numbers}), 0)")
    return cases


def split_at_cases(draws: Draws) -> list[str]:
    cases = ["both(t.split_at(2, []))", "both(t.split_at(0, 'ab'))", "t.lsplit_at(5, 'ab')"]
    for place in range(9):
        numbers = draws.numbers(draws.between(1, 9), 0, 99)
        cases += [f"both(t.split_at({place}, {numbers}))", f"t.lsplit_at({place}, stream({numbers}))"]
    return [*cases, "some(2, t.split_at(3, endless())[1])", "some(9, t.split_at(3, endless())[0])"]


def interpose_cases(draws: Draws) -> list[str]:
    cases = ["list(t.interpose(0, []))", "list(t.interpose('-', 'ab'))", "list(t.interpose(None, [1]))"]
    for length in range(2, 9):
        numbers = draws.numbers(length)
        cases += [f"list(t.interpose(-1, {numbers}))", f"tuple(t.interpose('x', stream({numbers})))"]
    return [*cases, "some(5, t.interpose('a', endless()))"]


def nested(draws: Draws, deep: int) -> list[object]:
    """A list of numbers, lists and tuples."""
    made: list[object] = []
    for _ in range(draws.between(0, 4)):
        if deep and draws.below(2):
            inner = nested(draws, deep - 1)
            made.append(tuple(inner) if draws.below(3) == 0 else inner)
        else:
            made.append(draws.between(0, 9))
    return made


def leaves_cases(draws: Draws) -> list[str]:
    cases = ["t.ltree_leaves([])", "t.ltree_leaves(1)", "t.ltree_leaves([[[]], []])", "t.ltree_leaves('ab')"]
    for _ in range(16):
        tree = nested(draws, 4)
        cases += [f"t.ltree_leaves({tree})", f"list(t.tree_leaves({tree}, children=reversed))"]
        cases.append(f"t.ltree_leaves({tree}, follow=lambda x: isinstance(x, list))")
    return [*cases, "t.ltree_leaves(4, follow=lambda x: x > 1, children=range)"]


def nodes_cases(draws: Draws) -> list[str]:
    cases = ["t.ltree_nodes([])", "t.ltree_nodes(1)", "t.ltree_nodes([[[]], []])", "t.ltree_nodes('ab')"]
    for _ in range(16):
        tree = nested(draws, 4)
        cases += [f"shape(t.tree_nodes({tree}))", f"shape(t.tree_nodes({tree}, children=reversed))"]
        cases.append(f"shape(t.ltree_nodes({tree}, follow=lambda x: isinstance(x, list)))")
    return [*cases, "t.ltree_nodes(4, follow=lambda x: x > 1, children=range)"]


def count_by_cases(draws: Draws) -> list[str]:
    cases = ["t.count_by(even, [])", "t.count_by(None, 'abca')", "t.count_by(0, ['ab', 'ac', 'b'])"]
    for _ in range(8):
        numbers = draws.numbers(draws.between(1, 12), 0, 49)
        cases += [f"t.count_by(tens, {numbers})", f"t.count_by(even, stream({numbers}))"]
    return [*cases, "t.count_by(even, [1])[7]", "t.count_by({1: 'a', 2: 'b'}, [1, 1, 2])"]


def butlast_cases(draws: Draws) -> list[str]:
    cases = [
        "list(t.butlast([]))",
        "list(t.butlast([1]))",
        "list(t.butlast('abc'))",
        "some(2, t.butlast(endless()))",
    ]
    for length in range(2, 10):
        numbers = draws.numbers(length, 0, 9)
        cases += [f"list(t.butlast({numbers}))", f"tuple(t.butlast(stream({numbers})))"]
    return cases


DISTINCT = """\
    mark = (lambda item: item) if key is EMPTY else make_func(key)
    seen = set()
    for item in seq:
        found = mark(item)
        if found in seen:
            continue
        seen.add(found)
        yield item
"""

CUT_SEQ = """\
    starts = range(0, len(seq), step)
    parts = (seq[start:start + n] for start in starts)
    return (part for part in parts if len(part) == n) if drop_tail else parts
"""

CUT_ITER = """\
    it, pool, skip = iter(seq), [], 0
    for item in it:
        if skip:
            skip -= 1
            continue
        pool.append(item)
        if len(pool) == n:
            yield pool
            pool, skip = pool[step:], max(step - n, 0)
    while pool and not drop_tail:
        yield pool
        pool = pool[step:]
"""

LSPLIT = """\
    pred = make_pred(pred)
    sides = ([], [])
    for item in seq:
        sides[not pred(item)].append(item)
    return sides
"""

WITH_NEXT = """\
    following = iter(seq)
    missing = object()
    item = next(following, missing)
    while item is not missing:
        after = next(following, missing)
        yield (item, fill if after is missing else after)
        item = after
"""

REDUCTIONS = """\
    if acc is not EMPTY:
        return _reductions(f, seq, acc)
    return accumulate(seq) if f is operator.add else accumulate(seq, f)
"""

REDUCTIONS_FROM = """\
    for x in seq:
        acc = f(acc, x)
        yield acc
"""

SPLIT_AT = """\
    start, tail = tee(seq)
    return islice(start, 0, n), islice(tail, n, None)
"""

INTERPOSE = """\
    for place, item in enumerate(seq):
        if place:
            yield sep
        yield item
"""

LEAVES = """\
    stack = [iter([root])]
    while stack:
        for sub in stack[-1]:
            if not follow(sub):
                yield sub
                continue
            stack.append(iter(children(sub)))
            break
        else:
            stack.pop()
"""

NODES = """\
    stack = [iter([root])]
    while stack:
        for sub in stack[-1]:
            yield sub
            if follow(sub):
                stack.append(iter(children(sub)))
                break
        else:
            stack.pop()
"""

COUNT_BY = """\
    f = make_func(f)
    result = defaultdict(int)
    for item in seq:
        kind = f(item)
        result[kind] = result[kind] + 1
    return result
"""

BUTLAST = """\
    held = []
    for item in seq:
        if held:
            yield held.pop()
        held.append(item)
"""

TARGETS = (
    Target("distinct", SEQS, ("distinct",), distinct_cases, {"distinct": DISTINCT}, stages.DISTINCT),
    Target(
        "chunks", SEQS, ("_cut_seq", "_cut_iter"), chunks_cases,
        {"_cut_seq": CUT_SEQ, "_cut_iter": CUT_ITER}, stages.CHUNKS,
    ),
    Target("lsplit", SEQS, ("lsplit",), lsplit_cases, {"lsplit": LSPLIT}, stages.LSPLIT),
    Target("with_next", SEQS, ("with_next",), with_next_cases, {"with_next": WITH_NEXT}, stages.WITH_NEXT),
    Target(
        "reductions", SEQS, ("_reductions", "reductions"), reductions_cases,
        {"_reductions": REDUCTIONS_FROM, "reductions": REDUCTIONS}, stages.REDUCTIONS,
    ),
    Target("split_at", SEQS, ("split_at",), split_at_cases, {"split_at": SPLIT_AT}, stages.SPLIT_AT),
    Target("interpose", SEQS, ("interpose",), interpose_cases, {"interpose": INTERPOSE}, shared.INTERPOSE),
    Target("tree_leaves", TREE, ("tree_leaves",), leaves_cases, {"tree_leaves": LEAVES}, stages.LEAVES),
    Target("tree_nodes", TREE, ("tree_nodes",), nodes_cases, {"tree_nodes": NODES}, stages.NODES),
    Target("count_by", SEQS, ("count_by",), count_by_cases, {"count_by": COUNT_BY}, stages.COUNT_BY),
    Target("butlast", SEQS, ("butlast",), butlast_cases, {"butlast": BUTLAST}, stages.BUTLAST),
)  # fmt: skip
