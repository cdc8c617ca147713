"""A person at the runner's terminal, in another process."""

import json
import socket
import time
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from seatrial.gateway.attend import Observation
from seatrial.gateway.constraining.humans import Act, Mended, Reply, Request
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


class Prompt(msgspec.Struct, kw_only=True, frozen=True):
    """What the trial's process asks the runner to put to the person at its terminal, one JSON line.

    Attributes:
        trial: which one asks.
        show: text to be read first; made of what the agent wrote, so not to be trusted.
        prompt: stands before what is typed.
        seconds: after which nobody answered.
    """

    trial: str
    show: str
    prompt: str
    seconds: float


class Typed(msgspec.Struct, kw_only=True, frozen=True):
    """The answer, one JSON line; null when nobody answered."""

    line: str | None


HELP = (
    "You act in the agent's place. A line is a shell command; :call TOOL {JSON} calls a tool; "
    ":back gives the work back; :finish [SUMMARY] ends it."
)


class TerminalPerson:
    """A person at the terminal of the runner, which this process asks over a socket.

    Args:
        line: the socket; null where no terminal can be asked: then nobody answers.
        trial: as the plan names it.
        tier: of the experiment.
        timeout_seconds: for each thing that is asked.
    """

    by: Literal["terminal"] = "terminal"

    def __init__(self, line: socket.socket | None, trial: str, tier: str, timeout_seconds: float) -> None:
        self._line, self._file = line, None if line is None else line.makefile("rb")
        self._trial, self._tier, self._timeout = trial, tier, timeout_seconds

    def approve(self, request: Request) -> Reply:
        """See ``Person``."""
        begun = time.monotonic_ns()
        typed: list[str] = []
        show, prompt = request.shown, "Allow it? [y]es, [n]o (and why), [e]dit, [s]top the trial: "
        while True:
            line = self._ask(show, prompt)
            if line is None:
                return _timed(Reply("refused", NO_ANSWER, "\n".join(typed) or None), begun)
            typed.append(line)
            word, _, reason = line.strip().partition(" ")
            said = "\n".join(typed)
            if word in ("y", "yes"):
                return _timed(Reply("approved", with_reason(ALLOWED, reason), said), begun)
            if word in ("n", "no"):
                return _timed(Reply("refused", with_reason(REFUSED, reason), said), begun)
            if word in ("s", "stop"):
                return _timed(Reply("stopped", with_reason(STOPPED, reason), said), begun)
            if word in ("e", "edit"):
                arguments, show = self._edit(request, typed)
                if arguments is not None:
                    return _timed(_changed(request, arguments, "\n".join(typed)), begun)
                continue
            show = "Type y, n, e or s."

    def _edit(self, request: Request, typed: list[str]) -> tuple[dict[str, Any] | None, str]:
        """The call's arguments as the person changes them; null, and why, when they cannot be."""
        line = self._ask("", 'The arguments that change, such as {"amount": 50}: ')
        if line is None:
            return None, "Nothing was changed."
        typed.append(line)
        try:
            changed = json.loads(line)
        except ValueError as fault:
            return None, f"That is no JSON: {fault}."
        if not isinstance(changed, dict):
            return None, "That is no JSON object."
        arguments = {**request.arguments, **changed}
        wrong = request.problem_with(arguments)
        return (None, f"That cannot be: {wrong}.") if wrong else (arguments, "")

    def answer(self, question: str) -> Reply:
        """See ``Person``."""
        begun = time.monotonic_ns()
        more = ", :take to act yourself" if self._tier == "takeover" else ""
        line = self._ask(f"The agent asks: {question}", f"Answer (:refuse, :stop{more}): ")
        if line is None:
            return _timed(Reply("refused", NO_ANSWER), begun)
        word = line.strip()
        if word == ":take" and more:
            return _timed(Reply("took_over", TAKES_OVER, line), begun)
        if word == ":stop":
            return _timed(Reply("stopped", STOPPED, line), begun)
        if word == ":refuse" or not word:
            return _timed(Reply("refused", UNKNOWN, line), begun)
        return _timed(Reply("answered", line, line), begun)

    def wants_to_act(self, step: int) -> bool:
        """Only when asked."""
        return False

    def acts(self, act: Act) -> str:
        """See ``Person``."""
        typed: list[str] = []
        show = HELP
        while True:
            begun = time.monotonic_ns()
            line = self._ask(show, "you act> ")
            waited_us = (time.monotonic_ns() - begun) // 1000
            if line is None or line.strip() == ":back":
                return "\n".join(typed)
            if not line.strip():
                continue
            typed.append(line)
            call = _called(line)
            if call is None:
                show = HELP
                continue
            observation = act(*call, waited_us)
            if observation.done:
                return "\n".join(typed)
            show = _seen(observation)

    def repairs(self, step: int) -> Sequence[Mended]:
        """None: the person at the terminal is a user, not the evaluator."""
        return ()

    def _ask(self, show: str, prompt: str) -> str | None:
        if self._line is None or self._file is None:
            return None
        asked = Prompt(trial=self._trial, show=show, prompt=prompt, seconds=self._timeout)
        try:
            self._line.sendall(msgspec.json.encode(asked) + b"\n")
            answer = self._file.readline()
        except OSError:
            return None
        return msgspec.json.decode(answer, type=Typed).line if answer else None


def _changed(request: Request, arguments: dict[str, Any], typed: str) -> Reply:
    """An approval of the call with these arguments."""
    if arguments == request.arguments:
        return Reply("approved", ALLOWED, typed)
    return Reply("edited", edited(request.tool, arguments), typed, arguments)


def _timed(reply: Reply, begun: int) -> Reply:
    waited = (time.monotonic_ns() - begun) // 1000
    return Reply(reply.decision, reply.text, reply.typed, reply.arguments, waited, waited)


def _called(line: str) -> tuple[str, dict[str, Any]] | None:
    """What a line of a person who acts means; null when it means nothing."""
    word, _, rest = line.strip().partition(" ")
    if word == ":finish":
        return "finish", {"summary": rest.strip()}
    if word == ":call":
        tool, _, arguments = rest.strip().partition(" ")
        try:
            given = json.loads(arguments or "{}")
        except ValueError:
            return None
        return (tool, given) if tool and isinstance(given, dict) else None
    return None if word.startswith(":") else ("shell", {"command": line})


def _seen(observation: Observation) -> str:
    ending = "" if observation.exit_code in (0, None) else f", exit code {observation.exit_code}"
    plain = observation.outcome == "ok" and not ending
    return observation.text if plain else f"{observation.text.rstrip()}\n[{observation.outcome}{ending}]"
