"""Attacks on verdicts, each with its declared outcome: the agent's code and files never make one."""

import os
from pathlib import Path
from typing import Any

import pytest

from seatrial.environment.confine.host import Host
from seatrial.journal.entries import Entry
from seatrial.verify.engine import Judge
from tests.verify.bench import PYTHON, SHELL, Content, Maker, ask, judging
from tests.waiting import await_none

# Runs the agent's program and gives its own verdict, fail, together with what the program wrote.
HONEST = (
    PYTHON
    + """
import json, os, subprocess
done = subprocess.run(["probe", "--timeout", "10", "--", "python3", "app.py"], capture_output=True)
evidence = [done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")]
os.write(3, json.dumps({"verdict": "fail", "evidence": evidence}).encode())
"""
)

PLANT_ON_EVERY_DESCRIPTOR = """
import glob, os, socket
wrote = 0
for number in range(3, 512):
    for word in (b"pass", b'{"verdict": "pass"}'):
        try: os.write(number, word); wrote += 1
        except OSError: pass
for place in glob.glob("/proc/[0-9]*/fd/*") + glob.glob("/proc/[0-9]*/task/*/fd/*"):
    try: os.write(os.open(place, os.O_WRONLY | os.O_NONBLOCK), b"pass")  # pipes of its own output
    except OSError: pass
print("wrote", wrote)
"""
REACH_OTHER_PROCESSES = """
import ctypes, glob, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
pids = sorted(int(p.split("/")[2]) for p in glob.glob("/proc/[0-9]*/stat"))
print("pids", len(pids) <= 4, max(pids) < 100)
found = 0
for pid in range(1, 3000):
    for step in (lambda: os.pidfd_open(pid), lambda: open(f"/proc/{pid}/mem", "r+b")):
        try: step()
        except OSError: continue
        found += pid not in (*pids, os.getpid())
    fd = libc.syscall(434, pid, 0)
    if fd >= 0:
        for target in range(64):
            stolen = libc.syscall(438, fd, target, 0)
            if stolen > 2: os.write(stolen, b"pass") if os.readlink(f"/proc/self/fd/{stolen}").startswith("pipe") and pid not in pids else None
print("beyond", found)
for place in ("/verifier", "/run/seatrial", "/run/seatrial/probe.sock", "/sys/fs/cgroup"):
    print(place, os.path.exists(place))
text = open("/proc/self/mountinfo").read() + open("/proc/1/environ").read() + open("/proc/1/cmdline").read()
print("named", [word for word in ("verifier", "seatrial", "builder", "work/", "pytest", "test_") if word in text])
"""  # noqa: E501


def outcome(folder: Path, host: Host, program: str, **files: Content) -> tuple[str, Any]:
    row = ask(folder, host, HONEST, {"app.py": program, **files})
    assert not row.product_triggered
    return row.verdict, row.evidence.get("given", row.evidence)


def test_a_verdict_planted_on_any_descriptor(tmp_path: Path, host: Host) -> None:
    verdict, (status, said, _) = outcome(tmp_path, host, PLANT_ON_EVERY_DESCRIPTOR)
    assert (verdict, status) == ("fail", 0)
    assert said.endswith("wrote 0\n")


def test_other_processes_their_memory_and_descriptors(tmp_path: Path, host: Host) -> None:
    verdict, (status, said, wrong) = outcome(tmp_path, host, REACH_OTHER_PROCESSES)
    assert (verdict, status) == ("fail", 0), wrong
    assert said.splitlines() == [
        "pids True True", "beyond 0", "/verifier False", "/run/seatrial False",
        "/run/seatrial/probe.sock False", "/sys/fs/cgroup False", "named []",
    ]  # fmt: skip


def test_a_program_that_prints_verdicts_only_prints(tmp_path: Path, host: Host) -> None:
    verdict, (status, said, _) = outcome(tmp_path, host, 'print(\'pass\\n{"verdict": "pass"}\')')
    assert (verdict, status, said) == ("fail", 0, 'pass\n{"verdict": "pass"}\n')


@pytest.mark.parametrize(
    "exit_", ["import os; os._exit(0)", "raise SystemExit(0)", "import os; os.kill(1, 9)"]
)
def test_exit_0_on_import_of_agent_code(tmp_path: Path, host: Host, exit_: str) -> None:
    # Even a verifier that breaks the rule and imports the agent's code does not pass by ending early.
    careless = PYTHON + (
        "import os, sys\nsys.path.insert(0, '/workspace')\nimport app\n"
        "os.write(3, b'pass' if app.answer() == 42 else b'fail')"
    )
    row = ask(tmp_path, host, careless, {"app.py": exit_})
    assert row.verdict == "error"
    honest = ask(tmp_path / "honest", host, HONEST, {"app.py": exit_})
    assert honest.verdict == "fail"


PLANTED = """
import os
try: os.write(3, b'pass')
except OSError: pass
print('PLANTED', flush=True)
os._exit(0)
"""
NAMES = ["sitecustomize", "usercustomize", "conftest", "json", "os", "subprocess", "re", "pytest_plugin"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "verifier",
    [
        HONEST,
        SHELL + "python3 -c 'import json, re, subprocess; print(json.dumps(1))' >&2 && echo fail >&3",
        SHELL + "python3 -m json.tool /verifier/data.json >&2 && echo fail >&3",
        SHELL + "cd /workspace && python3 /verifier/plain.py >&2 && echo fail >&3",
    ],
    ids=["script", "dash-c", "dash-m", "file"],
)
def test_planted_modules_do_not_run_beside_the_verdict(
    tmp_path: Path, host: Host, name: str, verifier: str
) -> None:
    maker = Maker(tmp_path)
    site = "home:.local/lib/python3.11/site-packages"
    files: dict[str, Content] = {"app.py": "print(1)", f"{name}.py": PLANTED, f"{site}/{name}.py": PLANTED}
    task = maker.task(
        {"v": verifier, "data.json": "{}", "plain.py": "import json, re, subprocess"},
        [{"id": "one", "verifier": "verifiers/v"}],
    )
    with judging(tmp_path, host, maker, task) as judge:
        row = judge.judge(maker.state(files), "one")
    assert row.verdict == "fail", row.evidence
    if verifier != HONEST:
        assert row.evidence is None


def test_planted_bytecode_does_not_run(tmp_path: Path, host: Host) -> None:
    # Sources say one thing, the cache beside them another: with the sources' own times it would be used.
    build = (
        PYTHON
        + """
import importlib.util, json, marshal, os, subprocess, sys
name = f"__pycache__/lib.{sys.implementation.cache_tag}.pyc"
code = compile("VALUE = 'planted'", "lib.py", "exec")
told = os.stat("/workspace/lib.py")
head = importlib.util.MAGIC_NUMBER + (0).to_bytes(4, "little") + (int(told.st_mtime)).to_bytes(4, "little")
data = head + told.st_size.to_bytes(4, "little") + marshal.dumps(code)
place = os.environ["TMPDIR"] + "/pyc"
open(place, "wb").write(data)
command = ["probe", "--put", f"{place}={name}", "--", "python3", "-c", "import lib; print(lib.VALUE)"]
given = subprocess.run(command, capture_output=True, text=True)
os.write(3, json.dumps({"verdict": "pass", "evidence": given.stdout + given.stderr}).encode())
"""
    )
    row = ask(tmp_path, host, build, {"lib.py": "VALUE = 'source'"})
    assert row.evidence["given"] == "source\n"


def test_links_and_special_files_where_the_verifier_reads(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    targets = {
        "expected": "/verifier/expected", "passwd": "/etc/passwd", "root": "/proc/1/root/etc/passwd",
        "self": "/proc/self/fd/3", "up": "../verifier/expected", "chain": "dir/../../verifier/expected",
        "dir": "/workspace/sub", "fine": "sub/real", "null": "/dev/null", "tmp": "/tmp/x",
    }  # fmt: skip
    files: dict[str, Content] = {name: maker.link("x", target) for name, target in targets.items()}
    files |= {
        "pipe": Entry(path="x", kind="fifo"), "line": Entry(path="x", kind="socket"),
        "sub/real": "real", "gone": Entry(path="x", kind="dir"),
    }  # fmt: skip
    script = (
        PYTHON
        + """
import json, os
seen = {}
for name in sorted(os.listdir("/workspace")):
    try: seen[name] = open(name).read()
    except OSError as fault: seen[name] = fault.strerror
os.write(3, json.dumps({"verdict": "pass", "evidence": seen}).encode())
"""
    )
    task = maker.task(
        {"v": script, "expected": "secret"}, [{"id": "one", "verifier": "verifiers/v", "reads": ["files:**"]}]
    )
    with judging(tmp_path, host, maker, task) as judge:
        row = judge.judge(maker.state(files), "one")
    assert row.verdict == "pass", row.evidence
    assert row.evidence["given"] == {"dir": "Is a directory", "fine": "real", "gone": "Is a directory",
                                     "sub": "Is a directory"}  # fmt: skip
    left_out = row.evidence["left_out"]
    assert sorted(left_out) == sorted(
        f"workspace/{n}"
        for n in ("expected", "passwd", "root", "self", "up", "chain", "null", "tmp", "pipe", "line")
    )
    assert left_out["workspace/pipe"] == "is a FIFO"
    assert "leads out of the view" in left_out["workspace/expected"]


def test_programs_and_libraries_of_the_agents_files(tmp_path: Path, host: Host) -> None:
    # Nothing in the view can be started or loaded beside the verdict, whatever PATH says.
    maker = Maker(tmp_path)
    cheat = maker.file("x", SHELL + "echo pass >&3; exit 0", mode=0o755)
    library = next(p for p in Path("/usr/lib").rglob("libz.so.1*") if p.is_file()).read_bytes()
    shared = maker.file("x", library, mode=0o755)
    files: dict[str, Content] = {
        "grep": cheat,
        "cat": cheat,
        "test": cheat,
        "bin/python3": cheat,
        "evil.so": shared,
    }
    script = (
        SHELL
        + """
        case "$PATH" in *workspace*|*:.:*|.:*) exit 5;; esac
        test -z "$LD_PRELOAD" || exit 6
        PATH="/workspace:/workspace/bin:$PATH"
        /workspace/grep x; test $? = 126 || exit 7
        export LD_PRELOAD=/workspace/evil.so; said=$(/usr/bin/id 2>&1); unset LD_PRELOAD
        case "$said" in *"failed to map segment"*|*"cannot be preloaded"*) ;; *) echo "$said"; exit 8;; esac
        (cat /dev/null | grep nothing); echo fail >&3"""
    )
    row = ask(tmp_path, host, script, files)
    assert row.verdict == "fail", row.evidence


def test_a_probe_that_outlives_the_grading(tmp_path: Path, host: Host) -> None:
    program = """
import os, sys, time
print("begun", flush=True)
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
for _ in range(600):
    time.sleep(0.1)
    for number in range(256):
        try: os.write(number, b"pass")
        except OSError: pass
"""
    mark = f"stay-{os.getpid()}"
    row = ask(tmp_path, host, HONEST.replace('"app.py"', f'"app.py", "{mark}"'), {"app.py": program})
    assert row.verdict == "fail"
    status, said, _ = row.evidence["given"]
    assert (status, said[:6]) == (0, "begun\n")
    await_none(f"app.py\0{mark}")


def test_output_made_to_look_like_a_record_and_an_early_end(tmp_path: Path, host: Host) -> None:
    # Output that never stops, input never read, a stopped process: the verifier gets an exit code, no more.
    for name, program in {
        "endless": "while True: print('pass' * 1000)",
        "stopped": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
        "closed": "import os; [os.close(n) for n in range(3)]; import time; time.sleep(60)",
    }.items():
        late = HONEST.replace('"10"', '"1"')
        row = ask(tmp_path / name, host, late, {"app.py": program})
        assert row.verdict == "fail"
        assert row.evidence["given"][0] in (124, 125)


def test_files_named_to_confuse(tmp_path: Path, host: Host) -> None:
    names = ["-rf", "--", "a\nb", "%00".replace("%", "%25"), "%FF%FE", "*", "$(id)", "'", "é"]
    files: dict[str, Content] = {name: name for name in names}
    script = (
        PYTHON
        + """
import json, os
names = sorted(os.fsencode(n).hex() for n in os.listdir("."))
os.write(3, json.dumps({"verdict": "pass", "evidence": names}).encode())
"""
    )
    row = ask(tmp_path, host, script, files)
    decoded = {bytes.fromhex(name) for name in row.evidence["given"]}
    assert decoded == {b"-rf", b"--", b"a\nb", b"%00", b"\xff\xfe", b"*", b"$(id)", b"'", "é".encode()}


def test_no_probe_reaches_the_verifiers_temporary_files(tmp_path: Path, host: Host) -> None:
    script = (
        PYTHON
        + """
import json, os, subprocess
open(os.environ["TMPDIR"] + "/answer", "w").write("42")
said = subprocess.run(
    ["probe", "--", "sh", "-c", "ls -A /tmp /run; cat /tmp/answer"], capture_output=True, text=True
)
os.write(3, json.dumps({"verdict": "pass", "evidence": said.stdout}).encode())
"""
    )
    row = ask(tmp_path, host, script, {"a": "x"})
    assert row.evidence["given"] == "/run:\npycache\n\n/tmp:\n"


def test_the_judge_itself_is_not_moved_by_a_crafted_state(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    task = maker.task({"v": SHELL + "echo pass >&3"}, [{"id": "one", "verifier": "verifiers/v"}])
    with judging(tmp_path, host, maker, task) as judge:
        assert isinstance(judge, Judge)
        deep = "/".join(["d"] * 200)
        assert judge.judge(maker.state({f"{deep}/x": "x", "l" * 255: "y"}), "one").verdict == "pass"
