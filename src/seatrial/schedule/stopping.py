"""Ctrl-C and the like: the first asks a run to end in order, the second to end now."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """How often a run was asked to stop."""

    def __init__(self) -> None:
        self.asked = 0

    @property
    def soon(self) -> bool:
        """Start nothing more."""
        return self.asked > 0

    @property
    def now(self) -> bool:
        """End what runs."""
        return self.asked > 1


@contextmanager
def on_signals() -> Iterator[Stop]:
    """Count SIGINT and SIGTERM instead of dying of them; only in the main thread."""
    stop = Stop()

    def ask(*_: object) -> None:
        stop.asked += 1

    before = {number: signal.signal(number, ask) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
