"""Which forks are one observation, and which speak of an agent without memory: of a real agent's forks."""

from pathlib import Path

import msgspec
import pytest

from seatrial.evidence.read import read_run
from seatrial.journal.run import ForkOrigin, RunFolder
from seatrial.report.build import build_report
from seatrial.report.fork_notes import NO_MEMORY, are_copies, copies_note, memory_note
from seatrial.report.forks import ForkGroup, forks_report
from seatrial.schedule.fork_candidates import ForkOrders
from tests.schedule.small import DONE
from tests.trial.forks.test_forking import forked
from tests.trial.forks.test_forking_memory import COUNTS, ran

ACTIONS = [("right", [{"tool": "shell", "arguments": {"command": DONE}}])]


def group_of(run: RunFolder, orders: ForkOrders) -> ForkGroup:
    trials = [fork.trial for fork in forked(run, 1, orders)]
    (group,) = forks_report(read_run(run.folder), trials).groups
    return group


def origin(same_seed: bool = False, memory: str = "none", candidate: str = "control") -> ForkOrigin:
    plain = {
        "trial": "t", "attempt": 1, "step": 3, "fingerprint": "", "group": "t@3", "number": 1,
        "candidate": candidate, "same_seed": same_seed, "memory": memory,
    }  # fmt: skip
    return msgspec.convert(plain, ForkOrigin)


def test_forks_of_an_agent_that_share_a_seed_count_once(tmp_path: Path) -> None:
    run = ran(tmp_path, COUNTS)
    group = group_of(run, ForkOrders(count=2, seed=5, same_seed=True, actions=ACTIONS))
    assert [(line.memory, line.valid, line.copies) for line in group.lines] == [("replay", 2, True)] * 2
    assert {(line.strict.n_trials, line.strict.low, line.strict.high) for line in group.lines} == {
        (1, None, None)
    }  # fmt: skip
    strict = next(effect.estimate for effect in group.effects if effect.measure == "strict_success")
    assert (strict.value, strict.low, strict.high, strict.n_trials) == (1, None, None, 2)
    assert "No interval: 2 copies of one trial count once." in strict.notes
    assert any("its forks are 2 copies of one trial" in note for note in group.notes)
    assert not any("Memory none" in note for note in group.notes)
    build_report(run.folder, tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text()
    assert "100 %, one trial, no interval" in page and "2 copies of one trial" in page


def test_forks_with_seeds_of_their_own_are_counted_and_speak_of_agents_without_memory(tmp_path: Path) -> None:
    group = group_of(ran(tmp_path, COUNTS), ForkOrders(count=2, seed=5, actions=ACTIONS))
    assert [(line.memory, line.copies, line.strict.n_trials) for line in group.lines] == [
        ("none", False, 2)
    ] * 2  # fmt: skip
    assert all(line.strict.low is not None for line in group.lines)
    assert {effect.estimate.notes[-1] for effect in group.effects} == {NO_MEMORY}
    said = group.notes[0]
    assert "know nothing of the 1 step before" in said and "--same-seed tells" in said


def test_only_without_a_model_and_with_one_seed_or_a_script_are_forks_copies() -> None:
    def copies(agent: str, same_seed: bool) -> bool:
        return are_copies(origin(same_seed), agent, [])

    assert [copies(agent, True) for agent in ("scripted", "simulated", "python", "chat")] == [
        True, True, True, False,
    ]  # fmt: skip
    assert [copies(agent, False) for agent in ("scripted", "simulated", "python", "chat")] == [
        True, False, False, False,
    ]  # fmt: skip


def test_a_shared_seed_is_said_where_forks_are_no_copies() -> None:
    with_model = copies_note(origin(same_seed=True), "talks", "chat", 3, False)
    assert with_model is not None and "the 3 forks share a seed" in with_model
    varied = copies_note(origin(same_seed=True), "counts", "python", 3, False)
    assert varied is not None and "ended differently" in varied
    assert copies_note(origin(), "talks", "chat", 3, False) is None
    assert copies_note(origin(same_seed=True), "counts", "python", 0, True) is None


@pytest.mark.parametrize(
    ("agent", "same_seed", "other_system", "hints"),
    [
        ("simulated", False, False, {"--same-seed", "checkpoints"}),
        ("simulated", True, False, {"checkpoints"}),
        ("chat", False, False, {"checkpoints"}),
        ("simulated", False, True, set()),
    ],
)
def test_what_would_give_a_memory_is_said(
    agent: str, same_seed: bool, other_system: bool, hints: set[str]
) -> None:
    said = memory_note(origin(same_seed), agent, other_system)
    assert said is not None and "instruction alone" in said
    assert {hint for hint in ("--same-seed", "checkpoints") if hint in said} == hints
    assert memory_note(origin(memory="replay"), agent, other_system) is None
