"""The protocol of a run as it stands before any number: what was frozen, and what could be seen (G3)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from seatrial.evidence.read import RunEvidence
from seatrial.journal.run import Manifest
from seatrial.report.condition_facts import condition_facts
from seatrial.report.wording import counted
from seatrial.spec.chat import frozen_options
from seatrial.spec.task import Task

# How a value that nobody set stands in a row.
NOT_SET = ("unknown", "none", "")


class Protocol(msgspec.Struct, frozen=True, kw_only=True):
    """All of it as pairs and tables of plain text.

    Attributes:
        facts: the experiment, name to text.
        systems, tasks: one mapping of column to text each.
        host: facts about the machine and the packages.
        sight: what the sandbox could and could not see, name to text.
    """

    experiment_id: str
    name: str
    created: str
    facts: dict[str, str]
    systems: list[dict[str, str]]
    tasks: list[dict[str, str]]
    host: dict[str, str]
    packages: dict[str, str]
    sight: dict[str, str]
    amendments: list[str]


def protocol(evidence: RunEvidence) -> Protocol:
    """Collect the protocol of one run."""
    manifest = evidence.manifest
    digests = {frozen.id: frozen.digest for frozen in manifest.tasks}
    return Protocol(
        experiment_id=manifest.experiment_id,
        name=manifest.name,
        created=manifest.created,
        facts=experiment_facts(evidence),
        systems=system_facts(manifest),
        tasks=[task_facts(task, digests[name]) for name, task in evidence.tasks.items()],
        host=flatten(manifest.host),
        packages=dict(manifest.packages),
        sight=sight(evidence),
        amendments=["; ".join(f"{k}: {v}" for k, v in flatten(line).items()) for line in manifest.amendments],
    )


def system_facts(manifest: Manifest) -> list[dict[str, str]]:
    """Each system's configuration; what no system declares is left out."""
    rows = [{"system": name, **flatten(config)} for name, config in manifest.systems.items()]
    declared = {key for row in rows for key, value in row.items() if value not in NOT_SET}
    return [{key: value for key, value in row.items() if key in declared - {"name"}} for row in rows]


class SystemShown(msgspec.Struct, frozen=True, kw_only=True):
    """One system as the page shows it, name to text.

    Attributes:
        chosen: what was set for it.
        defaults: what is as every system of its kind has it unless told otherwise.
    """

    name: str
    chosen: dict[str, str]
    defaults: dict[str, str]


def systems_shown(systems: Iterable[Mapping[str, str]]) -> list[SystemShown]:
    """Each system by itself; what is not set is left out.

    Args:
        systems: rows of ``Protocol.systems``.
    """
    found = []
    for row in systems:
        usual = _defaults(row.get("agent", ""))
        told = {key: text for key, text in row.items() if key != "system" and text not in NOT_SET}
        defaults = {key: text for key, text in told.items() if usual.get(key) == text}
        chosen = {key: text for key, text in told.items() if key not in defaults}
        found.append(SystemShown(name=row["system"], chosen=chosen, defaults=defaults))
    return found


def _defaults(agent: str) -> dict[str, str]:
    """What a system of a kind has unless the experiment says otherwise."""
    usual = {"privileged": text_of(agent == "simulated")}
    if agent == "chat":
        # The two options that have no default.
        needed = {"endpoint": "", "model": ""}
        usual |= flatten({k: v for k, v in frozen_options(needed).items() if k not in needed}, "options.")
    return usual


def primary_words(primary: Mapping[str, Any] | None) -> str:
    """The primary comparison as a sentence would have it."""
    if not primary:
        return "none declared"
    systems = list(map(str, primary.get("compare") or []))
    between = f" between {', '.join(systems[:-1])} and {systems[-1]}" if len(systems) > 1 else ""
    return f"{text_of(primary.get('measure'))}{between}, at level {text_of(primary.get('alpha'))}"


def experiment_facts(evidence: RunEvidence) -> dict[str, str]:
    """What the experiment file says, and the plan it led to."""
    spec, plan = evidence.manifest.experiment, evidence.manifest.plan
    retries = spec.get("retry", {}).get("infrastructure", "unknown")
    arms = dict.fromkeys(cell.arm for cell in plan)
    return {
        "Plan": f"{counted(len(plan), 'trial')}: {counted(len(evidence.tasks), 'task')}, "
        f"{counted(len(evidence.manifest.systems), 'system')}, arms {', '.join(arms)}",
        "Trials per task": text_of(spec.get("trials_per_task")),
        "Seed": text_of(spec.get("seed")),
        "Primary measure": primary_words(spec.get("primary")),
        "Stop rule": text_of(spec.get("stop")),
        "Retry policy": f"a new attempt only after an infrastructure failure, at most {retries}; the first "
        "completed attempt counts, all are kept",
        **model_call_facts(evidence),
        "Budget shown to the agent": text_of(spec.get("show_budget")),
        "Cache": text_of(spec.get("cache")),
        "Fresh verdicts on a final state": text_of(spec.get("final_verdicts")),
        **condition_facts(spec, evidence.tasks.values(), arms),
    }


def model_call_facts(evidence: RunEvidence) -> dict[str, str]:
    """What holds for every call of a model beside the options of its system; nothing where none is called."""
    manifest, tasks = evidence.manifest, evidence.tasks.values()
    systems = [config for config in manifest.systems.values() if config.get("agent") == "chat"]
    if not systems:
        return {}
    facts = {
        "Failed model calls": "sent again as often as the options of the system say for their class, then "
        "the attempt ends for infrastructure; they and the waiting after them count against no budget of "
        "seconds"
    }
    if any(task.budget.tokens is not None or task.budget.money is not None for task in tasks):
        facts["Failed model calls under a budget of tokens or money"] = (
            "not sent again where nobody knows what they used (timeout, endless, not_json, malformed, and "
            "unreachable once an answer had begun): the attempt ends at the first"
        )
    prices = [price for config in systems if (price := config.get("options", {}).get("price"))]
    if prices:
        facts["Money"] = f"in {', '.join(sorted({price['currency'] for price in prices}))}"
    return facts


def task_facts(task: Task, digest: str) -> dict[str, str]:
    """One task: version, conditions, constraints, services and budget."""
    required = sum(subgoal.required for subgoal in task.subgoal)
    hard = [constraint.id for constraint in task.constraint if constraint.kind == "hard"]
    soft = [constraint.id for constraint in task.constraint if constraint.kind == "soft"]
    budget = {name: value for name, value in msgspec.structs.asdict(task.budget).items() if value is not None}
    return {
        "task": task.id,
        "version": task.version,
        "digest": digest[:16],
        "goal versions": str(len(task.goal)),
        "subgoals": f"{len(task.subgoal)}, {required} required",
        "hard constraints": ", ".join(hard) or "none",
        "soft constraints": ", ".join(soft) or "none",
        "services": ", ".join(task.environment.services) or "none",
        "budget": ", ".join(f"{value} {name}" for name, value in budget.items()) or "not bounded",
    }


def sight(evidence: RunEvidence) -> dict[str, str]:
    """What could be watched and what could not, counted over all ended attempts."""
    attempts = evidence.attempts
    records = [attempt.record for attempt in attempts]
    audits = Counter(record.audit or "unknown" for record in records)
    actions = sum(record.actions or 0 for record in records)
    blind = sum(attempt.blind_actions for attempt in attempts)
    unwatched = sum(record.unknown_windows or 0 for record in records)
    judged = sum(attempt.verdicts.every_step for attempt in attempts)
    torn, strange = sum(a.torn > 0 for a in attempts), sum(a.unknown_lines for a in attempts)
    n = len(attempts)
    return {
        "Ended attempts": str(n),
        "Ran in a sandbox": counted_true([record.sandboxed for record in records]),
        "Agent confined to its own sandbox": counted_true([record.agent_confined for record in records]),
        "Reset proved by comparing fingerprints": f"{sum(a.reset_proved for a in attempts)} of {n}",
        "State tracked by events against a full scan": ", ".join(
            f"{k} in {v}" for k, v in sorted(audits.items())
        )
        or "unknown",
        "Reads of files": f"seen in {actions - blind} of {actions} actions",
        "Hard constraints that could not be watched": f"{counted(unwatched, 'window')} (step and constraint)",
        "Judged at every step": f"{judged} of {n}; the others at the end only",
        "Journals with a torn last line": f"{torn} of {n}",
        "Journal lines of a kind unknown to this release": str(strange),
    }


def counted_true(values: list[bool | None]) -> str:
    """How many of the values are true, with the unknown ones named."""
    unknown = values.count(None)
    return f"{values.count(True)} of {len(values)}" + (f", unknown in {unknown}" if unknown else "")


def flatten(value: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """A nested mapping as one of dotted names to text."""
    found: dict[str, str] = {}
    for key, inner in value.items():
        name = f"{prefix}{key}"
        found |= flatten(inner, f"{name}.") if isinstance(inner, Mapping) else {name: text_of(inner)}
    return found


def text_of(value: object) -> str:
    """A plain value as a reader expects it."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(text_of(item) for item in value) or "none"
    return str(value)
