"""Runs an agent inside its sandbox: standard library only, one file, nothing of the project visible.

Connects to the gateway's socket, asks for its configuration, then asks for one action after another.
A Python agent is a class with ``__init__(config, seed)`` and ``act(observation) -> action``; an observation
is ``{"text", "outcome", "exit_code", "done"}``, the first one with the instruction as its text, the ``tools``
and, where the experiment grants it, the ``budget``; an action ``{"tool": name, "arguments": {...}}``,
optionally with an idempotency ``key``.

An agent that can be interrupted has ``save() -> bytes`` and ``load(bytes)``, for prose ``summary() -> str``,
and may say by ``wants_checkpoint() -> bool`` when; otherwise it is asked before every action, once the action
is chosen. ``compact(how) -> {"tokens_before", "tokens_after", "kept", "summary"}`` makes its context shorter;
``how`` is ``{"strategy", "bytes"}``, with ``text`` where the strategy brings one. An agent that does so of
its own accord may report it likewise from ``compacted()``, which is asked after every ``act`` and gives null
where there was nothing.
"""

import base64
import importlib
import json
import re
import socket
import sys
import time
import traceback
from typing import Any

SOCKET = "/run/gateway.sock"
CODE = "/agent"
LOOK_AGAIN_SECONDS = 0.2
TRACEBACK_CHARACTERS = 4000


class Connection:
    """JSON-RPC 2.0, one object a line."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._lines = self._socket.makefile("rwb")
        self._number = 0

    def call(self, method: str, **params: Any) -> Any:
        """Ask and wait for the answer; the process ends when the other side has gone."""
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._lines.write(json.dumps(request).encode() + b"\n")
        self._lines.flush()
        line = self._lines.readline()
        if not line:
            raise SystemExit(0)
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]


class ScriptedAgent:
    """Plays a list of steps. A step that waits for a text repeats the one before it until it is shown.

    What it persists is the place in its script and the action it is about to send. After an interruption it
    does that action again: ``blind`` as it stands, ``idempotent`` under the key it had, ``query`` only
    when the step's ``check`` does not show that it is done.
    """

    def __init__(self, config: dict[str, Any], seed: int) -> None:
        self._steps: list[dict[str, Any]] = list(config["steps"])
        self._retry: str = config.get("retry", "blind")
        self._place = self._sent = 0
        self._believed = -1
        self._last: dict[str, Any] | None = None
        self._pending: dict[str, Any] | None = None
        self._waiting_since: float | None = None
        self._after_interruption = self._checking = False
        self._life = ""

    def act(self, observation: dict[str, Any]) -> dict[str, Any]:
        """The next step, or the last one again while its text is not there yet."""
        if "resumed" in observation:
            self._resume(observation["resumed"].get("text"))
        if self._after_interruption:
            again = self._repeat(observation["text"])
            if again is not None:
                return again
        if self._place >= len(self._steps):
            return self._send("give_up", {"reason": "the script has ended"})
        step = self._steps[self._place]
        pattern = step["when_shown"]
        if pattern is not None and not re.search(pattern, observation["text"]):
            return self._look_again(step)
        self._waiting_since = None
        if step["belief"] is not None and self._believed < self._place:
            self._believed = self._place
            return self._send("report_belief", step["belief"])
        self._place += 1
        self._last = {"tool": step["tool"], "arguments": step["arguments"]}
        return self._send(**self._last)

    def _send(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._sent += 1
        self._pending = {"tool": tool, "arguments": arguments}
        if self._retry == "idempotent":
            self._pending["key"] = f"{self._life}{self._sent}"
        return self._pending

    def _look_again(self, step: dict[str, Any]) -> dict[str, Any]:
        now = time.monotonic()
        self._waiting_since = self._waiting_since or now
        if self._last is None or now - self._waiting_since >= step["patience"]:
            return self._send("give_up", {"reason": f"never shown: {step['when_shown']}"})
        time.sleep(LOOK_AGAIN_SECONDS)
        return self._send(**self._last)

    def _resume(self, text: str | None) -> None:
        """Without its state only its own prose, if that, says where it was; its keys are forgotten."""
        self._after_interruption = self._pending is not None
        if self._pending is not None:
            return
        self._life = "again-"
        said = re.search(r"I am at step (\d+) ", text or "")
        if said is not None and 1 <= int(said[1]) <= len(self._steps):
            step = self._steps[int(said[1]) - 1]
            self._place = self._believed = int(said[1])
            self._last = {"tool": step["tool"], "arguments": step["arguments"]}
            self._pending, self._after_interruption = self._last, True

    def _repeat(self, text: str) -> dict[str, Any] | None:
        """The action that may or may not have been carried out; null when it is known to be done."""
        pending = self._pending
        assert pending is not None
        is_step = self._last is not None and pending["arguments"] == self._last["arguments"]
        check = self._steps[self._place - 1].get("check") if is_step else None
        if self._retry == "query" and check is not None:
            if not self._checking:
                self._checking = True
                return {"tool": check["tool"], "arguments": check["arguments"]}
            if re.search(check["shows"], text):
                self._after_interruption = False
                return None
        self._after_interruption = False
        return pending if "key" in pending else self._send(pending["tool"], pending["arguments"])

    def save(self) -> bytes:
        """The place in the script, with the action that is to be sent next."""
        kept = {"place": self._place, "sent": self._sent, "believed": self._believed}
        return json.dumps({**kept, "last": self._last, "pending": self._pending}).encode()

    def load(self, state: bytes) -> None:
        """Go on where that was saved."""
        kept = json.loads(state)
        self._place, self._sent, self._believed = kept["place"], kept["sent"], kept["believed"]
        self._last, self._pending = kept["last"], kept["pending"]

    def summary(self) -> str:
        """The same in words, without keys."""
        return f"I am at step {self._place} of {len(self._steps)} of my script."

    def compact(self, how: dict[str, Any]) -> dict[str, Any]:
        """A script is no context: nothing of it can be left out."""
        return {"kept": ["script"]}


def load_agent(hello: dict[str, Any], code: str) -> Any:
    """The agent this process is to be; ``code`` is the folder its module lies in."""
    if hello["code"] is None:
        return ScriptedAgent(hello["config"], hello["seed"])
    sys.path.insert(0, code)
    module, _, name = hello["code"].partition(":")
    return getattr(importlib.import_module(module), name)(hello["config"], hello["seed"])


def keep(connection: Connection, agent: Any, offered: dict[str, Any] | None) -> None:
    """Have what the agent wants to persist kept outside this process, before its next action is sent.

    What is beyond the budget is cut off here already; the other side is told how long it was.
    """
    if offered is None:
        return
    structured = offered["memory"] == "structured"
    make = getattr(agent, "save" if structured else "summary", None)
    wants = getattr(agent, "wants_checkpoint", None)
    if make is None or not (wants is None or wants()):
        return
    made = make()
    data = bytes(made) if structured else made.encode("utf-8", "replace")
    kept = data[: offered["bytes"]]
    if structured:
        connection.call("checkpoint", state=base64.b64encode(kept).decode(), size=len(data))
    else:
        connection.call("checkpoint", text=kept.decode("utf-8", "ignore"), size=len(data))


def compact(agent: Any, how: dict[str, Any] | None) -> dict[str, Any] | None:
    """What the agent says of a compaction it was asked for, or made of its own accord; null without one."""
    if how is not None and hasattr(agent, "compact"):
        return dict(agent.compact(how))
    own = getattr(agent, "compacted", None)
    return None if own is None else own()


def main() -> None:
    """Ask for actions until the other side says that the work has ended."""
    socket_path, code = sys.argv[1:3]
    connection = Connection(socket_path)
    hello = connection.call("hello")
    try:
        agent = load_agent(hello, code)
        state = hello.get("state")
        if state is not None:
            agent.load(base64.b64decode(state))
        connection.call("ready")
        observation = hello["observation"]
        while not observation.get("done"):
            action = agent.act(observation)
            report = compact(agent, observation.get("compact"))
            keep(connection, agent, hello.get("checkpoints"))
            if report is not None:
                connection.call("compacted", **report)
            observation = connection.call(
                "act", tool=action["tool"], arguments=action.get("arguments", {}), key=action.get("key")
            )
    except Exception:
        connection.call("crashed", traceback=traceback.format_exc()[-TRACEBACK_CHARACTERS:])
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
