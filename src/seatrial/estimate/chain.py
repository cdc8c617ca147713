"""Chains of conditions, each link on its own denominator (D7, E8).

A trial counts at a link only if every link before it held: one that never noticed an error says nothing of
how errors are repaired. A rate over all trials would credit a system for what it never met.
"""

from collections.abc import Mapping, Sequence

import msgspec

from seatrial.estimate.estimate import Estimate
from seatrial.estimate.rates import rate_over_tasks

# One trial's links in order: held, broke, or unknown.
Links = Sequence[bool | None]


class ChainLink(msgspec.Struct, frozen=True, kw_only=True):
    """One link.

    Attributes:
        reached: trials in which all links before it are known to have held: the denominator.
        held: of these, where it did too.
        broke: of these, where it did not: the chain broke here.
        unknown: of these, where nobody can say.
        lost: trials that are not in ``reached`` because a link before it is unknown.
        rate: held over reached, over tasks; unknown ones both ways.
    """

    link: str
    reached: int
    held: int
    broke: int
    unknown: int
    lost: int
    rate: Estimate


def condition_chain(
    trials: Mapping[str, Sequence[Links]], names: Sequence[str], passed_over: Sequence[str] = ()
) -> list[ChainLink]:
    """The rate of each link among the trials in which all before it held.

    Args:
        trials: task to its trials.
        names: of the links, in order.
        passed_over: links that may be unknown without ending the chain.

    Raises:
        ValueError: a trial has another number of links.
    """
    standing = {task: [list(links) for links in of_task] for task, of_task in trials.items()}
    if any(len(links) != len(names) for of_task in standing.values() for links in of_task):
        raise ValueError(f"condition_chain: trials must have {len(names)} links: {', '.join(names)}")
    found, lost = [], 0
    for place, name in enumerate(names):
        here = {task: [links[place] for links in of_task] for task, of_task in standing.items()}
        values = [value for of_task in here.values() for value in of_task]
        found.append(
            ChainLink(
                link=name,
                reached=len(values),
                held=values.count(True),
                broke=values.count(False),
                unknown=values.count(None),
                lost=lost,
                rate=rate_over_tasks({task: of_task for task, of_task in here.items() if of_task}),
            )
        )
        goes_on = (True, None) if name in passed_over else (True,)
        lost += 0 if name in passed_over else values.count(None)
        standing = {
            task: [links for links in of_task if links[place] in goes_on]
            for task, of_task in standing.items()
        }
    return found
