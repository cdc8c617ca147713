"""Whatever an agent does to its files, the folded journal, the live tree and a full scan agree."""

import os
import random

import pytest

from seatrial.environment.sandbox import BubblewrapSandbox
from seatrial.environment.state.providers import SqliteProvider
from seatrial.journal.entries import Entry, State, fold
from tests.environment.deeds import DATABASE, Deeds
from tests.environment.lab import FILES, Lab
from tests.environment.walk import Facts, meaning, text_of, walk

ACTIONS = 300
BASE = {**FILES, "sub/x%41y": b"%", "new\nline": b"nl", "other/deep/er/f": b"F\n", "big": b"1\n" * 3000}
BASE_LINKS = {"to-sub": "sub", "out": "/etc", "sub/up": ".."}


def facts_of(entry: Entry) -> Facts:
    digest = entry.digest if entry.kind == "file" else None
    xattrs = tuple(sorted(entry.xattrs.items()))
    return (entry.kind, entry.mode, entry.owner, digest, entry.target, entry.links, xattrs)


def live(world: BubblewrapSandbox) -> dict[str, Facts]:
    ground = world.ground
    return walk(world.tree, world._overlay.upper, ground.host.uid("world"), world._overlay.traceable)


class Check:
    """Folds what a world reports and compares it with the world after every action."""

    def __init__(self, state: State) -> None:
        self.state = dict(state)
        self.by_print: dict[str, str] = {}
        self.by_meaning: dict[str, str] = {}
        self.rescans = 0

    def __call__(self, world: BubblewrapSandbox) -> dict[str, Facts]:
        with world.frozen():
            delta = world.settle()
            facts = live(world)
            mean = meaning(world.tree, facts, DATABASE)
            audited = world.audit()
        self.rescans += delta.touched.overflow
        fold(self.state, delta.changes)
        folded = {path: facts_of(entry) for path, entry in self.state.items()}
        both = {path: (folded.get(path), facts.get(path)) for path in folded.keys() | facts.keys()}
        wrong = {path: pair for path, pair in both.items() if pair[0] != pair[1]}
        assert not wrong, f"folded, live: {wrong}; touched {delta.touched}"
        assert audited, f"a full scan disagrees; touched {delta.touched}"
        mark = delta.fingerprint
        assert self.by_print.setdefault(mark, mean) == mean, "one fingerprint, two states"
        assert self.by_meaning.setdefault(mean, mark) == mark, "one state, two fingerprints"
        return facts


def run_trial(lab: Lab, seed: int, actions: int) -> Check:
    chance = random.Random(seed)
    lab.objects.put(b"")
    ground = lab.ground(lab.base(BASE, BASE_LINKS), providers=[SqliteProvider(DATABASE)])
    world = lab.world(ground)
    check, deeds = Check(ground.base.state), Deeds(seed)
    facts = check(world)
    for number in range(actions):
        name, command = deeds.draw(facts)
        world.shell(command, "/", seconds=10)
        try:
            facts = check(world)
            if chance.random() < 0.02:
                other = lab.keep(world.fork(world.tracker.delta()))
                world.close()
                world, facts = other, check(other)
        except AssertionError as fault:
            said = command.encode("utf-8", "backslashreplace").decode()
            raise AssertionError(f"seed {seed}, action {number} ({name}): {said}\n{fault}") from None
    return check


@pytest.mark.parametrize("seed", range(2))
def test_folded_journal_equals_live_tree(lab: Lab, seed: int):
    check = run_trial(lab, seed, ACTIONS)
    assert len(check.by_print) > ACTIONS // 3
    if lab.is_root:
        assert check.rescans == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1000 + int(os.environ.get("SEATRIAL_SEEDS", "15"))))
def test_folded_journal_equals_live_tree_in_more_trials(lab: Lab, seed: int):
    run_trial(lab, seed, ACTIONS)


def test_paths_as_text():
    assert text_of(b"a%\xff\xc3\xa9") == "a%25%FFé"
