"""The materialised view: what is in it, and that keeping it up to date equals making it anew."""

import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.environment.confine.host import Host
from seatrial.errors import JournalError
from seatrial.journal.entries import Entry, State
from seatrial.verify.view import TIME_NS, View, leads_inside
from tests.verify.bench import Maker

ROOTS = ("workspace", "tmp")


def snapshot(folder: Path) -> dict[str, tuple[Any, ...]]:
    """All that can be seen of a tree, hard-link groups included."""
    names: dict[int, list[str]] = {}
    found: dict[str, tuple[Any, ...]] = {}
    for at, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = f"{at}/{name}"
            told = os.lstat(path)
            relative = os.path.relpath(path, folder)
            kind = stat.S_IFMT(told.st_mode)
            content: Any = None
            if kind == stat.S_IFLNK:
                content = os.readlink(path)
            elif kind == stat.S_IFREG:
                content = Path(path).read_bytes()
                names.setdefault(told.st_ino, []).append(relative)
            attributes = tuple(
                (n, os.getxattr(path, n, follow_symlinks=False))
                for n in sorted(os.listxattr(path, follow_symlinks=False))
            )
            mode = stat.S_IMODE(told.st_mode)
            found[relative] = (kind, mode, told.st_uid, told.st_mtime_ns, content, attributes)
    groups = {member: tuple(sorted(group)) for group in names.values() for member in group}
    return {path: (*seen, groups.get(path)) for path, seen in found.items()}


NAMES = st.sampled_from(["a", "b", "c", "a b", "%FF"])
PATHS = st.builds("/".join, st.tuples(st.sampled_from(ROOTS), NAMES)) | st.builds(
    "/".join, st.tuples(st.sampled_from(ROOTS), NAMES, NAMES)
) | st.builds("/".join, st.tuples(st.sampled_from(ROOTS), NAMES, NAMES, NAMES))  # fmt: skip
CONTENT = st.sampled_from([b"", b"one", b"two"])
MODES = st.sampled_from([0o644, 0o755, 0o600, 0o000, 0o4755])
XATTRS = st.sampled_from([{}, {}, {"user.note": "6869"}, {"user.overlay.opaque": "79"}])
TARGETS = st.sampled_from(["b", "../b", "/workspace/a", "/etc/passwd", "../../x", "a/../../x", "/tmp/a/b"])
THINGS = st.one_of(
    st.tuples(st.just("file"), CONTENT, MODES, XATTRS),
    st.tuples(st.just("dir"), st.just(b""), MODES, XATTRS),
    st.tuples(st.just("link"), TARGETS), st.tuples(st.just("fifo")), st.tuples(st.just("socket")),
    st.tuples(st.just("shared"), CONTENT), st.tuples(st.just("absent")),
)  # fmt: skip
SEQUENCES = st.lists(st.lists(st.tuples(PATHS, THINGS), max_size=6), min_size=1, max_size=6)


def put(state: State, path: str, thing: tuple[Any, ...], maker: Maker) -> None:
    """Set one path as a file system would allow it: parents are folders, nothing lies below a file."""
    parents = ["/".join(path.split("/")[:n]) for n in range(1, path.count("/") + 1)]
    if any(state[p].kind != "dir" for p in parents if p in state):
        return
    if thing[0] != "dir":
        for below in [p for p in state if p.startswith(path + "/")]:
            del state[below]
    if thing[0] == "absent":
        state.pop(path, None)
    elif thing[0] == "file":
        state[path] = maker.file(path, thing[1], mode=thing[2], xattrs=thing[3])
    elif thing[0] == "shared":
        state[path] = maker.file(path, thing[1], links="group")
    elif thing[0] == "dir":
        state[path] = Entry(path=path, kind="dir", mode=thing[2], xattrs=thing[3])
    elif thing[0] == "link":
        state[path] = maker.link(path, thing[1])
    else:
        state[path] = Entry(path=path, kind=thing[0])


def settle_groups(state: State) -> State:
    """Hard-linked entries have one content and are labelled by their smallest path."""
    group = sorted(path for path, entry in state.items() if entry.links)
    settled = dict(state)
    for path in group:
        model = state[group[0]]
        label = group[0] if len(group) > 1 else None
        settled[path] = msgspec.structs.replace(model, path=path, links=label)
    return settled


@settings(max_examples=100, deadline=None)
@given(sequence=SEQUENCES)
def test_an_incremental_view_equals_a_fresh_one(
    host: Host, sequence: list[list[tuple[str, tuple[Any, ...]]]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        maker = Maker(Path(folder))
        view = View(Path(folder) / "view", host.uid("verifier"), maker.objects, ROOTS)
        state: State = {}
        before: State = {}
        for number, batch in enumerate(sequence):
            for path, thing in batch:
                put(state, path, thing, maker)
            now = settle_groups(state)
            dirty = {p for p in {*now, *before} if now.get(p) != before.get(p)}
            view.sync(now, dirty if number % 3 else None)
            fresh = View(Path(folder) / f"fresh{number}", host.uid("verifier"), maker.objects, ROOTS)
            fresh.sync(now)
            assert snapshot(view.folder) == snapshot(fresh.folder)
            assert view.left_out == fresh.left_out
            before = now


def test_what_a_view_holds(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    secret = maker.file("x", "s", mode=0o000, xattrs={"user.a": "62", "user.overlay.redirect": "2f"})
    state = maker.state({"a/b/c": "deep", "secret": secret, "p": Entry(path="x", kind="fifo")})
    del state["workspace/a"], state["workspace/a/b"]
    view = View(tmp_path / "view", host.uid("verifier"), maker.objects, ("workspace",))
    view.sync(state)
    seen = view.folder / "workspace"
    assert (seen / "a/b/c").read_text() == "deep"
    assert stat.S_IMODE((seen / "secret").lstat().st_mode) == 0o400
    assert os.listxattr(seen / "secret") == ["user.a"]
    assert (seen / "a").stat().st_mtime_ns == (seen / "a/b/c").stat().st_mtime_ns == TIME_NS
    assert view.left_out == {"workspace/p": "is a FIFO"}
    assert not os.path.lexists(seen / "p")
    blob = maker.objects.path(state["workspace/a/b/c"].digest or "")
    assert os.stat(blob).st_ino != (seen / "a/b/c").stat().st_ino
    assert os.stat(blob).st_nlink == 1


@pytest.mark.parametrize(
    ("path", "target", "inside"),
    [
        ("workspace/a", "b", True),
        ("workspace/a/b", "../c", True),
        ("workspace/a", "../tmp/x", False),  # /tmp is no part of this view
        ("workspace/a", "/workspace/x", True),
        ("workspace/a", "/workspace", True),
        ("workspace/a", "/workspace-2/x", False),
        ("workspace/a", "/home/agent/x", True),
        ("workspace/a", "../home/agent/x", True),
        ("workspace/a", "/etc/passwd", False),
        ("workspace/a", "/verifier/expected", False),
        ("workspace/a", "/proc/1/root", False),
        ("workspace/a", "../../../../workspace/x", True),
        ("workspace/a", "b/../c", False),  # b may be a link elsewhere
        ("workspace/a", "/workspace/../etc/passwd", False),
        ("workspace/a", "..", False),
        ("workspace/a", "%FFx", True),
        ("workspace/a", "", False),
    ],
)
def test_links_that_may_be_followed(path: str, target: str, inside: bool) -> None:
    link = Entry(path=path, kind="link", target=target)
    assert leads_inside(link, ("workspace", "home")) is inside


@pytest.mark.parametrize(
    "path", ["workspace/../etc", "etc/passwd", "workspace//a", "/workspace/a", "workspace/a/."]
)
def test_a_forged_path_is_refused(tmp_path: Path, host: Host, path: str) -> None:
    maker = Maker(tmp_path)
    view = View(tmp_path / "view", host.uid("verifier"), maker.objects, ("workspace",))
    with pytest.raises(JournalError, match="no path of the state"):
        view.sync({path: maker.file(path, "x")})


def test_a_file_below_a_link_is_refused(tmp_path: Path, host: Host) -> None:
    maker = Maker(tmp_path)
    target = tmp_path / "outside"
    target.mkdir()
    state = {e.path: e for e in (maker.link("workspace/d", "../d2"), maker.file("workspace/d/x", "x"))}
    view = View(tmp_path / "view", host.uid("verifier"), maker.objects, ("workspace", "home"))
    with pytest.raises(JournalError, match="no folder"):
        view.sync(state)
