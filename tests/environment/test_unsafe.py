"""A world without a sandbox: what it does the same, what it cannot know, and whom it kills."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.cli import doctor as command
from seatrial.environment.confine import host as hosts
from seatrial.environment.confine.host import Host, prepare_host, release_host, sweep_unsafe
from seatrial.environment.confine.marked import NAME, Family
from seatrial.environment.doctor import Check
from seatrial.environment.unsafe import UnsafeWorld
from seatrial.errors import EnvironmentFault, StateOverrun
from seatrial.journal.events import ActionFinished, ConstraintViolated
from tests.waiting import PATIENCE, await_none, running, unique, until, when_running
from tests.worlds import make_ground, make_task, world

RULE = {"id": "keep", "kind": "hard", "forbid": {"write": ["files:LICENSE"]}}


@pytest.fixture
def plain() -> Iterator[Host]:
    prepared = prepare_host(unsafe=True)
    yield prepared
    release_host(prepared)
    assert not os.path.exists(prepared.stage)


@pytest.fixture
def here(tmp_path: Path, plain: Host) -> Iterator[UnsafeWorld]:
    made = UnsafeWorld(make_ground(tmp_path, plain))
    yield made
    made.close()
    assert not os.path.exists(made.tree)


def said(world: UnsafeWorld, text: str, **more: str) -> str:
    result = world.shell(text, **more)
    assert result.exit_code == 0, result.output
    return result.output.decode()


# Waits until a process in the background is what it was started as: before, it is its shell.
STARTED = 'up() { until read -r name < /proc/$1/comm && [ "$name" = sleep ]; do :; done; }; '


def test_a_new_world_is_the_base_and_relative_commands_work(here: UnsafeWorld):
    first = here.prove_reset()
    assert said(here, "cat notes.txt; pwd") == f"one\n{here.tree}/workspace\n"
    assert said(here, "pwd", cwd="/workspace/src") == f"{here.tree}/workspace/src\n"
    assert said(here, "pwd", cwd="src") == f"{here.tree}/workspace/src\n"
    assert said(here, 'echo "$HOME $TMPDIR"') == f"{here.tree}/home {here.tree}/tmp\n"
    assert here.shell("pwd", cwd="/workspace/none").exit_code == 127
    said(here, 'echo two > notes.txt; echo t > "$TMPDIR/t"; python3 -c "print(1)"')
    assert [entry.path for entry in here.settle().changes] == ["tmp/t", "workspace/notes.txt"]
    said(here, 'echo one > notes.txt; rm "$TMPDIR/t"')
    assert here.settle().fingerprint == first
    assert here.audit()


def test_it_follows_every_kind_of_change(here: UnsafeWorld):
    said(
        here,
        "rm LICENSE; ln notes.txt second; ln -s notes.txt third; mv src moved; mkdir -p deep/er; mkfifo pipe;"
        "chmod 600 notes.txt; touch src",
    )
    kinds = {entry.path.removeprefix("workspace/"): entry.kind for entry in here.settle().changes}
    assert kinds == {
        "LICENSE": "absent", "notes.txt": "file", "second": "file", "third": "link", "moved": "dir",
        "moved/a.py": "file", "src": "file", "src/a.py": "absent", "deep": "dir", "deep/er": "dir",
        "pipe": "fifo",
    }  # fmt: skip
    one, other = here.tracker.current("workspace/notes.txt"), here.tracker.current("workspace/second")
    assert one is not None and other is not None and one.links == other.links == "workspace/notes.txt"
    again = UnsafeWorld(here.ground, here.tracker.delta())
    try:
        assert again.settle().fingerprint == here.tracker.fingerprint()
        assert again.audit()
    finally:
        again.close()


def test_file_tools_reach_the_copy_and_nothing_else(here: UnsafeWorld):
    assert here.file_tool("write_file", "/workspace/new/f", b"text").output == b"wrote 4 bytes"
    assert here.file_tool("read_file", "new/f").output == b"text"
    assert here.file_tool("edit_file", "new/f", old=b"ex", new=b"EX").exit_code == 0
    assert here.file_tool("read_file", f"{here.tree}/workspace/new/f").output == b"tEXt"
    assert here.file_tool("read_file", "none").output == b"none: No such file or directory"
    for path in (
        "/seatrial-test",
        "/workspace/../../seatrial-test",
        "../seatrial-test",
        "/etc/seatrial-test",
    ):
        refused = here.file_tool("write_file", path, b"x")
        assert refused.exit_code == 1
        assert b"is not below one of /workspace" in refused.output
        assert not os.path.exists(f"/{path.lstrip('/')}")
    assert not os.path.exists("/seatrial-test")
    assert here.file_tool("write_file", "/tmp/seatrial-test", b"x").exit_code == 0
    assert not os.path.exists("/tmp/seatrial-test")
    said(here, "mkfifo pipe")
    assert b"not a regular file" in here.file_tool("read_file", "pipe").output


def test_a_time_limit_kills_this_action_and_nobody_else(here: UnsafeWorld):
    ours = [unique(number) for number in range(7001, 7009)]
    one, two, three, four, five, six, seven, eight = ours
    bystander = subprocess.Popen(["sleep", one], start_new_session=True)
    try:
        background = f"setsid sleep {two} & up $!; sleep {three} & up $!"
        assert here.shell(STARTED + background).alive == 2
        result = here.shell(
            f"trap '' TERM; setsid nohup sleep {four} & (setsid sh -c 'sleep {five} & sleep {six}' &);"
            f"env -i sleep {seven} & sleep {eight}",
            seconds=2.0,
        )
        assert (result.timed_out, result.exit_code, result.alive) == (True, 137, 2)
        assert running(*ours) == {one, two, three}
        here.close()
        until(lambda: running(*ours) == {one})
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_a_process_without_its_mark_still_ends_with_the_world(here: UnsafeWorld):
    word = unique(7010)
    assert here.shell(f"{STARTED} env -i sleep {word} & up $!").alive == 1
    here.close()
    await_none(word)


def test_background_writers_are_held_while_the_state_is_read(here: UnsafeWorld):
    here.shell("(while true; do echo x >> ticks; done) > /dev/null 2>&1 & until [ -s ticks ]; do :; done")
    with here.frozen():
        ticks = Path(here.tree, "workspace", "ticks")
        before = ticks.stat().st_size
        time.sleep(0.1)
        assert ticks.stat().st_size == before
    until(lambda: ticks.stat().st_size > before)
    assert here.alive >= 1


def test_output_is_bounded_and_endless_writers_end(here: UnsafeWorld):
    result = here.shell("yes", seconds=2.0)
    assert result.timed_out
    assert len(result.output) < 70_000
    assert b"bytes omitted" in result.output
    long = here.shell("echo begun\n" + ": long\n" * 20_000 + "echo done")
    assert long.output == b"begun\ndone\n"
    # Nobody reads the pipe of an action that is over, yet what it left behind can write.
    here.shell("(head -c 1000000 /dev/zero; touch wrote) & true")
    until(Path(here.tree, "workspace", "wrote").exists)


def test_marks_tell_families_apart():
    stage = f"stage-{os.getpid()}-x"
    one, other = (f"{stage}/one", f"{stage}/other")
    processes = [
        subprocess.Popen(["sleep", "7020"], env={"PATH": os.environ["PATH"], NAME: mark})
        for mark in (one, other, f"{stage}y/one")
    ]
    try:
        until(lambda: len(Family(stage).find()) == 2)
        assert Family(one).find() == [processes[0].pid]
        assert Family(stage).find() == sorted(p.pid for p in processes[:2])
        assert Family(stage.removesuffix("-x")).find() == Family(f"{stage}/o").find() == []
        Family(one).kill()
        assert processes[0].wait(PATIENCE) == -9
        assert processes[1].poll() is processes[2].poll() is None
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_windows_are_unknown_and_changes_that_stay_are_certain(tmp_path: Path, plain: Host):
    with world(tmp_path, plain, make_task([RULE])) as w:
        w.act("shell", command="true")
        w.act("shell", command="echo x > LICENSE; echo free > LICENSE")
        w.act("shell", command="cat LICENSE")
        w.act("shell", command="echo x > LICENSE")
        finished = w.events(ActionFinished)
        assert [event.windows for event in finished] == [["keep"]] * 4
        assert all(event.reads is None for event in finished)
        (broken,) = w.events(ConstraintViolated)
        assert broken.step == 4


def test_what_must_be_prevented_is_put_back(tmp_path: Path, plain: Host):
    rule = {**RULE, "mode": "prevent"}
    with world(tmp_path, plain, make_task([rule])) as w:
        before = w.sandbox.tracker.fingerprint()
        assert w.act("shell", command="rm LICENSE; mkdir LICENSE").outcome == "denied"
        assert w.act("write_file", path="/workspace/LICENSE", content="x").outcome == "denied"
        assert Path(w.sandbox.tree, "workspace", "LICENSE").read_text() == "free\n"
        assert w.sandbox.tracker.fingerprint() == before


def test_a_state_that_cannot_be_read_is_the_agents_doing(here: UnsafeWorld, monkeypatch: pytest.MonkeyPatch):
    def shut(self: object) -> None:
        raise PermissionError(13, "Permission denied", "workspace/f")

    monkeypatch.setattr(type(here.tracker), "rescan", shut)
    with pytest.raises(StateOverrun, match="workspace/f: cannot be read without a sandbox"):
        here.settle()


def test_what_a_killed_harness_left_is_found_by_its_stage(tmp_path: Path):
    dead = prepare_host(unsafe=True)
    name = os.path.basename(dead.stage)
    left = subprocess.Popen(["sleep", "7030"], env={"PATH": os.environ["PATH"], NAME: f"{name}/world/1"})
    try:
        sweep_unsafe()
        assert left.poll() is None, "its harness lives"
        # Whoever held the lock is gone: a folder that nobody has locked stands for that. The process is there
        # before, since any other harness on this host sweeps as well.
        other = subprocess.Popen(["sleep", "7031"], env={"PATH": os.environ["PATH"], NAME: f"{name}x/w/1"})
        until(lambda: Family(f"{name}x").find())
        orphan = Path(f"{dead.stage}x")
        orphan.mkdir()
        sweep_unsafe()
        assert other.wait(PATIENCE) == -9
        until(lambda: not orphan.exists())
        assert left.poll() is None
    finally:
        left.kill()
        left.wait()
        release_host(dead)


def test_a_host_that_cannot_sandbox_says_that_there_is_a_way(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(EnvironmentFault) as refusal:
        hosts.prepare_host()
    assert "bwrap is not installed. Install it: apt-get install bubblewrap" in str(refusal.value)
    assert "`seatrial run --unsafe-no-sandbox`" in str(refusal.value)
    assert "marks every record" in str(refusal.value)


def test_the_doctor_says_so_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(command, "examine", lambda: [Check("sandbox", False, "no", "Install it")])
    with pytest.raises(command.typer.Exit):
        command.doctor()
    shown = capsys.readouterr().out
    assert "This host cannot sandbox. `seatrial run --unsafe-no-sandbox`" in shown
    monkeypatch.setattr(command, "examine", lambda: [Check("sandbox", True, "yes")])
    command.doctor()
    assert "unsafe" not in capsys.readouterr().out


def test_an_interrupt_ends_the_action_under_way_and_no_other(here: UnsafeWorld):
    older, word = unique(7206), unique(7207)
    here.shell(f"setsid sleep {older} > /dev/null 2>&1 &")
    with when_running(word, here.interrupt):
        result = here.shell(f"echo begun; sleep {word}")
    assert result.interrupted and not result.timed_out
    assert (result.exit_code, result.output) == (137, b"begun\n")
    here.interrupt()  # nothing is under way
    assert not here.shell("true").interrupted
    until(lambda: running(older))
    assert not running(word)
