"""Forks of disturbed trials: what has still to fire fires, what has fired does not again."""

from typing import Any

import pytest

from seatrial.errors import UsageError
from seatrial.evidence.read import read_run
from seatrial.journal.events import (
    ActionFinished,
    Event,
    GoalChanged,
    PerturbationArmed,
    PerturbationFired,
)
from seatrial.journal.reader import read_journal, state_at
from seatrial.journal.run import RunFolder, TrialPlanned
from seatrial.report.forks import forks_report
from seatrial.schedule.fork_candidates import ForkOrders
from seatrial.schedule.forks import ForkPlace, draw_places, plan_forks
from tests.schedule.small import go_on
from tests.trial.disturbed import write_disturbed
from tests.trial.forks.test_forking import forked

ARMS = ["baseline", "perturbed:limit-changed", "perturbed:tripled", "perturbed:half-done", "perturbed:never"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("perturbed")
    go_on(write_disturbed(folder, ARMS, ["careful", "hasty"]), folder / "run")
    return RunFolder.open(folder / "run")


def trial(run: RunFolder, arm: str, system: str = "careful") -> TrialPlanned:
    return next(each for each in run.manifest().plan if (each.arm, each.system) == (arm, system))


def events(run: RunFolder, planned: TrialPlanned, kind: type[Event]) -> list[Any]:
    found = read_journal(run.journal_path(planned.trial, 1)).events
    return [event for event in found if isinstance(event, kind)]


def orders(**more: Any) -> ForkOrders:
    return ForkOrders(count=1, seed=5, **more)


def success(run: RunFolder, planned: TrialPlanned) -> bool | None:
    (found,) = (a for a in read_run(run.folder).attempts if a.planned.trial == planned.trial)
    return found.record.strict_success


def test_a_fork_before_it_is_disturbed_as_its_original_was(run: RunFolder) -> None:
    original = trial(run, "perturbed:limit-changed")
    (fork,) = forked(run, 0, orders(), original)
    assert fork.fork is not None
    assert fork.fork.armed == ["limit-changed"]
    for kind in (PerturbationArmed, PerturbationFired):
        (there,), (here,) = events(run, original, kind), events(run, fork, kind)
        assert here.perturbation == there.perturbation == "limit-changed"
    assert (here.step, here.paths, here.post) == (there.step, there.paths, there.post)
    assert [e.post for e in events(run, fork, ActionFinished)] == [
        e.post for e in events(run, original, ActionFinished)
    ]


def test_a_fork_after_it_has_the_change_in_its_state_and_is_not_disturbed_again(run: RunFolder) -> None:
    original = trial(run, "perturbed:limit-changed")
    (fork,) = forked(run, 1, orders(), original)
    assert fork.fork is not None
    assert fork.fork.armed == []
    assert events(run, fork, PerturbationArmed) == events(run, fork, PerturbationFired) == []
    state = state_at(read_journal(run.journal_path(fork.trial, 1)), run.objects, 0)
    digest = state["workspace/config/limit"].digest
    assert digest is not None and run.objects.get(digest) == b"12\n"
    assert success(run, fork)


def test_the_effect_of_a_disturbance_at_one_state_is_that_with_it_against_that_without(
    run: RunFolder,
) -> None:
    for system, effect in (("hasty", 1), ("careful", 0)):
        original = trial(run, "perturbed:limit-changed", system)
        control, without = forked(run, 0, orders(undisturbed=True), original)
        assert (control.arm, without.arm) == (
            f"forked:{original.trial}@0:control", f"forked:{original.trial}@0:undisturbed",
        )  # fmt: skip
        assert control.seed == without.seed
        assert len(events(run, control, PerturbationFired)) == 1
        assert events(run, without, PerturbationFired) == []
        (group,) = forks_report(read_run(run.folder), [control.trial, without.trial]).groups
        found = {each.measure: each.estimate.value for each in group.effects}
        assert found["strict_success"] == effect
        assert [(line.candidate, line.armed, line.fired) for line in group.lines] == [
            ("control", ["limit-changed"], 1), ("undisturbed", [], 0),
        ]  # fmt: skip


def test_a_disturbance_can_be_armed_where_there_was_none(run: RunFolder) -> None:
    original = trial(run, "baseline", "hasty")
    control, disturbed = forked(run, 1, orders(perturbations=["limit-changed"]), original)
    assert events(run, control, PerturbationArmed) == []
    # What it waits for has happened already: it comes with the first commit at which that still holds.
    (fired,) = events(run, disturbed, PerturbationFired)
    assert fired.step == 1
    assert (success(run, control), success(run, disturbed)) == (True, False)


def test_a_new_goal_is_told_again_to_a_fork_that_is_told_its_past(run: RunFolder) -> None:
    original = trial(run, "perturbed:tripled")
    (fork,) = forked(run, 2, orders(), original)
    assert fork.fork is not None
    assert fork.fork.memory == "replay"
    assert events(run, fork, GoalChanged) == []
    first = read_journal(run.journal_path(fork.trial, 1)).started
    assert first.conditions["fork"]["goal_version"] == 2
    assert {e.goal_version for e in events(run, fork, ActionFinished)} == {2}


def test_one_that_never_fires_is_said_not_to_have_fired(run: RunFolder) -> None:
    (fork,) = forked(run, 2, orders(), trial(run, "perturbed:never"))
    assert [e.perturbation for e in events(run, fork, PerturbationArmed)] == ["never"]
    (group,) = forks_report(read_run(run.folder), [fork.trial]).groups
    assert [(line.armed, line.fired, line.valid) for line in group.lines] == [(["never"], 0, 1)]
    said = "continued: never waited for the trigger; something fired in 0 of 1 valid fork."
    assert said in group.notes


def test_a_fork_of_a_fork_knows_what_fired_in_either(run: RunFolder) -> None:
    original = trial(run, "perturbed:half-done")
    (first,) = forked(run, 1, orders(), original)
    (fired,) = events(run, first, PerturbationFired)
    assert fired.step == 2  # the third action of the original
    (before,) = plan_forks(run, ForkPlace(first, 1, 1), orders())
    (after,) = plan_forks(run, ForkPlace(first, 1, 2), orders())
    assert before.fork is not None and after.fork is not None
    assert (before.fork.armed, after.fork.armed) == (["half-done"], [])
    with pytest.raises(UsageError, match="had fired by"):
        plan_forks(run, ForkPlace(first, 1, 2), orders(perturbations=["half-done"]))


def test_a_fork_without_it_can_have_it_armed_again(run: RunFolder) -> None:
    _, without = forked(run, 0, orders(undisturbed=True, memory="none"), trial(run, "perturbed:never"))
    (again,) = plan_forks(run, ForkPlace(without, 1, 1), orders())
    assert again.fork is not None
    assert again.fork.armed == []


@pytest.mark.parametrize(
    ("arm", "step", "more", "said"),
    [
        ("baseline", 1, {"undisturbed": True}, "no perturbation waits there"),
        ("baseline", 1, {"perturbations": ["limit-chnged"]}, 'Did you mean "limit-changed"'),
        ("perturbed:never", 1, {"perturbations": ["never"]}, "Say --without-perturbation"),
        ("perturbed:limit-changed", 1, {"perturbations": ["limit-changed"]}, "Choose a step before it"),
        ("baseline", 1, {"perturbations": ["lied"]}, "this trial offers no memory"),
    ],
)
def test_what_cannot_be_armed_is_refused(
    run: RunFolder, arm: str, step: int, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        plan_forks(run, ForkPlace(trial(run, arm), 1, step), orders(**more))


def test_steps_are_drawn_from_those_at_which_it_can_be_compared(run: RunFolder) -> None:
    counted = [(trial(run, "perturbed:limit-changed"), 1), (trial(run, "baseline"), 1)]
    (place,) = draw_places(run, counted, 1, orders(undisturbed=True))
    assert (place.planned.arm, place.step, place.chosen["frame"]) == ("perturbed:limit-changed", 0, 1)
