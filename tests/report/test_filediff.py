"""What an action changed, path by path."""

from seatrial.journal.entries import Entry
from seatrial.journal.objects import ObjectStore
from seatrial.report.filediff import DIFF_BYTES, describe_changes


def file(store, path, data, **more):
    return Entry(path=path, kind="file", mode=0o644, digest=store.put(data), size=len(data), **more)


def one(state, change, store):
    (described,) = describe_changes(state, [change], store)
    return described


def test_text_has_a_diff_and_everything_else_sizes(tmp_path):
    store = ObjectStore(tmp_path)
    old = file(store, "workspace/a", b"one\ntwo\n")
    text = one({old.path: old}, file(store, old.path, b"one\n2\n"), store)
    assert text.diff.splitlines()[:2] == ["--- a/workspace/a", "+++ b/workspace/a"]
    assert "-two" in text.diff and "+2" in text.diff
    for data in (b"\xff\xfe", b"a\0b", b"x" * (DIFF_BYTES + 1)):
        described = one({old.path: old}, file(store, old.path, data), store)
        assert (described.diff, described.before, described.after) == ("", 8, len(data))


def test_a_removed_text_is_shown_and_an_unstored_one_is_not(tmp_path):
    store = ObjectStore(tmp_path)
    old = file(store, "workspace/a", b"one\n")
    gone = one({old.path: old}, Entry(path=old.path, kind="absent"), store)
    assert (gone.change, gone.kind, gone.diff.splitlines()[-1]) == ("removed", "file", "-one")
    lost = Entry(path="workspace/a", kind="file", digest="0" * 64, size=3)
    assert one({}, lost, store).diff == ""


def test_attributes_alone_are_told_from_content(tmp_path):
    store = ObjectStore(tmp_path)
    old = file(store, "workspace/a", b"one\n")
    new = Entry(path=old.path, kind="file", mode=0o755, owner="base", digest=old.digest, size=old.size)
    described = one({old.path: old}, new, store)
    assert (described.change, described.note) == ("attributes", "mode 0644 to 0755, owner agent to base")
    link = one({}, Entry(path="workspace/l", kind="link", target="a"), store)
    assert (link.kind, link.change, link.note) == ("link", "added", "-> a")
