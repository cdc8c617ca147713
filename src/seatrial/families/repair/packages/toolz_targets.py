"""Functions of toolz that faults go into, with hidden inputs and second right implementations."""

from seatrial.families.draws import Draws
from seatrial.families.repair.package import Target
from seatrial.families.repair.packages import shared_stages as shared
from seatrial.families.repair.packages import toolz_stages as stages

ITER, DICT = "toolz/itertoolz.py", "toolz/dicttoolz.py"

# Bound once for all cases: nothing in them may keep a state.
NAMES = """
import collections
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


def some(n, seq):
    return list(itertools.islice(seq, n))


def intact(function, value, *rest, **more):
    before = repr(value)
    function(value, *rest, **more)
    return repr(value) == before
"""

WORDS = (
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heath",
    "islet",
    "jetty",
    "amber",
    "cedar",
)


def runs(draws: Draws, count: int, length: int, high: int = 60) -> list[list[int]]:
    """Sorted lists of integers, with ties between them."""
    return [sorted(draws.numbers(draws.between(0, length), 0, high)) for _ in range(count)]


def merge_cases(draws: Draws) -> list[str]:
    cases = ["list(t.merge_sorted(key=tens))", "list(t.merge_sorted([3, 1, 2], key=tens))"]
    for count in (2, 2, 3, 3, 4, 5, 6, 7):
        lists = runs(draws, count, 7)
        args = ", ".join(map(repr, lists))
        cases += [f"list(t.merge_sorted({args}, key=tens))", f"list(t.merge_sorted({args}, key=lambda x: x))"]
        pairs = ", ".join(
            repr([(n, f"{i}{chr(97 + j)}") for j, n in enumerate(row)]) for i, row in enumerate(lists)
        )
        cases.append(f"list(t.merge_sorted({pairs}, key=operator.itemgetter(0)))")
        falling = ", ".join(repr(row[::-1]) for row in lists)
        cases.append(f"list(t.merge_sorted({falling}, key=operator.neg))")
    cases.append(
        "some(5, t.merge_sorted(t.iterate(lambda x: x + 2, 0), t.iterate(lambda x: x + 3, 1), key=int))"
    )
    cases.append("list(t.merge_sorted([], [], key=int)) + list(t.merge_sorted([], [1], [], key=int))")
    return cases


def unique_cases(draws: Draws) -> list[str]:
    cases = ["list(t.unique([]))", "list(t.unique([], key=even))"]
    cases.append("some(3, t.unique(t.iterate(lambda x: x + 7, 0), key=tens))")
    for _ in range(6):
        numbers = draws.numbers(draws.between(1, 14), 0, 45)
        words = [draws.pick(WORDS) for _ in range(draws.between(2, 9))]
        cases += [f"list(t.unique({numbers}))", f"list(t.unique({numbers}, key=tens))"]
        cases += [f"tuple(t.unique(stream({numbers}), key=even))", f"list(t.unique({words}, key=len))"]
        cases.append(f"list(t.unique({words}, key=operator.itemgetter(0)))")
        cases.append(f"list(t.unique({[[n % 3, n] for n in numbers]}, key=lambda x: x[0]))")
    return cases


def partition_all_cases(draws: Draws) -> list[str]:
    cases = [
        "list(t.partition_all(3, []))",
        "list(t.partition_all(3, stream([])))",
        "list(t.partition_all(1, 'ab'))",
    ]
    for size in range(1, 9):
        length = draws.between(1, 23)
        items = repr(draws.numbers(length, -9, 9))
        cases += [
            f"list(t.partition_all({size}, {items}))",
            f"list(t.partition_all({size}, stream({items})))",
        ]
    cases += [f"list(t.partition_all(7, stream(range({n}))))" for n in range(1, 15)]
    cases += [
        "list(t.partition_all(4, [None] * 6))",
        "some(2, t.partition_all(3, t.iterate(lambda x: x + 1, 0)))",
    ]
    return cases


def join_cases(draws: Draws) -> list[str]:
    cases = []
    for _ in range(6):
        left = [(draws.between(0, 5), draws.pick(WORDS)) for _ in range(draws.between(1, 6))]
        right = [(draws.pick(WORDS), draws.between(0, 7)) for _ in range(draws.between(1, 6))]
        for more in (
            "",
            ", left_default=None",
            ", right_default=(9, 'none')",
            ", left_default=0, right_default=1",
        ):
            cases.append(f"list(t.join(0, {left}, 1, {right}{more}))")
        cases.append(f"list(t.join(t.first, {left}, t.second, stream({right})))")
    cases += [
        "list(t.join([0, 1], [(1, 2, 3), (1, 3, 4)], [0, 2], [(1, 0, 2), (1, 0, 9), (2, 0, 2)]))",
        "list(t.join('k', [], 'k', [{'k': 1}], left_default=7))",
        "list(t.join('k', [{'k': 1}], 'k', [], right_default=7))",
        "list(t.join('k', [{'k': 1}], 'k', [], left_default=7))",
        "list(t.join(even, [1, 2, 3, 4], even, [10, 11], left_default=None, right_default=None))",
    ]
    return cases


def reduceby_cases(draws: Draws) -> list[str]:
    cases = ["t.reduceby(even, operator.add, [])", "t.reduceby(even, operator.add, [], 5)"]
    for _ in range(5):
        numbers = draws.numbers(draws.between(1, 12), 0, 49)
        init = draws.between(-5, 5)
        cases += [f"t.reduceby(tens, less, {numbers})", f"t.reduceby(tens, less, {numbers}, {init})"]
        cases += [
            f"t.reduceby(even, max, stream({numbers}))",
            f"t.reduceby(tens, operator.add, {numbers}, 0)",
        ]
        cases.append(f"t.reduceby(even, lambda seen, x: seen + [x], {numbers}, list)")
        rows = [{"k": n % 4, "v": n} for n in numbers]
        cases.append(f"t.reduceby('k', lambda total, row: total + row['v'], {rows}, {init})")
    cases.append("t.reduceby(0, lambda a, b: a + b[1:], [('a', 1), ('b', 2), ('a', 3)])")
    return cases


def accumulate_cases(draws: Draws) -> list[str]:
    cases = [
        "list(t.accumulate(less, []))",
        "list(t.accumulate(less, [], 4))",
        "list(t.accumulate(less, [4]))",
    ]
    for _ in range(6):
        numbers = draws.numbers(draws.between(1, 9), -20, 20)
        init = draws.between(-9, 9)
        cases += [f"list(t.accumulate(less, {numbers}))", f"list(t.accumulate(less, {numbers}, {init}))"]
        cases += [
            f"list(t.accumulate(max, stream({numbers})))",
            f"list(t.accumulate(operator.add, {numbers}, 0))",
        ]
    cases.append("list(t.accumulate(operator.add, ['b', 'c'], 'a'))")
    cases.append("some(4, t.accumulate(operator.add, t.iterate(lambda x: x + 1, 1)))")
    cases.append("list(t.accumulate(lambda a, b: b, [1, 2], None))")
    return cases


def sliding_window_cases(draws: Draws) -> list[str]:
    cases = [
        "list(t.sliding_window(2, []))",
        "list(t.sliding_window(4, [1, 2, 3]))",
        "list(t.sliding_window(1, 'abc'))",
    ]
    for size in range(1, 7):
        numbers = draws.numbers(draws.between(size, size + 9), 0, 99)
        cases += [
            f"list(t.sliding_window({size}, {numbers}))",
            f"list(t.sliding_window({size}, stream({numbers})))",
        ]
        cases.append(f"[sum(w) for w in t.sliding_window({size}, {numbers})]")
    cases.append("some(3, t.sliding_window(3, t.iterate(lambda x: x + 1, 0)))")
    return cases


def update_in_cases(draws: Draws) -> list[str]:
    cases = ["t.update_in({}, ['a'], str)", "t.update_in({}, ['a', 'b', 'c'], str)"]
    for _ in range(6):
        a, b, c = draws.numbers(3, 0, 9)
        tree = {"a": {"b": a, "c": {"d": b}}, "e": c, "f": {}}
        for path in (["a", "b"], ["a", "c", "d"], ["e"], ["f", "g"], ["x"], ["x", "y", "z"], ["a", "c", "n"]):
            cases.append(f"t.update_in({tree}, {path}, lambda v: (v, {c}), {b})")
        cases.append(f"intact(t.update_in, {tree}, ['a', 'c', 'd'], str)")
        cases.append(f"t.update_in({tree}, ('a', 'b'), lambda v: -v)")
        cases.append(f"t.assoc_in({tree}, ['a', 'c', 'q'], {a})")
    cases.append("type(t.update_in({}, [1, 2], str, 0, collections.OrderedDict)[1])")
    cases.append("t.update_in({0: {1: {2: 3}}}, iter([0, 1, 2]), lambda v: v + 1)")
    return cases


def diff_cases(draws: Draws) -> list[str]:
    cases = ["list(t.diff())", "list(t.diff([1]))", "list(t.diff([[1], [2]]))", "list(t.diff([], []))"]
    for _ in range(6):
        first = draws.numbers(draws.between(2, 8), 0, 3)
        second = draws.numbers(draws.between(2, 8), 0, 3)
        third = draws.numbers(draws.between(2, 8), 0, 3)
        cases += [f"list(t.diff({first}, {second}))", f"list(t.diff({first}, {second}, default=None))"]
        cases += [
            f"list(t.diff({first}, stream({second}), {third}))",
            f"list(t.diff([{first}, {second}], default=9))",
        ]
        cases.append(f"list(t.diff({first}, {second}, {third}, default=0, key=even))")
        cases.append(f"list(t.diff({first}, {second}, key=lambda x: x // 2))")
    return cases


def interpose_cases(draws: Draws) -> list[str]:
    cases = ["list(t.interpose(0, [1]))", "list(t.interpose('-', 'ab'))", "list(t.interpose(None, 'abc'))"]
    for length in range(2, 9):
        numbers = draws.numbers(length)
        cases += [f"list(t.interpose(-1, {numbers}))", f"tuple(t.interpose('x', stream({numbers})))"]
    cases += ["list(t.interpose(1, []))", "some(5, t.interpose('a', t.iterate(lambda x: x + 1, 0)))"]
    return cases


def take_nth_cases(draws: Draws) -> list[str]:
    cases = ["list(t.take_nth(2, []))", "list(t.take_nth(3, [1]))", "list(t.take_nth(1, 'abc'))"]
    for step in range(1, 8):
        numbers = draws.numbers(draws.between(1, 16), 0, 99)
        cases += [f"list(t.take_nth({step}, {numbers}))", f"tuple(t.take_nth({step}, stream({numbers})))"]
    cases.append("some(3, t.take_nth(4, t.iterate(lambda x: x + 1, 0)))")
    return cases


def valfilter_cases(draws: Draws) -> list[str]:
    cases = ["t.valfilter(even, {})", "t.valfilter(None.__eq__, {1: 2})", "t.valfilter(bool, {1: 0, 2: 5})"]
    for _ in range(8):
        table = dict(enumerate(draws.numbers(draws.between(1, 9), 0, 50)))
        cases += [f"t.valfilter(even, {table})", f"t.valfilter(lambda v: v > 25, {table})"]
    cases.append("type(t.valfilter(even, {1: 2}, collections.OrderedDict))")
    cases.append("intact(lambda v: t.valfilter(even, v), {1: 2, 3: 5})")
    return cases


MERGE = "    return heapq.merge(*seqs, key=key)\n"

UNIQUE = """\
    seen = set()
    for item in seq:
        mark = item if key is None else key(item)
        if mark in seen:
            continue
        seen.add(mark)
        yield item
"""

PARTITION_ALL = """\
    iterator = iter(seq)
    chunk = tuple(itertools.islice(iterator, n))
    while chunk:
        yield chunk
        chunk = tuple(itertools.islice(iterator, n))
"""

JOIN = """\
    leftkey = leftkey if callable(leftkey) else getter(leftkey)
    rightkey = rightkey if callable(rightkey) else getter(rightkey)
    keep_left = right_default != no_default
    keep_right = left_default != no_default

    groups = groupby(leftkey, leftseq)
    met = set()
    for item in rightseq:
        key = rightkey(item)
        if keep_left:
            met.add(key)
        if key in groups:
            for match in groups[key]:
                yield (match, item)
        elif keep_right:
            yield (left_default, item)
    if keep_left:
        for key in groups:
            if key not in met:
                for match in groups[key]:
                    yield (match, right_default)
"""

REDUCEBY = """\
    getkey = key if callable(key) else getter(key)
    fresh = init == no_default
    found = {}
    for item in seq:
        k = getkey(item)
        if k in found:
            found[k] = binop(found[k], item)
        elif fresh:
            found[k] = item
        else:
            found[k] = binop(init() if callable(init) else init, item)
    return found
"""

ACCUMULATE = """\
    iterator = iter(seq)
    if initial == no_default:
        for initial in iterator:
            break
        else:
            return
    yield initial
    for elem in iterator:
        initial = binop(initial, elem)
        yield initial
"""

SLIDING_WINDOW = """\
    iterators = itertools.tee(seq, n)
    for skipped, iterator in enumerate(iterators):
        for _ in range(skipped):
            next(iterator, None)
    return zip(*iterators)
"""

UPDATE_IN = """\
    k, *rest = keys if not hasattr(keys, '__next__') else list(keys)
    rv = factory()
    rv.update(d)
    if rest:
        rv[k] = update_in(d[k] if k in d else factory(), rest, func, default, factory)
    else:
        rv[k] = func(d[k] if k in d else default)
    return rv
"""

DIFF = """\
    if len(seqs) == 1 and isinstance(seqs[0], list):
        seqs = seqs[0]
    if len(seqs) < 2:
        raise TypeError('Too few sequences given (min 2 required)')
    default = kwargs.get('default', no_default)
    key = kwargs.get('key', None)
    rows = zip(*seqs) if default == no_default else zip_longest(*seqs, fillvalue=default)
    for row in rows:
        head, *others = row if key is None else map(key, row)
        if any(other is not head and other != head for other in others):
            yield row
"""

INTERPOSE = """\
    iterator = iter(seq)
    return itertools.chain([next(iterator)], concat(zip(itertools.repeat(el), iterator)))
"""

TAKE_NTH = """\
    return itertools.compress(seq, itertools.cycle([1] + [0] * (n - 1)))
"""

VALFILTER = """\
    rv = factory()
    rv.update((k, v) for k, v in d.items() if predicate(v))
    return rv
"""

TARGETS = (
    Target(
        "merge_sorted", ITER, ("_merge_sorted_binary_key",), merge_cases,
        {"_merge_sorted_binary_key": MERGE}, stages.MERGE_SORTED,
    ),
    Target("unique", ITER, ("unique",), unique_cases, {"unique": UNIQUE}, stages.UNIQUE),
    Target(
        "partition_all", ITER, ("partition_all",), partition_all_cases, {"partition_all": PARTITION_ALL},
        stages.PARTITION_ALL,
    ),
    Target("join", ITER, ("join",), join_cases, {"join": JOIN}, stages.JOIN),
    Target("reduceby", ITER, ("reduceby",), reduceby_cases, {"reduceby": REDUCEBY}, stages.REDUCEBY),
    Target(
        "accumulate", ITER, ("accumulate",), accumulate_cases, {"accumulate": ACCUMULATE}, stages.ACCUMULATE
    ),
    Target(
        "sliding_window", ITER, ("sliding_window",), sliding_window_cases,
        {"sliding_window": SLIDING_WINDOW}, stages.SLIDING_WINDOW,
    ),
    Target("update_in", DICT, ("update_in",), update_in_cases, {"update_in": UPDATE_IN}, stages.UPDATE_IN),
    Target("diff", ITER, ("diff",), diff_cases, {"diff": DIFF}, stages.DIFF),
    Target("interpose", ITER, ("interpose",), interpose_cases, {"interpose": INTERPOSE}, shared.INTERPOSE),
    Target("take_nth", ITER, ("take_nth",), take_nth_cases, {"take_nth": TAKE_NTH}, stages.TAKE_NTH),
    Target("valfilter", DICT, ("valfilter",), valfilter_cases, {"valfilter": VALFILTER}, stages.VALFILTER),
)  # fmt: skip
