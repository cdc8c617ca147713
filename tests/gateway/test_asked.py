"""Whatever an agent sends can be written down and read back."""

import json
from typing import Any

import msgspec
import pytest

from seatrial.gateway.asked import DEPTH, plain, readable


def test_ordinary_values_stay_as_they_are() -> None:
    value = {"a": [1, -2.5, True, None, "é\n\x00"], "b": {"c": []}, "big": (1 << 64) - 1, "low": -(1 << 63)}
    assert plain(value) == (value, None)
    assert readable("é") == "é"


@pytest.mark.parametrize(
    ("sent", "kept", "what"),
    [
        ('"a\\ud800b"', "a\N{REPLACEMENT CHARACTER}b", "surrogate"),
        ('"\\udcff"', "\N{REPLACEMENT CHARACTER}", "surrogate"),
        ("NaN", "[left out: a number that is not finite]", "not finite"),
        ("1e999", "[left out: a number that is not finite]", "not finite"),
        ("9" * 400, "[left out: a number beyond 64 bits]", "64 bits"),
    ],
)
def test_what_no_reader_takes_is_replaced_and_named(sent: str, kept: str, what: str) -> None:
    value, problem = plain({"x": [json.loads(sent)]})
    assert value == {"x": [kept]}
    assert problem is not None and what in problem
    assert msgspec.json.decode(msgspec.json.encode(value)) == value


def test_names_and_nesting_are_bounded_too() -> None:
    assert plain({"\ud800": 1})[0] == {"\N{REPLACEMENT CHARACTER}": 1}
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    kept, problem = plain(deep)
    assert problem is not None and str(DEPTH) in problem
    assert msgspec.json.decode(msgspec.json.encode(kept)) == kept
