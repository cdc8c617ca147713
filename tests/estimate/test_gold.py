"""Every known answer is checked by some test, so that none waits for its estimator unnoticed."""

import json
from pathlib import Path

import pytest

from tests.estimate.gold import FILE

NAMES = [entry["name"] for entry in json.loads(FILE.read_text())["gold"]]
TESTS = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_some_test_asks_for_it(name):
    assert f'"{name}"' in TESTS
