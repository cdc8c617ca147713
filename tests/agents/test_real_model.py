"""A real model behind a real server, where one is given: see docs/agents.md.

``SEATRIAL_MODEL_SERVER`` is the base URL of an OpenAI-compatible server, such as http://127.0.0.1:8080/v1.
Nothing is assumed of what the model can do: only that all of it is counted and nothing is taken for a fault.
"""

import json
import os
import urllib.request
from pathlib import Path

import pytest

from tests.agents.chats import PRICE, run_chat

SERVER = os.environ.get("SEATRIAL_MODEL_SERVER", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SERVER, reason="SEATRIAL_MODEL_SERVER names no server to try"),
]


@pytest.mark.parametrize("forced", [False, True])
def test_a_real_model_is_metered_and_judged(tmp_path: Path, forced: bool) -> None:
    with urllib.request.urlopen(f"{SERVER}/models", timeout=30) as answer:
        model = json.load(answer)["data"][0]["id"]
    choice = {"tool_choice": {"type": "function", "function": {"name": "shell"}}}
    price = {key: value for key, value in PRICE.items() if key != "cached"}
    chat = run_chat(
        tmp_path, SERVER, {"actions": 3, "tokens": 20000}, model=model, nudges=1, max_tokens=48,
        temperature=0.2, pass_seed=True, timeout=600.0, price=price, extra=choice if forced else {},
    )  # fmt: skip
    record = chat.record
    assert record.terminal_class in ("success", "failure"), chat.lines[0].note
    assert record.model_calls == len(chat.calls) > 0
    assert set(chat.classes) <= {"ok", "bad_tool_call", "context_exceeded"}
    assert record.input_tokens == sum(call.input_tokens or 0 for call in chat.calls) > 0
    assert record.output_tokens == sum(call.output_tokens or 0 for call in chat.calls)
    assert record.money == pytest.approx(
        (record.input_tokens * 2.0 + (record.output_tokens or 0) * 8.0) / 1e6
    )
    assert record.model_us is not None and record.queue_us is not None and record.tool_us is not None
    assert record.elapsed_us == record.model_us + record.queue_us + record.tool_us
    assert record.model_us >= sum(call.latency_us for call in chat.calls)
    if forced:
        assert chat.tools[0] == "shell"
