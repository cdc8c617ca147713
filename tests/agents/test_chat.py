"""Chat agents in whole trials against a scripted endpoint: tool calls, records, budgets, faults."""

import contextlib
import json
import os
import signal
from pathlib import Path

import msgspec
import pytest

from seatrial.errors import SpecError
from seatrial.evidence.read import read_run
from seatrial.journal.events import (
    ActionFinished,
    ActionRequested,
    AgentStarted,
    BudgetExhausted,
    HarnessFaulted,
)
from seatrial.report.protocol import protocol
from seatrial.schedule.spending import spent_before
from seatrial.spec.chat import Price
from tests.agents.chats import INSTRUCTION, KEY, PRICE, run_chat
from tests.agents.model_server import (
    Handler,
    Play,
    completion,
    fails,
    model_server,
    never_begins,
    never_ends,
    page,
    raw_tool,
    says,
    streams,
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
    assert record.currency == "EUR"
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
    assert steps[0].queue_us == 0
    assert (steps[1].queue_us or 0) >= calls[1].latency_us + calls[2].wait_us
    assert record.queue_us == sum(cost.queue_us or 0 for cost in steps)
    assert record.model_us is not None and record.queue_us is not None and record.tool_us is not None
    assert record.elapsed_us == record.model_us + record.queue_us + record.tool_us
    assert record.model_us >= calls[0].latency_us + calls[2].latency_us
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
    assert (facts["options.endpoint"], facts["harness"]) == (endpoint, "chat@2")
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
    note = chat.lines[0].note
    assert "does not say what a call used (class ok), and the task bounds tokens" in note
    assert note.endswith("Make the endpoint report usage, or take tokens out of the task's budget.")
    assert chat.tools == []


@pytest.mark.parametrize(
    ("play", "budget", "remedy"),
    [
        (never_begins, "tokens", "Raise the option timeout"),
        (page(), "tokens", "Make the endpoint answer with whole chat completions"),
        (says(usage={"prompt_tokens": 9, "completion_tokens": 1}), "money", "Leave cached out of the price"),
    ],
)
def test_under_a_budget_a_call_of_unknown_use_is_not_sent_again_and_says_what_to_do(
    tmp_path: Path, play: Play, budget: str, remedy: str
) -> None:
    with model_server(play, WRITE, FINISH) as server:
        chat = run_chat(tmp_path, server.endpoint, {budget: 1000}, price=PRICE, timeout=1.0)
    assert (chat.end.stop_reason, len(chat.calls)) == ("environment_fault", 1)
    assert chat.lines[0].note.endswith(f"{remedy}, or take {budget} out of the task's budget.")
    facts = protocol(read_run(chat.run.folder)).facts
    assert "not sent again" in facts["Failed model calls under a budget of tokens or money"]
    assert facts["Money"] == "in EUR"


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
    assert "server_error (HTTP 500: overloaded) at call 3 of the same request" in line.note
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


def test_an_answer_beyond_the_time_budget_ends_the_trial_and_is_not_acted_on(tmp_path: Path) -> None:
    with model_server(wait_a_moment(WRITE, 3.2)) as server:
        chat = run_chat(tmp_path, server.endpoint, {"seconds": 3.0})
    assert (chat.classes, chat.tools) == (["ok"], [])
    (over,) = chat.events(BudgetExhausted)
    assert over.resource == "seconds" and over.used >= 3.2
    record = chat.record
    assert (record.stop_reason, record.terminal_class) == ("budget_seconds", "failure")
    assert (record.censored, record.input_tokens, record.queue_us) == (True, 100, 0)


def test_what_the_endpoint_takes_never_uses_up_the_time_budget(tmp_path: Path) -> None:
    with model_server(never_ends, fails(429, Retry_After="0.2"), WRITE, never_ends) as server:
        chat = run_chat(
            tmp_path, server.endpoint, {"seconds": 3.0}, timeout=3.2, retries={"endless": 1}
        )  # fmt: skip
    assert chat.classes == ["endless", "rate_limited", "ok", "endless", "endless"]
    record = chat.record
    assert (record.actions, record.stop_reason) == (1, "environment_fault")
    assert record.terminal_class == "infrastructure"
    assert record.model_us is not None and record.queue_us is not None and record.tool_us is not None
    failed = [call for call in chat.calls if call.call_class != "ok"]
    waited = sum(call.wait_us for call in chat.calls)
    assert record.queue_us >= sum(call.latency_us for call in failed) + waited >= 9_000_000
    assert record.elapsed_us == record.model_us + record.queue_us + record.tool_us


def test_a_call_that_a_kill_interrupts_is_of_unknown_cost(tmp_path: Path) -> None:
    def kill_the_trial(handler: Handler) -> None:
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                ours = f"\nPPid:\t{os.getpid()}\n" in (path / "status").read_text()
                if ours and b"seatrial.trial.worker" in (path / "cmdline").read_bytes():
                    os.kill(int(path.name), signal.SIGKILL)

    with model_server(WRITE, kill_the_trial) as server:
        chat = run_chat(tmp_path, server.endpoint, price=PRICE)
    assert [line.stop_reason for line in chat.lines] == ["killed"]
    assert chat.classes == ["ok"]
    record = chat.record
    assert (record.model_calls, record.output_tokens, record.money) == (None, None, None)
    assert (record.elapsed_us, record.model_us, record.actions) == (None, None, 1)
    assert (chat.spent.calls, chat.spent.without_tokens, chat.spent.without_money) == (2, 1, 1)
    assert chat.spent == spent_before(chat.run, [chat.lines[0].trial])


def test_a_key_is_refused_where_agents_could_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)
    with model_server(FINISH) as server, pytest.raises(SpecError, match="MODEL_KEY") as refused:
        run_chat(tmp_path, server.endpoint, unsafe=True, api_key_env="MODEL_KEY")
    assert refused.value.place == "system[0].options.api_key_env"
    assert server.requests == [] and not (tmp_path / "run").exists()


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


def test_content_in_parts_and_deep_values_are_an_answer(tmp_path: Path) -> None:
    parts = [
        {"type": "thinking", "thinking": []},
        {"type": "text", "text": "No "},
        {"type": "text", "text": "tool."},
    ]
    deep = "[" * 5000 + "]" * 5000
    nested = json.dumps(completion({"content": parts}, trace="DEEP")).replace('"DEEP"', deep)
    call = raw_tool("shell", "ARGUMENTS")
    calls = json.dumps(completion({"tool_calls": [call]})).replace('"ARGUMENTS"', f'{{"command": {deep}}}')
    with model_server(
        lambda handler: handler.reply(200, nested.encode()),
        lambda handler: handler.reply(200, calls.encode()),
        FINISH,
    ) as server:
        chat = run_chat(tmp_path, server.endpoint)
    assert chat.classes == ["ok", "ok", "ok"]
    assert chat.request(2)["messages"][2] == {"role": "assistant", "content": "No tool."}
    assert (
        json.loads(chat.run.objects.get(chat.calls[0].response or ""))["choices"][0]["message"]["content"]
        == parts
    )
    assert "nested more than 64 deep" in chat.shown()[0]
    assert (chat.end.stop_reason, chat.lines[0].infrastructure) == ("finished", False)


def test_the_key_is_in_no_file_however_the_server_spells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)
    spelled = "".join(f"\\u{ord(character):04x}" for character in KEY)
    pieces = [KEY[start : start + 4] for start in range(0, len(KEY), 4)]
    plays = [
        says(raw_tool("shell", f'{{"command": "echo \'{spelled}\' | tee notes.txt"}}')),
        streams(*({"choices": [{"delta": {"content": piece}}]} for piece in pieces), end=False),
        fails(401, f"no such key: {KEY[:-2]}"),
    ]
    with model_server(*plays) as server:
        chat = run_chat(tmp_path, server.endpoint, api_key_env="MODEL_KEY")
    assert chat.classes == ["ok", "not_json", "refused"]
    (asked,) = chat.events(ActionRequested)
    assert asked.arguments == {"command": "echo '[redacted]' | tee notes.txt"}
    assert chat.shown() == ["[redacted]\n"]
    assert "no such key: [redacted]" in chat.lines[0].note
    assert files_that_hold(tmp_path, KEY, KEY[:-2], spelled) == []
    assert chat.run.objects.get(chat.calls[1].response) == b"[redacted]"


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
