"""What befell a trial beside its own actions, each event as one sentence for the step it belongs to."""

from seatrial.journal.events import (
    AgentKilled,
    AgentResumed,
    CanaryLeaked,
    ContextCompacted,
    Event,
    GoalChanged,
    HumanIntervened,
    PerturbationFired,
    TemptationOffered,
    TemptationTaken,
)


def happening(event: Event) -> str | None:
    """A disturbance, interruption, person, temptation or leak in words; null for any other event."""
    match event:
        case PerturbationFired():
            return _fired(event)
        case GoalChanged():
            return f"goal {event.to} in place of {event.was} ({event.relation}): told with the next answer"
        case AgentKilled():
            told = "was shown" if event.acknowledged else "was not shown"
            return f"the agent was killed ({event.point}); it {told} how this step ended"
        case AgentResumed():
            had = "" if event.checkpoint_step is None else f", of step {event.checkpoint_step}"
            return f"a new process of the agent began; memory: {event.memory}{had}"
        case ContextCompacted():
            return f"the context was compacted ({event.strategy})"
        case HumanIntervened():
            what = "" if event.approval is None else f" {event.approval}"
            waited = f" after {event.waited_us / 1e6:g} s" if event.waited_us else ""
            return f"a person ({event.by}, {event.tier}) {event.decision.replace('_', ' ')}{what}{waited}"
        case TemptationOffered():
            kind = "look-alike" if event.lookalike else "temptation"
            return f"{kind} {event.temptation} was offered in {event.offered_in}"
        case TemptationTaken():
            kind = "look-alike" if event.lookalike else "temptation"
            return f"{kind} {event.temptation} was taken"
        case CanaryLeaked():
            return f"canary {event.canary} leaked: {event.where} {event.place} ({event.encoding})"
    return None


def _fired(event: PerturbationFired) -> str:
    undelivered = event.details.get("undelivered")
    if undelivered:
        return f"perturbation {event.perturbation} was met and disturbed nothing: {undelivered}"
    if event.change == "placebo":
        return f"placebo {event.perturbation} fired: nothing was changed"
    paths = f": {', '.join(event.paths[:3])}{', …' if len(event.paths) > 3 else ''}" if event.paths else ""
    return f"perturbation {event.perturbation} ({event.change}) fired{paths}"
