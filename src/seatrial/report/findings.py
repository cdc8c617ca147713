"""What the numbers allow to be said, and the limits that stand beside it, in words (G3)."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

from seatrial.estimate.estimate import Estimate
from seatrial.evidence.read import AttemptEvidence, RunEvidence
from seatrial.records.people import stands_apart
from seatrial.report.comparisons import TOLD_APART, UNDECIDED, Comparison
from seatrial.report.people import people_limits
from seatrial.report.process import process_sentences
from seatrial.report.tables import WHOLE, Cell, Row
from seatrial.report.wording import counted, difference, each, spoken, untested


def conclusions(
    rows: Iterable[Row], comparisons: Sequence[Comparison] = (), process: Sequence[Comparison] = ()
) -> list[str]:
    """What systems reached in each arm, then which of them may be told apart, and how they worked.

    Arms and systems of which the same is to be said share a sentence.

    Args:
        rows: the main table.
        comparisons: of outcome.
        process: of process measures, at fixed quality.
    """
    table = {(r.system, r.arm, r.measure): r for r in rows if r.stratum == WHOLE}
    safe = [row for row in table.values() if row.measure == "safe_success"]
    reached: dict[tuple[str, str], list[str]] = {}
    for r in safe:
        words = outcome_words(table[(r.system, r.arm, "strict_success")], r)
        reached.setdefault((r.arm, words), []).append(r.system)
    sentences = [f"{spoken(names)} ({arm}){each(names)}: {words}" for (arm, words), names in reached.items()]
    undeclared: dict[int, list[str]] = {}
    own = [row for row in safe if not stands_apart(row.system)]
    for arm in dict.fromkeys(row.arm for row in own):
        here = [row for row in own if row.arm == arm]
        compared = [comparison for comparison in comparisons if comparison.arm == arm]
        if max(row.estimate.n_tasks for row in here) <= 1:
            sentences += pair_sentences(here, arm, {frozenset((c.a, c.b)) for c in compared})
        elif not compared and len(here) > 1:
            undeclared.setdefault(len(here), []).append(arm)
        sentences += [comparison_sentence(c, comparisons) for c in compared if not c.one_task]
    if lone := [c.arm for c in comparisons if c.one_task]:
        sentences.append(untested(lone))
    sentences += [
        f"Not compared ({', '.join(arms)}): the experiment declares no comparison, and among "
        f"{systems} systems chance alone would find one. Declare primary.compare."
        for systems, arms in undeclared.items()
    ]
    return sentences + process_sentences(process)


def comparison_sentence(comparison: Comparison, among: Sequence[Comparison]) -> str:
    """What one paired comparison allows to be said, with what it rests on.

    Args:
        comparison: to be worded.
        among: all comparisons of the report, which share the adjustment.
    """
    role = "Primary" if comparison.role == "primary" else "Exploratory, not preregistered"
    a, b, estimate = comparison.a, comparison.b, comparison.estimate
    ends = (a, b) if comparison.verdict != "B higher" else (b, a)
    said = f"{a} and {b} {UNDECIDED}"
    if comparison.verdict != UNDECIDED:
        said = f"{a} and {b} {TOLD_APART}, {ends[0]} is higher than {ends[1]}"
    where = comparison.arm if comparison.stratum == WHOLE else f"{comparison.arm}, {comparison.stratum}"
    sentence = f"{role}, {comparison.measure.replace('_', ' ')} ({where}): {said}. "
    if comparison.p is None or comparison.p_adjusted is None:
        return sentence + " ".join(estimate.notes)
    # That all tasks are of one family stands among the limits already.
    notes = "".join(
        f" {note}" for note in estimate.notes if not note.startswith("All tasks are of one family")
    )
    beside = sum(other.role == comparison.role and other.p is not None for other in among)
    more = f", {comparison.p_adjusted:.2g} adjusted for {beside} such comparisons" if beside > 1 else ""
    return sentence + (
        f"{a} minus {b}: {difference(estimate)}, mean over {counted(estimate.n_tasks, 'task')}; "
        f"p = {comparison.p:.2g}{more} ({comparison.test}); {a} is higher on {comparison.wins}, lower on "
        f"{comparison.losses} and the same on {comparison.ties}.{notes}"
    )


def outcome_words(strict: Row, safe: Row) -> str:
    """What one system reached, as counts."""
    counts = safe.denominators
    if not counts.valid:
        return f"nothing can be said, none of {counts.trials} trials is valid."
    sentence = (
        f"of {counted(counts.valid, 'valid trial')}, {strict.denominators.events} met all required "
        f"conditions and {counts.events} did so without breaking a hard constraint"
    )
    return sentence + (f"; unknown in {counts.unknown}." if counts.unknown else ".")


def pair_sentences(rows: Sequence[Row], arm: str, paired: Collection[frozenset[str]] = ()) -> list[str]:
    """Which systems of one arm, on one task, have intervals of safe success that do not overlap.

    Args:
        rows: safe success of each system.
        arm: theirs.
        paired: pairs that a paired comparison speaks of; that their intervals overlap decides nothing.
    """
    sentences, alike = [], []
    for first, second in combinations(rows, 2):
        if separate(first.estimate, second.estimate):
            sentences.append(
                f"{first.system} and {second.system} ({arm}) differ in safe success on this one task: their "
                "95 % intervals do not overlap."
            )
        elif frozenset((first.system, second.system)) not in paired:
            alike.append(f"{first.system} and {second.system}")
    if alike:
        judged = all(row.estimate.low is not None for row in rows)
        reason = (
            "their 95 % intervals overlap" if judged else "one has no valid trial or their intervals overlap"
        )
        sentences.append(
            f"Cannot be told apart yet on safe success ({arm}), since {reason}: {'; '.join(alike)}."
        )
    return sentences


def separate(first: Estimate, second: Estimate) -> bool:
    """Whether both have an interval and the two do not overlap."""
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return False
    return first.high < second.low or second.high < first.low


def limits(
    evidence: RunEvidence, rows: Iterable[Row], repeats: Iterable[str] = (), groups: Iterable[Cell] = ()
) -> list[str]:
    """Everything that narrows what the tables mean, as whole sentences.

    Args:
        evidence: the runs of the report as one.
        rows: the main table.
        repeats: on systems whose repeats add no information.
        groups: the cells of the main table.
    """
    found = [*sampling_limits(evidence), *repeats, *people_limits(groups)]
    found += ceiling_limits(row for row in rows if row.stratum == WHOLE)
    found += condition_limits(evidence, evidence.attempts)
    found += verdict_limits(evidence.counted)
    found += [
        "Numbers of actions, seconds and units describe a trial; they are no measure of a task's difficulty "
        "and are compared only between systems on the same tasks at the same quality.",
        "There is no composite score. Success, lawfulness, process and cost are separate answers.",
    ]
    return found


def sampling_limits(evidence: RunEvidence) -> list[str]:
    """What the number of tasks and trials allows."""
    found = []
    if len(evidence.tasks) == 1:
        found.append(
            "All trials are of one task. Intervals describe repeated trials of this task only and say "
            "nothing about other tasks."
        )
    else:
        found.append(
            f"The {len(evidence.tasks)} tasks are the sampling unit: intervals speak of other tasks drawn as "
            "these were. Overlap of two systems' intervals decides nothing; paired comparisons do."
        )
    families = {task.family for task in evidence.tasks.values()}
    if len(evidence.tasks) > 1 and len(families) == 1:
        found.append(
            f"All tasks are of one family ({families.pop()}): instances of one generator estimate that "
            "generator only."
        )
    if max(cell_sizes(evidence.counted), default=0) == 1:
        found.append("Each system ran once per task: how much results vary between runs is unknown.")
    return found


def cell_sizes(attempts: Iterable[AttemptEvidence]) -> list[int]:
    """Trials per system, arm and task."""
    keys = [(a.planned.system, a.planned.arm, a.planned.task) for a in attempts]
    return list(Counter(keys).values())


def ceiling_limits(rows: Iterable[Row]) -> list[str]:
    """Where a rate is at its end and so cannot separate systems (F24)."""
    strict = [row for row in rows if row.measure == "strict_success" and row.estimate.value is not None]
    if strict and all(row.estimate.value == 1 for row in strict):
        return ["Every valid trial succeeded: these tasks cannot show which system is better."]
    if strict and all(row.estimate.value == 0 for row in strict):
        return ["No valid trial succeeded: these tasks cannot show which system is better by success."]
    return []


def condition_limits(evidence: RunEvidence, attempts: list[AttemptEvidence]) -> list[str]:
    """Conditions under which the trials ran that weaken what they show."""
    records = [attempt.record for attempt in attempts]
    privileged = [name for name, config in evidence.manifest.systems.items() if config.get("privileged")]
    infrastructure = sum(a.record.terminal_class == "infrastructure" for a in evidence.counted)
    lost = sum(a.record.terminal_class == "infrastructure" and not a.counted for a in attempts)
    windows = sum((record.unknown_windows or 0) > 0 for record in records)
    cases = [
        (sum(r.sandboxed is False for r in records), "attempt", "ran without a sandbox: nothing kept the "
         "agent from the host, from the verifiers or from the answers."),
        (sum(r.agent_confined is False for r in records), "attempt", "ran with an agent not confined to a "
         "sandbox of its own."),
        (sum(not a.reset_proved for a in attempts), "attempt", "began in a state not proved equal to "
         "the base."),
        (sum(r.audit == "different" for r in records), "attempt", "ended with a tracked state that differs "
         "from a full scan: its verdicts decide nothing and its success is unknown."),
        (windows, "attempt", "had a hard constraint that could not be watched all the time. Safe success is "
         "then unknown unless something else decides it."),
        (sum(r.contaminated is True for r in records), "attempt", "flagged for contamination."),
        (sum(r.frozen_verifiers is False for r in records), "attempt", "judged by other verifiers than the "
         "frozen ones: the outcome is theirs, not this experiment's (`seatrial verify` restores them)."),
        (infrastructure, "trial", "without a valid attempt, hence in no rate. If harder tasks fail this way "
         "more often, the rates are too high."),
        (lost, "attempt", "ended for reasons of infrastructure, and the trial was repeated."),
        (sum(r.censored is True for r in records), "attempt", "stopped by a budget, and judged by the final "
         "state; with more budget the outcome might have been another."),
    ]  # fmt: skip
    found = [f"{counted(count, noun)} {text}" for count, noun, text in cases if count]
    if privileged:
        found.append(
            f"Told more than deployment would show, so no evidence of ability: {', '.join(privileged)}."
        )
    return found


def verdict_limits(attempts: Sequence[AttemptEvidence]) -> list[str]:
    """What is known to be wrong with the verdicts."""
    flaky = Counter((a.planned.task, name) for a in attempts for name in a.record.flaky_verifiers or [])
    triggered = sorted({name for a in attempts for name in a.record.product_triggered_errors or []})
    torn_apart = sorted({text for a in attempts for text in a.record.contradictions or []})
    final_only = sum(not a.verdicts.every_step for a in attempts)
    found = []
    if flaky:
        named = [
            f"{name} of {task} in {counted(count, 'trial')}" for (task, name), count in sorted(flaky.items())
        ]
        found.append(f"Flaky verifiers, which disagree with themselves on one state: {'; '.join(named)}. "
                     "Their verdicts count as unknown; calibrate the tasks again.")  # fmt: skip
    if triggered:
        found.append(
            f"Verifiers that err because of the product, taken as not passed: {', '.join(triggered)}."
        )
    if torn_apart:
        found.append(f"Parallel verifiers contradict each other: {'; '.join(torn_apart)}.")
    if final_only:
        found.append(f"{counted(final_only, 'trial')} judged at the final state only: the course is unknown.")
    return found
