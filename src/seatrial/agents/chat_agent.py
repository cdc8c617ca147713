"""The harness of chat agents: runs in the agent's sandbox with nothing but the standard library.

It keeps the conversation, offers the gateway's tools to the model, sends requests to the proxy's socket and
turns the tool calls of each answer into actions, one by one, in order.
"""

import http.client
import json
import os
import socket
from typing import Any

TOO_LONG = "context_length_exceeded"
NUDGE = "Your answer called no tool. Go on by calling one; call finish when the work is done."
LEFT_OUT = "\n\n[The earlier part of this conversation is left out here.]"
NO_OBJECT = "[the arguments were no JSON object]\n"
SHOWN_CHARACTERS = 500


class ContextFull(Exception):
    """The endpoint takes no conversation of this length."""


class Ended(Exception):
    """The proxy makes no further call: the trial is being ended."""


class Connection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("model")
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


class ChatAgent:
    """``config`` holds the options of the system that concern the conversation; see ``spec.chat``."""

    def __init__(self, config: dict[str, Any], seed: int) -> None:
        self._config = config
        self._body: dict[str, Any] = {"model": config["model"], **config["extra"]}
        for key in ("temperature", "max_tokens"):
            if config[key] is not None:
                self._body[key] = config[key]
        if config["pass_seed"]:
            self._body["seed"] = seed % 2**31
        self._messages: list[dict[str, Any]] = []
        self._names: dict[str, str] = {}
        self._waiting: list[
            dict[str, Any]
        ] = []  # tool calls of the last answer that are still to be carried out
        self._shown_to: dict[str, Any] = {}  # the tool call whose result comes next
        self._used = 0

    def act(self, observation: dict[str, Any]) -> dict[str, Any]:
        """The next action: the next tool call of the last answer, or the first of a new one."""
        self._hear(observation)
        silent = 0
        while not self._waiting:
            try:
                message = self._ask()
            except ContextFull:
                return give_up("the conversation no longer fits the model's context")
            self._waiting = list(message.get("tool_calls") or [])
            if not self._waiting:
                silent += 1
                if silent > self._config["nudges"]:
                    said = message["content"][:SHOWN_CHARACTERS]
                    return give_up(f"the model called no tool; it said: {said}")
                self._messages.append({"role": "user", "content": NUDGE})
        self._shown_to = call = self._waiting.pop(0)
        name = call["function"]["name"]
        arguments = decoded(call["function"]["arguments"])
        return {"tool": self._names.get(name, name), "arguments": arguments}

    def _hear(self, observation: dict[str, Any]) -> None:
        """Add what was shown to the conversation; the first time, begin it."""
        if not self._messages:
            self._begin(observation)
            return
        text = observation["text"] or "[no output]"
        if observation.get("exit_code"):
            text += f"\n[exit code {observation['exit_code']}]"
        if not isinstance(decoded(self._shown_to["function"]["arguments"]), dict):
            text = NO_OBJECT + text
        self._messages.append({"role": "tool", "tool_call_id": self._shown_to["id"], "content": text})

    def _begin(self, observation: dict[str, Any]) -> None:
        # Function names may hold no dot.
        self._names = {tool["name"].replace(".", "__"): tool["name"] for tool in observation["tools"]}
        self._body["tools"] = [
            {"type": "function", "function": {**tool, "name": tool["name"].replace(".", "__")}}
            for tool in observation["tools"]
        ]
        text = observation["text"]
        granted = {
            key: value for key, value in (observation.get("budget") or {}).items() if value is not None
        }
        if granted:
            text += "\n\nYou may use at most: " + ", ".join(f"{v} {k}" for k, v in granted.items()) + "."
        self._messages = [
            {"role": "system", "content": self._config["system_prompt"]},
            {"role": "user", "content": text},
        ]

    def _ask(self) -> dict[str, Any]:
        """The model's next message, added to the conversation."""
        limit = self._config["context_tokens"]
        if limit is not None and self._used > limit:
            self._leave_out()
        while True:
            status, answer = self._send()
            if status == 200:
                break
            if answer.get("error", {}).get("code") != TOO_LONG:
                raise Ended(f"status {status}")
            if not self._leave_out():
                raise ContextFull
        self._used = counted(answer.get("usage"))
        message = answer["choices"][0]["message"]
        # Some servers take no conversation with a null in it.
        kept = {"role": "assistant", "content": message.get("content") or ""}
        made = enumerate(message.get("tool_calls") or [])
        calls = [repeatable(call, f"call_{len(self._messages)}_{n}") for n, call in made]
        if calls:
            kept["tool_calls"] = [said for said, _ in calls]
        self._messages.append(kept)
        return {**kept, "tool_calls": [call for _, call in calls]}

    def _send(self) -> tuple[int, dict[str, Any]]:
        connection = Connection(os.environ["MODEL_SOCKET"])
        try:
            data = json.dumps({**self._body, "messages": self._messages})
            connection.request("POST", "/v1/chat/completions", data, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException) as fault:
            raise Ended(str(fault)) from fault
        finally:
            connection.close()

    def _leave_out(self) -> bool:
        """Leave out the older half of the answers with what followed them; whether there was any to spare."""
        begins = [n for n, message in enumerate(self._messages) if message["role"] == "assistant"]
        if len(begins) < 2:
            return False
        kept_from = begins[(len(begins) + 1) // 2]
        head = self._messages[:2]
        if not head[1]["content"].endswith(LEFT_OUT):
            head[1] = {**head[1], "content": head[1]["content"] + LEFT_OUT}
        self._messages = head + self._messages[kept_from:]
        return True


def counted(usage: Any) -> int:
    """Tokens of the conversation by the endpoint's count; 0 where it gives none."""
    counts = (usage.get("prompt_tokens"), usage.get("completion_tokens")) if isinstance(usage, dict) else ()
    return sum(count for count in counts if isinstance(count, int))


def decoded(arguments: Any) -> Any:
    """The arguments of a tool call as a value; text that is no JSON stays text, for the gateway to judge."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return arguments


def repeatable(call: dict[str, Any], fallback_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A tool call as the conversation may repeat it to any server, and as it was made; both with an id.

    Servers refuse a conversation whose own tool calls they cannot read.
    """
    name = call.get("id")
    made = {
        "id": name if isinstance(name, str) and name else fallback_id,
        "type": "function",
        "function": call["function"],
    }
    arguments = call["function"]["arguments"]
    value = decoded(arguments)
    text = json.dumps(value if isinstance(value, dict) else {"unreadable": str(arguments)})
    return {**made, "function": {"name": call["function"]["name"], "arguments": text}}, made


def give_up(reason: str) -> dict[str, Any]:
    """The action that ends the work."""
    return {"tool": "give_up", "arguments": {"reason": reason}}
