"""The rules of waste over a journal that a real gateway wrote about a real sandbox."""

from seatrial.evidence.deltas import DeltaReader
from seatrial.journal.events import TrialEnded
from seatrial.measure.waste import WastedSteps, wasted_steps
from tests.worlds import make_task, world


def test_a_real_gateways_journal_says_what_was_idle_unread_and_undone(tmp_path, host):
    with world(tmp_path, host, make_task()) as live:
        live.act("shell", command="date +%N; false")
        live.act("shell", command="date +%N; false")  # idle: the failure is the same, whatever it prints
        live.act("read_file", path="notes.txt")
        live.act("read_file", path="notes.txt")  # idle
        live.act("write_file", path="made.txt", content="made\n")
        live.act("shell", command="ls /")
        live.act("write_file", path="made.txt", content="made\n")  # stands already, nobody looked
        live.act("edit_file", path="src/a.py", old="1", new="2")  # undone below
        live.act("shell", command="echo 'x = 1' > src/a.py")
        live.act("shell", command="for n in $(seq 300); do echo $n > many-$n; done")  # undone below, large
        live.act("shell", command="rm many-*")
        live.act("shell", command="cat made.txt")
        live.act("write_file", path="made.txt", content="made\n")  # looked at before
        journal = live.journal()
        deltas = DeltaReader(live.objects).read(journal)
        blind = any(e.reads is None for e in journal.events if e.__class__.__name__ == "ActionFinished")
        live.act("finish")
    assert deltas.large
    found = wasted_steps(
        [*journal.events, TrialEnded(stop_reason="finished", fingerprint="f", audit="equal")], deltas
    )
    # The third write repeats the second in the same state, so it shows nothing new.
    assert found == WastedSteps(idle=[2, 4, 13], unread=None if blind else [7], undone=[8, 10])
