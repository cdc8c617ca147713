"""Has the agent make its context shorter, and writes down what it says of that."""

from typing import Any

import msgspec

from seatrial.gateway.asked import readable
from seatrial.gateway.attend import Asked, Idle, Observation, Window
from seatrial.gateway.memory import Memory
from seatrial.gateway.meter import Meter
from seatrial.gateway.recalling import Past
from seatrial.journal.events import ActionFinished, ActionRequested, ContextCompacted
from seatrial.journal.objects import ObjectStore
from seatrial.journal.writer import JournalWriter
from seatrial.spec.experiment import Compaction
from seatrial.spec.interrupting import Strategy
from seatrial.trial.keeping.state_table import StateTable

KEPT_KINDS, KIND_CHARACTERS = 50, 100


class BadReport(Exception):
    """What an agent says of its compaction cannot be written down."""


class Compactions(Idle):
    """Compactions of one trial's context. List it after the attendants whose notices an answer carries.

    An agent that shortens its context of its own accord may say so in any arm; it counts as ``automatic``.

    Args:
        strategy: what the agent is asked for; null asks for nothing.
        options: when, and how much may stand in place of the history.
        gold: what a person wrote for this task, for ``gold``.
        memory: its entries are part of the state table, its summary channel may be polluted.

    Attributes:
        listeners: called with the step after one was written down.
    """

    def __init__(
        self,
        journal: JournalWriter,
        objects: ObjectStore,
        meter: Meter,
        strategy: Strategy | None,
        options: Compaction | None,
        gold: str,
        memory: Memory,
    ) -> None:
        self._journal, self._objects, self._meter = journal, objects, meter
        self._strategy, self._options, self._gold, self._memory = strategy, options, gold, memory
        self._table = StateTable(objects)
        self._due = False
        self._asked: Strategy | None = None
        self._tokens_then = 0
        self._lookups = 0
        self.listeners: list[Any] = []

    # -- when -----------------------------------------------------------------------------------------
    def verified(self, subgoal: str, step: int) -> None:
        """A subgoal was verified for the first time."""
        if self._options is not None and subgoal == self._options.at_subgoal:
            self._due = True

    def recall(self, past: Past) -> None:
        """Know the steps of before, for a trial that goes on from another one's state."""
        for act in past.acts:
            self._table.add(act.asked, act.finished)
        carried_out = {act.asked.step for act in past.acts if act.executed}
        for event in past.events:
            if isinstance(event, ContextCompacted):
                self._lookups = 0
            elif isinstance(event, ActionRequested) and event.tool == "history":
                self._lookups += event.step in carried_out

    def committed(self, asked: Asked, finished: ActionFinished) -> None:
        """Take the step into the state table."""
        self._table.add(asked, finished)

    def shown(self, asked: Asked, observation: Observation) -> Observation:
        """Ask for a compaction with the answer, when one is due."""
        if self._options is None or self._strategy is None or observation.done or not self._is_due():
            return observation
        self._due, self._tokens_then = False, self._meter.tokens
        how: dict[str, Any] = {"strategy": self._strategy, "bytes": self._options.state_bytes}
        text = self._text(asked.step)
        if text:
            how["text"] = text
        self._asked = self._strategy
        return msgspec.structs.replace(observation, compact=how)

    def _is_due(self) -> bool:
        assert self._options is not None
        limit, used = self._options.every_tokens, self._meter.call_tokens
        # A call made before the last compaction says nothing of the context as it is now.
        if limit is not None and used is not None and self._meter.tokens > self._tokens_then:
            return used >= limit
        return self._due

    def _text(self, step: int) -> str:
        """What stands in place of the history, as far as the harness brings it."""
        assert self._options is not None
        if self._strategy == "raw":
            return ""
        limit, text = self._options.state_bytes, ""
        if self._strategy == "gold":
            text = self._gold
        elif self._strategy == "structured":
            items = {key: item.value for key, item in self._memory.items.items()}
            text = self._table.text(self._journal.goal_version, items, limit)
        text = self._memory.hand_summary(text, step)
        return text.encode()[:limit].decode("utf-8", "ignore")

    # -- what came of it ------------------------------------------------------------------------------
    def report(self, params: dict[str, Any], step: int) -> None:
        """Write down a compaction as the agent reports it; token counts it does not give are the proxy's.

        Raises:
            BadReport: it has other parts than a report has.
        """
        before, after = _count(params, "tokens_before"), _count(params, "tokens_after")
        kept, summary = params.get("kept") or [], params.get("summary")
        if not isinstance(kept, list) or not all(isinstance(kind, str) for kind in kept):
            raise BadReport("'kept' must be a list of strings")
        if summary is not None and not isinstance(summary, str):
            raise BadReport("'summary' must be a string")
        asked, self._asked = self._asked, None
        stored = None if summary is None else self._objects.put(readable(summary).encode())
        self._journal.append(
            ContextCompacted(
                step=step, strategy=asked or "automatic",
                tokens_before=self._meter.call_tokens if before is None else before, tokens_after=after,
                kept=[readable(kind)[:KIND_CHARACTERS] for kind in kept[:KEPT_KINDS]], summary=stored,
                lookups=self._lookups,
            )
        )  # fmt: skip
        self._lookups = 0
        for listener in self.listeners:
            listener(step)

    def history(self, asked: Asked) -> Window:
        """The tool of that name: what an earlier step did and showed."""
        self._lookups += 1
        text = self._table.step(asked.arguments["step"])
        return Window("failed", "there is no such step") if text is None else Window("ok", text)


def _count(params: dict[str, Any], name: str) -> int | None:
    value = params.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 53:
        raise BadReport(f"{name!r} must be a number of tokens")
    return value
