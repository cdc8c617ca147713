import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.journal.entries import path_text
from seatrial.spec.patterns import PatternError, compile_pattern, split_read


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (
            "files:src/**",
            ["workspace/src/a.py", "workspace/src/a/b"],
            ["workspace/src", "workspace/srcs/a", "tmp/src/a"],
        ),
        ("files:**", ["workspace/a", "workspace/.a/b"], ["workspace", "home/a"]),
        ("files:**/x", ["workspace/x", "workspace/a/b/x"], ["workspace/ax", "workspace/x/y"]),
        ("files:a/**/x", ["workspace/a/x", "workspace/a/b/c/x"], ["workspace/ax", "workspace/a/xx"]),
        ("files:a/**/**/x", ["workspace/a/x", "workspace/a/b/x"], ["workspace/x"]),
        ("files:a**z", ["workspace/az", "workspace/ab/cz"], ["workspace/a/y"]),
        ("files:*.py", ["workspace/a.py", "workspace/.py"], ["workspace/d/a.py", "workspace/a.pyc"]),
        (
            "files:a?c",
            ["workspace/abc", "workspace/a%FFc", "workspace/a%25c"],
            ["workspace/a/c", "workspace/ac"],
        ),
        ("files:[a-c]x", ["workspace/ax", "workspace/cx"], ["workspace/dx", "workspace/-x"]),
        ("files:[!a-c]x", ["workspace/dx", "workspace/%FFx"], ["workspace/ax", "workspace//x"]),
        ("files:[]x]", ["workspace/]", "workspace/x"], ["workspace/[", "workspace/[]x]"]),
        ("files:[[]a", ["workspace/[a"], ["workspace/a"]),
        ("files:[%a]", ["workspace/%25", "workspace/a"], ["workspace/%FF", "workspace/%"]),
        ("files:[!%a]", ["workspace/b", "workspace/%FF"], ["workspace/%25", "workspace/a"]),
        ("files:[^a]", ["workspace/^", "workspace/a"], ["workspace/b"]),
        ("files:50%", ["workspace/50%25", "workspace/50%25/x"], ["workspace/50%"]),
        ("files:café", ["workspace/café"], ["workspace/cafe"]),
        (
            "files:LICENSE",
            ["workspace/LICENSE", "workspace/LICENSE/x"],
            ["workspace/LICENSES", "home/LICENSE"],
        ),
        ("files:./src//a", ["workspace/src/a"], ["workspace/src"]),
        ("files:d*/", ["workspace/do", "workspace/do/x/y"], ["workspace/x"]),
        ("files:.", ["workspace", "workspace/a"], ["workspaces/a", "home"]),
        ("files:/workspace/a", ["workspace/a"], ["workspace/workspace/a"]),
        ("files:/tmp/x", ["tmp/x", "tmp/x/y"], ["workspace/tmp/x", "var-tmp/x"]),
        ("files:/var/tmp/*", ["var-tmp/x"], ["tmp/x", "var-tmp/x/y"]),
        ("files:/home/agent/**", ["home/.config/x"], ["home"]),
        ("files:~/.ssh", ["home/.ssh", "home/.ssh/id"], ["workspace/~/.ssh"]),
        ("files:~", ["home", "home/x"], ["workspace/~"]),
        ("files:a.c", ["workspace/a.c"], ["workspace/abc"]),
        ("files:a\nb", ["workspace/a\nb"], ["workspace/a"]),
        ("files:*", ["workspace/a\nb"], ["workspace/a/b"]),
        (
            "db:app.sqlite",
            ["workspace/app.sqlite", "workspace/app.sqlite-wal"],
            ["workspace/app.sqlite/x", "workspace/a"],
        ),
        ("db:d/a[1]*.db", ["workspace/d/a[1]*.db"], ["workspace/d/a1x.db"]),
    ],
)
def test_patterns(pattern, yes, no):
    compiled = compile_pattern(pattern)
    assert [path for path in yes if not compiled.matches(path)] == []
    assert [path for path in no if compiled.matches(path)] == []
    for path in yes:
        for end in [i for i, c in enumerate(path) if c == "/"]:
            assert compiled.could_match_below(path[:end]), path[:end]


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("files:src/**", ["", "workspace", "workspace/src", "workspace/src/a"], ["home", "workspace/sr"]),
        ("files:src/*.py", ["workspace", "workspace/src"], ["workspace/src/a", "workspace/src/a.py"]),
        ("files:LICENSE", ["workspace", "workspace/LICENSE", "workspace/LICENSE/a"], ["workspace/a"]),
        ("files:*/x", ["workspace/any"], ["workspace/any/x"]),
        ("files:a/b**", ["workspace/a", "workspace/a/b", "workspace/a/bc/d"], ["workspace/a/c"]),
        ("files:.", ["workspace", "workspace/a/b"], ["home"]),
        ("db:d/a.db", ["workspace", "workspace/d"], ["workspace/d/a.db", "workspace/e"]),
    ],
)
def test_could_match_below(pattern, yes, no):
    below = compile_pattern(pattern).could_match_below
    assert [path for path in yes if not below(path)] == []
    assert [path for path in no if below(path)] == []


@pytest.mark.parametrize(
    ("pattern", "piece"),
    [
        ("src/**", "files:src/**"),
        ("file:x", "no known prefix"),
        ("files:", "names nothing"),
        ("files:../x", "'..'"),
        ("files:a/../../x", "'..'"),
        ("files:/etc/passwd", "/workspace"),
        ("files:/home/other", "outside"),
        ("files:/", "outside"),
        ("files:/**", "outside"),
        ("files:[ab", "never ends it"),
        ("files:a[b/c]d", "never ends it"),
        ("files:[z-a]", "empty range 'z-a'"),
        ("files:a\0b", "null"),
        ("service:mail", "names no files"),
    ],
)
def test_patterns_that_mean_nothing(pattern, piece):
    with pytest.raises(PatternError, match=None) as raised:
        compile_pattern(pattern)
    assert piece in str(raised.value) and repr(pattern) in raised.value.problem


def test_literal_and_kind():
    assert compile_pattern("files:a/50%").literal == "workspace/a/50%25"
    assert compile_pattern("files:a/*").literal is None
    assert compile_pattern("db:a[1].db").literal == "workspace/a[1].db"
    assert split_read("service:mail") == ("service", "mail")
    assert split_read("files:a:b") == ("files", "a:b")


NAMES = ["a", "b", "ab", "ba"]
TREE = ["/".join(parts) for depth in range(1, 5) for parts in itertools.product(NAMES, repeat=depth)]
segments = st.sampled_from(["a", "b", "ab", "*", "?", "a*", "*b", "[ab]", "[!a]", "**", "?b", "a**"])


def oracle(pattern: list[str], path: list[str]) -> bool:
    """A slow matcher of its own: segment by segment, character by character."""
    if not pattern:
        return not path
    head, rest = pattern[0], pattern[1:]
    if head == "**":
        return bool(path) if not rest else any(oracle(rest, path[i:]) for i in range(len(path)))
    if head.endswith("**"):
        joined = "/".join(path)
        ends = [i for i in range(len(joined) + 1) if i == len(joined) or joined[i] == "/"]
        return joined.startswith(head[:-2]) and any(
            end >= len(head) - 2 and oracle(rest, joined[end + 1 :].split("/") if end < len(joined) else [])
            for end in ends
        )
    return bool(path) and characters(head, path[0]) and oracle(rest, path[1:])


def characters(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(characters(pattern[1:], text[i:]) for i in range(len(text) + 1))
    if pattern[0] == "[":
        end = pattern.index("]")
        members, negated = pattern[1:end].lstrip("!"), pattern[1] == "!"
        return bool(text) and (text[0] in members) != negated and characters(pattern[end + 1 :], text[1:])
    return bool(text) and pattern[0] in ("?", text[0]) and characters(pattern[1:], text[1:])


@given(st.lists(segments, min_size=1, max_size=4))
def test_a_pattern_agrees_with_a_slow_matcher_on_a_whole_tree(pattern):
    compiled = compile_pattern("files:" + "/".join(pattern))
    wild = compiled.literal is None
    matched = {path for path in TREE if compiled.matches("workspace/" + path)}
    assert matched == {
        path
        for path in TREE
        if oracle(pattern, path.split("/"))
        or (not wild and path.startswith("/".join(pattern) + "/"))
    }  # fmt: skip


@given(st.lists(segments, min_size=1, max_size=3))
def test_could_match_below_is_exact_on_a_whole_tree(pattern):
    compiled = compile_pattern("files:" + "/".join(pattern))
    above = {
        path[:end]
        for path in TREE
        if compiled.matches("workspace/" + path)
        for end in [i for i, c in enumerate(path) if c == "/"]
    }
    shallow = [path for path in TREE if path.count("/") < 2]
    for directory in above:
        assert compiled.could_match_below("workspace/" + directory)
    for directory in shallow:
        # The tree is deeper than the pattern is long, so what could match below does so within it.
        assert compiled.could_match_below("workspace/" + directory) == (directory in above)


@given(st.text(min_size=1).filter(lambda t: t.encode("utf-8", "replace").decode() == t and "\0" not in t))
def test_a_name_matches_itself_and_one_character_each(name):
    if "/" in name or name in (".", "..", "~"):
        return
    path = "workspace/" + path_text(name.encode())
    escaped = "".join(f"[{c}]" if c in "*?[" else c for c in name)
    assert compile_pattern(f"files:{escaped}").matches(path)
    assert compile_pattern("files:" + "?" * len(name)).matches(path)
    assert not compile_pattern("files:" + "?" * (len(name) + 1)).matches(path)


def test_matching_is_fast():
    patterns = [compile_pattern(text) for text in ("files:src/**", "files:**/test_*.py", "files:LICENSE")]
    paths = [f"workspace/src/package_{i % 50}/module_{i}.py" for i in range(20_000)]
    begin = time.process_time()
    for pattern in patterns:
        matches = pattern.matches
        assert sum(map(matches, paths)) in (0, 20_000)
    # 60,000 questions; measured 0.03 s on the reference machine.
    assert time.process_time() - begin < 1.0
