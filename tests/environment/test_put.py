"""The harness puts paths in place from outside: exactly, and never through what the agent moved meanwhile."""

import pytest

from seatrial.errors import StateOverrun
from seatrial.journal.entries import Entry
from tests.environment.lab import Lab, output


def file_entry(lab: Lab, path: str, data: bytes) -> Entry:
    return Entry(path=path, kind="file", mode=0o644, digest=lab.objects.put(data), size=len(data), mtime=1)


def test_what_is_put_is_settled_as_changes(lab: Lab):
    world = lab.world()
    world.put(
        {
            "workspace/new": Entry(path="workspace/new", kind="dir", mode=0o755),
            "workspace/new/x": file_entry(lab, "workspace/new/x", b"x\n"),
            "workspace/a.txt": Entry(path="workspace/a.txt", kind="absent"),
        }
    )
    delta = world.settle()
    assert [e.path for e in delta.changes] == ["workspace/a.txt", "workspace/new", "workspace/new/x"]
    assert not delta.touched.paths, "it is no doing of the agent's"
    assert output(world, "cat new/x; ls") == "x\nLICENSE\nnew\nother\nsub\n"
    assert world.audit()


@pytest.mark.parametrize(
    "swap", ["mv sub gone; ln -s VICTIM sub", "rm sub/b.txt; ln -s VICTIM/b.txt sub/b.txt"]
)
def test_nothing_is_written_through_a_link_that_came_meanwhile(lab: Lab, swap: str):
    """A process of the agent's runs on between the look at the state and the writing from outside."""
    world = lab.world()
    victim = lab.folder / "victim"
    victim.mkdir()
    (victim / "b.txt").write_text("mine\n")
    output(world, "echo evil > sub/b.txt")
    delta = world.settle()
    output(world, swap.replace("VICTIM", str(victim)))
    with pytest.raises(StateOverrun, match=r"workspace/sub.* is not what it was a moment ago"):
        world.undo(delta.changes, delta.before)
    assert (victim / "b.txt").read_text() == "mine\n"
    assert sorted(path.name for path in victim.iterdir()) == ["b.txt"]
