"""Where the trials of a run stand while it goes on, and when it was left half done."""

import fcntl
from contextlib import contextmanager

import msgspec
import pytest

from seatrial.evidence import standing
from seatrial.evidence.standing import RunWatch, runner_alive
from seatrial.journal.run import write_json
from tests.report.runs import RunMaker, all_pass, cell

PLAN = [cell("t-1"), cell("t-2"), cell("t-3")]


@pytest.fixture
def made(tmp_path):
    return RunMaker(tmp_path / "run", PLAN)


def states(watch):
    return [stands.state for stands in watch.look()[0]]


def begin(made, planned, steps, attempt=1, judged=()):
    """A journal that has no end yet; further calls add to it."""
    folder = made.run.attempt_folder(planned.trial, attempt)
    folder.mkdir(parents=True, exist_ok=True)
    lines = [b'{"kind":"action.requested","step":%d}\n' % n for n in range(steps)]
    lines += [
        b'{"kind":"subgoal.judged","subgoal":"%s","verdict":"%s"}\n' % (s.encode(), v.encode())
        for s, v in judged
    ]
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(b"".join(lines))


@contextmanager
def hold(made):
    with open(made.folder / "lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def test_a_run_is_followed_from_the_first_step_to_the_last_verdict(made):
    watch = RunWatch(made.folder)
    assert states(watch) == ["waiting"] * 3
    with hold(made):
        begin(made, PLAN[0], 2)
        first = watch.look()[0][0]
        assert (first.state, first.steps, first.passing, watch.look()[1]) == ("running", 2, None, True)
        begin(made, PLAN[0], 3, judged=[("s1", "fail"), ("s1", "pass"), ("s2", "fail")])
        first = watch.look()[0][0]
        assert (first.steps, first.passing) == (5, 1)
        made.run.journal_path("t-1", 1).unlink()
        made.run.attempt_folder("t-1", 1).rmdir()
        made.trial(PLAN[0], None)
        assert states(watch) == ["unjudged", "waiting", "waiting"]
        write_json(
            made.run.verdicts_path("t-1", 1), msgspec.structs.replace(all_pass(), trial="t-1", attempt=1)
        )
        first = watch.look()[0][0]
        assert (first.state, first.evidence.record.terminal_class) == ("ended", "success")
        assert watch.look()[0][0].evidence is first.evidence, "measured once"


def test_an_attempt_whose_runner_died_is_broken_off(made):
    begin(made, PLAN[1], 4)
    stands = RunWatch(made.folder).look()[0][1]
    assert (stands.state, stands.steps) == ("broken off", 4)


def test_a_trial_to_be_repeated_waits_while_a_runner_works_and_is_given_up_otherwise(made):
    made.trial(PLAN[0], None, stop="environment_fault", infrastructure=True, steps=2)
    watch = RunWatch(made.folder)
    assert states(watch)[0] == "ended"
    with hold(made):
        assert states(watch)[0] == "waiting"
        begin(made, PLAN[0], 1, attempt=2)
        stands = watch.look()[0][0]
        assert (stands.state, stands.attempt, stands.evidence.record.attempt) == ("running", 2, 1)


def test_looking_for_a_runner_does_not_turn_one_away(made, monkeypatch, tmp_path):
    assert runner_alive(made.folder) is False
    with hold(made):
        assert runner_alive(made.folder) is True
    assert runner_alive(made.folder) is False, "the file stays, the lock does not"
    inode = (made.folder / "lock").stat().st_ino
    monkeypatch.setattr(standing, "LOCKS", tmp_path / "locks")
    assert runner_alive(made.folder) is None, "the system does not say"
    (tmp_path / "locks").write_text(f"1: FLOCK  ADVISORY  WRITE 7 fff:ff:{inode} 0 EOF\n")
    assert runner_alive(made.folder) is None, "the same number on what looks like another device"
    (tmp_path / "locks").write_text(f"1: FLOCK  ADVISORY  WRITE 7 fff:ff:9{inode} 0 EOF\n")
    assert runner_alive(made.folder) is False
