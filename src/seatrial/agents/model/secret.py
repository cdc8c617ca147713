"""The key of an endpoint, and how it is kept out of everything that is written or shown."""

import base64
import json
import os
from typing import Any
from urllib.parse import quote

from seatrial.errors import UsageError
from seatrial.gateway.asked import readable
from seatrial.spec.chat import ChatOptions

REDACTED = "[redacted]"
# Every occurrence of the key is replaced, so one as short as a word would take words out of the record.
SHORTEST = 8


class Secret:
    """A key, or none. Its text is in no ``repr``."""

    def __init__(self, key: str | None) -> None:
        self._forms: list[str] = []
        self._key = key
        if key is not None:
            once = json.dumps(key)[1:-1]
            forms = {key, once, once.replace("/", "\\/"), json.dumps(once)[1:-1], quote(key, safe="")}
            forms.add(base64.b64encode(key.encode()).decode())
            self._forms = sorted(forms, key=len, reverse=True)

    def headers(self) -> dict[str, str]:
        """What a request carries."""
        return {} if self._key is None else {"Authorization": f"Bearer {self._key}"}

    def text(self, text: str) -> str:
        """The text without the key, and without halves of surrogate pairs, which no file could hold."""
        text = readable(text)
        for form in self._forms:
            text = text.replace(form, REDACTED)
        return text

    def value(self, value: Any) -> Any:
        """A decoded JSON value without the key in any of its strings and names."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self.value(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return value

    def bytes(self, data: bytes, whole: bool) -> bytes:
        """Bytes of any kind without the key; of cut ones the end, which may hold a part of it, is dropped."""
        if not whole and self._forms:
            data = data[: -len(self._forms[0])]
        return self.text(data.decode("utf-8", "replace")).encode()


def endpoint_key(options: ChatOptions) -> Secret:
    """The key as the environment of this process has it.

    Raises:
        UsageError: the variable is not set or holds no usable key; its value is not shown.
    """
    name = options.api_key_env
    if name is None:
        return Secret(None)
    key = os.environ.get(name, "")
    if not key:
        raise UsageError(f"the environment variable {name} is not set. Set it to the key of the endpoint.")
    if len(key) < SHORTEST or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(
            f"the environment variable {name} holds no usable key: it must be at least {SHORTEST} plain "
            "characters. Set it again, or leave api_key_env out for an endpoint that wants none."
        )
    return Secret(key)
