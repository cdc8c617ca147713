"""The chain visible → observed → understood → repaired → finished, and where it broke (D7)."""

from collections.abc import Mapping
from typing import Literal

import msgspec

Link = Literal["visible", "observed", "understood", "repaired", "finished"]
CHAIN: tuple[Link, ...] = ("visible", "observed", "understood", "repaired", "finished")


class Mechanism(msgspec.Struct, frozen=True, kw_only=True):
    """Names are the TrialRecord's columns.

    Attributes:
        chain_broke_at: the first link that did not hold although all before it did; ``none`` when the chain
            is whole; null where an unknown link comes first, ``understood`` left out.
        chain_held: links that are known to have held.
    """

    chain_broke_at: str | None = None
    chain_held: list[str] | None = None


def measure_mechanism(links: Mapping[Link, bool | None]) -> Mechanism:
    """Where the chain broke.

    Whether something was understood shows only in a reported belief. Where nothing was reported, that link is
    passed over: it is unknown, and a repair that came about shows that it was no obstacle. A disturbance that
    was repaired unseen counts as broken at ``observed``: the outcome was luck.

    Args:
        links: whether each held; null where the journal cannot say.
    """
    held = [link for link in CHAIN if links[link] is True]
    for link in CHAIN:
        if links[link] is False:
            return Mechanism(chain_broke_at=link, chain_held=list(held))
        if links[link] is None and link != "understood":
            return Mechanism(chain_held=list(held))
    return Mechanism(chain_broke_at="none", chain_held=list(held))
