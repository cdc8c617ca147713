"""Looks, before an attempt is spent, whether an experiment's endpoints are there and their keys are set."""

import socket
from collections.abc import Iterable
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
    reached = set[str]()
    for index, system in enumerate(loaded.spec.system):
        if system.agent != "chat" or system.name not in needed:
            continue
        place = f"system[{index}].options"
        options = chat_options(source, place, system.options)
        _check_key(source, f"{place}.api_key_env", options)
        if options.endpoint not in reached:
            _check_reachable(source, f"{place}.endpoint", options.endpoint)
            reached.add(options.endpoint)


def _check_key(source: Source, place: str, options: ChatOptions) -> None:
    try:
        endpoint_key(options)
    except UsageError as fault:
        problem, _, remedy = str(fault).rstrip(".").rpartition(". ")
        raise SpecError(source.file, place, problem, remedy) from fault


def _check_reachable(source: Source, place: str, endpoint: str) -> None:
    parts = urlsplit(endpoint)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), CONNECT_SECONDS).close()
    except (OSError, UnicodeError) as fault:
        reason = getattr(fault, "strerror", None) or str(fault) or type(fault).__name__
        raise source.fault(
            place, f"{endpoint!r} cannot be reached: {reason}", "Start the server, or correct the address"
        ) from fault
