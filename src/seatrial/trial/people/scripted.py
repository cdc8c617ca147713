"""A person whose decisions, answers and acts a task's script gives."""

import json
from collections.abc import Sequence
from typing import Literal

from seatrial.gateway.constraining.humans import Act, Mended, Reply, Request
from seatrial.gateway.deeds import CallPattern
from seatrial.journal.entries import ROOTS
from seatrial.spec.conditions import compile_condition
from seatrial.spec.patterns import compile_pattern
from seatrial.spec.people import Fact, PeopleScript, Said
from seatrial.trial.people.phrases import (
    ALLOWED,
    NO_ANSWER,
    REFUSED,
    STOPPED,
    TAKES_OVER,
    UNKNOWN,
    edited,
    with_reason,
)

SECOND = 1_000_000


class ScriptedPerson:
    """Does what a script says. Nobody really waits: its seconds are added to the trial clock.

    Args:
        script: of the task.
        files: bytes of the files that its repairs write, by their names in the task.
        tier: of the experiment: below ``takeover`` the person never acts.
        timeout_seconds: after which no answer is a refusal.
    """

    by: Literal["scripted"] = "scripted"

    def __init__(
        self, script: PeopleScript, files: dict[str, bytes], tier: str, timeout_seconds: float
    ) -> None:
        self._script, self._files = script, files
        self._may_act, self._timeout = tier == "takeover", timeout_seconds
        self._uses: dict[str, int] = {}
        self._taken: set[int] = set()
        self._mended: set[int] = set()
        self._acting: int | None = None

    def approve(self, request: Request) -> Reply:
        """See ``Person``."""
        for index, said in enumerate(self._script.approval):
            if _fits(said, request) and self._has_left(f"approval {index}", said.times):
                return self._decided(said, request)
        return Reply("refused", REFUSED)

    def _decided(self, said: Said, request: Request) -> Reply:
        if said.decision == "silent" or said.seconds > self._timeout:
            return self._no_answer()
        waited = round(said.seconds * SECOND)
        typed = said.decision if not said.reason else f"{said.decision}: {said.reason}"
        if said.decision == "edit":
            arguments = {**request.arguments, **said.arguments}
            if wrong := request.problem_with(arguments):
                return Reply("refused", with_reason(REFUSED, wrong), typed, waited_us=waited)
            if arguments != request.arguments:
                text = with_reason(edited(request.tool, arguments), said.reason)
                return Reply("edited", text, typed, arguments, waited_us=waited)
        if said.decision in ("approve", "edit"):
            return Reply("approved", with_reason(ALLOWED, said.reason), typed, waited_us=waited)
        if said.decision == "stop":
            return Reply("stopped", with_reason(STOPPED, said.reason), typed, waited_us=waited)
        return Reply("refused", with_reason(REFUSED, said.reason), typed, waited_us=waited)

    def answer(self, question: str) -> Reply:
        """See ``Person``."""
        for index, takeover in enumerate(self._script.takeover):
            asked = takeover.question
            if asked is None or index in self._taken or not self._may_act:
                continue
            if compile_condition(asked).matches(question):
                self._acting = index
                return Reply("took_over", TAKES_OVER)
        for index, fact in enumerate(self._script.fact):
            fits = compile_condition(fact.question).matches(question)
            if fits and self._has_left(f"fact {index}", fact.times):
                return self._answered(fact)
        return Reply("refused", UNKNOWN)

    def _answered(self, fact: Fact) -> Reply:
        if fact.decision == "silent" or fact.seconds > self._timeout:
            return self._no_answer()
        waited = round(fact.seconds * SECOND)
        if fact.decision == "stop":
            return Reply("stopped", with_reason(STOPPED, fact.answer), "stop", waited_us=waited)
        return Reply("answered", fact.answer, fact.answer, waited_us=waited)

    def _no_answer(self) -> Reply:
        return Reply("refused", NO_ANSWER, waited_us=round(self._timeout * SECOND))

    def _has_left(self, name: str, times: int | None) -> bool:
        """Whether an entry may answer once more; if so, it is counted."""
        used = self._uses.get(name, 0)
        if times is not None and used >= times:
            return False
        self._uses[name] = used + 1
        return True

    def wants_to_act(self, step: int) -> bool:
        """See ``Person``."""
        for index, takeover in enumerate(self._script.takeover):
            after = takeover.after_step
            if self._may_act and after is not None and step >= after and index not in self._taken:
                self._acting = index
                return True
        return False

    def acts(self, act: Act) -> str:
        """See ``Person``."""
        assert self._acting is not None, "nobody took over"
        takeover = self._script.takeover[self._acting]
        self._taken.add(self._acting)
        for step in takeover.step:
            if act(step.tool, step.call(), round(takeover.seconds * SECOND)).done:
                break
        return "\n".join(json.dumps({"tool": step.tool, **step.call()}) for step in takeover.step)

    def repairs(self, step: int) -> Sequence[Mended]:
        """See ``Person``."""
        due = [
            index
            for index, repair in enumerate(self._script.repair)
            if step >= repair.after_step and index not in self._mended
        ]
        self._mended.update(due)
        return [
            Mended(_place(self._script.repair[i].to), self._files[self._script.repair[i].write]) for i in due
        ]


def _fits(said: Said, request: Request) -> bool:
    if said.approval is not None and said.approval != request.approval:
        return False
    pattern = CallPattern({"tool": said.tool, "where": said.where})
    return pattern.matches(request.tool, request.arguments)


def _place(pattern: str) -> str:
    """The path a ``files:`` pattern without wildcards names, as tools take it."""
    literal = compile_pattern(pattern).literal
    assert literal is not None, "checked when the script was read"
    root, _, below = literal.partition("/")
    return f"{ROOTS[root]}/{below}"
