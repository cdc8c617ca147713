"""What a model call keeps in the object store, and what is known of what a failed one spent.

Each request repeats the whole conversation before it. Its messages are therefore objects of their own, named
in blocks that are objects too: a conversation takes the room of its messages once, and little more.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from seatrial.journal.digest import canonical_json
from seatrial.journal.events import ModelCalled
from seatrial.journal.objects import ObjectStore

# Messages to a block. Requests name whole blocks, and one by one what does not fill another.
BLOCK = 32


class KeptRequest(msgspec.Struct, kw_only=True):
    """A request as it lies in the store; the strings in it are digests of objects.

    Attributes:
        body: what is kept whole.
        tools: null when the request offers none.
        blocks: lists of ``BLOCK`` messages each, in order; null when the request has no list of messages.
        rest: the messages after them.
    """

    body: dict[str, Any]
    tools: str | None = None
    blocks: list[str] | None = None
    rest: list[str] = []


def keep_request(objects: ObjectStore, body: dict[str, Any]) -> str:
    """Store the body of a request; returns its digest for ``ModelCalled.request``."""
    kept = KeptRequest(body=dict(body))
    if body.get("tools") is not None:
        kept.tools = objects.put(canonical_json(kept.body.pop("tools")))
    if isinstance(body.get("messages"), list):
        names = [objects.put(canonical_json(message)) for message in kept.body.pop("messages")]
        full = len(names) // BLOCK * BLOCK
        kept.blocks = [
            objects.put(canonical_json(names[begin : begin + BLOCK])) for begin in range(0, full, BLOCK)
        ]
        kept.rest = names[full:]
    return objects.put(canonical_json(kept))


def read_request(objects: ObjectStore, digest: str) -> dict[str, Any]:
    """The body of a request as it was sent.

    Raises:
        JournalError: an object is missing or damaged.
    """
    kept = _kept(objects, digest)
    body = dict(kept.body)
    if kept.tools is not None:
        body["tools"] = msgspec.json.decode(objects.get(kept.tools))
    if kept.blocks is not None:
        body["messages"] = [msgspec.json.decode(objects.get(name)) for name in _messages(objects, kept)]
    return body


def _kept(objects: ObjectStore, digest: str) -> KeptRequest:
    return msgspec.json.decode(objects.get(digest), type=KeptRequest)


def _messages(objects: ObjectStore, kept: KeptRequest) -> Iterator[str]:
    for block in kept.blocks or []:
        yield from msgspec.json.decode(objects.get(block), type=list[str])
    yield from kept.rest


def turned_away(call: ModelCalled) -> bool:
    """Whether the endpoint answered with an error or was never reached: such a call used no tokens.

    One that was cut short, or answered with something unusable, may have used any number of them.
    """
    if call.status is None:
        return call.call_class == "unreachable"
    return call.status >= 400


def used_tokens(call: ModelCalled) -> tuple[int, int] | None:
    """Input and output tokens of a call; null when nobody knows them."""
    if call.input_tokens is not None and call.output_tokens is not None:
        return call.input_tokens, call.output_tokens
    return (0, 0) if turned_away(call) else None


def used_money(call: ModelCalled) -> float | None:
    """Money of a call by the price list; null when it is not known."""
    if call.money is not None:
        return call.money
    return 0.0 if turned_away(call) else None
