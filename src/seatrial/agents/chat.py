"""A chat system as a program for an agent's process."""

from pathlib import Path
from typing import Any

from seatrial.agents.process import AgentProgram
from seatrial.spec.chat import ChatOptions

_SOURCE = Path(__file__).with_name("chat_agent.py").read_bytes()
# What concerns the conversation. Where the endpoint is and what it costs is not the agent's to know.
_TOLD = (
    "model", "temperature", "max_tokens", "pass_seed", "system_prompt", "context_tokens", "nudges", "extra",
    "checkpoint_every",
)  # fmt: skip


def chat_program(options: ChatOptions) -> AgentProgram:
    """The harness and what it is told."""
    config: dict[str, Any] = {name: getattr(options, name) for name in _TOLD}
    return AgentProgram("chat_agent:ChatAgent", config, {"chat_agent.py": _SOURCE})
