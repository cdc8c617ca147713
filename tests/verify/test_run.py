"""How a verifier's end becomes a verdict, on real sandboxes."""

from pathlib import Path

import pytest

from seatrial.environment.confine.host import Host
from seatrial.verify.frozen import VerifierFiles
from tests.verify.bench import PYTHON, SHELL, Maker, ask, judging
from tests.waiting import PATIENCE, await_none, unique

FILES = {"a.txt": "hello\n", "deep/b": "x"}


@pytest.mark.parametrize(
    ("verifier", "verdict", "given"),
    [
        (SHELL + "echo pass >&3", "pass", None),
        (SHELL + "echo chatter; echo more >&2; printf unknown >&3", "unknown", None),
        (SHELL + "grep -q hello a.txt && echo pass >&3 || echo fail >&3", "pass", None),
        (SHELL + "grep -q adieu a.txt && echo pass >&3 || echo fail >&3", "fail", None),
        (
            PYTHON
            + 'import json, os; os.write(3, json.dumps({"verdict": "fail", "evidence": [1]}).encode())',
            "fail",
            [1],
        ),
        # Something left behind does not hold the verdict up, and cannot change it.
        (SHELL + "(sleep 30; echo fail >&3) & echo pass >&3", "pass", None),
        (SHELL + "setsid sh -c 'sleep 0.2; echo fail >&3' & echo pass >&3", "pass", None),
    ],
)
def test_verdicts(tmp_path: Path, host: Host, verifier: str, verdict: str, given: object) -> None:
    row = ask(tmp_path, host, verifier, FILES)
    assert row.verdict == verdict
    assert (row.evidence or {}).get("given") == given


@pytest.mark.parametrize(
    ("verifier", "reason"),
    [
        (SHELL + "true", "no record"),
        (SHELL + "echo pass", "no record"),
        (SHELL + "echo pass >&3; echo pass >&3", "more than one"),
        (SHELL + "echo pass >&3; exit 1", "exit code 1"),
        (SHELL + "echo perhaps >&3", "no verdict"),
        (SHELL + "printf '\\377' >&3", "not UTF-8"),
        (SHELL + "echo pass >&3; kill -9 $$", "signal 9"),
        (SHELL + "echo pass >&3; kill -TERM $$", "signal 15"),
        (SHELL + "echo pass >&3; sleep 60", "timed out after 1 seconds"),
        (SHELL + "exec 3>&-; sleep 60", "timed out"),
        (SHELL + "yes pass >&3", "longer than"),
        (PYTHON + "import os; os.write(3, b'pass'); raise RuntimeError('oops')", "exit code 1"),
        ("#!/no/such/interpreter\n", "exit code 12"),
    ],
)
def test_errors(tmp_path: Path, host: Host, verifier: str, reason: str) -> None:
    row = ask(tmp_path, host, verifier, FILES, timeout=1.0 if "timed out" in reason else PATIENCE)
    assert row.verdict == "error"
    assert reason in row.evidence["reason"]
    assert row.evidence["tries"] == 2
    assert not row.product_triggered


def test_an_error_keeps_what_was_said(tmp_path: Path, host: Host) -> None:
    row = ask(tmp_path, host, PYTHON + "print('checking', flush=True)\nraise RuntimeError('oops')", FILES)
    assert row.evidence["stdout"] == "checking\n"
    assert "RuntimeError: oops" in row.evidence["stderr"]
    loud = ask(tmp_path / "loud", host, SHELL + "yes | head -c 9000000 >&2; exit 1", FILES)
    assert "bytes omitted" in loud.evidence["stderr"]
    assert len(loud.evidence["stderr"]) < 20_000


def test_the_sandbox_holds_the_view_and_the_verifiers_own_files(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    look = """
        test "$(pwd)" = /workspace && test "$(cat a.txt)" = hello && test ! -e deep || exit 3
        test "$(cat /verifier/expected)" = secret && test -x /verifier/v || exit 4
        (echo x > a.txt || echo x > new || chmod 600 a.txt || rm a.txt || echo x > /verifier/new) && exit 5
        echo x > "$TMPDIR/mine" && test "$TMPDIR" = /tmp && test "$HOME" = /tmp || exit 6
        test "$(id -u)" = 1000 && test -z "$(ls /home)" || exit 7
        test "$(ls /sys/class/net 2>/dev/null)$(cat /proc/net/route | wc -l)" -le 1 || exit 8
        echo pass >&3"""
    task = maker.task(
        {"v": SHELL + look, "expected": "secret\n"},
        [{"id": "one", "verifier": "verifiers/v", "reads": ["files:*.txt"]}],
    )
    with judging(tmp_path, host, maker, task) as judge:
        row = judge.judge(maker.state(FILES), "one")
    assert (row.verdict, row.evidence) == ("pass", None)


def test_modules_of_a_verifier_come_with_their_bytecode(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    look = """
        printf '%s\\n' /verifier/*/__pycache__/* | sed 's/cpython-[0-9]*/PYTHON/'
        python3 -I -c 'import sys; sys.path.insert(0, "/verifier"); from good import module
open(3, "w").write("pass" if module.answer() == "/verifier/good/module.py" else "fail")'"""
    answer = "def answer():\n    return answer.__code__.co_filename\n"
    task = maker.task(
        {
            "v": SHELL + look + "\nexit 9", "good/module.py": answer, "good/broken.py": "def :\n",
            "brought/module.py": answer, "brought/__pycache__/other.txt": "as it was",
        },
        [{"id": "one", "verifier": "verifiers/v"}],
    )  # fmt: skip
    with judging(tmp_path, host, maker, task) as judge:
        row = judge.judge(maker.state(FILES), "one")
    assert row.evidence["stdout"].splitlines() == [
        "/verifier/brought/__pycache__/other.txt", "/verifier/good/__pycache__/module.PYTHON.pyc",
    ]  # fmt: skip
    task.files["verifiers/v"] = (maker.objects.put((SHELL + look).encode()), 0o755)
    with judging(tmp_path, host, maker, task) as judge:
        assert judge.judge(maker.state(FILES), "one").verdict == "pass"


def test_bytecode_goes_nowhere_that_a_task_names(tmp_path: Path) -> None:
    maker, elsewhere = Maker(tmp_path), tmp_path / "elsewhere"
    elsewhere.mkdir()
    task = maker.task({"v": SHELL, "module.py": "x = 1\n"}, [{"id": "one", "verifier": "verifiers/v"}])
    link = (maker.objects.put(str(elsewhere).encode()), 0o120777)
    files = VerifierFiles({**task.files, "verifiers/__pycache__": link})
    files.lay_out(tmp_path / "files", maker.objects)
    assert (tmp_path / "files" / "__pycache__").readlink() == elsewhere
    assert list(elsewhere.iterdir()) == []


def test_what_cannot_be_compiled_or_kept_is_left_to_the_verifier(tmp_path: Path) -> None:
    maker = Maker(tmp_path)
    nested = {
        "minus": "x = " + "-" * 200_000 + "1\n", "plus": "x = " + "1+" * 200_000 + "1\n",
        "calls": "x = a" + "()" * 100_000 + "\n", "elifs": "if x: pass\n" + "elif y: pass\n" * 20_000,
        "large": "x = [\n" + "1,\n" * 600_000 + "]\n", "n" * 250: "x = 1\n",
    }  # fmt: skip
    files = {f"{name}.py": text for name, text in nested.items()}
    task = maker.task({"v": SHELL, **files, "good.py": "x = 1\n"}, [{"id": "one", "verifier": "verifiers/v"}])
    VerifierFiles(task.files).lay_out(tmp_path / "files", maker.objects)
    assert {name: (tmp_path / "files" / name).read_text() for name in files} == files
    kept = [path.name.partition(".")[0] for path in (tmp_path / "files" / "__pycache__").iterdir()]
    assert kept == ["good"]


def test_with_no_declaration_everything_is_visible(tmp_path: Path, host: Host) -> None:
    look = """
        test "$(cat a.txt ~agent/n /tmp/t /var/tmp/v /dev/shm/s)" = "hello
nteevees" || exit 3
        (echo x > /tmp/new || echo x > /dev/shm/new || echo x > /home/agent/new) && exit 4
        echo x > "$TMPDIR/mine" && echo pass >&3"""
    files = {**FILES, "home:n": "n", "tmp:t": "tee", "var-tmp:v": "vee", "shm:s": "s"}
    row = ask(tmp_path, host, SHELL + look, files, reads=())
    assert (row.verdict, row.evidence) == ("pass", None)


def test_limits_hold(tmp_path: Path, host: Host) -> None:
    bomb = ask(tmp_path / "fork", host, "#!/bin/bash\nf() { f | f & f; }; f; sleep 60", FILES, timeout=1.0)
    assert bomb.verdict == "error"
    eater = PYTHON + "x = bytearray(3 << 30)\nimport os\nos.write(3, b'pass')"
    greedy = ask(tmp_path / "memory", host, eater, FILES, timeout=20.0)
    assert greedy.verdict == "error"


def test_nothing_stays(tmp_path: Path, host: Host) -> None:
    stage = Path(host.stage)
    before = sorted(p.name for p in stage.iterdir())
    mounts = Path("/proc/self/mountinfo").read_text().count("\n")
    word = unique(987)
    left = f"sleep {word} & probe -- sh -c 'sleep {word} & true'; echo pass >&3"
    ask(tmp_path, host, SHELL + left, FILES)
    assert sorted(p.name for p in stage.iterdir()) == before
    assert Path("/proc/self/mountinfo").read_text().count("\n") == mounts
    assert list((tmp_path / "scratch").iterdir()) == []
    await_none(word)
