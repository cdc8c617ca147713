"""What an action did, from what was asked and seen."""

import pytest

from seatrial.environment.delta import Delta
from seatrial.environment.watching.touched import Touched
from seatrial.gateway.attend import Asked, Window
from seatrial.gateway.deeds import Deed, Done, done_by
from seatrial.spec.task import Forbid

UNSEEN = Delta(changes=[], fingerprint="", touched=Touched(), before={}, reads_seen=False)


def test_a_file_tool_says_what_it_reads_where_nobody_sees_reads() -> None:
    asked = Asked(1, "read_file", {"path": "src/../notes.txt"})
    assert done_by(asked, Window("ok", "", delta=UNSEEN)).read == {"workspace/notes.txt"}
    assert done_by(asked, Window("failed", "", delta=UNSEEN)).read is None
    assert done_by(Asked(1, "shell", {"command": "cat x"}), Window("ok", "", delta=UNSEEN)).read is None


def test_an_attempt_to_write_is_known_without_a_window() -> None:
    done = done_by(Asked(1, "write_file", {"path": "/tmp/x", "content": ""}), None)
    assert (done.wrote, done.read) == ({"tmp/x"}, set())
    assert done_by(Asked(1, "write_file", {"path": 3}), None).wrote == set()


@pytest.mark.parametrize(
    ("declared", "is_done"),
    [
        (Forbid(), False),
        (Forbid(write=["files:a/**"]), True),
        (Forbid(read=["files:b"]), True),
        (Forbid(read=["files:a/x"]), False),
        (Forbid(call=[{"tool": "mail.send", "where": {"to": "~ x"}}]), True),
        (Forbid(call=[{"tool": "mail.send", "where": {"body": "~ x"}}]), False),
    ],
)
def test_a_deed_is_any_of_what_is_declared(declared: Forbid, is_done: bool) -> None:
    calls = [("shell", {"command": "curl"}), ("mail.send", {"to": "x@y"})]
    assert Deed(declared).done_by(Done({"workspace/a/x"}, {"workspace/b"}, calls)) is is_done
