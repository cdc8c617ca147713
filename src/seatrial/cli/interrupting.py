"""Ctrl-C for verbs that keep nothing half-done: the first ends the work, none disturbs clearing up."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

INTERRUPTED_STATUS = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def ended_in_order(said: Callable[[], str]) -> Iterator[None]:
    """The first SIGINT or SIGTERM raises KeyboardInterrupt in the block; from then on none does anything.

    Once the block has cleared up, a line says what became of the work, and the exit code is 130.

    Args:
        said: what to say, asked when it is said.
    """
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def first(*_: object) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in _SIGNALS:
        signal.signal(number, first)
    try:
        yield
    except KeyboardInterrupt:
        # The signals stay ignored: the process is about to end, and ends with this status only.
        typer.echo(f"seatrial: interrupted. {said()}", err=True)
        raise typer.Exit(INTERRUPTED_STATUS) from None
    finally:
        if signal.getsignal(signal.SIGINT) is first:
            for number, handler in before.items():
                signal.signal(number, handler)
