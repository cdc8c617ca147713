"""Chat agents in whole trials against a scripted endpoint: tool calls, records, budgets, faults."""

import contextlib
from pathlib import Path

import msgspec
import pytest

from seatrial.evidence.read import read_run
from seatrial.journal.events import ActionFinished, AgentStarted, BudgetExhausted, HarnessFaulted
from seatrial.report.protocol import protocol
from seatrial.spec.chat import Price
from tests.agents.chats import INSTRUCTION, KEY, PRICE, run_chat
from tests.agents.model_server import (
    Handler,
    fails,
    model_server,
    never_ends,
    page,
    raw_tool,
    says,
    tool,
    wait_a_moment,
)

WRITE = says(tool("shell", command="echo done > notes.txt"))
FINISH = says(tool("finish", summary="done", confidence=0.9))


def test_a_task_is_solved_by_tool_calls(tmp_path: Path) -> None:
    look = says(tool("read_file", path="notes.txt"), content="Let me see.")
    with model_server(look, WRITE, FINISH) as server:
        chat = run_chat(tmp_path, server.endpoint, temperature=0.5, max_tokens=400, extra={"top_k": 3})
    assert chat.tools == ["read_file", "shell", "finish"]
    record = chat.record
    assert (record.terminal_class, record.stop_reason, record.safe_success) == ("success", "finished", True)
    first, last = server.bodies[0], server.bodies[-1]
    assert (first["model"], first["temperature"], first["max_tokens"], first["top_k"]) == (
        "small",
        0.5,
        400,
        3,
    )
    assert "seed" not in first
    assert {entry["function"]["name"] for entry in first["tools"]} >= {"shell", "read_file", "finish"}
    assert [message["role"] for message in last["messages"]] == [
        "system", "user", "assistant", "tool", "assistant", "tool",
    ]  # fmt: skip
    assert last["messages"][1]["content"] == INSTRUCTION
    assert last["messages"][2]["content"] == "Let me see."
    assert last["messages"][3]["content"].strip() == "open"
    assert last["messages"][3]["tool_call_id"] == last["messages"][2]["tool_calls"][0]["id"]


def test_the_model_is_told_nothing_of_the_task_or_the_budget(tmp_path: Path) -> None:
    with model_server(FINISH) as server:
        run_chat(tmp_path, server.endpoint, {"actions": 7919, "tokens": 123456})
    said = repr(server.bodies)
    for word in ("hidden", "id-of-task", "chatty", "7919", "123456", "benchmark", "seatrial/"):
        assert word not in said


def test_a_granted_budget_is_told(tmp_path: Path) -> None:
    with model_server(FINISH) as server:
        run_chat(tmp_path, server.endpoint, {"actions": 17}, more="show_budget = true")
    assert "at most: 17 actions" in server.bodies[0]["messages"][1]["content"]


def test_tokens_money_and_time_are_in_the_journal_and_add_up(tmp_path: Path) -> None:
    slow = wait_a_moment(WRITE, 0.3)
    with model_server(slow, fails(429, Retry_After="0.1"), FINISH) as server:
        chat = run_chat(tmp_path, server.endpoint, price=PRICE, pass_seed=True)
    assert chat.classes == ["ok", "rate_limited", "ok"]
    record, calls = chat.record, chat.calls
    assert (record.input_tokens, record.output_tokens, record.cached_tokens) == (200, 20, 80)
    assert (record.model_calls, record.model_retries, record.model_failures) == (3, 1, 1)
    assert record.money == pytest.approx(2 * (60 * 2.0 + 40 * 0.5 + 10 * 8.0) / 1e6)
    assert [call.number for call in calls] == [1, 2, 3]
    assert [call.step for call in calls] == [1, 2, 2]
    assert [call.attempt for call in calls] == [1, 1, 2]
    assert [call.status for call in calls] == [200, 429, 200]
    assert [call.answered for call in calls] == ["small-1", None, "small-1"]
    assert calls[0].latency_us >= 300_000
    assert calls[2].wait_us >= 100_000
    # The parts are the clock, action by action and in the whole.
    steps = [event.cost for event in chat.events(ActionFinished)]
    assert [cost.queue_us for cost in steps] == [0, calls[2].wait_us]
    assert record.queue_us == sum(cost.queue_us or 0 for cost in steps)
    assert record.model_us is not None and record.queue_us is not None and record.tool_us is not None
    assert record.elapsed_us == record.model_us + record.queue_us + record.tool_us
    assert record.model_us >= sum(call.latency_us for call in calls)
    assert all(0 <= body["seed"] < 2**31 for body in server.bodies)
    # Anyone can reckon the money anew from the frozen price list.
    price = msgspec.convert(chat.run.manifest().systems["chatty"]["options"]["price"], Price)
    again = [price.of(call.input_tokens, call.output_tokens, call.cached_tokens) for call in calls]
    assert again == [call.money for call in calls]


def test_requests_and_answers_can_be_read_back(tmp_path: Path) -> None:
    with model_server(WRITE, FINISH) as server:
        chat = run_chat(tmp_path, server.endpoint)
    assert [chat.request(1), chat.request(2)] == server.bodies
    assert chat.calls[0].response is not None
    assert b"echo done" in chat.run.objects.get(chat.calls[0].response)


def test_the_protocol_prints_the_options_and_the_retry_policy(tmp_path: Path) -> None:
    with model_server(FINISH) as server:
        chat = run_chat(tmp_path, server.endpoint, price=PRICE, retries={"server_error": 4})
        endpoint = server.endpoint
    (facts,) = protocol(read_run(chat.run.folder)).systems
    assert (facts["options.endpoint"], facts["harness"]) == (endpoint, "chat@1")
    assert (facts["options.retries.server_error"], facts["options.retries.rate_limited"]) == ("4", "5")
    assert (facts["options.price.name"], facts["options.price.date"]) == ("list", "2026-11-01")


def test_several_calls_in_one_answer_are_carried_out_in_order(tmp_path: Path) -> None:
    both = says(tool("shell", command="echo one > notes.txt"), tool("shell", command="echo done > notes.txt"))
    with model_server(both, FINISH) as server:
        chat = run_chat(tmp_path, server.endpoint)
    assert chat.tools == ["shell", "shell", "finish"]
    assert [call.step for call in chat.calls] == [1, 3]
    assert chat.record.safe_success is True
    roles = [message["role"] for message in server.bodies[1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool"]


def test_broken_tool_call_json_is_a_malformed_action_and_the_model_is_told(tmp_path: Path) -> None:
    broken = says(raw_tool("shell", '{"command": "ls'))
    with model_server(broken, WRITE, FINISH) as server:
        chat = run_chat(tmp_path, server.endpoint)
    assert chat.classes == ["bad_tool_call", "ok", "ok"]
    assert (chat.record.malformed_actions, chat.record.model_failures) == (1, 0)
    assert (chat.record.actions, chat.record.terminal_class) == (3, "success")
    told = server.bodies[1]["messages"]
    assert told[-1]["content"].startswith("[the arguments were no JSON object]")
    assert told[-2]["tool_calls"][0]["function"]["arguments"] == '{"unreadable": "{\\"command\\": \\"ls"}'


def test_a_tool_that_is_not_offered_is_a_malformed_action(tmp_path: Path) -> None:
    made_up = says(
        tool("browser.open", url="x"), {"type": "function", **raw_tool("shell", "[1, 2]"), "id": 7}
    )
    with model_server(made_up, FINISH) as server:
        chat = run_chat(tmp_path, server.endpoint)
    assert chat.classes == ["bad_tool_call", "ok"]
    assert (chat.record.actions, chat.record.malformed_actions) == (3, 2)
    told = server.bodies[1]["messages"]
    assert "there is no tool 'browser.open'" in told[-2]["content"]
    # What the server left out or made up as an id is mended, so that results find their calls.
    assert [call["id"] for call in told[2]["tool_calls"]] == [
        told[3]["tool_call_id"],
        told[4]["tool_call_id"],
    ]


def test_answers_without_tool_calls_are_nudged_then_given_up(tmp_path: Path) -> None:
    with model_server(says(content="I would use ls.")) as server:
        chat = run_chat(tmp_path, server.endpoint, nudges=2)
    assert chat.tools == ["give_up"]
    assert (chat.end.stop_reason, chat.record.model_calls) == ("gave_up", 3)
    assert "I would use ls." in chat.end.summary
    assert server.bodies[2]["messages"][-1]["role"] == "user"


def test_a_conversation_that_is_too_long_loses_its_older_half(tmp_path: Path) -> None:
    ls = says(tool("shell", command="ls"))
    full = fails(400, "too many tokens", code="context_length_exceeded")
    with model_server(ls, ls, ls, full, WRITE, FINISH) as server:
        chat = run_chat(tmp_path, server.endpoint)
    assert chat.classes == ["ok", "ok", "ok", "context_exceeded", "ok", "ok"]
    assert chat.record.terminal_class == "success"
    before, after = server.bodies[3]["messages"], server.bodies[4]["messages"]
    assert (len(before), len(after)) == (8, 4)
    assert after[0] == before[0]
    assert "left out" in after[1]["content"]
    assert after[2:] == before[6:]


def test_a_declared_context_is_kept_by_the_endpoints_count(tmp_path: Path) -> None:
    ls = says(tool("shell", command="ls"))
    with model_server(ls, ls, FINISH) as server:
        chat = run_chat(tmp_path, server.endpoint, context_tokens=100)
    assert [len(body["messages"]) for body in server.bodies] == [2, 4, 4]
    assert chat.end.stop_reason == "finished"


def test_a_conversation_that_can_lose_nothing_ends_as_the_systems_own(tmp_path: Path) -> None:
    with model_server(fails(400, "no", code="context_length_exceeded")) as server:
        chat = run_chat(tmp_path, server.endpoint)
    assert (chat.end.stop_reason, chat.lines[0].infrastructure) == ("gave_up", False)


@pytest.mark.parametrize(
    ("budget", "reason", "calls"),
    [({"tokens": 220}, "budget_tokens", 2), ({"tokens": 221}, "budget_tokens", 3),
     ({"money": 0.0004}, "budget_money", 2)],
)  # fmt: skip
def test_a_used_up_budget_ends_the_trial_and_lets_no_call_out(
    tmp_path: Path, budget: dict[str, float], reason: str, calls: int
) -> None:
    with model_server(says(tool("shell", command="ls"))) as server:
        chat = run_chat(tmp_path, server.endpoint, budget, price=PRICE)
    assert len(server.requests) == len(chat.calls) == calls
    assert chat.tools == ["shell"] * (calls - 1)
    (over,) = chat.events(BudgetExhausted)
    assert (over.resource, over.limit) == (reason.removeprefix("budget_"), next(iter(budget.values())))
    assert over.used >= over.limit
    record = chat.record
    assert (record.stop_reason, record.censored, record.terminal_class) == (reason, True, "failure")
    # The turn that led to no action is part of the clock, and of the record.
    assert record.model_us is not None and record.tool_us is not None
    assert record.elapsed_us == record.model_us + record.tool_us


def test_a_token_budget_without_usage_is_nobodys_guess(tmp_path: Path) -> None:
    with model_server(says(tool("shell", command="ls"), usage=None)) as server:
        chat = run_chat(tmp_path, server.endpoint, {"tokens": 1000})
    assert (chat.end.stop_reason, chat.lines[0].infrastructure) == ("environment_fault", True)
    assert "does not say what a call used" in chat.lines[0].note
    assert "tokens" in chat.lines[0].note
    assert chat.tools == []


def test_without_usage_and_budget_tokens_are_unknown(tmp_path: Path) -> None:
    with model_server(says(tool("finish"), usage=None)) as server:
        chat = run_chat(tmp_path, server.endpoint, price=PRICE)
    record = chat.record
    assert (record.model_calls, record.stop_reason) == (1, "finished")
    assert (record.input_tokens, record.output_tokens, record.cached_tokens) == (None, None, None)
    assert record.money is None


def test_a_failing_endpoint_is_infrastructure_and_never_the_systems_failure(tmp_path: Path) -> None:
    with model_server(WRITE, fails(500, "overloaded")) as server:
        chat = run_chat(tmp_path, server.endpoint, retries={"server_error": 2})
        endpoint = server.endpoint
    assert chat.classes == ["ok", "server_error", "server_error", "server_error"]
    (line,) = chat.lines
    assert (line.stop_reason, line.infrastructure) == ("environment_fault", True)
    assert endpoint in line.note
    assert "server_error (HTTP 500: overloaded), attempt 3" in line.note
    assert list(chat.given_up.values()) == [line.note]
    assert [event.where for event in chat.events(HarnessFaulted)] == ["model"]
    record = chat.record
    assert (record.terminal_class, record.model_failures, record.model_retries) == ("infrastructure", 3, 2)
    assert record.model_us is not None and record.queue_us is not None and record.tool_us is not None
    assert record.queue_us > 0
    assert record.elapsed_us == record.model_us + record.queue_us + record.tool_us


def test_an_infrastructure_end_is_tried_again_by_the_plan(tmp_path: Path) -> None:
    with model_server(page(), WRITE, FINISH) as server:
        chat = run_chat(tmp_path, server.endpoint, attempts=2, retries={"not_json": 0})
    assert [line.stop_reason for line in chat.lines] == ["environment_fault", "finished"]
    assert (chat.record.attempt, chat.record.terminal_class) == (2, "success")
    assert chat.given_up == {}
    assert chat.classes == ["not_json"]
    assert "not_json" in chat.lines[0].note


def test_without_a_sandbox_it_works_too_and_is_marked(tmp_path: Path) -> None:
    with model_server(WRITE, FINISH) as server:
        chat = run_chat(tmp_path, server.endpoint, unsafe=True)
    record = chat.record
    assert (record.terminal_class, record.sandboxed, record.agent_confined) == ("success", False, False)
    assert (record.model_calls, record.input_tokens) == (2, 200)


def test_the_time_budget_cuts_a_call_off(tmp_path: Path) -> None:
    with model_server(never_ends) as server:
        chat = run_chat(tmp_path, server.endpoint, {"seconds": 1.0})
    assert chat.end.stop_reason == "budget_seconds"
    assert chat.classes == ["cut_off"]
    record = chat.record
    assert (record.terminal_class, record.input_tokens, record.model_failures) == ("failure", None, 1)


def test_the_agent_has_only_its_two_sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)
    with model_server(FINISH) as server:
        chat = run_chat(tmp_path, server.endpoint, api_key_env="MODEL_KEY")
    (started,) = chat.events(AgentStarted)
    assert (started.agent, started.confined) == ("chat", True)
    assert started.details["model_calls"] == "proxy"
    assert started.details["files"] == ["chat_agent.py"]
    assert server.requests[0][1]["Authorization"] == f"Bearer {KEY}"


def files_that_hold(folder: Path, *forms: str) -> list[str]:
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(form.encode() in path.read_bytes() for form in forms)
    ]


def test_the_key_is_in_no_file_even_when_the_server_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)
    escaped = KEY.replace("/", "\\/")
    command_lines: list[bytes] = []

    def look_and_fail(handler: Handler) -> None:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                command_lines.append(path.read_bytes())
        fails(500, f"bad key {KEY}")(handler)

    plays = [
        look_and_fail,
        says(tool("shell", command="env; cat /proc/*/environ /proc/*/cmdline")),
        page(text=f"<html>{KEY}"),
        says(tool("shell", command=f"echo '{KEY}' > notes.txt"), content=f"Your key is {KEY}"),
        lambda handler: handler.reply(401, f'{{"error": {{"message": "no {escaped}"}}}}'.encode()),
    ]
    with model_server(*plays) as server:
        chat = run_chat(tmp_path, server.endpoint, api_key_env="MODEL_KEY")
    assert chat.classes == ["server_error", "ok", "not_json", "ok", "refused"]
    assert "[redacted]" in chat.lines[0].note
    assert "HOME=" in chat.shown()[0]
    assert any(b"trial.worker" in line for line in command_lines)
    assert not any(KEY.encode() in line for line in command_lines)
    assert files_that_hold(tmp_path, KEY, escaped) == []
    assert "[redacted]" in chat.request(5)["messages"][4]["content"]
    assert files_that_hold(tmp_path, "MODEL_KEY") != []
