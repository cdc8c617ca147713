"""``seatrial gate``: may this system be released? Judged on the ends of intervals, per stratum."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from seatrial.cli.compare.sides import choose_sides
from seatrial.cli.estimate.answer import plain
from seatrial.cli.estimate.named import arm_words, by_name, full_name, listed
from seatrial.cli.estimate.options import JSON_OPTION, Asked
from seatrial.cli.estimate.text import aligned, interval_words, number_words
from seatrial.cli.estimate.trials import (
    PART,
    SUCCESS,
    UNKNOWN_ALONE,
    Chosen,
    Measure,
    as_planned,
    by_task,
    by_themselves,
    cells_of,
    choose_of,
    find_measure,
    number_measure,
    read_trials,
    valid_by_task,
)
from seatrial.cli.gate.rules import (
    INVALID,
    MARGINS,
    PER_SUCCESS,
    QUANTILE,
    Regression,
    Rule,
    Rules,
    read_rules,
)
from seatrial.cli.visible import visible
from seatrial.errors import UsageError
from seatrial.estimate.estimate import Estimate
from seatrial.records.people import stands_apart
from seatrial.report.tables import HELP, RATES, Cell, cells
from seatrial.spec.faults import choose, ended, shown

if TYPE_CHECKING:
    from seatrial.estimate.gate import GateFinding, GateResult, GateRule
    from seatrial.estimate.regression import Side

FINDING_STATUS = 1
CHANGE = "change in "
Estimates = dict[str, dict[str, Estimate]]


def gate(
    rules: Annotated[
        Path, typer.Argument(metavar="RULES.toml", help="What must hold; docs/estimating.md has the keys.")
    ],
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN…", help="The run or table; a second one may hold the baseline."),
    ],
    allow_mixed: Annotated[
        bool, typer.Option("--allow-mixed", help="Go on where versions or protocols differ.")
    ] = False,
    json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Judge a system by declared rules: pass, fail, or insufficient evidence, with how much more would tell.

    A rule passes where its whole interval keeps the limit and fails where none of it does. Exits with 1
    unless every rule passes: evidence that is lacking passes nothing.
    """
    asked = read_rules(rules)
    try:
        result, limits, system = _judged(asked, runs, allow_mixed)
    except ValueError as fault:
        raise UsageError(f"{rules}: {fault}") from fault
    if json:
        typer.echo(msgspec.json.encode(_data(result, limits, system, asked)))
    else:
        for line in _text(result, limits, system):
            typer.echo(visible(line))
    if result.verdict != "pass":
        raise typer.Exit(FINDING_STATUS)


def _judged(asked: Rules, runs: list[Path], allow_mixed: bool) -> tuple["GateResult", list[str], str]:
    # Loaded here, since numpy slows every start.
    from seatrial.estimate.gate import GateResult
    from seatrial.estimate.gate import gate as judge

    options = replace(Asked(), level=asked.level, seed=asked.seed, allow_mixed=allow_mixed)
    findings: list[GateFinding] = []
    limits: list[str] = []
    system = asked.system or ""
    if asked.rule:
        chosen = _candidate(runs[0], asked.system, options)
        system = asked.system or chosen.cells[0].system
        said = find_measure(chosen, SUCCESS)[1]
        limits += [*chosen.limits, *said, *(f"mixed: {line}" for line in chosen.mixed)]
        findings += judge(_gate_rules(asked.rule), _estimates(asked.rule, chosen, options)).findings
    if asked.regression is not None:
        wanted, changes, said, system = _regression(asked, asked.regression, runs, options)
        limits += said
        findings += judge(
            [msgspec.structs.replace(rule, measure=CHANGE + rule.measure) for rule in wanted],
            {CHANGE + measure: by_stratum for measure, by_stratum in changes.items()},
        ).findings
    verdicts = [finding.verdict for finding in findings]
    whole = next((word for word in ("fail", "insufficient evidence") if word in verdicts), "pass")
    return GateResult(verdict=_verdict(whole), findings=findings), list(dict.fromkeys(limits)), system


def _verdict(word: str) -> Any:
    """One of the three words; typed so by ``estimate.gate``."""
    return word


def _candidate(run: Path, system: str | None, options: Asked) -> Chosen:
    loaded = read_trials(run)
    there = cells_of(loaded)
    named = by_name(there, [""] * len(there))
    arms: list[str] = []
    if system is not None:
        name = full_name(system, named, str(run))
        arms = arm_words(name, named)
        options = replace(options, system=[named[name].system], arm=[named[name].arm])
    chosen = choose_of(run, loaded, options)
    found = by_themselves(chosen).cells
    if len(found) == 1 and stands_apart(found[0].system):
        raise UsageError(f"{run}: {shown(found[0].system)} cannot be judged: {PART}")
    if len(found) != 1:
        raise UsageError(f"{run}: holds {listed(named)}. Name one as system in the rules.")
    said = [UNKNOWN_ALONE] if found[0].with_people else []
    return msgspec.structs.replace(
        chosen, cells=[as_planned(found[0])], limits=[*arms, *chosen.limits, *said]
    )


def _gate_rules(rules: list[Rule]) -> "list[GateRule]":
    # Loaded with the estimates, which most commands do without.
    from seatrial.estimate.gate import GateRule

    return [
        GateRule(measure=_key(rule), at_least=rule.at_least, at_most=rule.at_most, strata=tuple(rule.strata))
        for rule in rules
    ]


def _key(rule: Rule) -> str:
    """A rule's measure with its cap, since two rules may read one quantile at two caps."""
    return rule.measure if rule.cap is None else f"{rule.measure} capped at {rule.cap:g}"


def _estimates(rules: list[Rule], chosen: Chosen, options: Asked) -> Estimates:
    whole = chosen.cells[0]
    # Not by help: it came of how a trial went, so such a part of the trials may look as good as one likes.
    strata = {
        cell.stratum: cell for cell in cells(whole.records, whole.every) if not cell.stratum.startswith(HELP)
    }
    found: Estimates = {}
    for rule in rules:
        for stratum in rule.strata:
            if stratum not in strata:
                raise UsageError(
                    f"{chosen.source}: no stratum {shown(stratum)}. {ended(choose(stratum, strata, 'one'))}"
                )
            found.setdefault(_key(rule), {})[stratum] = _estimate(rule, chosen, strata[stratum], options)
    return found


def _estimate(rule: Rule, chosen: Chosen, cell: Cell, options: Asked) -> Estimate:
    """The estimate a rule is judged on, with the default interval of its kind."""
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.cost import cost_per_success
    from seatrial.estimate.endings import SUCCESS as SUCCEEDED
    from seatrial.estimate.endings import Ending
    from seatrial.estimate.means import mean_over_tasks
    from seatrial.estimate.rates import rate_over_tasks
    from seatrial.estimate.tail import tail_quantiles

    rng = np.random.default_rng(options.seed)
    success, _ = find_measure(chosen, SUCCESS)
    if rule.measure == INVALID:
        return rate_over_tasks(by_task(cell.records, lambda r: r.terminal_class == INVALID), options.level)
    if match := PER_SUCCESS.fullmatch(rule.measure):
        paid = number_measure(chosen, match["of"], "cost")
        costs, outcomes = by_task(cell.every, paid.read), valid_by_task(cell, success.read)
        return cost_per_success(costs, outcomes, rng, options.level).wider
    if match := QUANTILE.fullmatch(rule.measure):
        spent = number_measure(chosen, match["of"], "cost")
        ends: dict[str, list[Ending]] = {}
        if (lost := _lost_to_quantile(rule, spent, success, cell)) is not None:
            tasks = {record.task for record in cell.valid}
            return Estimate(value=None, level=options.level, method="none", unit="tasks",
                            n_tasks=len(tasks), n_trials=len(cell.valid), notes=[lost])  # fmt: skip
        for record in cell.valid:
            at = spent.read(record)
            assert at is not None
            solved = rule.cap is None or success.read(record)
            ends.setdefault(record.task, []).append(Ending(float(at), SUCCEEDED if solved else None))
        cap = np.inf if rule.cap is None else rule.cap
        return tail_quantiles(ends, cap, rng, (int(match["percent"]) / 100,), options.level)[0].estimate
    measure = find_measure(chosen, rule.measure)[0]
    values = valid_by_task(cell, measure.read)
    if measure.yes_no:
        return rate_over_tasks(values, options.level)
    if rule.at_most is not None and _all_zero_counts(values):
        return _share_with_any(values, measure.name, options.level)
    return mean_over_tasks(values, measure.counts, options.level, measure.limits)


def _lost_to_quantile(rule: Rule, spent: Measure, success: Measure, cell: Cell) -> str | None:
    """How many trials leave a quantile unknown and by what; null where none does."""
    without = sum(spent.read(record) is None for record in cell.valid)
    undecided = 0 if rule.cap is None else sum(success.read(record) is None for record in cell.valid)
    whole = len(cell.valid)
    told = [f"{spent.name} is unknown in {without} of {whole} valid trials"] if without else []
    told += [f"the outcome is unknown in {undecided} of {whole} valid trials"] if undecided else []
    return f"No quantile: {', and '.join(told)}." if told else None


def _all_zero_counts(values: dict[str, list[Any]]) -> bool:
    """Whether every trial counted, and counted none: a mean of such has no interval."""
    every = [value for trials in values.values() for value in trials]
    return bool(every) and all(isinstance(value, int) and value == 0 for value in every)


def _share_with_any(values: dict[str, list[Any]], name: str, level: float) -> Estimate:
    """The share of trials with any, which has an interval at 0 too, in place of the mean count."""
    # Loaded with the estimates, which most commands do without.
    from seatrial.estimate.rates import rate_over_tasks

    share = rate_over_tasks({task: [value > 0 for value in trials] for task, trials in values.items()}, level)
    note = (
        f"{name} is 0 in all {share.n_trials} trials, and such counts show no spread. The interval is that "
        "of the share of trials with any; where one trial has several their mean would be larger."
    )
    return msgspec.structs.replace(share, notes=[*share.notes, note])


def _regression(
    asked: Rules, wanted: Regression, runs: list[Path], options: Asked
) -> tuple["list[GateRule]", Estimates, list[str], str]:
    # Loaded here, since numpy slows every start.
    import numpy as np

    from seatrial.estimate.regression import Margins, regression_rules, regressions

    sides = choose_sides(runs, (asked.system, wanted.baseline), options, to_decide=True)
    success, said = find_measure(sides.chosen, SUCCESS)
    given = {name: getattr(wanted, name) for name in MARGINS}
    margins = Margins(**{name: 0.0 if margin is None else margin for name, margin in given.items()})
    rules = [
        rule for rule in regression_rules(margins, strata=wanted.strata) if given[rule.measure] is not None
    ]
    changes = regressions(
        _side(sides.chosen, sides.a, success, wanted),
        _side(sides.chosen, sides.b, success, wanted),
        np.random.default_rng(options.seed),
        strata={record.task: record.family or "family unknown" for record in sides.chosen.records},
        level=options.level,
    )
    told = [
        f"Changes are of {sides.a.system} against {sides.b.system}, on the same tasks.",
        *sides.chosen.limits, *said, *(f"mixed: {line}" for line in sides.chosen.mixed),
    ]  # fmt: skip
    return rules, changes, told, sides.a.system


def _side(chosen: Chosen, cell: Cell, success: Measure, wanted: Regression) -> "Side":
    # Loaded with the estimates, which most commands do without.
    from seatrial.estimate.regression import Side

    time, cost = find_measure(chosen, wanted.time)[0], find_measure(chosen, wanted.cost)[0]
    return Side(
        success=valid_by_task(cell, success.read),
        violations=valid_by_task(cell, RATES["any_hard_violation"]),
        seconds=valid_by_task(cell, time.read),
        costs=by_task(cell.every, cost.read),
    )


def _data(result: "GateResult", limits: list[str], system: str, asked: Rules) -> dict[str, Any]:
    return {
        "gate": result.verdict,
        "system": system,
        "level": asked.level,
        "findings": [plain(finding) for finding in result.findings],
        "limits": limits,
    }


def _text(result: "GateResult", limits: list[str], system: str) -> list[str]:
    rows = [["verdict", "measure", "stratum", "value", "interval", "limit", "tasks", "trials", "more trials"]]
    for found in result.findings:
        estimate, rule = found.estimate, found.rule
        limit = f"at least {rule.at_least:g}" if rule.at_least is not None else f"at most {rule.at_most:g}"
        more = "unknown" if found.more_trials is None else str(found.more_trials)
        numbers = ["unknown", "no interval", "0", "0"]
        if estimate is not None:
            numbers = [number_words(estimate.value), interval_words(estimate, ""), str(estimate.n_tasks),
                       str(estimate.n_trials)]  # fmt: skip
        rows.append([found.verdict, rule.measure, found.stratum, *numbers[:2], limit, *numbers[2:], more])
    methods = dict.fromkeys(
        f"method: {found.rule.measure}: {found.estimate.method}; sampling unit: {found.estimate.unit}"
        for found in result.findings
        if found.estimate is not None
    )
    notes = dict.fromkeys(
        f"note: {found.rule.measure}: {note}"
        for found in result.findings
        if found.estimate is not None
        for note in found.estimate.notes
    )
    return [
        f"{system}: {result.verdict}", "", *aligned(rows), "", *(found.reason for found in result.findings),
        *methods, *notes, *(f"limit: {line}" for line in limits),
    ]  # fmt: skip
