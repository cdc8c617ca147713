"""Takes in all that an agent writes to stderr and keeps the end of it: a flood costs the host no memory."""

import os
import threading

KEPT_BYTES = 16 << 10
SHOWN_CHARACTERS = 4000
_CHUNK = 1 << 16


class LastWords:
    """A pipe with a reader of its own. Give ``descriptor`` to the process, then call ``given``."""

    def __init__(self) -> None:
        self._ours, self.descriptor = os.pipe2(os.O_CLOEXEC)
        self._kept = b""
        self._thread = threading.Thread(target=self._take, daemon=True)

    def given(self) -> None:
        """The process has its end: close ours and start to read."""
        os.close(self.descriptor)
        self._thread.start()

    def _take(self) -> None:
        while part := os.read(self._ours, _CHUNK):
            self._kept = (self._kept + part)[-KEPT_BYTES:]
        os.close(self._ours)

    def text(self, seconds: float = 0.0) -> str:
        """The last of it; waits so long for the end of what is still on its way."""
        self._thread.join(seconds)
        return self._kept.decode(errors="replace")[-SHOWN_CHARACTERS:].strip()
