"""Runs an agent inside its sandbox: standard library only, one file, nothing of the project visible.

Connects to the gateway's socket, asks for its configuration, then asks for one action after another.
A Python agent is a class with ``__init__(config, seed)`` and ``act(observation) -> action``; an observation
is ``{"text", "outcome", "exit_code", "done"}``, the first one with the instruction as its text, the ``tools``
and, where the experiment grants it, the ``budget``; an action ``{"tool": name, "arguments": {...}}``,
optionally with an idempotency ``key``.
"""

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
    """Plays a list of steps. A step that waits for a text repeats the one before it until it is shown."""

    def __init__(self, config: dict[str, Any], seed: int) -> None:
        self._steps: list[dict[str, Any]] = list(config["steps"])
        self._last: dict[str, Any] | None = None
        self._waiting_since: float | None = None

    def act(self, observation: dict[str, Any]) -> dict[str, Any]:
        """The next step, or the last one again while its text is not there yet."""
        if not self._steps:
            return {"tool": "give_up", "arguments": {"reason": "the script has ended"}}
        step = self._steps[0]
        pattern = step["when_shown"]
        if pattern is not None and not re.search(pattern, observation["text"]):
            return self._look_again(step)
        self._waiting_since = None
        if step["belief"] is not None:
            self._steps[0] = {**step, "belief": None}
            return {"tool": "report_belief", "arguments": step["belief"]}
        self._steps.pop(0)
        self._last = {"tool": step["tool"], "arguments": step["arguments"]}
        return self._last

    def _look_again(self, step: dict[str, Any]) -> dict[str, Any]:
        now = time.monotonic()
        self._waiting_since = self._waiting_since or now
        if self._last is None or now - self._waiting_since >= step["patience"]:
            return {"tool": "give_up", "arguments": {"reason": f"never shown: {step['when_shown']}"}}
        time.sleep(LOOK_AGAIN_SECONDS)
        return self._last


def load_agent(hello: dict[str, Any], code: str) -> Any:
    """The agent this process is to be; ``code`` is the folder its module lies in."""
    if hello["code"] is None:
        return ScriptedAgent(hello["config"], hello["seed"])
    sys.path.insert(0, code)
    module, _, name = hello["code"].partition(":")
    return getattr(importlib.import_module(module), name)(hello["config"], hello["seed"])


def main() -> None:
    """Ask for actions until the other side says that the work has ended."""
    socket_path, code = sys.argv[1:3]
    connection = Connection(socket_path)
    hello = connection.call("hello")
    try:
        agent = load_agent(hello, code)
        connection.call("ready")
        observation = hello["observation"]
        while not observation.get("done"):
            action = agent.act(observation)
            observation = connection.call(
                "act", tool=action["tool"], arguments=action.get("arguments", {}), key=action.get("key")
            )
    except Exception:
        connection.call("crashed", traceback=traceback.format_exc()[-TRACEBACK_CHARACTERS:])
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
