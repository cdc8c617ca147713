"""Looks, before an attempt is spent, whether an experiment's endpoints are there and their keys are set."""

import socket
from collections.abc import Collection, Iterable
from urllib.parse import urlsplit

from seatrial.agents.model.secret import endpoint_key
from seatrial.errors import SpecError, UsageError
from seatrial.journal.run import TrialPlanned
from seatrial.spec.chat import ChatOptions, chat_options
from seatrial.spec.faults import Source
from seatrial.spec.loading import LoadedExperiment

CONNECT_SECONDS = 10.0


def check_endpoints(loaded: LoadedExperiment, to_begin: Iterable[TrialPlanned]) -> None:
    """Connect to each endpoint once; nothing is asked of it, so that nothing is spent.

    Args:
        to_begin: trials that are about to be begun; endpoints and keys that they do not need may be missing.

    Raises:
        SpecError: a key is not set, or an endpoint cannot be reached.
    """
    source = Source(str(loaded.path))
    needed = {planned.system for planned in to_begin}
    others = _way_round(loaded, needed)
    reached = set[str]()
    for index, system in enumerate(loaded.spec.system):
        if system.agent != "chat" or system.name not in needed:
            continue
        place = f"system[{index}].options"
        options = chat_options(source, place, system.options)
        _check_key(source, f"{place}.api_key_env", options, others)
        if options.endpoint not in reached:
            _check_reachable(source, f"{place}.endpoint", options.endpoint, others)
            reached.add(options.endpoint)


def _way_round(loaded: LoadedExperiment, needed: Collection[str]) -> str:
    """How to run what needs no endpoint meanwhile; empty where that is nothing."""
    others = [s.name for s in loaded.spec.system if s.name in needed and s.agent != "chat"]
    if not others:
        return "" if len(needed) == 1 else ", or run the other systems first with --system NAME"
    return f", or run the other systems first: {' '.join(f'--system {name}' for name in others)}"


def _check_key(source: Source, place: str, options: ChatOptions, others: str) -> None:
    try:
        endpoint_key(options)
    except UsageError as fault:
        problem, _, remedy = str(fault).rstrip(".").rpartition(". ")
        raise SpecError(source.file, place, problem, remedy + others) from fault


def _check_reachable(source: Source, place: str, endpoint: str, others: str) -> None:
    parts = urlsplit(endpoint)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), CONNECT_SECONDS).close()
    except (OSError, UnicodeError) as fault:
        reason = getattr(fault, "strerror", None) or str(fault) or type(fault).__name__
        raise source.fault(
            place, f"{endpoint!r} cannot be reached: {reason}",
            f"Start the server, or correct the address{others}",
        ) from fault  # fmt: skip
