"""Attacks on the sandbox itself, each with its declared outcome."""

import os
import pwd
import re
import socket
import subprocess
import threading
from contextlib import closing
from pathlib import Path

import pytest

from seatrial.environment.confine.rootfs import package_folders
from seatrial.environment.ground import ActionLimits
from seatrial.environment.sandbox import BubblewrapSandbox
from seatrial.errors import EnvironmentFault, StateOverrun
from tests.environment.lab import Lab, output
from tests.waiting import PATIENCE

FILES = "cmdline,environ,maps,mountinfo,mounts,mountstats,cgroup,status,comm,limits,numa_maps"
SHOW_ALL = f"""for f in /proc/[0-9]*/{{{FILES}}}; do tr '\\0' '\\n' < $f 2>/dev/null; done
for l in /proc/[0-9]*/{{cwd,root,exe,fd/*}}; do readlink $l; done"""

PTRACE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
said = []
said.append(("ptrace", libc.ptrace(16, 1, 0, 0)))
said.append(("seize", libc.ptrace(0x4206, 1, 0, 0)))
pid = os.pidfd_open(1)
for fd in range(12):
    said.append((f"pidfd_getfd {fd}", libc.syscall(438, pid, fd, 0)))
class Vec(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
buffer = ctypes.create_string_buffer(16)
mine, theirs = Vec(ctypes.addressof(buffer), 16), Vec(0x400000, 16)
said.append(("vm_readv", libc.process_vm_readv(1, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)))
said.append(("vm_writev", libc.process_vm_writev(1, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)))
said.append(("kcmp", libc.syscall(312, 1, os.getpid(), 0, 3, 3)))
files = "mem environ maps fd fd/3 cwd root exe map_files auxv stack syscall"
for what in files.split():
    try:
        path = f"/proc/1/{what}"
        if what in ("fd", "map_files"): os.listdir(path)
        elif what in ("cwd", "root", "exe"): os.readlink(path)
        else: open(path, "rb").read(1)
        said.append((what, 0))
    except OSError:
        said.append((what, -1))
for task in os.listdir("/proc/1/task"):
    try:
        os.listdir(f"/proc/1/task/{task}/fd"); said.append(("task fd", 0))
    except OSError:
        said.append(("task fd", -1))
print([name for name, answer in said if answer != -1])
"""


def test_first_process_cannot_be_read_or_written(lab: Lab):
    world = lab.world()
    assert output(world, f"python3 -ISc '{PTRACE}'").strip() == "[]"
    # Every signal an agent can send is ignored, and the next action runs.
    output(world, "for s in $(seq 1 64); do kill -$s 1 2>/dev/null; done; true")
    assert output(world, "echo alive") == "alive\n"


def test_process_about_to_become_an_action_shows_no_descriptors(lab: Lab):
    world = lab.world()
    spy = """
import os, time
end, found = time.time() + 3, set()
while time.time() < end:
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) not in (1, os.getpid()):
            try:
                for fd in os.listdir(f"/proc/{pid}/fd"):
                    link = os.readlink(f"/proc/{pid}/fd/{fd}")
                    if link.startswith("socket:"): found.add(link)
            except OSError: pass
open("/tmp/found", "w").write(repr(found))
"""
    world.file_tool("write_file", "/tmp/spy.py", spy.encode())
    world.shell("python3 /tmp/spy.py >/dev/null 2>&1 &")
    for _ in range(150):
        world.shell("true")
    assert world.wait_idle(PATIENCE)
    assert output(world, "cat /tmp/found") == "set()"


def test_nothing_in_proc_names_the_host(lab: Lab):
    folder = lab.folder / "task-secret-name"
    folder.mkdir()
    inner = Lab(folder)
    inner.scratch = folder / "run-secret-scratch"
    try:
        world = inner.world()
        world.shell("sleep 60 &")
        said = world.shell(SHOW_ALL).output.decode(errors="replace")
        output(world, SHOW_ALL + " > all 2>&1; true")
        said += Path(f"{world.tree}/workspace/all").read_text(errors="replace")
        whole = said + output(
            world, "env; hostname; id; cat /etc/passwd /etc/hosts /proc/mounts; uname -n; pwd -P"
        )
    finally:
        inner.close()
        inner.clean()
    assert "/workspace" in whole
    user = os.environ.get("SUDO_USER") or pwd.getpwuid(os.stat(lab.folder).st_uid).pw_name
    users = {user} if user not in ("root", "agent") else set()
    project = str(Path(__file__).parents[2])
    # What lies above folders that every machine has.
    secrets = {"secret", str(lab.folder), lab.folder.parent.name, project, socket.gethostname(), *users}
    for secret in secrets - {"host", "localhost", ""}:
        assert not re.search(rf"(?<![\w]){re.escape(secret)}(?![\w])", whole), secret
    assert "/root/" not in whole and "/home/" not in whole.replace("/home/agent", "")


def test_only_the_roots_are_writable(lab: Lab):
    world = lab.world()
    found = output(
        world,
        r"find / -path /proc -prune -o -writable ! -type l -print 2>/dev/null | grep -vE "
        r"'^(/workspace|/home/agent|/tmp|/var/tmp|/dev/shm)(/|$)'; true",
    ).split()
    assert set(found) <= {
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
        "/dev/tty",
        "/dev/ptmx",
        "/dev/pts",
        "/dev/pts/ptmx",
    }
    for place in (
        "/",
        "/etc",
        "/usr",
        "/run",
        "/dev",
        "/opt",
        "/var",
        "/home",
        "/proc",
        "/sys",
        "/usr/local",
    ):
        assert world.shell(f"echo x > {place}/planted").exit_code != 0, place
    assert world.shell("mount -t tmpfs x /tmp; mount -o remount,rw /").exit_code != 0
    assert (
        world.shell("echo 1 > /proc/sys/kernel/hostname || echo -1000 > /proc/1/oom_score_adj").exit_code != 0
    )


def test_no_new_user_namespace(lab: Lab):
    world = lab.world()
    if not lab.host.can_disable_userns:
        pytest.skip("this bubblewrap is older than 0.8")
    for command in ("unshare -U true", "unshare -Urm true", "bwrap --unshare-user --ro-bind / / true"):
        assert world.shell(command).exit_code != 0, command


def test_no_device_node(lab: Lab):
    world = lab.world()
    assert world.shell("mknod /tmp/null c 1 3").exit_code != 0
    assert world.shell("mknod /tmp/disk b 254 0").exit_code != 0
    known = "core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero"
    assert " ".join(output(world, "ls /dev").split()) == known


def test_packages_of_the_host_are_masked(lab: Lab):
    world = lab.world()
    names = "('msgspec', 'blake3', 'pytest', '_pytest', 'seatrial', 'pip', 'numpy')"
    code = f"import importlib.util as u; print([n for n in {names} if u.find_spec(n)])"
    for python in ("python3", "/usr/bin/python3", "/opt/python/bin/python3"):
        result = world.shell(f'{python} -c "{code}"')
        assert result.exit_code == 127 or result.output == b"[]\n", (python, result.output)
    found = output(
        world,
        r"find / -name proc -prune -o \( -name '*.dist-info' -o -name '*.whl' \) -print 2>/dev/null"
        r"| grep -v /test/; true",
    )
    assert found == ""


def test_no_network(lab: Lab):
    world = lab.world()
    with closing(socket.socket()) as local, closing(socket.socket(socket.AF_UNIX)) as abstract:
        local.bind(("127.0.0.1", 0))
        local.listen()
        name = f"\0seatrial-test-{os.getpid()}"
        abstract.bind(name)
        abstract.listen()
        accepted = []
        for server in (local, abstract):
            threading.Thread(target=lambda s=server: accepted.append(s.accept()), daemon=True).start()
        code = f"""
import socket
for family, address in ((2, ("127.0.0.1", {local.getsockname()[1]})), (1, {name!r}), (2, ("8.8.8.8", 53))):
    s = socket.socket(family); s.settimeout(2)
    try: s.connect(address); print("reached", address)
    except OSError: pass
"""
        world.file_tool("write_file", "/tmp/c.py", code.encode())
        assert output(world, "python3 /tmp/c.py; grep -c : /proc/net/dev").strip() == "1"
        assert not accepted


def test_no_shared_memory_with_the_host(lab: Lab):
    world = lab.world()
    made = subprocess.run(["ipcmk", "-M", "64"], capture_output=True, text=True, check=True).stdout.split()[
        -1
    ]
    name = Path(f"/dev/shm/seatrial-test-{os.getpid()}")
    name.write_text("host")
    try:
        assert made not in output(world, "ipcs -m").split()
        assert world.shell(f"ipcrm -m {made}").exit_code != 0
        assert output(world, "ls -A /dev/shm /dev/mqueue 2>/dev/null; true").split() == ["/dev/shm:"]
    finally:
        name.unlink()
        subprocess.run(["ipcrm", "-m", made], check=True)


def test_worlds_do_not_see_each_other(lab: Lab):
    ground = lab.ground()
    one, other = lab.world(ground), lab.world(ground)
    one.shell("echo secret > /tmp/s; echo secret > /dev/shm/s; sleep 4242 &")
    assert "4242" not in output(
        other, "ps aux 2>/dev/null; cat /proc/*/cmdline | tr '\\0' ' '; ls /tmp /dev/shm"
    )
    assert other.shell("pkill sleep").exit_code != 0
    assert other.settle().changes == []


@pytest.mark.parametrize("harm", ["content", "new", "gone", "mode", "same size and time"])
def test_tampered_base_is_refused(lab: Lab, harm: str):
    ground = lab.ground()
    world = lab.world(ground)
    assert world.prove_reset() == world.tracker.fingerprint()
    victim = Path(ground.base.folder) / "workspace" / "a.txt"
    status = victim.stat()
    if harm == "content":
        victim.write_text("evil")
    elif harm == "new":
        (victim.parent / "new").write_text("x")
    elif harm == "gone":
        victim.unlink()
    elif harm == "mode":
        victim.chmod(0o600)
    else:
        victim.write_text("E\n")
        os.utime(victim, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(EnvironmentFault, match="Build it anew"):
        lab.world(ground).prove_reset()


def test_used_world_is_not_clean(lab: Lab):
    world = lab.world()
    world.prove_reset()
    output(world, "echo x > x")
    with pytest.raises(EnvironmentFault, match="not clean"):
        world.prove_reset()


def test_actions_cannot_change_the_base(lab: Lab):
    ground = lab.ground()
    world = lab.world(ground)
    output(
        world,
        "for f in $(find . -type f); do echo evil >> $f; chmod 777 $f; rm $f; done; rm -rf *; ln -s / up",
    )
    lab.world(ground).prove_reset()


def forged(world: BubblewrapSandbox, text: str) -> bytes:
    world.file_tool("write_file", "/tmp/forge.py", text.encode())
    return world.shell("python3 /tmp/forge.py").output


def test_answers_cannot_be_forged(lab: Lab):
    world = lab.world()
    said = forged(
        world,
        """
import os
for fd in range(3, 64):
    try: os.write(fd, b"\\0\\0\\0\\2\\0\\0\\0\\0{}")
    except OSError: pass
print(sorted(os.listdir("/proc/self/fd")))
""",
    )
    assert said == b"['0', '1', '2', '3']\n"
    assert output(world, "exit 0; echo") == ""


def test_deep_folders_are_the_agents_doing_and_can_be_cleaned(lab: Lab):
    world = lab.world()
    code = "import os\nfor _ in range(1000): os.mkdir('dddd'); os.chdir('dddd')\nopen('end', 'w').write('x')"
    world.file_tool("write_file", "/tmp/deep.py", code.encode())
    output(world, "python3 /tmp/deep.py")
    with pytest.raises(StateOverrun, match="longer than the kernel takes"):
        world.settle()
    world.close()
    assert os.listdir(lab.scratch / "worlds") == []


def test_a_state_beyond_its_bound_is_the_agents_doing(lab: Lab):
    world = lab.world(lab.ground(limits=ActionLimits(state_mb=8)))
    output(world, "head -c 6000000 /dev/urandom > one; cp one /tmp/two 2>/dev/null; rm /tmp/two")
    world.settle()
    output(world, "rm one; head -c 6000000 /dev/urandom > two")
    assert world.settle().changes
    output(world, "truncate -s 3M three")
    with pytest.raises(StateOverrun, match="more than may be recorded"):
        world.settle()
    world.close()


def test_the_packages_of_the_host_are_looked_for_once_a_process():
    assert package_folders() is package_folders()
