"""Steps of the scripts that come with a generated task."""

from collections.abc import Sequence
from typing import Any

from seatrial.spec.toml_text import table_text

Step = dict[str, Any]


def script_text(head: str, steps: Sequence[Step]) -> str:
    """A script file."""
    return f"# {head}\n\n" + "\n".join(table_text("[step]", step) for step in steps)


def shell(command: str) -> Step:
    return {"tool": "shell", "command": command}


def python(code: str) -> Step:
    """A small program as a shell command."""
    return shell(f"python3 - <<'END'\n{code}END")


def finish(summary: str, confidence: float) -> Step:
    return {"tool": "finish", "summary": summary, "confidence": confidence}
