"""Expressions of users' files are matched against agents' texts: none may be a way to stop the harness."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.spec.regexes import RegexError, compile_regex


@pytest.mark.parametrize(
    "text",
    [
        "(a+)+$",
        "(a*)*",
        "((a+)b?)*c",
        "(?:x{2,}y?)+",
        "([^]]+)*z",
        r"(\)+a*)+",
        "(a+|b)*",
        "((a|b+))+?",
        "(.*,){3,}",
    ],
)
def test_a_repeated_repetition_is_refused(text: str):
    re.compile(text)
    with pytest.raises(RegexError, match="repeats a repetition"):
        compile_regex(text)


@pytest.mark.parametrize(
    "text",
    ["a+b*", "(ab)+", "(a|b)*c+", r"(\w{1,9} )+", "(a+)b", "(a+)?b", "[(a+)]+", r"\(a+\)+", "(a+){2}",
     "[]+)]+", "(?i)port", "(?x)a # [", "(?#[)a", "(?x)a #)\nb", "(a++)+", "[^\\]]+x+", "(a{2})+"],
)  # fmt: skip
def test_others_are_compiled(text: str):
    assert compile_regex(text).pattern == text


@pytest.mark.parametrize("text", ["(", "a**", "[", "(?P<x>a)(?P<x>b)", "[[a]"])
def test_what_is_none_is_told(text: str):
    with pytest.raises(RegexError, match="is no regular expression"):
        compile_regex(text)


@given(st.text(alphabet="ab()[]^|\\+*?{}1,9.#x\n", max_size=14))
def test_every_text_is_compiled_or_refused(text: str):
    try:
        assert compile_regex(text).pattern == text
    except RegexError as refused:
        assert "regular expression" in str(refused)
