"""One trial's disturbance told in sentences, from its record."""

from collections.abc import Iterator, Sequence

from seatrial.measure.goals import GoalChange
from seatrial.records.arms import INTERRUPTED, read_arm
from seatrial.records.trial import TrialRecord
from seatrial.report.wording import UNKNOWN, counted, number, plain

COSMETIC = "cosmetic"


def disturbance_story(record: TrialRecord, changes: Sequence[GoalChange] = ()) -> list[str]:
    """What happened, in order; empty for a trial that was not to be disturbed and changed no goal.

    Args:
        changes: of the goal; the record tells of the last one alone.
    """
    told = (fired(record), goals(record, changes), seen(record), mended(record), killed(record), why(record))
    return [sentence for part in told for sentence in part]


def fired(record: TrialRecord) -> Iterator[str]:
    """Whether the disturbance came about."""
    if record.perturbation is None:
        return
    # A placebo changes nothing, so it has no strength.
    strength = "" if record.perturbation_kind == "placebo" else f", {record.strength}"
    name = f"{record.perturbation} ({record.perturbation_kind}{strength})"
    if record.fired_step is None:
        yield f"{name} was armed and never came about: not delivered."
        return
    times = "" if record.firings == 1 else f", {record.firings} times in all"
    yield f"{name} fired at step {record.fired_step}{times}."


def goals(record: TrialRecord, changes: Sequence[GoalChange]) -> Iterator[str]:
    """How each change of goal was taken up."""
    for change in changes[:-1]:
        yield f"Goal {change.to} held from step {change.step} to step {change.until}, {taken_up(change)}."
    if (record.goal_final or 1) > 1:
        yield f"Goal {record.goal_final} holds at the end, {taken_up(record)}."


def taken_up(change: GoalChange | TrialRecord) -> str:
    """Adoption, or what became of a conflict, and residue."""
    taken = f"first served at step {change.adoption_step}" if change.adopted else "never served"
    if change.adopted is None:
        taken = "with nothing that would show its adoption"
    if change.conflict_detected is not None:
        taken = "a conflict that was " + ("surfaced" if change.conflict_detected else "never surfaced")
    left = f"; {counted(change.residue_actions, 'action')} for the old one" if change.residue_actions else ""
    return taken + left


def seen(record: TrialRecord) -> Iterator[str]:
    """Whether and when the agent noticed, and what it did until then."""
    if record.fired_step is None or record.perturbation_kind == "placebo":
        return
    if record.detected is None:
        yield "Whether the agent saw it is unknown."
        return
    # Not informed is not wrong: whether what such an action left is right, the verdicts say.
    without = record.wrong_actions_after
    uninformed = "" if without is None else counted(without, "uninformed action")
    if not record.detected:
        yield f"The agent never saw it{f': {uninformed} until the end' if uninformed else ''}."
        return
    until = f", after {uninformed}" if without else ""
    yield f"The agent saw it at step {record.observed_step}{until}."
    if record.understood is not None:
        said = (
            f"reported it rightly at step {record.understood_step}"
            if record.understood
            else "never reported it"
        )
        yield f"It {said}."


def mended(record: TrialRecord) -> Iterator[str]:
    """Whether it was overcome, at what cost, and where the chain broke."""
    if record.fired_step is None or record.perturbation_kind == "placebo":
        return
    if record.strength == COSMETIC:
        yield untouched(record)
        return
    if record.recovered_step is not None:
        least = ""
        if record.oracle_cost is not None:
            least = f"; the declared reference needs {number(record.oracle_cost)}"
        yield (
            f"Overcome from step {record.recovered_step} on: {plain(record.recovery_cost)} actions"
            f"{split(record)}{least}."
        )
    elif record.recovered is not None:
        yield "Overcome at the end." if record.recovered else "Not overcome."
    else:
        yield "Whether it was overcome is unknown."
    if record.polluted_products:
        left = UNKNOWN if record.polluted_left is None else str(record.polluted_left)
        paths = counted(record.polluted_products, "path")
        # Of a polluted channel, and of it alone, nobody counts uninformed actions.
        basis = "what was planted" if record.wrong_actions_after is None else "uninformed work"
        yield f"{paths} rested on {basis}; at the end {left} stand as it left them."
    if record.undone_work:
        yield f"{counted(record.undone_work, 'subgoal')} that held before, and was spared, no longer holds."
    if record.chain_broke_at is not None and record.chain_broke_at != "none":
        yield f"The chain broke at: {record.chain_broke_at}."


def untouched(record: TrialRecord) -> str:
    """The end of a cosmetic disturbance, of which there is nothing to overcome."""
    end = "whether what it concerns is right at the end is unknown"
    if record.recovered is not None:
        end = f"what it concerns is {'right' if record.recovered else 'not right'} at the end"
    return f"It called for no recovery; {end}."


def split(record: TrialRecord) -> str:
    """How the cost of recovery is divided, where the parts add up to it."""
    if record.detected is False:
        return ", without its being seen"
    if record.observed_step is not None and (record.recovered_step or 0) < record.observed_step:
        return ", before it was seen"
    parts = (record.detect_actions, record.locate_actions, record.restore_actions, record.redo_actions)
    return f" (detect/locate/restore/redo {'/'.join(map(plain, parts))})"


def killed(record: TrialRecord) -> Iterator[str]:
    """What came of a kill."""
    if record.killed_step is None:
        if read_arm(record.arm).kind == INTERRUPTED:
            yield "The point at which it was to be killed was never reached: not delivered."
        return
    yield f"The agent was killed at step {record.killed_step} ({record.interrupted_point})."
    if record.resumed_step is None:
        yield "No new process was started."
        return
    correct = record.resume_correct_step
    first = "no correct action known" if correct is None else f"first correct action at step {correct}"
    yield (
        f"New process, memory {record.memory_arm}: {first}, {plain(record.redone_actions)} actions done "
        f"again, {plain(record.repeated_effects)} external effects repeated."
    )
    if record.resumed_from_old_goal:
        yield "It went on for a goal that had changed: a failed recovery."


def why(record: TrialRecord) -> Iterator[str]:
    """The first causal fork of a trial that did not succeed."""
    disturbed = record.perturbation is not None or record.killed_step is not None
    if record.first_cause is None or not disturbed:
        return
    if record.first_cause == "unknown":
        yield "Why it did not succeed: no rule decides."
        return
    beside = f", then {', '.join(record.secondary_causes)}" if record.secondary_causes else ""
    label, sure = record.first_cause.replace("_", " "), plain(record.first_cause_confidence)
    yield f"Why it did not succeed: {label}, from step {record.first_cause_step} (confidence {sure}){beside}."
