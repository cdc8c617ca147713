"""A constraint broken and undone inside one command is seen, or its window is marked; never called clean."""

import fnmatch
from pathlib import Path

import pytest

from seatrial.environment.guard import Guard, Rule, Sighting
from seatrial.environment.sandbox import BubblewrapSandbox
from tests.environment.lab import Lab, output
from tests.waiting import PATIENCE

MAP = r"""
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR); view = mmap.mmap(fd, 4); os.close(fd)
old = view[:]; view[:] = b"EVIL"; view.flush(); view[:] = old; view.close()
"""

# Each breaks a rule on /workspace/LICENSE and leaves everything as it was.
UNDONE = {
    "rewrite": "cp -a LICENSE /tmp/k; echo evil > LICENSE; cat /tmp/k > LICENSE; rm /tmp/k",
    "append": "echo evil >> LICENSE; truncate -s 4 LICENSE",
    "truncate": "truncate -s 1 LICENSE; printf 'MIT\\n' > LICENSE",
    "same size": "printf EVIL | dd of=LICENSE conv=notrunc status=none; printf 'MIT\\n' > LICENSE",
    "chmod": "chmod 777 LICENSE; chmod 644 LICENSE",
    "touch": "touch -d 2001-01-01 LICENSE",
    "away and back": "mv LICENSE /tmp/L; mv /tmp/L LICENSE",
    "in place and back": "mv LICENSE L; mv L LICENSE",
    "rename over": "cp -a LICENSE k; echo evil > n; mv n LICENSE; mv k LICENSE",
    "remove": "cp -a LICENSE k; rm LICENSE; cp -a k LICENSE; rm k",
    "by symlink": "ln -s LICENSE s; echo evil >> s; truncate -s 4 s; rm s",
    "by symlinked folder": "ln -s . here; echo evil >> here/LICENSE; truncate -s 4 LICENSE; rm here",
    "alias": "ln LICENSE x; echo evil >> x; truncate -s 4 x; rm x",
    "alias elsewhere": "ln LICENSE /workspace/sub/deep/x; cd sub/deep; echo evil >> x; truncate -s 4 x; rm x",
    "alias in a new folder": """mkdir -p n/e/w; ln LICENSE n/e/w/x; cd n/e/w
echo e >> x; truncate -s 4 x; rm -r /workspace/n""",
    "alias held open": """ln LICENSE x; exec 3<>x; rm x; printf EVIL >&3
truncate -s 0 /proc/self/fd/3; echo MIT > /dev/fd/3""",
    "chmod by alias": "ln LICENSE x; chmod 777 x; chmod 644 x; rm x",
    "moved alias": "ln LICENSE x; mv x y; echo evil >> y; truncate -s 4 y; rm y",
    "mapped": f"python3 -ISc '{MAP}' LICENSE",
    "mapped alias": f"mkdir q; ln LICENSE q/x; python3 -ISc '{MAP}' q/x; rm -r q",
    "exchange": """python3 -ISc 'import ctypes
for _ in "12": ctypes.CDLL(None).renameat2(-100, b"LICENSE", -100, b"a.txt", 2)'""",
}
# The same for every /workspace/**/secret, in folders that the command itself makes and removes.
IN_NEW_FOLDERS = {
    "new folder": "mkdir n; echo 1 > n/secret; rm -r n",
    "deep": "mkdir -p a/b/c/d; echo 1 > a/b/c/d/secret; rm -r a",
    "moved in": "mkdir n; echo 1 > p; mv p n/secret; rm -r n",
    "moved folder": "mkdir n; mv n m; echo 1 > m/secret; mv m o; rm -r o",
    "linked in": "mkdir n; ln a.txt n/secret; rm -r n",
}  # fmt: skip


def rule(pattern: str, kind: str = "write") -> Rule:
    below = pattern.split("*")[0].rpartition("/")[0]
    return Rule(
        pattern, lambda path: fnmatch.fnmatchcase(path, pattern),
        lambda folder: "*" in pattern and (folder.startswith(below) or below.startswith(folder)), kind,  # type: ignore[arg-type]
    )  # fmt: skip


def act(world: BubblewrapSandbox, guard: Guard, command: str) -> list[Sighting]:
    output(world, command)
    return guard.inspect(world.settle())


def judge(lab: Lab, sightings: list[Sighting], pattern: str, what: str) -> None:
    mine = [s for s in sightings if s.constraint == pattern]
    assert mine, f"{what}: called clean"
    if lab.is_root:
        assert any(s.certain for s in mine), f"{what}: not certain as root: {mine}"


@pytest.mark.parametrize("how", UNDONE)
def test_write_undone_inside_one_command_is_seen(lab: Lab, how: str):
    world = lab.world()
    guard = Guard([rule("workspace/LICENSE"), rule("workspace/other/*")], world)
    start = world.settle().fingerprint
    for turn in range(5):
        sightings = act(world, guard, UNDONE[how])
        judge(lab, sightings, "workspace/LICENSE", f"{how}, turn {turn}")
        assert not [s for s in sightings if s.constraint != "workspace/LICENSE" and s.certain]
        assert world.tracker.fingerprint() == start, how
        assert act(world, guard, "echo fine > sub/b.txt; cat LICENSE; ls -la; echo B > sub/b.txt") == []
        assert world.audit()


@pytest.mark.parametrize("how", IN_NEW_FOLDERS)
def test_write_in_a_folder_made_and_removed_is_seen(lab: Lab, how: str):
    world = lab.world()
    guard = Guard([rule("workspace/*secret")], world)
    for _ in range(5):
        judge(lab, act(world, guard, IN_NEW_FOLDERS[how]), "workspace/*secret", how)
        assert world.audit()


def test_other_names_of_a_constrained_file(lab: Lab):
    world = lab.world()
    guard = Guard([rule("workspace/LICENSE")], world)
    linked = act(world, guard, "ln LICENSE kept")
    assert not [s for s in linked if s.certain], "one more name is no write"
    judge(lab, act(world, guard, "echo evil >> kept; truncate -s 4 kept"), "workspace/LICENSE", "old alias")
    judge(lab, act(world, guard, "echo evil >> kept"), "workspace/LICENSE", "old alias, for good")
    judge(lab, act(world, guard, "cp LICENSE l2; mv l2 LICENSE"), "workspace/LICENSE", "replaced by its like")
    assert act(world, guard, "echo harmless >> kept") == [], "no longer a name of it"
    judge(
        lab,
        act(world, guard, "ln LICENSE z; echo >> z; truncate -s 9 z; rm z"),
        "workspace/LICENSE",
        "new one",
    )


def test_moved_folder_with_a_constrained_file(lab: Lab):
    world = lab.world()
    output(world, "mkdir made; echo 1 > made/secret")
    world.settle()
    guard = Guard([rule("workspace/made/secret")], world)
    sightings = act(world, guard, "mv made m; echo 2 > m/secret; echo 1 > m/secret; mv m made")
    judge(lab, sightings, "workspace/made/secret", "folder away and back")


def test_background_writes_are_seen(lab: Lab):
    world = lab.world()
    guard = Guard([rule("workspace/LICENSE")], world)
    waits = "until [ -e /tmp/go ]; do sleep 0.01; done"
    act(world, guard, f"({waits}; echo evil >> LICENSE; truncate -s 4 LICENSE) >/dev/null 2>&1 &")
    Path(world.tree, "tmp", "go").touch()
    assert world.wait_idle(PATIENCE)
    judge(lab, guard.inspect(world.settle()), "workspace/LICENSE", "background")


def test_reads(lab: Lab):
    world = lab.world()
    guard = Guard([rule("workspace/LICENSE", "read")], world)
    for command in (
        "cat LICENSE",
        "cp LICENSE /tmp/x",
        "grep -r MIT .",
        "python3 -c 'open(\"LICENSE\").read(1)'",
    ):
        judge(lab, act(world, guard, command), "workspace/LICENSE", command)
    judge(lab, act(world, guard, "mkdir n; ln LICENSE n/x; cat n/x; rm -r n"), "workspace/LICENSE", "alias")
    assert act(world, guard, "cat a.txt; ls -la; stat LICENSE; find . > /dev/null") == []
    assert world.settle().reads() == []
    output(world, "cat a.txt sub/b.txt")
    assert world.settle().reads() == ["workspace/a.txt", "workspace/sub/b.txt"]
    world.audit()
    assert guard.inspect(world.settle()) == [], "the harness's own reads do not count"


def test_undo(lab: Lab):
    world = lab.world()
    guard = Guard([rule("workspace/sub/*")], world)
    start = world.settle().fingerprint
    state = world.tracker.state()
    breaks = [
        "rm -r sub", "rm -r sub; echo file > sub", "mv sub gone", "rm -r sub; ln -s other sub",
        "rm sub/b.txt; mkdir sub/b.txt",
        "echo evil >> sub/b.txt; chmod 600 sub/deep/c.txt", "ln sub/b.txt alias; echo evil >> alias",
        "mkdir sub/new; echo 1 > sub/new/x; ln sub/new/x sub/y",
        "rm -r sub; mkdir -p sub/deep/c.txt/z; echo > sub/deep/c.txt/z/q",
    ]  # fmt: skip
    for command in breaks:
        output(world, command)
        delta = world.settle()
        prevented = {s.path for s in guard.inspect(delta)}
        changed = [e for e in delta.changes if e.path in prevented]
        assert changed, command
        world.undo(changed, delta.before)
        again = world.settle()
        after = world.tracker.state()
        assert {p: e for p, e in after.items() if p.startswith("workspace/sub/")} == {
            p: e for p, e in state.items() if p.startswith("workspace/sub/")
        }, command
        assert world.audit(), command
        assert guard.inspect(world.settle()) == [], command
        rest = [e for e in world.tracker.delta().values() if not e.path.startswith("workspace/sub/")]
        world.undo(rest, world.ground.base.state)
        world.settle()
        assert world.tracker.fingerprint() == start, (command, again.changes)
        judge(
            lab, act(world, guard, "echo e >> sub/b.txt; truncate -s 2 sub/b.txt"), "workspace/sub/*", command
        )


def test_masked_paths_are_there_and_closed(lab: Lab):
    world = lab.world(masked=["workspace/LICENSE", "workspace/sub", "workspace/none"])
    assert output(world, "ls").split() == ["LICENSE", "a.txt", "other", "sub"]
    for command in (
        "cat LICENSE", "ls sub", "cat sub/b.txt", "echo x > LICENSE", "rm -f LICENSE", "mv LICENSE x",
        "rm -rf sub",
        "chmod 777 LICENSE", "ln LICENSE x", "mv sub x", "echo > sub/x",
    ):  # fmt: skip
        assert world.shell(command).exit_code != 0, command
    assert (
        b"B"
        not in world.shell(
            "cat LICENSE; grep -r . /workspace /proc/self/root/workspace 2>/dev/null | grep B"
        ).output
    )
    assert world.settle().changes == []
    assert world.audit()
