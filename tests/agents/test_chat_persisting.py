"""A chat agent that is killed or whose context is made shorter: whole trials, a scripted endpoint."""

from pathlib import Path
from typing import Any

import pytest

from seatrial.journal.events import (
    ActionRequested,
    AgentKilled,
    AgentResumed,
    CheckpointTaken,
    ContextCompacted,
)
from tests.agents.chats import INSTRUCTION, Chat, run_chat
from tests.agents.model_server import Handler, Play, fails, model_server, says, tool

LOOK = says(tool("read_file", path="notes.txt"))
WRITE = says(tool("shell", command="echo done > notes.txt"))
FINISH = says(tool("finish", summary="done"))
SUMMARY = says(content="I have to write the word into notes.txt. The id is 4711.")


def shell_or_summary(*acts: Play) -> Play:
    """Plays the acts in order; a request that wants no tool gets a summary."""
    left = list(acts)

    def play(handler: Handler) -> None:
        wants_summary = handler.body.get("tool_choice") == "none"
        (SUMMARY if wants_summary else left.pop(0))(handler)

    return play


def run(
    folder: Path, arm: str, play: Play, more: str = "", **options: Any
) -> tuple[Chat, list[dict[str, Any]]]:
    with model_server(play) as server:
        chat = run_chat(folder, server.endpoint, more=f'arms = ["{arm}"]\n{more}', **options)
    return chat, server.bodies


def test_it_goes_on_with_the_conversation_and_knows_what_it_does_not_know(tmp_path: Path) -> None:
    both = says(tool("shell", command="echo done > notes.txt"), tool("read_file", path="notes.txt"))
    chat, bodies = run(tmp_path, "interrupted:after_effect_before_ack", shell_or_summary(LOOK, both, FINISH))
    assert chat.tools == ["read_file", "shell", "finish"]
    assert chat.events(AgentKilled)[0].step == 2
    (resumed,) = chat.events(AgentResumed)
    assert (resumed.checkpoint_step, resumed.memory) == (1, "structured")
    messages = bodies[-1]["messages"]
    assert [message["role"] for message in messages[2:]] == ["assistant", "tool", "assistant", "tool", "tool"]
    open_call, not_begun = messages[-2:]
    assert "may or may not have been carried out" in open_call["content"]
    assert "before this was carried out" in not_begun["content"]
    # Every call has a result, under its own id.
    calls = [call["id"] for message in messages for call in message.get("tool_calls", [])]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == calls
    assert messages[1]["content"].startswith(INSTRUCTION.strip()[:20])
    assert chat.record.terminal_class == "success"
    assert len(chat.calls) == len(bodies) == 3


def test_prose_is_the_models_own_and_all_that_is_left(tmp_path: Path) -> None:
    chat, bodies = run(
        tmp_path, "interrupted:after_effect_before_ack:prose", shell_or_summary(LOOK, WRITE, LOOK, FINISH)
    )
    kept = [chat.run.objects.get(event.state).decode() for event in chat.events(CheckpointTaken)]
    assert all("The id is 4711." in text for text in kept)
    assert kept[1].endswith('Called last: shell {"command": "echo done > notes.txt"}')
    after = [body for body in bodies if body.get("tool_choice") != "none"][2]
    assert len(after["messages"]) == 2
    assert "You were interrupted" in after["messages"][1]["content"]
    assert "The id is 4711." in after["messages"][1]["content"]
    summaries = [body for body in bodies if body.get("tool_choice") == "none"]
    assert len(summaries) == len(kept)
    assert all("at most 8192 bytes" in body["messages"][-1]["content"] for body in summaries)
    # The summaries are the system's own calls: they are metered like any other.
    assert len(chat.calls) == len(bodies)


def test_checkpoints_may_be_taken_more_rarely(tmp_path: Path) -> None:
    play = shell_or_summary(LOOK, LOOK, WRITE, LOOK, FINISH, FINISH)
    chat, _ = run(tmp_path, "interrupted:after_effect_before_ack", play, checkpoint_every=2)
    assert [event.step for event in chat.events(CheckpointTaken)] == [1, 4]
    assert chat.events(AgentResumed)[0].checkpoint_step == 1


def test_a_state_that_must_be_small_keeps_the_newest_turns(tmp_path: Path) -> None:
    long = says(tool("shell", command="seq 1000"))
    table = 'interruption = { state_bytes = 1500, tool = "write_file" }'
    write = says(tool("write_file", path="notes.txt", content="done\n"))
    chat, bodies = run(
        tmp_path, "interrupted:after_effect_before_ack", shell_or_summary(long, LOOK, write, FINISH), table
    )
    states = chat.events(CheckpointTaken)
    assert all(event.cut == 0 and event.size <= 1500 for event in states)
    messages = bodies[-1]["messages"]
    assert messages[1]["content"].endswith("[The earlier part of this conversation is left out here.]")
    assert [message["role"] for message in messages[2:]] == ["assistant", "tool", "assistant", "tool"]
    assert chat.tools[-1] == "finish"


@pytest.mark.parametrize("strategy", ["raw", "gold", "automatic", "structured"])
def test_its_context_is_made_shorter(tmp_path: Path, strategy: str) -> None:
    (tmp_path / "task" / "compaction").mkdir(parents=True)
    (tmp_path / "task" / "compaction" / "gold.md").write_text("The word is done.\n")
    play = shell_or_summary(LOOK, LOOK, WRITE, FINISH)
    table = "compaction = { every_tokens = 100 }"
    chat, bodies = run(tmp_path, f"compacted:{strategy}", play, table)
    events = chat.events(ContextCompacted)
    assert [event.strategy for event in events] == [strategy] * 3
    assert events[0].tokens_before == 110
    acts = [body["messages"] for body in bodies if body.get("tool_choice") != "none"]
    if strategy == "raw":
        assert events[0].tokens_after == 110
        assert len(acts[-1]) > len(acts[1])
        return
    assert [len(messages) for messages in acts] == [2, 4, 4, 4]
    head = acts[-1][1]["content"]
    expected = {
        "gold": "The word is done.",
        "automatic": "The id is 4711.",
        "structured": '"goal_version": 1',
    }
    assert expected[strategy] in head
    assert head.startswith(INSTRUCTION.strip()[:20])
    assert events[0].tokens_after is None
    assert chat.run.objects.get(events[-2].summary or "").decode() in head


def test_a_kill_just_after_the_compaction_leaves_what_it_left(tmp_path: Path) -> None:
    play = shell_or_summary(LOOK, WRITE, FINISH)
    table = "compaction = { every_tokens = 100 }"
    chat, bodies = run(tmp_path, "interrupted:compaction", play, table)
    (killed,) = chat.events(AgentKilled)
    assert (killed.point, killed.step, killed.acknowledged) == ("compaction", 1, True)
    compacted = chat.events(ContextCompacted)[0]
    assert compacted.seq == killed.seq - 1
    after = bodies[-1]["messages"]
    assert "The id is 4711." in after[1]["content"]
    # The call that it had chosen and not sent is open, and everything before is in the summary alone.
    assert [message["role"] for message in after[2:]] == ["assistant", "tool"]
    assert [event.tool for event in chat.events(ActionRequested)] == ["read_file", "finish"]


def test_what_it_leaves_out_by_itself_is_an_event(tmp_path: Path) -> None:
    with model_server(LOOK, LOOK, LOOK, FINISH) as server:
        chat = run_chat(tmp_path, server.endpoint, context_tokens=100)
    events = chat.events(ContextCompacted)
    assert events
    assert {event.strategy for event in events} == {"automatic"}
    assert events[0].kept == ["instruction", "newer half"]


def test_a_summary_that_does_not_fit_leaves_the_work_going_on(tmp_path: Path) -> None:
    full = fails(400, "too long", code="context_length_exceeded")
    acts = [LOOK, WRITE, FINISH, FINISH]

    def play(handler: Handler) -> None:
        (full if handler.body.get("tool_choice") == "none" else acts.pop(0))(handler)

    chat, _ = run(tmp_path, "interrupted:after_effect_before_ack:prose", play)
    assert chat.end.stop_reason == "finished"
    assert chat.classes.count("context_exceeded") == len(chat.events(CheckpointTaken))
