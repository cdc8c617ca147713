"""Opens the model proxy of a trial, for the systems that have one."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from seatrial.agents.model.recorder import CallRecorder
from seatrial.agents.model.secret import endpoint_key
from seatrial.environment.confine.host import Host
from seatrial.spec.chat import ChatOptions

if TYPE_CHECKING:
    from seatrial.agents.model.proxy import ModelProxy

# Whether calls of a model are in the journal: all of them, there can be none, or nobody can say.
Metering = Literal["proxy", "none", "unwatched"]


@contextlib.contextmanager
def model_proxy(system: dict[str, Any], host: Host, recorder: CallRecorder) -> "Iterator[ModelProxy | None]":
    """The running proxy of a system that calls a model; null for the others.

    Args:
        system: as the manifest froze it.
        host: the prepared host; the proxy's socket lies in its stage.
        recorder: where calls are written and counted.

    Raises:
        UsageError: the key of the endpoint is not in the environment.
        EnvironmentFault: the proxy does not start.
    """
    if system["agent"] != "chat":
        yield None
        return
    # Imported here because asyncio is slow to load, and only trials with a model need it.
    from seatrial.agents.model.proxy import ModelProxy

    options = msgspec.convert(system["options"], ChatOptions)
    secret = endpoint_key(options)
    folder = f"{host.stage}/m{os.getpid()}"
    os.mkdir(folder, mode=0o755)
    try:
        proxy = ModelProxy(f"{folder}/socket", options, secret, recorder)
        try:
            yield proxy
        finally:
            proxy.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def metering(system: dict[str, Any], confined: bool) -> Metering:
    """What the journal can say about a system's model calls: a confined agent has no other way to one."""
    if system["agent"] == "chat":
        return "proxy"
    return "none" if confined or system["agent"] in ("scripted", "simulated") else "unwatched"
