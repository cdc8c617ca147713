"""The gateway's tools and services as input files may name them."""

from collections.abc import Collection
from dataclasses import dataclass

from seatrial.spec.faults import Source, choose, shown
from seatrial.spec.services import VERBS

SERVICES = tuple(VERBS)


@dataclass(frozen=True)
class Tool:
    """Arguments of one tool. ``any_of`` holds those of which at least one must be given."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """All its arguments."""
        return self.required + self.optional + self.any_of


TOOLS = {
    "shell": Tool(("command",), ("cwd",)),
    "read_file": Tool(("path",)),
    "write_file": Tool(("path", "content")),
    "edit_file": Tool(("path", "old", "new")),
    "finish": Tool((), ("summary", "confidence")),
    "give_up": Tool((), ("reason",)),
    "report_belief": Tool((), (), ("facts", "plan", "goal_version")),
    "ask_human": Tool(("question",)),
    "remember": Tool(("key", "value"), ("source",)),
    "recall": Tool((), ("key",)),
    "history": Tool(("step",)),
    "request_approval": Tool(("action",), ("arguments", "reason")),
}


def arguments_of(tool: str) -> tuple[str, ...]:
    """Names of the arguments of a tool or verb that ``check_tool`` has found known."""
    service, dot, verb = tool.partition(".")
    return tuple(VERBS[service][verb].arguments) if dot else TOOLS[tool].arguments


def check_tool(source: Source, place: str, tool: str, services: Collection[str] | None = None) -> None:
    """Refuse a tool that no gateway offers.

    Args:
        source: the file.
        place: where the tool is named.
        tool: its name, or ``service.verb``.
        services: those the task declares; null when the task is not known.

    Raises:
        SpecError: unknown tool, service or verb, or a service the task does not have.
    """
    service, dot, verb = tool.partition(".")
    if not dot:
        if tool not in TOOLS:
            raise source.fault(place, f"unknown tool {shown(tool)}", choose(tool, TOOLS, "a tool"))
        return
    if service not in SERVICES or not verb:
        raise source.fault(
            place, f"{shown(tool)} is no call of a known service", choose(service, SERVICES, "a service")
        )
    if verb not in VERBS[service]:
        raise source.fault(
            place, f"{shown(tool)}: {service} has no verb {shown(verb)}",
            choose(verb, VERBS[service], f"a verb of {service}"),
        )  # fmt: skip
    if services is not None and service not in services:
        raise source.fault(
            place,
            f"{shown(tool)} calls a service the task does not have",
            f"Add {shown(service)} to environment.services, or call another tool",
        )
