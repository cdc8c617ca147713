"""What ``reads`` and ``forbid`` name: ``files:PATTERN``, ``db:PATH`` and ``service:NAME``.

A ``files:`` pattern is matched against paths of the state (``workspace/src/a.py``). It is relative to
``/workspace`` unless it begins with ``/`` or ``~``. ``**`` crosses directories, ``*`` and ``?`` do not,
``[…]`` is a class (``[!…]`` its complement). A pattern without wildcards, or one that ends in ``/``, also
covers everything below the directory it names.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from seatrial.journal.entries import ROOTS, path_text

PREFIXES = ("files", "db", "service")
# SQLite keeps part of a database in files beside it.
DATABASE_COMPANIONS = ("-wal", "-shm", "-journal")

_WILDCARDS = re.compile(r"\*\*|[*?]|\[!?\]?[^\]]*\]")
# The state writes bytes that are not UTF-8, and "%" itself, as %XX: one character of the name.
_ANY = "(?:%[0-9A-F]{2}|[^/%])"
_CROSSING = re.compile(r"\*\*")


class PatternError(ValueError):
    """A pattern means nothing.

    Args:
        problem: what is wrong, with the pattern shown.
        remedy: what to write instead.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem, self.remedy = problem, remedy
        super().__init__(f"{problem}. {remedy}")


class Pattern:
    """A compiled ``files:`` or ``db:`` pattern.

    Attributes:
        text: as it was written.
        literal: the state path it names when it has no wildcard, otherwise null.
        matches: whether a state path is covered.
    """

    __slots__ = ("_below", "literal", "matches", "text")

    def __init__(self, text: str, literal: str | None, path: str, below: str) -> None:
        self.text, self.literal = text, literal
        full, beneath = re.compile(path, re.DOTALL).fullmatch, re.compile(below, re.DOTALL).fullmatch
        self.matches: Callable[[str], bool] = lambda state_path: full(state_path) is not None
        self._below: Callable[[str], bool] = lambda directory: beneath(directory) is not None

    def could_match_below(self, directory: str) -> bool:
        """Whether some path strictly below a directory could match; ``""`` is above all roots."""
        return not directory or self._below(directory)

    def __repr__(self) -> str:
        return f"Pattern({self.text!r})"


def split_read(text: str) -> tuple[str, str]:
    """The kind (``files``, ``db``, ``service``) of a declared read, and what follows the colon.

    Raises:
        PatternError: another prefix, none, or nothing after it.
    """
    prefix, colon, rest = text.partition(":")
    if not colon or prefix not in PREFIXES:
        example = "" if colon else f", such as {'files:' + text!r}"
        raise PatternError(
            f"{text!r} has no known prefix", f"Write files:PATTERN, db:PATH or service:NAME{example}"
        )
    if not rest:
        raise PatternError(f"{text!r} names nothing", "Write what is read after the colon")
    return prefix, rest


@lru_cache(maxsize=4096)
def compile_pattern(text: str) -> Pattern:
    """Compile a ``files:`` pattern or a ``db:`` path.

    Raises:
        PatternError: unknown prefix, a path outside the environment's roots, a class that never ends, or a
            ``service:``, which has no paths.
    """
    prefix, rest = split_read(text)
    if prefix == "service":
        raise PatternError(f"{text!r} names no files", "Write files:PATTERN or db:PATH here")
    if "\0" in rest:
        raise PatternError(f"{text!r} holds a null character", "Remove it")
    if prefix == "db":
        return _database(text, _rooted(text, re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", rest)))
    return _files(text, _rooted(text, rest), subtree=rest.endswith("/"))


def _rooted(text: str, rest: str) -> list[str]:
    """The pattern's segments as a state path: the root's name first."""
    if rest == "~" or rest.startswith("~/"):
        rest = ROOTS["home"] + rest[1:]
    absolute = rest.startswith("/")
    segments = [s for s in rest.split("/") if s not in ("", ".")]
    if ".." in segments:
        raise PatternError(f"{text!r} goes up with '..'", "Name the path itself")
    if not absolute:
        return ["workspace", *segments]
    for name, path in ROOTS.items():
        root = path.strip("/").split("/")
        if segments[: len(root)] == root:
            return [name, *segments[len(root) :]]
    raise PatternError(
        f"{text!r} lies outside what the state holds", f"Name a path under {', '.join(ROOTS.values())} or ~"
    )


def _database(text: str, segments: list[str]) -> Pattern:
    parents = [_translate(text, segment) for segment in segments]
    literal = "/".join(re.sub(r"\[([*?\[])\]", r"\1", segment) for segment in segments)
    companions = "|".join(re.escape(name) for name in DATABASE_COMPANIONS)
    return Pattern(
        text, path_text(literal.encode()), f"{'/'.join(parents)}(?:{companions})?", _nested(parents[:-1])
    )


def _files(text: str, segments: list[str], subtree: bool) -> Pattern:
    wild = any(_WILDCARDS.search(segment) for segment in segments)
    literal = None if wild else path_text("/".join(segments).encode())
    subtree = subtree or not wild
    path = _join(text, segments) + ("(?:/.*)?" if subtree else "")
    crossing = next((i for i, segment in enumerate(segments) if _CROSSING.search(segment)), None)
    if crossing is not None:
        # Up to the first ** the directory must follow the pattern; from there on anything may lie between.
        before = [_translate(text, segment) for segment in segments[:crossing]]
        start = _translate(text, segments[crossing].partition("**")[0])
        return Pattern(text, literal, path, _nested(before, f"/{start}.*"))
    parts = [_translate(text, segment) for segment in segments]
    return Pattern(text, literal, path, _nested(parts, "(?:/.*)?") if subtree else _nested(parts[:-1]))


def _nested(parts: list[str], last: str = "") -> str:
    """A regex for each leading part of a path: ``a``, ``a/b``, ``a/b/c``, and ``last`` after all of them."""
    tail = f"(?:{last})?" if last else ""
    for part in reversed(parts[1:]):
        tail = f"(?:/{part}{tail})?"
    return parts[0] + tail


def _join(text: str, segments: list[str]) -> str:
    """The whole pattern as a regex; a segment ``**`` stands for any number of directories, also none."""
    regex, pending = "", ""
    for index, segment in enumerate(segments):
        last = index == len(segments) - 1
        if segment == "**" and not last:
            pending = "/(?:.*/)?"
            continue
        piece = ".+" if segment == "**" else _translate(text, segment)
        regex += (pending or ("/" if index else "")) + piece
        pending = ""
    return regex


def _translate(text: str, segment: str) -> str:
    """One segment as a regex."""
    regex, rest = "", segment
    while found := _WILDCARDS.search(rest):
        regex += _literal(text, rest[: found.start()]) + _wildcard(text, found[0])
        rest = rest[found.end() :]
    return regex + _literal(text, rest)


def _literal(text: str, piece: str) -> str:
    if "[" in piece:
        raise PatternError(
            f"{text!r} opens a class with '[' and never ends it", "Close it with ']', or write '[[]'"
        )
    return re.escape(path_text(piece.encode()))


def _wildcard(text: str, token: str) -> str:
    if token == "**":
        return ".*"
    if token == "*":
        return "[^/]*"
    if token == "?":
        return _ANY
    negated = token.startswith("[!")
    body = token[2 if negated else 1 : -1]
    if not body:
        raise PatternError(
            f"{text!r} has an empty class {token!r}", "Write its characters between the brackets"
        )
    _check_ranges(text, body)
    inner = "".join(c if c == "-" and 0 < i < len(body) - 1 else re.escape(c) for i, c in enumerate(body))
    # "%" in a name is written %25 in the state, so no class may see the bare sign or the slash.
    holds_percent = re.fullmatch(f"[{inner}]", "%") is not None
    if negated:
        escapes = "%(?!25)[0-9A-F]{2}" if holds_percent else "%[0-9A-F]{2}"
        return f"(?:{escapes}|(?![/%])[^{inner}])"
    return f"(?:%25|(?![/%])[{inner}])" if holds_percent else f"(?![/%])[{inner}]"


def _check_ranges(text: str, body: str) -> None:
    for low, high in re.findall(r"(?=(.)-(.))", body):
        if low > high:
            raise PatternError(f"{text!r} has the empty range '{low}-{high}'", "Write the smaller end first")
