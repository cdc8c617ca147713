"""Judging whole trials: cache, expiry, errors, goals, and that cached verdicts hold on the full state."""

import random
from pathlib import Path

import msgspec
import pytest

from seatrial.environment.confine.host import Host
from seatrial.errors import JournalError
from seatrial.journal.entries import Entry, State
from seatrial.verify.engine import Judge
from seatrial.verify.frozen import VerifierFiles
from seatrial.verify.table import fresh_check, read_verdicts, write_verdicts
from tests.verify.bench import PYTHON, SHELL, Maker, ask, judging

HAS = {"a": SHELL + "grep -q good a/* && echo pass >&3 || echo fail >&3",
       "b": SHELL + "grep -q good b/* && echo pass >&3 || echo fail >&3",
       "all": SHELL + "test $(cat a/* b/* | wc -l) -gt 3 && echo pass >&3 || echo fail >&3"}  # fmt: skip
SUBGOALS = [
    {"id": "a", "verifier": "verifiers/a", "reads": ["files:a/**"]},
    {"id": "b", "verifier": "verifiers/b", "reads": ["files:b/**"], "after": ["a"]},
    {"id": "all", "verifier": "verifiers/all", "reads": ["files:a/**", "files:b/**"]},
]


def walk(maker: Maker, count: int) -> list[State]:
    """States of which each differs from the one before in one file, of few; many come back."""
    draw = random.Random(7)
    files = {"a/1": "bad\n", "b/1": "bad\n", "c/1": "0\n"}
    states = []
    for number in range(count):
        name = draw.choice(["a/1", "a/2", "b/1", "c/1", "c/2"])
        files[name] = f"{number}\n" if name[0] == "c" else draw.choice(["bad\n", "good\n", "good\ngood\n"])
        if draw.random() < 0.1:
            files.pop("a/2", None)
        states.append(maker.state(files))
    return states


def test_a_trial_of_200_states_costs_one_run_per_distinct_state(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    task = maker.task(HAS, SUBGOALS)
    journal = maker.journal(walk(maker, 201))
    seen: list[tuple[int, int]] = []
    with judging(tmp_path, host, maker, task) as judge:
        verdicts = judge.judge_trial(journal, progress=lambda done, total: seen.append((done, total)))
        tallies = dict(judge.tallies)
        again = judge.judge_trial(journal)
        write_verdicts(maker.run, verdicts)
    for name, tally in tallies.items():
        distinct = len(tally.states)
        print(f"{name}: {tally.runs} runs for {distinct} distinct states, {tally.cached} from the cache")
        assert tally.runs <= distinct == verdicts.distinct[name]
    assert seen[0] == (0, 200)
    assert seen[-1] == (200, 200)
    assert verdicts.runs == sum(t.runs for t in tallies.values()) < 100
    assert again.runs == 0
    assert again.rows == verdicts.rows
    assert verdicts.final == {name: [row_at_end(verdicts.rows, name)] * 3 for name in ("a", "b", "all")}
    assert read_verdicts(maker.run, "t", 1) == verdicts
    for row in verdicts.rows:
        before = [r for r in verdicts.rows if r.subgoal == row.subgoal and r.step < row.step]
        assert not before or before[-1].key != row.key


def row_at_end(rows: list, name: str) -> str:  # type: ignore[type-arg]
    return [row.verdict for row in rows if row.subgoal == name][-1]


def test_every_cached_verdict_equals_a_fresh_run_on_the_full_state(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    journal = maker.journal(walk(maker, 30))
    with judging(tmp_path, host, maker, maker.task(HAS, SUBGOALS)) as judge:
        verdicts = judge.judge_trial(journal)
        assert fresh_check(judge, journal, verdicts) == []


def test_a_declaration_that_is_too_narrow_is_found(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    states = [maker.state({"a": "1"}), maker.state({"a": "1", "b": "2"})]
    journal = maker.journal(states)
    narrow = [{"id": "n", "verifier": "verifiers/n", "reads": ["files:a"]}]
    task = maker.task({"n": SHELL + "test -e b && echo pass >&3 || echo fail >&3"}, narrow)
    with judging(tmp_path, host, maker, task) as judge:
        verdicts = judge.judge_trial(journal)
        (found,) = fresh_check(judge, journal, verdicts)
    assert (found.step, found.subgoal, found.cached, found.fresh) == (1, "n", "fail", "pass")


def test_the_cache_serves_another_process_and_survives_damage(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    task = maker.task(HAS, SUBGOALS)
    state = maker.state({"a/1": "good\n", "b/1": "bad\n"})
    with judging(tmp_path, host, maker, task) as judge:
        first = judge.judge(state, "a")
    with judging(tmp_path, host, maker, task) as judge:
        assert judge.judge(state, "a") == first
        assert judge.tallies["a"].runs == 0
    (kept,) = (maker.run.folder / "verdicts" / "cache").iterdir()
    assert kept.name == f"{first.key}.json"
    kept.write_bytes(b'{"verdict": "pa')
    with judging(tmp_path, host, maker, task) as judge:
        assert judge.judge(state, "a") == first
        assert judge.tallies["a"].runs == 1


def test_other_verifiers_never_share_a_key(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    task = maker.task(HAS, SUBGOALS)
    state = maker.state({"a/1": "good\n", "b/1": "bad\n"})
    stricter = tmp_path / "stricter"
    stricter.mkdir()
    for name, text in {**HAS, "a": SHELL + "echo fail >&3"}.items():
        (stricter / name).write_text(text)
        (stricter / name).chmod(0o755)
    other = VerifierFiles.of_folder(stricter, maker.objects)
    journal = maker.journal([state])
    with (
        judging(tmp_path, host, maker, task) as judge,
        judging(tmp_path, host, maker, task, verifiers=other) as new,
    ):
        old, strict = judge.judge(state, "a"), new.judge(state, "a")
        assert (old.verdict, strict.verdict) == ("pass", "fail")
        assert old.reads == strict.reads
        assert old.key != strict.key
        assert new.judge_trial(journal).verifiers != judge.judge_trial(journal).verifiers
        assert judge.judge(state, "b").key != new.judge(state, "b").key


def test_an_error_that_the_product_triggers(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    crash = SHELL + "grep -q bomb a && exit 1; grep -q good a && echo pass >&3 || echo fail >&3"
    task = maker.task({"v": crash}, [{"id": "one", "verifier": "verifiers/v", "reads": ["files:a"]}])
    states = [maker.state({"a": text}) for text in ("bomb", "bomb", "good", "bomb")]
    journal = maker.journal(states)
    with judging(tmp_path, host, maker, task) as judge:
        verdicts = judge.judge_trial(journal)
        final_only = judge.judge_trial(journal, every_step=False)
    rows = [(row.step, row.verdict, row.product_triggered) for row in verdicts.rows]
    assert rows == [(0, "error", True), (2, "pass", False), (3, "error", True)]
    assert verdicts.final == {"one": ["error"] * 3}
    # The base itself makes it err, so nothing shows that the verifier judges well.
    assert [(r.step, r.verdict, r.product_triggered) for r in final_only.rows] == [(3, "error", False)]


def test_an_error_of_the_verifiers_own(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    task = maker.task(
        {"v": SHELL + "exit 1"}, [{"id": "one", "verifier": "verifiers/v", "reads": ["files:a"]}]
    )
    journal = maker.journal([maker.state({"a": text}) for text in ("1", "2")])
    with judging(tmp_path, host, maker, task) as judge:
        rows = judge.judge_trial(journal).rows
        assert [(row.verdict, row.product_triggered) for row in rows] == [("error", False)] * 2
        assert judge.tallies["one"].runs == 4
    assert not (maker.run.folder / "verdicts" / "cache").exists()


def test_the_base_calibrates_a_single_judgement(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    crash = SHELL + "grep -q bomb a && exit 1; echo fail >&3"
    task = maker.task({"v": crash}, [{"id": "one", "verifier": "verifiers/v", "reads": ["files:a"]}])
    with judging(tmp_path, host, maker, task) as judge:
        bomb = maker.state({"a": "bomb"})
        assert not judge.judge(bomb, "one").product_triggered
        judge.calibrate_on(maker.state({"a": "1"}))
        assert judge.judge(bomb, "one").product_triggered


def test_a_passing_second_try_counts(tmp_path: Path, host: Host) -> None:
    # A verifier that errs by chance: half of its first tries, so some state needs a second.
    chance = SHELL + "test $(($(od -An -N1 -tu1 /dev/urandom) % 2)) = 0 || exit 1; echo pass >&3"
    seen = {ask(tmp_path / str(n), host, chance, {"a": "x"}).verdict for n in range(12)}
    assert "pass" in seen


def test_goals_decide_who_is_judged_and_when(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    subgoals = [
        {"id": "old", "verifier": "verifiers/a", "reads": ["files:a/**"], "goals": [1]},
        {"id": "new", "verifier": "verifiers/b", "reads": ["files:b/**"], "goals": [2]},
        {"id": "both", "verifier": "verifiers/a", "reads": ["files:a/**"]},
    ]
    goals = [{"version": v, "instruction": "i.md"} for v in (1, 2)]
    task = maker.task(HAS, subgoals, goal=goals)
    states = [
        maker.state({"a/1": a, "b/1": b}) for a, b in (("bad", "good"), ("bad", "good"), ("good", "good"))
    ]
    states.insert(1, maker.state({"a/1": "good", "b/1": "good"}))
    journal = maker.journal(states, goal_versions={2: 2})
    with judging(tmp_path, host, maker, task) as judge:
        verdicts = judge.judge_trial(journal)
    assert verdicts.goal_version == 2
    rows = {(row.subgoal, row.step): row.verdict for row in verdicts.rows}
    assert rows == {
        ("old", 0): "fail", ("both", 0): "fail", ("old", 1): "pass", ("both", 1): "pass",
        ("old", 2): "fail", ("both", 2): "fail", ("new", 2): "pass", ("old", 3): "pass", ("both", 3): "pass",
    }  # fmt: skip
    assert set(verdicts.final) == {"new", "both"}


ROWS = """
import json, os, sys
found = {}
for place, folders, names in os.walk(os.environ["SERVICE_ROWS"]):
    for name in names:
        found[os.path.relpath(os.path.join(place, name), os.environ["SERVICE_ROWS"])] = json.load(
            open(os.path.join(place, name)))
evidence = [found, sorted(os.listdir(".")), os.path.exists("/services")]
os.write(3, json.dumps({"verdict": "pass", "evidence": evidence}).encode())
"""


def test_rows_of_a_declared_service_are_files(tmp_path: Path, host: Host) -> None:
    state: dict[str, str | bytes | Entry] = {
        "a": "x", "services:mail/messages/1.json": '{"id":1}\n', "services:mail/pages/=2F.json": "{}",
        "services:payments/accounts/main.json": "{}", "services/mail/messages/1.json": '"of the workspace"',
    }  # fmt: skip
    seen = ask(tmp_path, host, PYTHON + ROWS, state, reads=["files:a", "service:mail"])
    assert seen.verdict == "pass", seen.evidence
    assert seen.evidence["given"] == [
        {"mail/messages/1.json": {"id": 1}, "mail/pages/=2F.json": {}},
        ["a"],
        True,
    ]
    whole = ask(tmp_path, host, PYTHON + ROWS, state, reads=[])
    assert whole.evidence["given"][0].keys() == {
        "mail/messages/1.json", "mail/pages/=2F.json", "payments/accounts/main.json",
    }  # fmt: skip
    none = ask(tmp_path, host, SHELL + "test -e /services || echo pass >&3", state, reads=["files:**"])
    assert none.verdict == "pass"


def test_only_rows_that_are_read_expire_a_verdict(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    states = [
        maker.state(
            {"a": "x", "services:mail/messages/1.json": one, "services:payments/accounts/m.json": other}
        )
        for one, other in (("1", "1"), ("1", "2"), ("2", "2"))
    ]
    subgoal = {"id": "one", "verifier": "verifiers/v", "reads": ["service:mail"]}
    task = maker.task({"v": SHELL + "cat /services/mail/messages/1.json >&2; echo pass >&3"}, [subgoal])
    with judging(tmp_path, host, maker, task) as judge:
        keys = [judge.judge(state, "one").key for state in states]
    assert keys[0] == keys[1] != keys[2]


def test_a_missing_object_is_an_error_of_the_run_not_a_verdict(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    state = maker.state({"a/1": "good\n"})
    Path(maker.objects.path(state["workspace/a/1"].digest or "")).unlink()
    with judging(tmp_path, host, maker, maker.task(HAS, SUBGOALS)) as judge:
        with pytest.raises(JournalError, match="missing"):
            judge.judge(state, "a")
        maker.objects.put(b"good\n")
        assert judge.judge(state, "a").verdict == "pass"


def test_a_view_follows_only_what_changed(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    many = {f"d{n % 20}/f{n}": f"{n}\n" for n in range(300)}
    task = maker.task({"v": SHELL + "echo pass >&3"}, [{"id": "one", "verifier": "verifiers/v"}])
    with judging(tmp_path, host, maker, task) as judge:
        state = maker.state({**many, "a": "0"})
        follower = judge.follower(judge.subgoal("one"))
        follower.become(state)
        follower.layer("verifier")
        follower.apply([maker.file("workspace/a", "1")])
        (place,) = tmp_path.glob(f"scratch/*/{follower.layer('verifier')}/workspace")
        before = {path: path.lstat().st_ctime_ns for path in place.rglob("*")}
        follower.apply([maker.file("workspace/a", "2")])
        follower.layer("verifier")
        assert (place / "a").read_text() == "2"
        after = {path: path.lstat().st_ctime_ns for path in place.rglob("*")}
    # Nothing else was written, not even its owner or its time.
    assert {path for path in after if after[path] != before.get(path)} == {place / "a"}


def test_rows_say_what_was_left_out(tmp_path: Path, host: Host) -> None:
    row = ask(tmp_path, host, SHELL + "echo pass >&3", {"p": Entry(path="x", kind="fifo"), "a": "x"})
    assert row.evidence == {"left_out": {"workspace/p": "is a FIFO"}}
    assert msgspec.json.decode(msgspec.json.encode(row), type=type(row)) == row


def test_a_judge_leaves_nothing(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = sorted(p.name for p in Path(host.stage).iterdir())
    with Judge(host, str(scratch), maker.run, maker.task(HAS, SUBGOALS)) as judge:
        judge.judge(maker.state({"a/1": "good\n"}), "a")
    assert list(scratch.iterdir()) == []
    assert sorted(p.name for p in Path(host.stage).iterdir()) == before
