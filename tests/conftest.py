"""One prepared host per test process; tests for root, or for others, are skipped for the rest."""

import os
from collections.abc import Iterator

import pytest

from seatrial.environment.confine.host import Host, prepare_host, release_host


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    is_root = os.geteuid() == 0
    for item in items:
        if item.get_closest_marker("root") and not is_root:
            item.add_marker(pytest.mark.skip(reason="needs root"))
        if item.get_closest_marker("rootless") and is_root:
            item.add_marker(pytest.mark.skip(reason="needs an ordinary user"))


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    """This process in its private namespaces, with uids no other test process uses."""
    number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    prepared = prepare_host(slot=100 + int(number))
    yield prepared
    release_host(prepared)
