"""Following files that grow: every whole line once, a torn one when it is whole."""

from pathlib import Path

from seatrial.journal.events import ActionRequested, BeliefReported, SubgoalJudged
from seatrial.journal.follow import JournalFollower, LineFollower
from seatrial.journal.writer import JournalWriter


def test_each_line_is_told_once_and_an_unfinished_one_waits(tmp_path: Path) -> None:
    path = tmp_path / "grows"
    follower = LineFollower(path)
    assert follower.look() == []
    with path.open("ab", buffering=0) as file:
        file.write(b"one\ntwo\nthr")
        assert follower.look() == [b"one", b"two"]
        assert follower.look() == []
        file.write(b"ee\n")
        assert follower.look() == [b"three"]
        # A torn line that a writer cut off and wrote over was never told.
        file.write(b"torn")
        assert follower.look() == []
        file.truncate(len(b"one\ntwo\nthree\n"))
        file.write(b"four\n")
    assert follower.look() == [b"four"]


def test_a_journal_gives_its_steps_and_the_kinds_wanted(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    judged, all_kinds = JournalFollower(path, SubgoalJudged), JournalFollower(path)
    journal = JournalWriter(path, lambda: 0)
    said = list[bytes]()
    for step in (1, 2, 3):
        journal.append(ActionRequested(step=step, tool="shell", arguments={}, key="k", pre=""))
        journal.append(BeliefReported(step=step, belief={"kind": "subgoal.judged"}))
        journal.append(SubgoalJudged(step=step, subgoal="a", verdict="pass", reads=""))
        said += judged.look()
        assert (judged.steps, len(said)) == (step, step)
    journal.close()
    assert all(line.startswith(b'{"kind":"subgoal.judged"') for line in said)
    assert all_kinds.look() == []
    assert all_kinds.steps == 3
