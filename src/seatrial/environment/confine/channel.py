"""Frames to and from a sandbox's PID 1, while the watcher's queue is drained so that it cannot overflow."""

import json
import os
import select
import socket
import struct
import threading
import time
from typing import Any

from seatrial.environment.watching.touched import Watcher
from seatrial.errors import EnvironmentFault

_HEADER = struct.Struct(">II")
REPLY_SECONDS = 30.0


class Channel:
    """One sandbox's control channel.

    Args:
        connection: our end of the socket pair.
        watcher: drained whenever it has something while a reply is awaited; null for boxes without one.

    Attributes:
        draining: held while that is done; whoever asks the watcher meanwhile, from another thread, holds it.
    """

    def __init__(self, connection: socket.socket, watcher: Watcher | None = None) -> None:
        self._socket, self._watcher = connection, watcher
        self._waits = False
        self.draining = threading.Lock()
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)
        if watcher is not None:
            self._poll.register(watcher.descriptor, select.POLLIN)

    def ask(
        self, request: dict[str, Any], payload: bytes = b"", patience: float = REPLY_SECONDS
    ) -> tuple[dict[str, Any], bytes]:
        """Send a request and wait for its reply.

        Args:
            patience: seconds after which PID 1 counts as lost.

        Raises:
            EnvironmentFault: the sandbox died or does not answer.
        """
        text = json.dumps(request).encode()
        try:
            self._socket.sendall(_HEADER.pack(len(text), len(payload)) + text + payload)
        except OSError as fault:
            raise EnvironmentFault(f"the sandbox is gone: {fault.strerror}.") from fault
        return self.receive(patience)

    def receive(self, patience: float = REPLY_SECONDS) -> tuple[dict[str, Any], bytes]:
        """Wait for the next frame."""
        deadline = time.monotonic() + patience
        self._waits = True
        try:
            head, body = _HEADER.unpack(self._read(_HEADER.size, deadline))
        finally:
            self._waits = False
        header = json.loads(self._read(head, deadline))
        return header, self._read(body, deadline)

    def interrupt(self) -> None:
        """Ask PID 1 to end the action under way. For signal handlers: between requests it does nothing."""
        if self._waits:
            text = json.dumps({"op": "interrupt"}).encode()
            self._socket.sendall(_HEADER.pack(len(text), 0) + text)

    def _read(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            ready = [number for number, _ in self._poll.poll(max(0.0, deadline - time.monotonic()) * 1000)]
            if not ready:
                raise EnvironmentFault("the sandbox does not answer.")
            if self._watcher is not None and self._watcher.descriptor in ready:
                with self.draining:
                    self._watcher.collect()
            if self._socket.fileno() not in ready:
                continue
            try:
                part = os.read(self._socket.fileno(), size - len(data))
            except ConnectionError:
                part = b""
            if not part:
                raise EnvironmentFault("the sandbox died.")
            data += part
        return bytes(data)

    def close(self) -> None:
        """Close our end; PID 1 exits when it notices."""
        self._socket.close()
