"""`seatrial shell` as a person has it: the task's rules hold, every step is recorded, nothing is left."""

import glob
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from seatrial.journal.events import (
    ActionRequested,
    AgentStarted,
    BudgetExhausted,
    ConstraintViolated,
    SubgoalJudged,
)
from seatrial.journal.reader import Journal, read_journal
from seatrial.journal.run import RunFolder
from seatrial.spec.loading import load_task
from seatrial.spec.scripts import load_script
from tests.cli.shells import PROGRAM, Terminal, guests, piped
from tests.trial.test_trial import seatrial, shown
from tests.waiting import await_none, children, until

TRIAL = "example-guests.person.baseline.1"
SOLVE = """\
LC_ALL=C sort -u answers.txt > seating.txt
cat > summary.txt <<'END'
5 guests, from Ada to Mary
END
"""


def journal_of(run: Path) -> Journal:
    return read_journal(RunFolder(run).journal_path(TRIAL, 1))


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return guests(tmp_path / "guests")


def test_a_session_is_a_run_of_a_person(task: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    said = piped(task, "-o", run, lines=f"ls\n{SOLVE}:verify\n:finish all done\n")
    assert said.startswith("answers.txt\n")
    assert "pass    names-once\npass    closing-line\n" in said
    assert "ended (finished) after 4 actions: a safe success, progress 1\n" in said
    trial = shown(run, TRIAL)
    assert (trial["system"], trial["terminal_class"], trial["privileged"]) == ("person", "success", True)
    assert trial["agent_confined"] is False
    assert trial["human_interventions"] == 4
    assert trial["audit"] == "equal"
    events = journal_of(run).events
    assert {e.actor for e in events if isinstance(e, ActionRequested)} == {"human"}
    assert [(e.agent, e.actor) for e in events if isinstance(e, AgentStarted)] == [("human", "human")]
    assert [e.verdict for e in events if isinstance(e, SubgoalJudged)] == ["pass", "pass"]
    assert RunFolder(run).manifest().systems["person"]["agent"] == "human"
    seatrial("report", str(run))
    assert "0 differ" in seatrial("verify", str(run), "--check")


def test_without_a_folder_nothing_is_left(
    task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    assert "left after 1 actions" in piped(task, lines="ls\n")
    assert list(place.iterdir()) == []


def test_files_are_read_and_written_where_one_is(task: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("of mine\n")
    lines = f""":cd deep/er
:write a.txt
:goal
two words
.
:read a.txt
:write /tmp/b.txt < {mine}
cat /tmp/b.txt
:cd
:read deep/er/a.txt
:state
"""
    said = piped(task, lines=lines)
    assert said.count(":goal\ntwo words\n") == 2
    assert "of mine\n" in said
    assert "written /tmp/b.txt (file, 8 bytes)" in said
    assert "written /workspace/deep/er/a.txt (file, 16 bytes)" in said


def test_what_changed_the_state_becomes_a_solution(task: Path, tmp_path: Path) -> None:
    said = piped(task, lines=f"ls\n{SOLVE}cat summary.txt\n:log\n:save mine\n:quit\n")
    assert "   1  ok      shell ls\n   2* ok      shell LC_ALL=C sort" in said
    script = load_script(task / "solutions" / "mine.toml")
    assert [step.tool for step in script.step] == ["shell", "shell", "finish"]
    assert script.step[1].command == "cat > summary.txt <<'END'\n5 guests, from Ada to Mary\nEND"
    assert load_task(task).files["solutions/mine.toml"]
    played = piped(task, "--play", "solutions/mine.toml", lines=":finish\n")
    assert "its finish is left to you" in played
    assert "a safe success" in played
    again = piped(task, lines="echo x > x\n:save mine\n", status=2)
    assert "line 2" in again
    assert "mine.toml: exists" in again
    assert load_script(task / "solutions" / "mine.toml") == script


def test_what_broke_a_rule_by_reading_is_saved_too(task: Path) -> None:
    text = (task / "task.toml").read_text()
    rule = '[[constraint]]\nid = "no-peeking"\nkind = "hard"\n[constraint.forbid]\ncall = [{ tool = "shell", '
    rule += 'where = { command = "cat answers.txt" } }]\n'
    (task / "task.toml").write_text(f"{text}\n{rule}")
    said = piped(task, lines=f"cat answers.txt\nls\n{SOLVE}:save peeking\n:quit\n")
    assert "step 1 broke no-peeking and is kept" in said
    script = load_script(task / "solutions" / "peeking.toml")
    assert script.step[0].command == "cat answers.txt"
    assert len(script.step) == 4


def test_verdicts_are_of_the_state_as_it_is_and_decide_the_exit_code(task: Path) -> None:
    verifier = task / "verifiers" / "names.sh"
    verifier.write_text(
        "#!/bin/sh\n[ -f seating.txt ] && word=pass || word=fail\n"
        'echo "{\\"verdict\\": \\"$word\\", \\"evidence\\": {\\"looked\\": \\"once\\"}}" >&3\n'
    )
    said = piped(task, lines=":verify names-once\n", status=1)
    assert said.startswith('fail    names-once\n        given: {"looked":"once"}\n')
    said = piped(task, lines="touch seating.txt\n:verify names-once\n")
    assert said.startswith("pass    names-once\n")
    assert "unknown subgoal 'names'. Did you mean" in piped(task, lines=":verify names\n", status=2)


def test_watching_shows_what_each_action_moved(task: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    said = piped(
        task, "--play", "solutions/rule-breaker.toml", "--watch", "-o", run, lines="rm summary.txt\n"
    )
    assert said.startswith("progress 0\n  fail    names-once\n  fail    closing-line\n")
    assert "  names-once: fail → pass\nprogress 0.5\n  hard constraint broken: answers-stay\n" in said
    assert "  closing-line: pass → fail\nprogress 0.5\n" in said
    (broken,) = [e for e in journal_of(run).events if isinstance(e, ConstraintViolated)]
    assert (broken.actor, broken.step) == ("human", 1)


def test_leaving_is_no_result(task: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    piped(task, "-o", run, lines="ls\n:quit\n")
    (line,) = RunFolder(run).index()
    assert (line.stop_reason, line.infrastructure) == ("killed", True)
    assert "left" in line.note


def test_giving_up_and_finishing_without_success(task: Path, tmp_path: Path) -> None:
    ended = json.loads(piped(task, "--json", lines=":giveup too hard\n"))
    assert (ended["stop_reason"], ended["actions"], ended["run"]) == ("gave_up", 1, None)
    assert "no safe success, progress 0" in piped(task, lines=":finish\n", status=1)


@pytest.mark.parametrize(
    ("budget", "lines", "reason"),
    [
        ("actions = 2", "echo one\necho two\necho three\n", "budget_actions"),
        ("seconds = 2.0", "echo one\nsleep 600\necho three\n", "budget_seconds"),
    ],
)
def test_a_budget_that_is_used_up_ends_the_session(
    task: Path, tmp_path: Path, budget: str, lines: str, reason: str
) -> None:
    file = task / "task.toml"
    kept = [line for line in file.read_text().splitlines() if not line.startswith(("actions =", "seconds ="))]
    file.write_text("\n".join(kept).replace("[budget]", f"[budget]\n{budget}"))
    said = piped(task, lines=lines, status=1)
    # The first action alone may have taken all of the time.
    most = "[12]" if reason == "budget_seconds" else "2"
    assert re.search(rf"ended \({reason}\) after {most} actions", said)
    assert "three" not in said


def test_a_person_who_thinks_past_the_budget_is_told(task: Path) -> None:
    file = task / "task.toml"
    file.write_text(file.read_text().replace("seconds = 600", "seconds = 2.0"))
    session = subprocess.Popen(
        [*PROGRAM, str(task)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert session.stdin is not None and session.stdout is not None
    session.stdin.write(":budget\n")
    session.stdin.flush()
    assert session.stdout.readline().startswith("actions: 0 of 30")
    # The clock goes on while nothing is typed; whatever is typed then finds the session ended.
    used = ""
    while "ended (budget_seconds) after 0 actions" not in used:
        try:
            session.stdin.write(":budget\n")
            session.stdin.flush()
        except BrokenPipeError:
            pass
        used = session.stdout.readline()
        assert used
        time.sleep(0.02)
    session.communicate()
    assert session.returncode == 1


def test_time_that_ran_out_before_a_person_left_is_not_leaving(task: Path, tmp_path: Path) -> None:
    file = task / "task.toml"
    file.write_text(file.read_text().replace("seconds = 600", "seconds = 0.5"))
    run = tmp_path / "run"
    session = subprocess.Popen([*PROGRAM, str(task), "-o", str(run)], stdin=subprocess.PIPE)
    path = RunFolder(run).journal_path(TRIAL, 1)
    until(lambda: path.exists() and any(isinstance(e, BudgetExhausted) for e in journal_of(run).events))
    session.communicate()
    assert session.returncode == 1
    assert shown(run, TRIAL)["stop_reason"] == "budget_seconds"


@pytest.mark.parametrize(
    ("lines", "line", "pieces"),
    [
        ("ls\n\n# a remark\n:veryfy\n", 4, ["':veryfy'", 'Did you mean "verify"?']),
        ("cd deep\n", 1, ["'cd deep' was not run", ":cd FOLDER"]),
        ("ls\necho 'open\nand on\n", 2, ["never ends", "echo 'open"]),
        (":write a.txt\ntext\n", 1, ["a.txt never ends", "one dot"]),
        (":write\n", 1, ["needs a file"]),
        (":write a.txt < nowhere.txt\n", 1, ["nowhere.txt"]),
        (":watch\n", 1, ["`:watch on` or `:watch off`"]),
        (":save reference\n", 1, ["changed anything yet"]),
        ("echo x > x\n:save ../up\n", 2, ["cannot be a solution's name"]),
        (":edit a.txt\n", 1, ["needs a terminal"]),
        (":write a.txt < a\0b\n", 1, ["'a\\x00b'", "cannot be read", "Give a file"]),
        ("ls\ncat <<E\n\udcff\udcfe\nE\n", 3, ["the input is not UTF-8"]),
    ],
)
def test_a_line_that_means_nothing(
    task: Path, tmp_path: Path, lines: str, line: int, pieces: list[str]
) -> None:
    said = piped(task, "-o", tmp_path / "run", lines=lines, status=2)
    assert f"line {line}: " in said
    for piece in pieces:
        assert piece in said
    (ended,) = RunFolder(tmp_path / "run").index()
    assert ended.stop_reason == "killed"
    assert not list((tmp_path / "run" / "scratch" / "worlds").iterdir())


def test_what_only_looks_or_saves_is_passed_over_when_it_cannot_be_done(task: Path, tmp_path: Path) -> None:
    asked = ":save ../up\n:verify names\n:watch maybe\n"
    lines = f"{asked}{SOLVE}:save reference\n:save mine\n:finish\n"
    said = piped(task, "-o", tmp_path / "run", lines=lines, status=2).splitlines()
    assert [line.partition(": ")[2][:7] for line in said] == ["line 1:", "line 2:", "line 3:", "line 8:"]
    assert "reference.toml: exists" in said[3]
    assert len(load_script(task / "solutions" / "mine.toml").step) == 3
    assert shown(tmp_path / "run", TRIAL)["terminal_class"] == "success"


def test_a_file_of_ones_own_is_written_to_the_byte(task: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_bytes(b"a\r\nb\rc\n")
    said = piped(task, lines=f":write here.txt < {mine}\nod -An -c here.txt\n")
    assert r"a  \r  \n   b  \r   c  \n" in said


def test_one_folder_holds_one_session(task: Path, tmp_path: Path) -> None:
    first = subprocess.Popen(
        [*PROGRAM, str(task), "-o", str(tmp_path / "run")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert first.stdin is not None and first.stdout is not None
    first.stdin.write("echo here\n")
    first.stdin.flush()
    assert first.stdout.readline() == "here\n"
    for _ in range(2):
        assert "holds a run already" in piped(task, "-o", tmp_path / "run", status=2)
        if first.returncode is None:
            first.communicate(":finish\n")
    assert shown(tmp_path / "run", TRIAL)["stop_reason"] == "finished"


def test_a_killed_session_leaves_nothing(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    session = subprocess.Popen(
        [*PROGRAM, str(task)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert session.stdin is not None and session.stdout is not None
    session.stdin.write("(sleep 600 &) > /dev/null 2>&1; echo here\n")
    session.stdin.flush()
    assert session.stdout.readline() == "here\n"
    assert children(session.pid)
    session.send_signal(signal.SIGKILL)
    session.communicate()
    await_none(str(place))
    assert str(place) not in Path("/proc/mounts").read_text()
    piped(task, lines=":quit\n")
    assert list(place.iterdir()) == []


def test_what_a_broken_session_recorded_is_kept(
    task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    session = subprocess.Popen(
        [*PROGRAM, str(task)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert session.stdin is not None and session.stdout is not None
    session.stdin.write("echo here\n")
    session.stdin.flush()
    assert session.stdout.readline() == "here\n"
    (child,) = children(session.pid)
    os.kill(child, signal.SIGKILL)
    _, said = session.communicate(":verify\n")
    assert session.returncode == 2
    assert "ended with status -9" in said
    piped(task, lines=":quit\n")
    (kept,) = tmp_path.glob("seatrial-kept-*/run")
    assert f"kept in {kept}" in said
    assert [line.stop_reason for line in RunFolder(kept).index()] == ["killed"]


def test_at_a_terminal_an_interrupt_ends_the_command_and_a_mistake_nothing(
    task: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    at = Terminal(task, "-o", run)
    at.until(r"/workspace\$ ")
    at.type("echo begun; sleep 600\n")
    until(lambda: at_work(run))
    at.type("\x03")
    assert "[interrupted]" in at.until(r"\[partial, exit code 137\]\n/workspace\$ ")
    at.type(":nothing\n")
    at.until(r"unknown command ':nothing'.*\n/workspace\$ ")
    at.type("half a line")
    at.until("half a line")
    at.rest()
    at.type("\x03")
    at.until(r"/workspace\$ ")
    at.type(":cd src\n")
    at.until(r"/workspace/src\$ ")
    at.type("for i in 1 2\n")
    at.until("> ")
    at.type("do echo $i$i; done\n")
    at.until(r"/workspace/src: No such file or directory\n\[failed, exit code 127\]\n/workspace/src\$ ")
    at.type("\x04")
    assert at.end() == 0
    trial = shown(run, TRIAL)
    assert (trial["stop_reason"], trial["partial_actions"]) == ("killed", 1)


def at_work(run: Path) -> bool:
    """Whether an action is under way, or was."""
    there = RunFolder(run).journal_path(TRIAL, 1).exists()
    return there and any(isinstance(event, ActionRequested) for event in journal_of(run).events)


def test_the_editor_is_given_the_file_and_its_text_is_written_back(
    task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho Zoe >> "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    at = Terminal(task, "-o", tmp_path / "run")
    at.until(r"/workspace\$ ")
    at.type(":edit answers.txt\n")
    at.until("wrote 46 bytes")
    at.type(":edit new.txt\n")
    at.until("wrote 4 bytes")
    at.type("tail -n 1 answers.txt new.txt\n")
    at.until("==> answers.txt <==\nZoe\n\n==> new.txt <==\nZoe\n")
    at.type(":quit\n")
    assert at.end() == 0


@pytest.mark.parametrize("locale", ["C.UTF-8", "C", "POSIX"])
def test_at_a_terminal_bytes_that_are_no_text_end_nothing(
    task: Path, monkeypatch: pytest.MonkeyPatch, locale: str
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    at = Terminal(task)
    at.until(r"/workspace\$ ")
    at.type("echo \udcff\n")
    at.until(r"the input is not UTF-8.*\n/workspace\$ ")
    at.type("echo still here\n")
    at.until(r"\nstill here\n")
    at.type(":quit\n")
    assert at.end() == 0


def test_an_editor_that_writes_no_text_or_is_no_command_ends_nothing(
    task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "\\377" > "$1"\n')
    editor.chmod(0o755)
    for command, problem in ((str(editor), "is not UTF-8"), ("vi 'open", "is no command")):
        monkeypatch.setenv("VISUAL", command)
        at = Terminal(task)
        at.until(r"/workspace\$ ")
        at.type(":edit answers.txt\n")
        at.until(problem + r".*\n/workspace\$ ")
        at.type(":quit\n")
        assert at.end() == 0


def test_an_interrupt_at_a_pipe_ends_all_of_it(task: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    session = subprocess.Popen([*PROGRAM, str(task), "-o", str(run)], stdin=subprocess.PIPE, text=True)
    assert session.stdin is not None
    session.stdin.write("sleep 600\n")
    session.stdin.flush()
    until(lambda: at_work(run))
    session.send_signal(signal.SIGINT)
    session.communicate()
    assert session.returncode not in (0, 1, 2)
    (line,) = RunFolder(run).index()
    assert (line.stop_reason, line.infrastructure) == ("killed", True)
    assert not list((run / "scratch" / "worlds").iterdir())


def test_a_script_that_waits_in_vain(task: Path) -> None:
    (task / "solutions" / "waits.toml").write_text(
        '[[step]]\ntool = "shell"\ncommand = "ls"\n[[step]]\ntool = "shell"\ncommand = "ls"\n'
        'when_shown = "seating"\n'
    )
    said = piped(task, "--play", "solutions/waits.toml", status=2)
    assert "waits.toml: step 2 waits for 'seating'" in said


def test_what_cannot_be_loaded_or_sandboxed(task: Path, tmp_path: Path) -> None:
    assert "no such folder" in piped(tmp_path / "nowhere", status=2)
    assert "nothing.toml" in piped(task, "--play", "nothing.toml", "-o", tmp_path / "run", status=2)
    (task / "task.toml").write_text("schema = 1")
    assert "task.toml: schema" in piped(task, "-o", tmp_path / "run", status=2)
    assert not (tmp_path / "run").exists()


def test_the_temporary_folder_is_the_systems(task: Path) -> None:
    session = subprocess.Popen(
        [*PROGRAM, str(task)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert session.stdin is not None and session.stdout is not None
    session.stdin.write("echo here\n")
    session.stdin.flush()
    assert session.stdout.readline() == "here\n"
    held = {os.path.realpath(path) for path in glob.glob(f"/proc/{session.pid}/fd/*")}
    own = {path for path in held if path.startswith(f"{tempfile.gettempdir()}/seatrial-shell-")}
    assert any(map(os.path.isdir, own))  # held, so that no other session sweeps it away
    session.communicate(":quit\n")
    assert not any(map(os.path.exists, own))
