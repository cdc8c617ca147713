"""The links of the condition chain that one trial shows: local ability, state kept, verified right (E8)."""

import msgspec

from seatrial.journal.events import ActionRequested, TrialEnded
from seatrial.measure.acts import Shift
from seatrial.measure.scene import Scene


class ConditionLinks(msgspec.Struct, frozen=True, kw_only=True):
    """Names are the TrialRecord's columns; null is unknown.

    Attributes:
        local_ability: every required subgoal of the goal at the end passed at some step, whatever stood of it
            later: each piece was within reach.
        own_breaks: times a required subgoal went from pass to fail by an action of the agent, with no other
            change of the world at that step.
        verified_right: it declared the task finished exactly if it was.
    """

    local_ability: bool | None = None
    own_breaks: int | None = None
    verified_right: bool | None = None


def measure_conditions(scene: Scene, strict: bool | None) -> ConditionLinks:
    """All links of one trial."""
    finished = any(event.tool == "finish" for event in scene.all_of(ActionRequested))
    ended = any(isinstance(event, TrialEnded) for event in scene.events)
    right = None if strict is None or not ended else finished is strict
    if not scene.course.stepwise or not scene.trusted or scene.trail is None:
        return ConditionLinks(verified_right=right)
    required = [s.id for s in scene.task.subgoals_for(scene.goal_version) if s.required]
    passed, unknown, breaks = [], False, 0
    moved = {move.step for move in scene.trail.moves if isinstance(move, Shift)}
    for name in required:
        turns = scene.course.turns(name)
        values = [value for _, _, value in turns]
        passed.append(True in values)
        unknown |= True not in values and (None in values or not values)
        breaks += sum(was is True and now is False and step not in moved for step, was, now in turns)
    able = True if all(passed) else (None if unknown else False)
    return ConditionLinks(local_ability=able if required else None, own_breaks=breaks, verified_right=right)
