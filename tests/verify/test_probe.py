"""``probe``: agent-made code in a second sandbox, and only its bytes in the first."""

from pathlib import Path
from typing import Any

import pytest

from seatrial.environment.confine.host import Host
from tests.verify.bench import PYTHON, Content, Maker, ask, judging
from tests.waiting import await_none, unique

FILES: dict[str, Content] = {"app.py": "print('from the agent')\n", "data/x": "x\n"}
RUN = (
    PYTHON
    + """
import json, os, subprocess, sys
def probe(*words, **options):
    done = subprocess.run(["probe", *words], capture_output=True, **options)
    return [done.returncode, done.stdout.decode("latin-1"), done.stderr.decode("latin-1")]
def give(value):
    os.write(3, json.dumps({"verdict": "pass", "evidence": value}).encode())
"""
)


def given(folder: Path, host: Host, script: str, files: dict[str, Content] = FILES, **subgoal: Any) -> Any:
    row = ask(folder, host, RUN + script, files, **subgoal)
    assert row.verdict == "pass", row.evidence
    return row.evidence["given"]


def test_output_status_and_input_come_back_bytewise(tmp_path: Path, host: Host) -> None:
    script = r"""
give([
    probe("--", "python3", "app.py"),
    probe("--", "cat", input=bytes(range(256)) * 5000)[1] == (bytes(range(256)) * 5000).decode("latin-1"),
    probe("--", "sh", "-c", "printf out; printf err >&2; exit 7"),
    probe("--", "sh", "-c", "kill -9 $$"),
    probe("--", "no-such-program"),
    probe("--", "printf", "%s|", b"\xff".decode("utf-8", "surrogateescape"), "", "a b", "-n"),
    probe("--timeout", "1.5", "--", "sh", "-c", "echo begun; sleep 600"),
    probe("--", "true", input=b"x" * 3_000_000),
])"""
    plain, echoed, split, killed, missing, words, late, unread = given(tmp_path, host, script)
    assert plain == [0, "from the agent\n", ""]
    assert echoed is True
    assert split == [7, "out", "err"]
    assert killed == [137, "", ""]
    assert missing[:2] == [127, ""]
    assert words == [0, "\xff||a b|-n|", ""]
    assert late[:2] == [124, "begun\n"]
    assert "1.5 seconds are up" in late[2]
    assert unread == [0, "", ""]


def test_each_probe_starts_from_the_view_and_may_write(tmp_path: Path, host: Host) -> None:
    script = """
write = "echo more >> app.py; rm -r data; mkdir data; echo y > data/y; touch /tmp/t ~/h /dev/shm/s; ls data"
give([probe("--", "sh", "-c", write), probe("--", "sh", "-c", "cat app.py; ls data /tmp ~ /dev/shm"),
      open("app.py").read(), sorted(os.listdir("data"))])"""
    first, second, seen, listed = given(tmp_path, host, script)
    assert first == [0, "y\n", ""]
    assert second == [0, "print('from the agent')\n/dev/shm:\n\n/home/agent:\n\n/tmp:\n\ndata:\nx\n", ""]
    assert seen == FILES["app.py"]
    assert listed == ["x"]


def test_put_places_the_verifiers_files(tmp_path: Path, host: Host) -> None:
    script = """
os.makedirs(os.environ["TMPDIR"] + "/hidden/more")
base = os.environ["TMPDIR"]
for name in ("hidden/a.py", "hidden/more/b.py"):
    open(f"{base}/{name}", "w").write(f"print({name!r})")
open(f"{base}/run.sh", "w").write("#!/bin/sh\\necho ran\\n"); os.chmod(f"{base}/run.sh", 0o755)
give([
    probe("--put", f"{base}/hidden=/put/h", "--", "sh", "-c", "python3 /put/h/a.py; python3 /put/h/more/b.py; echo x > /put/h/a.py || echo no"),
    probe("--put", f"{base}/run.sh=new/dir/run.sh", "--", "sh", "-c", "new/dir/run.sh && rm new/dir/run.sh && ls -A new/dir"),
    probe("--put", f"{base}/run.sh=app.py", "--", "cat", "app.py"),
    probe("--put", f"{base}/run.sh=link/x", "--", "true"),
    probe("--put", f"{base}/run.sh=sneaky", "--", "cat", "sneaky"),
    probe("--put", f"{base}/run.sh=app.py/x", "--", "true"),
    probe("--put", f"{base}/run.sh=/etc/x", "--", "true"),
    probe("--put", f"{base}/run.sh=../x", "--", "true"),
    probe("--put", f"{base}/run.sh=data", "--", "true"),
    probe("--put", "/no/file=x", "--", "true")[0],
    probe("--frobnicate", "--", "true")[0],
    probe("--")[0],
])"""  # noqa: E501
    maker = Maker(tmp_path / "links")
    files = {
        **FILES,
        "link": maker.link("x", "/tmp"),
        "sneaky": maker.link("x", "../home/agent/y"),
    }
    hidden, inside, over, below, sneaky, under, *refused, absent, option, empty = given(
        tmp_path, host, script, files, reads=()
    )
    assert hidden[:2] == [0, "hidden/a.py\nhidden/more/b.py\nno\n"]
    assert inside == [0, "ran\n", ""]
    assert over == [0, "#!/bin/sh\necho ran\n", ""]
    assert below[0] == 125
    assert sneaky == [0, "#!/bin/sh\necho ran\n", ""]
    assert [under[0], *(r[0] for r in refused)] == [125] * 4
    assert "in the way" in below[2]
    assert [absent, option, empty] == [2, 2, 2]


def test_endless_output_a_fork_bomb_and_a_full_disk_end(tmp_path: Path, host: Host) -> None:
    script = """
bomb = "f() { f | f & f; }; f 2>/dev/null; wait; sleep 60"
give([
    probe("--", "yes"),
    probe("--timeout", "1", "--", "sh", "-c", "yes >&2")[0],
    probe("--timeout", "1", "--", "bash", "-c", bomb)[0],
    probe("--timeout", "30", "--", "sh", "-c", "head -c 3000000000 /dev/zero > big; test $(wc -c < big) -lt 3000000000 && echo full")[1],
    probe("--", "echo", "alive"),
])"""  # noqa: E501
    yes, loud, bomb, disk, alive = given(tmp_path, host, script)
    assert yes[:2] == [125, ""]
    assert "bytes of output" in yes[2]
    assert loud == 124
    assert bomb != 0
    assert disk in ("full\n", "")  # root: the memory limit may end it first
    assert alive == [0, "alive\n", ""]


def test_many_at_once(tmp_path: Path, host: Host) -> None:
    script = """
running = [subprocess.Popen(["probe", "--", "sh", "-c", f"sleep 0.1; echo {n}"], stdout=subprocess.PIPE) for n in range(20)]
give([one.communicate()[0].decode() for one in running])"""  # noqa: E501
    assert given(tmp_path, host, script) == [f"{n}\n" for n in range(20)]


def test_a_probe_ends_with_its_verifier(tmp_path: Path, host: Host) -> None:
    word = unique(3100)
    asked = f"#!/bin/sh\nprobe -- sleep {word} & sleep 0.3; echo pass >&3"
    assert ask(tmp_path, host, asked, FILES).verdict == "pass"
    await_none(word)


@pytest.mark.parametrize(
    "noise", [b"", b"\0\0\0\1x", b"\xff" * 64, b"\0\0\0\0" * 1000, b"\0\0\0\x031.0\0\0\0\x0599999"]
)
def test_noise_on_the_socket_does_no_harm(tmp_path: Path, host: Host, noise: bytes) -> None:
    script = f"""
import socket
line = socket.socket(socket.AF_UNIX); line.connect("/run/seatrial/probe.sock")
line.sendall({noise!r}); line.close()
give(probe("--", "echo", "fine"))"""
    assert given(tmp_path, host, script) == [0, "fine\n", ""]


def test_probe_views_are_kept_up_to_date(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    task = maker.task(
        {"v": RUN + 'give([probe("--", "cat", "a")[1], open("a").read()])'},
        [{"id": "one", "verifier": "verifiers/v", "reads": ["files:**"]}],
    )
    with judging(tmp_path, host, maker, task) as judge:
        for text in ("one", "two", "three", "one"):
            row = judge.judge(maker.state({"a": text, "b": "x" if text == "two" else "y"}), "one")
            assert row.evidence["given"] == [text, text]
        assert judge.tallies["one"].runs == 3
        assert judge.tallies["one"].cached == 1
