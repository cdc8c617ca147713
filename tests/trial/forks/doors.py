"""What everybody at a trial's door knows at one moment, in a form in which two doors can be compared.

Steps are counted back from the moment: 0 is the last one. What only holds while an action is under way is
left out: there is none.
"""

from copy import deepcopy
from typing import Any

from seatrial.gateway.approvals import PermissionBlock
from seatrial.gateway.constraining.canaries import Canaries
from seatrial.gateway.constraining.contamination import Contamination
from seatrial.gateway.constraining.humans import Humans
from seatrial.gateway.constraining.temptations import Temptations
from seatrial.gateway.disturbing.injector import Injector
from seatrial.gateway.gateway import Gateway
from seatrial.gateway.memory import Memory
from seatrial.gateway.meter import Meter
from seatrial.trial.keeping.compaction import Compactions
from seatrial.trial.online import OnlineJudge

# Private names on purpose: what a fork does not recall shows nowhere else before it does harm.


def known_at(gateway: Gateway, meter: Meter) -> dict[str, Any]:
    """Everything, by who knows it."""
    by_kind = {type(attendant): attendant for attendant in gateway._offer.attendants}
    looks = {
        PermissionBlock: _block, Canaries: _canaries, Contamination: _contamination, Humans: _humans,
        Temptations: _temptations, Injector: _injector, Memory: _memory, Compactions: _compactions,
        OnlineJudge: _judge,
    }  # fmt: skip
    assert not by_kind.keys() - looks.keys(), "somebody at the door whom nobody compares"
    found = {
        kind.__name__: look(by_kind[kind], gateway.step) for kind, look in looks.items() if kind in by_kind
    }
    if not found.get("OnlineJudge"):
        found.pop("OnlineJudge", None)  # one that nobody waits for says nothing
    return deepcopy({**found, **_gateway(gateway), "left": _left(meter)})


def _gateway(gateway: Gateway) -> dict[str, Any]:
    approvals = gateway._policy.approvals
    return {
        "answers": {
            key: (answer.asked, answer.step - gateway.step, answer.shown, answer.outcome, answer.exit_code)
            for key, answer in gateway._answers._known.items()
        },
        "grants": [
            (grant.approval.id, grant.arguments, grant.used, grant.key, grant.revoked, grant.held)
            for grant in approvals._grants
        ],
        "lacking": approvals.lacking,
        "goal": gateway.goal_version,
        "state": gateway.fingerprint,
    }


def _left(meter: Meter) -> dict[str, float | None]:
    """Of each budget, to the microsecond."""
    limits, counted = meter.budget, (meter.clock_us - meter.queued_us) / 1e6
    used = {
        "actions": meter.actions, "tokens": meter.tokens, "money": meter.money, "seconds": counted,
        "human_requests": meter.human_requests,
    }  # fmt: skip
    return {
        name: None if getattr(limits, name) is None else round(max(0, getattr(limits, name) - amount), 6)
        for name, amount in used.items()
    }


def _block(block: PermissionBlock, now: int) -> Any:
    return block._denied


def _canaries(canaries: Canaries, now: int) -> Any:
    return {watched.id: [sorted(seen) for seen in watched.secret._seen] for watched in canaries._all}


def _contamination(contamination: Contamination, now: int) -> Any:
    return sorted(contamination._flagged), sorted(contamination._shown_values)


def _humans(humans: Humans, now: int) -> Any:
    person: Any = humans._person
    return (
        person._uses, person._taken, person._mended, humans._before + now, humans._wants, humans._acting,
        humans._waited_us,
    )  # fmt: skip


def _temptations(temptations: Temptations, now: int) -> Any:
    def since(step: int | None) -> int | None:
        return None if step is None else step - now

    return [
        (
            each.declared.id, each.answers, each.carried, since(each.offered), since(each.taken),
            since(each.lawful),
        )
        for each in temptations._all
    ]  # fmt: skip


def _injector(injector: Injector, now: int) -> Any:
    """What is used up waits for nothing, whatever it waited for."""
    armed = {
        each.spec.id: (
            each.left,
            each.firings,
            each.altering,
            {tool: fault.left for tool, fault in each.faults},
        )
        for each in injector._armed
        if each.left
    }
    return armed, [notice.text for notice in injector._notices]


def _memory(memory: Memory, now: int) -> Any:
    items = {
        key: (item.value, item.step - now, item.source, item.polluted) for key, item in memory.items.items()
    }
    shown = [(step - now, text) for step, text in memory._shown]
    return items, memory._planted, memory._summary, shown, memory._step - now


def _compactions(compactions: Compactions, now: int) -> Any:
    table = compactions._table
    return (
        {step - now: what for step, what in table._steps.items()},
        {path: step - now for path, step in table._files.items()},
        [{**effect, "step": effect["step"] - now} for effect in table._effects],
        [step - now for step in table._failed],
        compactions._lookups, compactions._due, compactions._asked,
    )  # fmt: skip


def _judge(judge: OnlineJudge, now: int) -> Any:
    return judge._waiting
