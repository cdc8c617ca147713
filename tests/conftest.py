"""One prepared host per test process; tests for root, or for others, are skipped for the rest."""

import os
import signal
import sys
from collections.abc import Iterator

import pytest

from seatrial.environment.confine.host import Host, prepare_host, release_host
from seatrial.environment.confine.namespaces import is_real_root
from seatrial.errors import EnvironmentFault

IS_ROOT = is_real_root()
_early: Host | EnvironmentFault | None = None


def pytest_configure(config: pytest.Config) -> None:
    """Without root, enter the user namespace before libraries that tests import start threads."""
    global _early
    # Who is started in the background by a script ignores interrupts, and so would all that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # A worker has entered it by now (``early_worker``), and who only hands out tests need not.
    _early = getattr(sys.modules["__main__"], "HOST", None)
    if not IS_ROOT and _early is None and config.getoption("dist") == "no":
        try:
            _early = prepare_host(slot=100)
        except EnvironmentFault as fault:
            _early = fault
    # Loaded here, since it must not come before that either.
    from hypothesis import HealthCheck, settings

    # Property tests have time limits and draw other examples each time unless told otherwise. No test here
    # times anything or fails by chance.
    settings.register_profile(
        "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("steady")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("root") and not IS_ROOT:
            item.add_marker(pytest.mark.skip(reason="needs root"))
        if item.get_closest_marker("rootless") and IS_ROOT:
            item.add_marker(pytest.mark.skip(reason="needs an ordinary user"))


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    """This process in its private namespaces, with uids no other test process uses."""
    if isinstance(_early, EnvironmentFault):
        raise _early
    number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    prepared = _early or prepare_host(slot=100 + int(number))
    yield prepared
    release_host(prepared)
