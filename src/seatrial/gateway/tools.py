"""The tools an agent may call: their arguments, how they are checked and how they are described to it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from seatrial.spec.services import VERBS
from seatrial.spec.tools import TOOLS as declared_tools


@dataclass(frozen=True)
class Argument:
    """One argument of a tool; ``kind`` is ``str``, ``number``, ``share`` (0 to 1) or ``object``."""

    name: str
    kind: str = "str"
    required: bool = True
    description: str = ""


@dataclass(frozen=True)
class Tool:
    """A tool as agents see it. ``ends`` tools end the trial; ``idempotent`` ones may be repeated safely."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    ends: bool = False
    idempotent: bool = False

    def problem_with(self, arguments: dict[str, Any]) -> str | None:
        """What is wrong with a call's arguments, in words for the agent; null when nothing is."""
        known = {argument.name: argument for argument in self.arguments}
        for name in arguments:
            if name not in known:
                return f"{self.name} has no argument {name[:80]!r}; it takes {', '.join(known) or 'none'}"
        for argument in self.arguments:
            value = arguments.get(argument.name)
            if value is None:
                if argument.required:
                    return f"{self.name} needs the argument {argument.name!r}"
            elif not _fits(value, argument.kind):
                wanted = "number from 0 to 1" if argument.kind == "share" else argument.kind
                given = value if isinstance(value, int | float) else type(value).__name__
                return f"{self.name}: {argument.name} must be a {wanted}, not {given}"
        return None

    def schema(self) -> dict[str, Any]:
        """Name, description and JSON Schema of the arguments, as model APIs want them."""
        types = {"str": "string", "number": "number", "share": "number", "object": "object"}
        return {
            "name": self.name,
            "description": self.description,
            "parameters": {
                "type": "object",
                "properties": {
                    a.name: {"type": types[a.kind], "description": a.description} for a in self.arguments
                },
                "required": [a.name for a in self.arguments if a.required],
                "additionalProperties": False,
            },
        }


def _fits(value: object, kind: str) -> bool:
    if kind == "str":
        return isinstance(value, str)
    if kind in ("number", "share"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return kind == "number" or 0 <= value <= 1
    return isinstance(value, dict | list)


_WORDS = {
    "cwd": "folder; /workspace if left out",
    "path": "absolute, or relative to /workspace",
    "old": "must occur exactly once",
    "confidence": "probability that all is right, 0 to 1",
    "key": "name under which it is kept",
    "source": "where it comes from, such as a file or a person",
    "step": "its number, from 1",
    "action": "name of the tool you want to be allowed to call",
    "arguments": "its arguments, exactly as you would give them",
}
_KINDS = {
    "confidence": "share", "facts": "object", "plan": "object", "goal_version": "number", "step": "number",
    "arguments": "object",
}  # fmt: skip
_DESCRIPTIONS = {
    "shell": "Run one command in a fresh bash. Standard input is empty; output and errors are interleaved.",
    "read_file": "Show a file.",
    "write_file": "Write a file, replacing it.",
    "edit_file": "Replace one piece of text in a file.",
    "finish": "Say that the work is done.",
    "give_up": "Say why the work cannot be done.",
    "report_belief": "Write down what you hold to be true now.",
    "ask_human": "Ask a person.",
    "request_approval": "Ask a person to allow one call that needs it. What they allow is exactly that call.",
    "remember": "Keep a text under a key, outside of your context; an empty value deletes it.",
    "recall": "Show what is kept under a key, or everything that is kept.",
    "history": "Show again what an earlier step did and showed.",
}
_ENDS = {"finish", "give_up"}
_IDEMPOTENT = {"read_file", "write_file", "remember", "recall", "history"}


def _described(name: str) -> Tool:
    """A tool as the formats declare it (``spec.tools``), in words for agents."""
    declared = declared_tools[name]
    arguments = tuple(
        Argument(a, _KINDS.get(a, "str"), a in declared.required, _WORDS.get(a, ""))
        for a in declared.arguments
    )
    return Tool(name, _DESCRIPTIONS[name], arguments, name in _ENDS, name in _IDEMPOTENT)


_ALL = tuple(_described(name) for name in declared_tools)
TOOLS = {tool.name: tool for tool in _ALL}


def service_tools(services: Collection[str]) -> list[Tool]:
    """One tool for each verb of the services of a trial, ``service.verb``."""
    tools = []
    for service in services:
        for verb, declared in VERBS[service].items():
            arguments = tuple(
                Argument(name, a.kind, a.required, a.words) for name, a in declared.arguments.items()
            )
            name, idempotent = f"{service}.{verb}", not declared.writes
            tools.append(Tool(name, declared.words, arguments, idempotent=idempotent))
    return tools


# Offered only where something of the experiment or the task calls for them.
OPTIONAL = frozenset({"report_belief", "ask_human", "remember", "recall", "history", "request_approval"})


def offered(granted: Collection[str]) -> list[Tool]:
    """The tools of a trial: those that every trial has, and the optional ones that it grants."""
    return [tool for tool in _ALL if tool.name not in OPTIONAL or tool.name in granted]
