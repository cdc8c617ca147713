"""What an agent is told of a person's decision."""

import json
from typing import Any

REFUSED, ALLOWED = "This was refused.", "This was approved."
NO_ANSWER = "Nobody answered in time. Take it as refused."
UNKNOWN = "I cannot tell you that."
STOPPED = "The work is stopped here."
TAKES_OVER = "I take over from here."


def edited(tool: str, arguments: dict[str, Any]) -> str:
    """What the agent is told of an approval with other arguments."""
    return f"This was approved with changes; only exactly this may be done: {tool} {json.dumps(arguments)}"


def with_reason(text: str, reason: str) -> str:
    """A decision and why."""
    return f"{text} {reason}" if reason else text
