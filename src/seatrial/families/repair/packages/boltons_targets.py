"""Functions of boltons that faults go into, with hidden inputs and second right implementations."""

from seatrial.families.draws import Draws
from seatrial.families.repair.package import Target
from seatrial.families.repair.packages import boltons_stages as stages

ITER, MATH = "boltons/iterutils.py", "boltons/mathutils.py"

# Bound once for all cases: nothing in them may keep a state.
NAMES = """
import itertools
import types


def even(x):
    return x % 2 == 0


def tens(x):
    return x // 10


def stream(items):
    for item in items:
        yield item


def some(n, seq):
    return list(itertools.islice(seq, n))


def thing(**values):
    return types.SimpleNamespace(**values)
"""

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "amber", "cedar")


def split_cases(draws: Draws) -> list[str]:
    cases = ["t.split([])", "t.split([], 1)", "t.split([None, None])", "t.split('a b', ' ')", "t.split(5)"]
    for _ in range(7):
        items = [None if n < 2 else n for n in draws.numbers(draws.between(1, 10), 0, 5)]
        most = draws.between(0, 3)
        cases += [f"t.split({items})", f"t.split({items}, maxsplit={most})", f"t.split({items}, {most + 1})"]
        cases += [f"t.split(stream({items}), [2, 3])", f"t.split({items}, lambda x: x == 4, {most})"]
        cases.append(f"list(t.split_iter({items}, 3, maxsplit={most}))")
    return cases


def chunked_cases(draws: Draws) -> list[str]:
    cases = ["t.chunked([], 3)", "t.chunked('abcde', 2)", "t.chunked(b'abcde', 2)", "t.chunked([1], 0)"]
    cases += ["t.chunked('ab', 3, fill='-')", "t.chunked([1, 2], 2, other=1)", "t.chunked(7, 1)"]
    for size in range(1, 7):
        numbers = draws.numbers(draws.between(1, 15), -9, 9)
        cases += [f"t.chunked({numbers}, {size})", f"list(t.chunked_iter(stream({numbers}), {size}))"]
        cases += [f"t.chunked({numbers}, {size}, fill=None)", f"t.chunked({numbers}, {size}, 2, fill=0)"]
    return cases


def ranges_cases(draws: Draws) -> list[str]:
    cases = ["list(t.chunk_ranges(0, 3))", "list(t.chunk_ranges(3, 0))", "list(t.chunk_ranges(1, 1))"]
    cases.append("list(t.chunk_ranges(5, 5, 5, 2, True))")
    for size in range(2, 9):
        length, offset, overlap = draws.between(1, 40), draws.between(1, 20), draws.between(0, size - 1)
        cases += [
            f"list(t.chunk_ranges({length}, {size}))",
            f"list(t.chunk_ranges({length}, {size}, {offset}))",
        ]
        cases.append(f"list(t.chunk_ranges({length}, {size}, {offset}, {overlap}))")
        cases.append(f"list(t.chunk_ranges({length}, {size}, {offset}, {overlap}, align=True))")
        cases.append(f"list(t.chunk_ranges({length}, {size}, input_offset={size * 2}, align=True))")
    return cases


def windowed_cases(draws: Draws) -> list[str]:
    cases = [
        "t.windowed([], 2)",
        "t.windowed([1, 2], 3)",
        "t.windowed([1, 2], 3, fill=0)",
        "t.pairwise('abc')",
    ]
    for size in range(1, 6):
        numbers = draws.numbers(draws.between(1, 9), 0, 99)
        cases += [f"t.windowed({numbers}, {size})", f"list(t.windowed_iter(stream({numbers}), {size}))"]
        cases += [f"t.windowed({numbers}, {size}, fill=None)", f"t.pairwise({numbers}, end=-1)"]
    return [*cases, "some(3, t.windowed_iter(itertools.count(), 3))", "t.windowed([], 2, fill=1)"]


def bucketize_cases(draws: Draws) -> list[str]:
    cases = ["t.bucketize([])", "t.bucketize([1], key=5)", "t.bucketize(3)", "t.bucketize([0, 1, '', 'a'])"]
    cases += [
        "t.bucketize([1, 2], key=[0])",
        "t.bucketize([1], value_transform=3)",
        "t.bucketize([1+1j], 'real')",
    ]
    for _ in range(6):
        numbers = draws.numbers(draws.between(1, 12), 0, 49)
        keys = draws.numbers(len(numbers), 0, 3)
        cases += [f"t.bucketize({numbers}, tens)", f"t.bucketize(stream({numbers}), even, str)"]
        cases += [f"t.bucketize({numbers}, {keys})", f"t.bucketize({numbers}, {keys}, value_transform=tens)"]
        cases.append(f"t.bucketize({numbers}, tens, key_filter=even)")
        cases.append(f"t.bucketize({numbers}, {keys}, key_filter=bool)")
    return cases


def partition_cases(draws: Draws) -> list[str]:
    cases = ["t.partition([])", "t.partition([0, 1, '', 'a'])", "t.partition(3)", "t.partition([1], 3)"]
    cases.append("t.partition([1, 2j, 'a'], 'imag')")
    for _ in range(8):
        numbers = draws.numbers(draws.between(1, 12), 0, 49)
        cases += [f"t.partition({numbers}, even)", f"t.partition(stream({numbers}), lambda x: x > 20, even)"]
        cases.append(f"t.partition({numbers}, even, lambda x: x > 30, bool)")
    return cases


def unique_cases(draws: Draws) -> list[str]:
    cases = ["t.unique([])", "t.unique('abca')", "t.unique(3)", "t.unique([1], key=3)"]
    for _ in range(7):
        numbers = draws.numbers(draws.between(1, 14), 0, 45)
        words = [draws.pick(WORDS) for _ in range(draws.between(2, 9))]
        cases += [f"t.unique({numbers})", f"t.unique({numbers}, key=tens)", f"t.unique({words}, len)"]
        cases += [f"list(t.unique_iter(stream({numbers}), even))", f"t.unique({numbers}, 'real')"]
    return [*cases, "some(3, t.unique_iter(itertools.count(), tens))", "t.unique([1, 1+1j, 2], 'real')"]


def redundant_cases(draws: Draws) -> list[str]:
    cases = [
        "t.redundant([])",
        "t.redundant('abca')",
        "t.redundant([1], key=3)",
        "t.redundant([1, 1], groups=True)",
    ]
    cases += ["t.redundant([1, 1+1j, 2], 'real')", "t.redundant([1, 1+1j, 2], 'real', groups=True)"]
    for _ in range(7):
        numbers = draws.numbers(draws.between(4, 14), 0, 35)
        words = [draws.pick(WORDS) for _ in range(draws.between(2, 9))]
        cases += [
            f"t.redundant({numbers})",
            f"t.redundant({numbers}, key=tens)",
            f"t.redundant({words}, len)",
        ]
        cases += [f"t.redundant(stream({numbers}), tens, groups=True)", f"t.redundant({words}, groups=True)"]
    return cases


def rstrip_cases(draws: Draws) -> list[str]:
    cases = [
        "t.rstrip([])",
        "t.rstrip([None])",
        "t.rstrip([0, 0], 0)",
        "t.rstrip([1])",
        "t.strip([0, 1, 0], 0)",
    ]
    for _ in range(10):
        numbers = draws.numbers(draws.between(1, 9), 0, 2)
        cases += [f"t.rstrip({numbers}, 0)", f"list(t.rstrip_iter(stream({numbers}), 1))"]
        cases.append(f"t.rstrip({[n or None for n in numbers]} + [None, None])")
    return cases


def backoff_cases(draws: Draws) -> list[str]:
    cases = ["t.backoff(1, 10)", "t.backoff(0, 1)", "t.backoff(1, 1)", "t.backoff(-1, 10)", "t.backoff(0, 0)"]
    cases += ["t.backoff(5, 3)", "t.backoff(1, 5, count=-1)", "t.backoff(1, 5, factor=0.5)"]
    cases += ["t.backoff(1, 5, count=0)", "t.backoff(2, 2, factor=1.0)", "t.backoff(2, 3, factor=1.0)"]
    cases += ["some(6, t.backoff_iter(1, 5, count='repeat'))", "t.backoff(1, 9, jitter=2)"]
    for _ in range(8):
        start, stop, factor = draws.between(0, 4), draws.between(5, 60), draws.between(2, 4)
        cases += [f"t.backoff({start}, {stop})", f"t.backoff({start}, {stop}, factor={factor})"]
        cases.append(f"t.backoff({start}, {stop}, count={draws.between(1, 9)}, factor={factor - 0.5})")
    return cases


def near_cases(name: str, draws: Draws) -> list[str]:
    """For ``ceil`` and ``floor``, which look for the nearest of given options."""
    cases = [
        f"t.{name}(3.7)",
        f"t.{name}(-3.2)",
        f"t.{name}(1, [])",
        f"t.{name}(5, [5])",
        f"t.{name}(2, (1, 3))",
    ]
    for _ in range(12):
        options = draws.numbers(draws.between(1, 7), 0, 40)
        cases += [f"t.{name}({n}, {options})" for n in (*draws.numbers(3, 0, 40), options[0], max(options))]
        cases.append(f"t.{name}({min(options) - 1}, {options})")
        cases.append(f"t.{name}({max(options) + 1}, {options})")
    return cases


def ceil_cases(draws: Draws) -> list[str]:
    return near_cases("ceil", draws)


def floor_cases(draws: Draws) -> list[str]:
    return near_cases("floor", draws)


SPLIT = """\
    if not is_iterable(src):
        raise TypeError('expected an iterable')
    left = None if maxsplit is None else int(maxsplit)
    if left == 0:
        yield list(src)
        return
    if callable(sep):
        ends = sep
    elif is_scalar(sep):
        def ends(x): return x == sep
    else:
        ends = frozenset(sep).__contains__
    group = []
    for item in src:
        if left == 0 or not ends(item):
            group.append(item)
        elif group or sep is not None:
            yield group
            group = []
            if left is not None:
                left -= 1
    if group or sep is not None:
        yield group
"""

CHUNKED = """\
    if not is_iterable(src):
        raise TypeError('expected an iterable')
    size = _validate_positive_int(size, 'chunk size')
    filled = 'fill' in kw
    fill = kw.pop('fill', None)
    if kw:
        raise ValueError('got unexpected keyword arguments: %r' % kw.keys())
    if not src:
        return
    def finished(part):
        if filled:
            part = part + [fill] * (size - len(part))
        if isinstance(src, bytes):
            return bytes(part)
        return type(src)().join(part) if isinstance(src, str) else part
    part = []
    for item in src:
        part.append(item)
        if len(part) == size:
            yield finished(part)
            part = []
    if part:
        yield finished(part)
"""

RANGES = """\
    input_size = _validate_positive_int(input_size, 'input_size', strictly_positive=False)
    chunk_size = _validate_positive_int(chunk_size, 'chunk_size')
    start = _validate_positive_int(input_offset, 'input_offset', strictly_positive=False)
    overlap_size = _validate_positive_int(overlap_size, 'overlap_size', strictly_positive=False)
    stop, step = start + input_size, chunk_size - overlap_size
    if align:
        first = chunk_size - start % step
        if first != overlap_size:
            end = min(start + first, stop)
            yield (start, end)
            if end >= stop:
                return
            start = end - overlap_size
    while start < stop:
        end = min(start + chunk_size, stop)
        yield (start, end)
        if end == stop:
            break
        start += step
"""

WINDOWED = """\
    views = itertools.tee(src, size)
    for skipped, view in enumerate(views):
        for _ in range(skipped):
            next(view, None)
    return zip(*views) if fill is _UNSET else zip_longest(*views, fillvalue=fill)
"""

BUCKETIZE = """\
    if not is_iterable(src):
        raise TypeError('expected an iterable')
    if isinstance(key, list):
        if len(key) != len(src):
            raise ValueError("key and src have to be the same length")
        pairs = zip(key, src)
    elif isinstance(key, str):
        pairs = ((getattr(each, key, each), each) for each in src)
    elif callable(key):
        pairs = ((key(each), each) for each in src)
    else:
        raise TypeError('expected key to be callable or a string or a list')
    if value_transform is not None and not callable(value_transform):
        raise TypeError('expected callable value transform function')
    ret = {}
    for kind, each in pairs:
        if key_filter is not None and not key_filter(kind):
            continue
        ret.setdefault(kind, []).append(each if value_transform is None else value_transform(each))
    return ret
"""

PARTITION = """\
    if not is_iterable(src):
        raise TypeError('expected an iterable')
    tests = []
    for each in (key, *keys):
        if isinstance(each, str):
            tests.append(lambda x, name=each: getattr(x, name, False))
        elif callable(each):
            tests.append(each)
        else:
            raise TypeError('expected key to be callable or a string')
    parts = tuple([] for _ in range(len(tests) + 1))
    for value in src:
        place = next((n for n, test in enumerate(tests) if test(value)), len(tests))
        parts[place].append(value)
    return parts
"""

UNIQUE = """\
    if not is_iterable(src):
        raise TypeError('expected an iterable, not %r' % type(src))
    if key is not None and not callable(key) and not isinstance(key, str):
        raise TypeError('"key" expected a string or callable, not %r' % key)
    met = set()
    for item in src:
        if key is None:
            mark = item
        else:
            mark = key(item) if callable(key) else getattr(item, key, item)
        if mark in met:
            continue
        met.add(mark)
        yield item
"""

REDUNDANT = """\
    if key is not None and not callable(key) and not isinstance(key, (str, bytes)):
        raise TypeError('"key" expected a string or callable, not %r' % key)
    found, order = {}, []
    for item in src:
        if not key:
            mark = item
        else:
            mark = key(item) if callable(key) else getattr(item, key, item)
        same = found.setdefault(mark, [])
        same.append(item)
        if len(same) == 2:
            order.append(mark)
    return [found[mark] if groups else found[mark][1] for mark in order]
"""

RSTRIP = """\
    held = []
    for item in iterable:
        if item == strip_value:
            held.append(item)
            continue
        yield from held
        held = []
        yield item
"""

BACKOFF = """\
    start, stop, factor = float(start), float(stop), float(factor)
    if start < 0.0:
        raise ValueError('expected start >= 0, not %r' % start)
    if not factor >= 1.0:
        raise ValueError('expected factor >= 1.0, not %r' % factor)
    if stop == 0.0:
        raise ValueError('expected stop >= 0')
    if start > stop:
        raise ValueError('expected stop >= start, not %r' % stop)
    if count is None and factor == 1.0:
        if start != stop:
            raise ValueError('expected factor > 1.0 when count is None')
        count = 1
    elif count is None:
        count = 1 + math.ceil(math.log(stop / (start or 1), factor)) + (0 if start else 1)
    if count != 'repeat' and count < 0:
        raise ValueError('count must be positive or "repeat", not %r' % count)
    jitter = float(jitter) if jitter else 0.0
    if abs(jitter) > 1.0:
        raise ValueError('expected jitter -1 <= j <= 1, not: %r' % jitter)
    made, wait = 0, start
    while count == 'repeat' or made < count:
        yield wait - wait * jitter * random.random() if jitter else wait
        made += 1
        wait = min(wait * factor if wait < stop else wait, stop) if wait else min(1, stop)
"""

CEIL = """\
    if options is None:
        return _ceil(x)
    fitting = [option for option in options if option >= x]
    if not fitting:
        raise ValueError("no ceil options greater than or equal to: %r" % x)
    return min(fitting)
"""

FLOOR = """\
    if options is None:
        return _floor(x)
    fitting = [option for option in options if option <= x]
    if not fitting:
        raise ValueError("no floor options less than or equal to: %r" % x)
    return max(fitting)
"""

TARGETS = (
    Target("split", ITER, ("split_iter",), split_cases, {"split_iter": SPLIT}, stages.SPLIT),
    Target("chunked", ITER, ("chunked_iter",), chunked_cases, {"chunked_iter": CHUNKED}, stages.CHUNKED),
    Target("chunk_ranges", ITER, ("chunk_ranges",), ranges_cases, {"chunk_ranges": RANGES}, stages.RANGES),
    Target(
        "windowed", ITER, ("windowed_iter",), windowed_cases, {"windowed_iter": WINDOWED}, stages.WINDOWED
    ),
    Target("bucketize", ITER, ("bucketize",), bucketize_cases, {"bucketize": BUCKETIZE}, stages.BUCKETIZE),
    Target("partition", ITER, ("partition",), partition_cases, {"partition": PARTITION}, stages.PARTITION),
    Target("unique", ITER, ("unique_iter",), unique_cases, {"unique_iter": UNIQUE}, stages.UNIQUE),
    Target("redundant", ITER, ("redundant",), redundant_cases, {"redundant": REDUNDANT}, stages.REDUNDANT),
    Target("rstrip", ITER, ("rstrip_iter",), rstrip_cases, {"rstrip_iter": RSTRIP}, stages.RSTRIP),
    Target("backoff", ITER, ("backoff_iter",), backoff_cases, {"backoff_iter": BACKOFF}, stages.BACKOFF),
    Target("ceil", MATH, ("ceil",), ceil_cases, {"ceil": CEIL}, stages.CEIL),
    Target("floor", MATH, ("floor",), floor_cases, {"floor": FLOOR}, stages.FLOOR),
)  # fmt: skip
