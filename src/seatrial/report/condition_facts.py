"""What is done to trials and offered to agents, as the protocol shows it: people, kills, perturbations …"""

from collections.abc import Iterable, Mapping
from typing import Any

from seatrial.records.arms import COMPACTED, INTERRUPTED, PERTURBED, read_arm
from seatrial.report.wording import UNKNOWN, counted, plain
from seatrial.spec.task import Perturbation, Task


def condition_facts(spec: Mapping[str, Any], tasks: Iterable[Task], arms: Iterable[str]) -> dict[str, str]:
    """Channels, people, interruption, compaction and perturbations, name to text.

    What only some arms do is left out where the plan has no such arm.

    Args:
        spec: the experiment as frozen in the manifest; what an older manifest does not say is unknown.
        tasks: of the run.
        arms: of the plan.
    """
    named = [read_arm(arm) for arm in arms]
    kinds = {arm.kind for arm in named}
    interruption, compaction = spec.get("interruption"), spec.get("compaction")
    armed = {arm.subject for arm in named if arm.kind == PERTURBED}
    if INTERRUPTED in kinds and interruption and interruption.get("while_down"):
        armed.add(interruption["while_down"])
    facts = {
        "Belief channel offered": plain(spec.get("belief")),
        "Memory offered": plain(spec.get("memory")),
        "Help by people": people_words(spec.get("human")),
    }
    if INTERRUPTED in kinds:
        facts["Interruption"] = interruption_words(interruption)
    if COMPACTED in kinds or compaction:
        facts["Compaction"] = compaction_words(compaction)
    return facts | perturbation_facts(tasks, armed)


def people_words(human: Mapping[str, Any] | None) -> str:
    """Which help people give, and who they are."""
    if not human or human.get("tier") == "none":
        return UNKNOWN if not human else "none"
    script = f" ({human['script']})" if human.get("script") else ""
    return (
        f"{plain(human.get('tier'))}, {plain(human.get('by'))}{script}; refused where nobody answers within "
        f"{plain(human.get('timeout_seconds'))} s"
    )


def interruption_words(interruption: Mapping[str, Any] | None) -> str:
    """When the agent is killed, and how much of its state is kept."""
    if not interruption:
        return UNKNOWN
    first = interruption.get("occasions")
    parts = [
        "at the first occasion"
        if first == 1
        else f"at one of the first {plain(first)} occasions, by the seed",
        f"tools: {interruption.get('tool') or 'those that can write'}",
        f"subgoal: {interruption.get('subgoal') or 'any'}",
        f"at most {plain(interruption.get('state_bytes'))} bytes of state kept",
    ]
    if interruption.get("while_down"):
        parts.append(f"{interruption['while_down']} fires while no process is there")
    return "; ".join(parts)


def compaction_words(compaction: Mapping[str, Any] | None) -> str:
    """When the context is made shorter, and how."""
    if not compaction:
        return UNKNOWN
    subgoal = compaction.get("at_subgoal")
    every = f"at {plain(compaction.get('every_tokens'))} tokens"
    parts = [
        f"once, when subgoal {subgoal} is first verified" if subgoal else every,
        f"{plain(compaction.get('strategy'))} in arms that name no other way",
        f"at most {plain(compaction.get('state_bytes'))} bytes in place of the history",
        f"look-ups offered: {plain(compaction.get('lookups'))}",
    ]
    return "; ".join(parts)


def perturbation_facts(tasks: Iterable[Task], armed: Iterable[str]) -> dict[str, str]:
    """Each armed perturbation by its id; those that tasks declare and no arm arms are only named.

    Args:
        tasks: of the run.
        armed: ids.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for task in tasks:
        for declared in task.perturbation:
            words = perturbation_words(declared)
            found.setdefault(declared.id, {}).setdefault(words, []).append(task.id)
    wanted = set(armed)
    facts = {f"Perturbation {name}": _over_tasks(ways) for name, ways in found.items() if name in wanted}
    idle = [name for name in found if name not in wanted]
    return facts | ({"Perturbations declared and not armed": ", ".join(idle)} if idle else {})


def perturbation_words(declared: Perturbation) -> str:
    """Kind, strength and trigger; a placebo changes nothing and so has no strength."""
    strength = "" if declared.kind == "placebo" else f", {declared.strength}"
    return f"{declared.kind}{strength}, when {trigger_words(declared.when)}"


def trigger_words(when: Mapping[str, Any]) -> str:
    """A checked ``when`` in words: "subgoal verified: totals"."""
    ((kind, value),) = when.items()
    words = kind.replace("_", " ")
    if isinstance(value, Mapping):
        call = {name: told for name, told in value.items() if name != "where"} | value.get("where", {})
        return f"{words}: {', '.join(f'{name} {plain(told)}' for name, told in call.items())}"
    return words if value is True else f"{words}: {plain(value)}"


def _over_tasks(ways: Mapping[str, list[str]]) -> str:
    """One way with its number of tasks; several, each with the names of its tasks."""
    if len(ways) == 1:
        ((words, tasks),) = ways.items()
        return f"{words} ({counted(len(tasks), 'task')})"
    return "; ".join(f"{words} ({', '.join(tasks)})" for words, tasks in ways.items())
