"""Tests that need to be root, or need not to be, are skipped for the others."""

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    is_root = os.geteuid() == 0
    for item in items:
        if item.get_closest_marker("root") and not is_root:
            item.add_marker(pytest.mark.skip(reason="needs root"))
        if item.get_closest_marker("rootless") and is_root:
            item.add_marker(pytest.mark.skip(reason="needs an ordinary user"))
