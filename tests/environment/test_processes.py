"""Actions end when they must, take nothing along that is not theirs, and leave nothing behind."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seatrial.environment.ground import ActionLimits
from seatrial.environment.sandbox import BubblewrapSandbox
from seatrial.errors import EnvironmentFault
from tests.environment.lab import Lab, output
from tests.waiting import PATIENCE, await_none, ending_in, unique, until

STUBBORN = """
import os, signal, time
for n in range(1, 32):
    try: signal.signal(n, signal.SIG_IGN)
    except OSError: pass
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setpgid(0, 0)
        while True: time.sleep(1)
    os._exit(0)
while True: time.sleep(1)
"""


MANY = """
import os
try:
    while True:
        if os.fork() == 0: os.execlp("sleep", "sleep", "600")
except OSError:
    print("full")
"""


def small(lab: Lab, **limits: float) -> BubblewrapSandbox:
    given = {"memory_mb": 256, "processes": 40, "seconds": PATIENCE, **limits}
    return lab.world(lab.ground(limits=ActionLimits(**given)))  # type: ignore[arg-type]


def test_time_limit_kills_this_action_and_no_older_one(lab: Lab):
    world = lab.world()
    earlier = world.shell(
        "(setsid sleep 777 & setsid sh -c 'sleep 778 & wait' &); sleep 779 & "
        "until [ $(pgrep -xc sleep) = 3 ]; do :; done"
    )
    assert earlier.alive == 4
    world.file_tool("write_file", "/tmp/s.py", STUBBORN.encode())
    result = world.shell(
        "trap '' TERM; (sleep 888 &) ; setsid nohup sleep 889 & exec python3 /tmp/s.py", seconds=0.5
    )
    assert result.timed_out
    assert result.exit_code == 137
    assert result.alive == 4
    assert output(world, "pgrep -x sleep | wc -l").strip() == "3"
    assert output(world, "pgrep -x python3 || pgrep -x nohup || echo none") == "none\n"


def test_forks_of_an_older_process_outlive_a_stopped_action(lab: Lab):
    world = lab.world()
    world.shell("(while true; do (sleep 0.2; echo x >> /tmp/ticks) & sleep 0.05; done) >/dev/null 2>&1 &")
    assert world.shell("sleep 60", seconds=0.5).timed_out
    more = "n=$(wc -l < /tmp/ticks); until [ $(wc -l < /tmp/ticks) -gt $n ]; do sleep 0.01; done"
    assert not world.shell(more).timed_out


def test_endless_output_is_bounded_in_memory_and_time(lab: Lab):
    world = lab.world()
    result = world.shell("yes & yes", seconds=2.0)
    assert result.timed_out
    assert len(result.output) < 70_000
    assert b"bytes omitted" in result.output
    quiet = world.shell("yes & sleep 0.3; echo done")
    assert quiet.alive == 1
    time.sleep(0.5)
    resident = output(world, "grep VmRSS /proc/1/status").split()[1]
    assert int(resident) < 40_000
    assert world.settle().changes == []


def test_output_shows_both_ends(lab: Lab):
    result = lab.world().shell("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo last")
    assert result.output.startswith(b"first\n")
    assert result.output.endswith(b"last\n")
    assert b"bytes omitted" in result.output


def test_background_output_does_not_block_while_another_action_runs(lab: Lab):
    world = lab.world()
    world.shell("(sleep 0.2; head -c 500000 /dev/zero; echo through > /tmp/through) & echo")
    assert output(world, "until [ -s /tmp/through ]; do sleep 0.01; done; cat /tmp/through") == "through\n"


def test_fork_bomb_ends_at_the_limit(lab: Lab):
    world = small(lab)
    result = world.shell("bomb() { bomb | bomb & }; bomb; sleep 1", seconds=3)
    assert result.exit_code is not None
    after = world.shell("kill -9 -1; echo alive")
    assert after.exit_code in (0, 137)
    until(lambda: world.shell("kill -9 -1").alive == 0)
    assert output(world, "echo alive") == "alive\n"
    assert world.settle().changes == []


def test_thread_bomb_in_the_background_leaves_room_to_act(lab: Lab):
    world = small(lab)
    # A shell would try again for many seconds before it takes a full table for an answer.
    world.file_tool("write_file", "/tmp/many.py", MANY.encode())
    assert world.shell("python3 /tmp/many.py").output == b"full\n"
    assert output(world, "echo alive; kill -9 -1 2>/dev/null; true").startswith("alive")
    assert output(world, "echo alive") == "alive\n"


def test_out_of_memory_is_told_by_the_counter(lab: Lab):
    world = small(lab)
    hog = "python3 -c 'x = bytearray(2_000_000_000)'"
    result = world.shell(hog)
    assert result.exit_code != 0
    if lab.is_root:
        assert result.out_of_memory
    lied = world.shell("exit 137")
    assert (lied.exit_code, lied.out_of_memory) == (137, False)
    assert output(world, "echo alive") == "alive\n"


@pytest.mark.root
def test_memory_outside_any_process_does_not_take_the_sandbox_along(lab: Lab):
    world = small(lab)
    hog = (
        "import os\nfd = os.memfd_create('hog')\n"
        "while True: os.write(fd, b'x' * (1 << 20))"
    )  # fmt: skip
    world.file_tool("write_file", "/tmp/hog.py", hog.encode())
    result = world.shell("python3 /tmp/hog.py")
    assert result.out_of_memory
    assert output(world, "echo alive") == "alive\n"


def test_files_cannot_grow_without_bound(lab: Lab):
    world = small(lab, file_mb=1)
    assert world.shell("truncate -s 1T big").exit_code != 0
    world.shell("head -c 5000000 /dev/zero > long")
    assert {e.path: e.size for e in world.settle().changes}["workspace/long"] == 1 << 20


def test_process_that_outlives_its_action_is_counted(lab: Lab):
    world = lab.world()
    assert world.shell("sleep 600 & setsid sleep 600 & true").alive == 2
    assert world.alive == 2
    world.shell("until [ $(pgrep -xc sleep) = 2 ]; do :; done; pkill -x sleep")
    assert world.wait_idle(PATIENCE)
    assert world.alive == 0


def test_process_that_ends_while_frozen_hurts_nobody(lab: Lab):
    world = lab.world()
    for _ in range(30):
        world.shell("(sleep 0.00$((RANDOM % 9)); echo x >> f) & (sleep 0.0$((RANDOM % 3))) & true")
        world.settle()
    assert world.wait_idle(PATIENCE)
    world.settle()
    assert world.audit()


def test_stopped_process_is_no_obstacle(lab: Lab):
    world = lab.world()
    world.shell("sleep 100 & kill -STOP $!")
    assert world.settle().changes == []
    assert world.alive == 1


def test_folder_that_is_not_there(lab: Lab):
    world = lab.world()
    for cwd in ("/workspace/nope", "/workspace/a.txt", "/proc/1/cwd"):
        result = world.shell("echo no", cwd)
        assert result.exit_code in (126, 127), cwd
        assert cwd.encode() in result.output
    assert output(world, "echo alive", cwd="/tmp") == "alive\n"
    assert world.shell("nul\0byte").exit_code == 126
    assert world.run(["/workspace/a.txt"]).exit_code == 126


def test_long_command(lab: Lab):
    world = lab.world()
    filler = "\n".join(f": {'x' * 1000}" for _ in range(1000))
    result = world.shell(f"{filler}\necho end $0 $#; exit 3")
    assert (result.exit_code, result.output.split()[0]) == (3, b"end")
    assert output(world, "printf '\\377\\376' | od -An -tx1").split() == ["ff", "fe"]
    assert world.shell("printf '\\377'").output == b"\xff"


def test_file_tools_end_on_special_files(lab: Lab):
    world = lab.world()
    output(world, "mkfifo p; mkdir d; ln -s /dev/zero z; ln -s loop loop")
    for path in ("p", "d", "z", "loop", "nope", "/proc/1/mem", "/proc/1/environ"):
        for tool in ("read_file", "edit_file"):
            assert world.file_tool(tool, path, old=b"a", new=b"b").exit_code == 1, (tool, path)
    for path in ("p", "d", "/etc/passwd", "z"):
        assert world.file_tool("write_file", path, b"x").exit_code == 1, path
    assert world.file_tool("write_file", "n/e/w", b"x").exit_code == 0
    assert world.file_tool("read_file", "/workspace/n/e/w").output == b"x"
    assert world.file_tool("edit_file", "n/e/w", old=b"x", new=b"y").output == b"edited"
    assert world.file_tool("edit_file", "n/e/w", old=b"", new=b"y").exit_code == 1


def test_nothing_survives_close(lab: Lab):
    world, word = lab.world(), unique(31337)
    assert world.shell(f"sleep {word} & setsid nohup sleep {word} & (sleep {word} &) ; true").alive == 3
    until(lambda: len(ending_in(word)) == 3)
    world.close()
    await_none(word)
    with pytest.raises(EnvironmentFault):
        world.shell("true")
    world.close()


CHILD = """
import os, sys
from pathlib import Path
from tests.environment.lab import Lab
word, lab = sys.argv[1], Lab(Path(sys.argv[2]))
world = lab.world()
world.shell(f"sleep {word} & setsid sleep {word} &")
print(os.getpid(), lab.host.stage, flush=True)
world.shell(f"sleep {word}")
"""


def test_killed_harness_leaves_no_process_and_no_mount(lab: Lab):
    path, word = os.pathsep.join([*filter(None, sys.path), os.getcwd()]), unique(41414)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, word, str(lab.folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert child.stdout is not None
    with child.stdout:
        stage = child.stdout.readline().split()[1]
    until(lambda: len(ending_in(word)) == 3)
    child.kill()
    child.wait()
    await_none(word)
    assert stage not in Path("/proc/self/mounts").read_text()
    # Whichever harness comes next on this host sweeps what a killed one could not.
    assert not os.path.exists(stage) or os.listdir(stage) == []
    assert lab.host
    until(lambda: not os.path.exists(stage))


@pytest.mark.root
def test_full_disk_is_a_fault_of_the_environment(lab: Lab):
    assert lab.host
    lab.scratch.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(lab.scratch)], check=True)
    ground = lab.ground()
    ground.objects.folder = f"{lab.scratch}/objects"
    world = lab.world(ground)
    world.shell("head -c 2500000 /dev/urandom > big; echo 1 > small")
    with pytest.raises(EnvironmentFault, match="Free space"):
        world.settle()


def test_an_orphan_that_ended_is_gone_for_a_command_that_waits_for_it(lab: Lab):
    world = lab.world()
    waited = world.shell("(sleep 0.1 &); while pgrep -x sleep; do :; done; echo gone", seconds=PATIENCE)
    assert (waited.exit_code, waited.output.split()[-1]) == (0, b"gone")
    assert waited.alive == 0
