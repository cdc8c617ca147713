"""The harness of chat agents: runs in the agent's sandbox with nothing but the standard library.

It keeps the conversation, offers the gateway's tools to the model, sends requests to the proxy's socket and
turns the tool calls of each answer into actions, one by one, in order.

The conversation is a head (system prompt, instruction, what stands in place of a history that was taken away)
and turns: an answer of the model and what followed it. The turns are persisted, or a summary by the model.
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
SUMMED_UP = "\n\n[The conversation so far is left out here. What is known of it:]\n"
OPEN_CALL = "[You were interrupted before this was shown: it may or may not have been carried out.]"
NOT_BEGUN = "[You were interrupted before this was carried out.]"
SUM_UP = (
    "Pause here and call no tool. Write down, in at most {bytes} bytes, all that you would need to go on "
    "with this work in a new conversation: what is done and what is left, what must not be done, what failed "
    "and why, and every name, number and id that will be needed."
)


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
        self._instruction: str | None = None
        self._summary = ""
        self._left_out = False
        self._turns: list[dict[str, Any]] = []
        self._names: dict[str, str] = {}
        self._waiting: list[
            dict[str, Any]
        ] = []  # tool calls of the last answer that are still to be carried out
        self._shown_to: dict[str, Any] | None = None  # the tool call whose result comes next
        self._used = 0
        self._acts = 0
        self._bytes = 0
        self._shortened: dict[str, Any] | None = None

    def act(self, observation: dict[str, Any]) -> dict[str, Any]:
        """The next action: the next tool call of the last answer, or the first of a new one."""
        self._hear(observation)
        self._acts += 1
        silent = 0
        while not self._waiting:
            try:
                message = self._ask()
            except ContextFull:
                self._shown_to = None
                return give_up("the conversation no longer fits the model's context")
            self._waiting = list(message.get("tool_calls") or [])
            if not self._waiting:
                silent += 1
                if silent > self._config["nudges"]:
                    self._shown_to = None
                    said = message["content"][:SHOWN_CHARACTERS]
                    return give_up(f"the model called no tool; it said: {said}")
                self._turns.append({"role": "user", "content": NUDGE})
        self._shown_to = call = self._waiting.pop(0)
        name = call["function"]["name"]
        arguments = decoded(call["function"]["arguments"])
        return {"tool": self._names.get(name, name), "arguments": arguments}

    def _hear(self, observation: dict[str, Any]) -> None:
        """Add what was shown to the conversation; the first time, begin it."""
        if self._instruction is None:
            self._begin(observation)
            self._take_up(observation.get("resumed") or {})
            return
        text = observation["text"] or "[no output]"
        if observation.get("exit_code"):
            text += f"\n[exit code {observation['exit_code']}]"
        assert self._shown_to is not None
        if not isinstance(decoded(self._shown_to["function"]["arguments"]), dict):
            text = NO_OBJECT + text
        self._turns.append(result(self._shown_to, text))

    def _take_up(self, resumed: dict[str, Any]) -> None:
        """After an interruption, with the turns persisted: no call may stay without a result."""
        if self._shown_to is None:
            return
        self._turns.append(result(self._shown_to, OPEN_CALL))
        self._turns += [result(call, NOT_BEGUN) for call in self._waiting]
        self._waiting = []
        self._turns += [{"role": "user", "content": text} for text in resumed.get("notices") or []]

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
        self._instruction = text
        self._bytes = (observation.get("checkpoints") or {}).get("bytes", 0)

    def _messages(self) -> list[dict[str, Any]]:
        """The conversation as the model gets it."""
        assert self._instruction is not None
        text = self._instruction + (SUMMED_UP + self._summary if self._summary else "")
        return [
            {"role": "system", "content": self._config["system_prompt"]},
            {"role": "user", "content": text + (LEFT_OUT if self._left_out else "")},
            *self._turns,
        ]

    def _ask(self) -> dict[str, Any]:
        """The model's next message, added to the conversation."""
        limit = self._config["context_tokens"]
        if limit is not None and self._used > limit:
            self._leave_out()
        while True:
            status, answer = self._send({**self._body, "messages": self._messages()})
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
        calls = [repeatable(call, f"call_{len(self._turns) + 2}_{n}") for n, call in made]
        if calls:
            kept["tool_calls"] = [said for said, _ in calls]
        self._turns.append(kept)
        return {**kept, "tool_calls": [call for _, call in calls]}

    def _send(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        connection = Connection(os.environ["MODEL_SOCKET"])
        try:
            data = json.dumps(body)
            connection.request("POST", "/v1/chat/completions", data, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException) as fault:
            raise Ended(str(fault)) from fault
        finally:
            connection.close()

    def _leave_out(self) -> bool:
        """Leave out the older half of the answers with what followed them; whether there was any to spare."""
        begins = answers(self._turns)
        if len(begins) < 2:
            return False
        self._turns = self._turns[begins[(len(begins) + 1) // 2] :]
        self._left_out = True
        self._shortened = {"tokens_before": self._used or None, "kept": ["instruction", "newer half"]}
        return True

    # -- persisting and compacting --------------------------------------------------------------------
    def wants_checkpoint(self) -> bool:
        """After every so many actions."""
        return bool(self._acts % self._config["checkpoint_every"] == 0)

    def save(self) -> bytes:
        """The turns with the call under way, as many of the newest as fit into the budget."""
        turns, left_out = list(self._turns), self._left_out
        while True:
            begins = answers(turns)
            state = {
                "turns": turns, "summary": self._summary, "left_out": left_out, "used": self._used,
                "acts": self._acts, "shown_to": self._shown_to if begins else None,
                "waiting": self._waiting if begins else [],
            }  # fmt: skip
            data = json.dumps(state).encode()
            if len(data) <= self._bytes or not begins:
                return data
            turns, left_out = turns[begins[1] :] if len(begins) > 1 else [], True

    def load(self, state: bytes) -> None:
        """Go on with what was saved."""
        kept = json.loads(state)
        self._turns, self._waiting, self._shown_to = kept["turns"], kept["waiting"], kept["shown_to"]
        self._summary, self._left_out = kept["summary"], kept["left_out"]
        self._used, self._acts = kept["used"], kept["acts"]

    def summary(self) -> str:
        """What the model itself writes down, and the call under way."""
        call = self._shown_to["function"] if self._shown_to else None
        next_call = "" if call is None else f"\nCalled last: {call['name']} {call['arguments']}"
        return self._sum_up(self._bytes) + next_call

    def compact(self, how: dict[str, Any]) -> dict[str, Any]:
        """Put a text in place of all turns but the last; ``raw`` leaves everything."""
        before = self._used or None
        if how["strategy"] == "raw":
            return {"tokens_before": before, "tokens_after": before, "kept": ["history"]}
        text = how.get("text", "")
        if how["strategy"] == "automatic":
            text = "\n".join(part for part in (self._sum_up(how["bytes"]), text) if part)
        begins = answers(self._turns)
        self._turns = self._turns[begins[-1] :] if begins else []
        self._summary, self._left_out, self._used = text, False, 0
        return {"tokens_before": before, "kept": ["instruction", "summary", "last turn"], "summary": text}

    def compacted(self) -> dict[str, Any] | None:
        """The older half was left out since this was last asked."""
        report, self._shortened = self._shortened, None
        return report

    def _sum_up(self, size: int) -> str:
        """The model's own summary, cut to so many bytes; the summary before where it can make none."""
        prompt = SUM_UP.format(bytes=size)
        begins = answers(self._turns)
        earlier, last = (self._turns[: begins[-1]], self._turns[begins[-1] :]) if begins else ([], [])
        shown = [said["content"] for said in last if said["role"] == "tool"]
        if shown:
            prompt = "\n".join(["Shown last:", *shown, "", prompt])
        messages = [*self._messages()[:2], *earlier, {"role": "user", "content": prompt}]
        status, answer = self._send({**self._body, "messages": messages, "tool_choice": "none"})
        if status != 200:
            if answer.get("error", {}).get("code") != TOO_LONG:
                raise Ended(f"status {status}")
            return self._summary
        text = answer["choices"][0]["message"].get("content") or ""
        return text.encode()[:size].decode("utf-8", "ignore")


def answers(turns: list[dict[str, Any]]) -> list[int]:
    """Where the turns begin."""
    return [n for n, message in enumerate(turns) if message["role"] == "assistant"]


def result(call: dict[str, Any], text: str) -> dict[str, Any]:
    """What a tool call showed, as the conversation has it."""
    return {"role": "tool", "tool_call_id": call["id"], "content": text}


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
