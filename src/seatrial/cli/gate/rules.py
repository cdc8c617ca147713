"""``RULES.toml`` (``seatrial/gate@1``): what a release must keep, on which strata, against which baseline."""

import math
import re
from pathlib import Path

import msgspec

from seatrial.cli.estimate.trials import SHARES, limits_of_measure
from seatrial.spec.faults import Source, shown
from seatrial.spec.reading import check_schema, convert, read_toml
from seatrial.spec.task import Strict

SCHEMA = "seatrial/gate@1"
WHOLE = "all"
QUANTILE = re.compile(r"(?P<of>\w+)_p(?P<percent>50|90|95|99)")
PER_SUCCESS = re.compile(r"(?P<of>\w+)_per_success")
# Share of all trials without a valid attempt: the one measure that is no column of the records.
INVALID = "infrastructure"


class Rule(Strict, frozen=True, kw_only=True):
    """One requirement; see ``docs/estimating.md``."""

    measure: str
    at_least: float | None = None
    at_most: float | None = None
    strata: list[str] = msgspec.field(default_factory=lambda: [WHOLE])
    cap: float | None = None


class Regression(Strict, frozen=True, kw_only=True):
    """How much worse than the baseline the system may be; what is left out is not judged."""

    baseline: str | None = None
    success: float | None = None
    violations: float | None = None
    p95: float | None = None
    unit_cost: float | None = None
    time: str = "elapsed_seconds"
    cost: str = "money"
    strata: list[str] = msgspec.field(default_factory=lambda: [WHOLE])


class Rules(Strict, frozen=True, kw_only=True):
    """The whole file."""

    schema: str
    system: str | None = None
    level: float = 0.95
    seed: int = 0
    rule: list[Rule] = []
    regression: Regression | None = None


RATE_MARGINS = ("success", "violations")
MARGINS = ("success", "violations", "p95", "unit_cost")


def read_rules(path: Path) -> Rules:
    """Read and check a rules file.

    Raises:
        SpecError: it cannot be read, or a value is out of range; names the key.
    """
    source = Source(str(path))
    plain = read_toml(path)
    check_schema(source, plain, SCHEMA)
    rules = convert(source, plain, Rules)
    if not 0 < rules.level < 1:
        raise source.fault("level", f"{rules.level} is no confidence level", "Write one between 0 and 1")
    if rules.seed < 0:
        raise source.fault("seed", f"{rules.seed} is negative", "Write 0 or more")
    if not rules.rule and rules.regression is None:
        raise source.fault(
            "rule", "there is no rule", "Add a [[rule]] or a [regression]: nothing would pass all"
        )
    for number, rule in enumerate(rules.rule):
        _check_rule(source.within(f"rule[{number}]"), rule)
    if rules.regression is not None:
        _check_regression(source.within("regression"), rules.regression)
    return rules


def _check_rule(source: Source, rule: Rule) -> None:
    limits = [limit for limit in (rule.at_least, rule.at_most) if limit is not None]
    if len(limits) != 1:
        raise source.fault("", f"{shown(rule.measure)} has {len(limits)} limits", "Give at_least or at_most")
    if not math.isfinite(limits[0]):
        raise source.fault("", f"the limit {limits[0]} is not finite", "Write a finite number")
    low, high = _limits(rule.measure)
    if not low <= limits[0] <= high:
        key = "at_most" if rule.at_least is None else "at_least"
        raise source.fault(
            key, f"{shown(rule.measure)} is never {limits[0]:g}", _within(limits[0], low, high)
        )
    if not rule.strata:
        raise source.fault("strata", "there is none", f"Write {shown([WHOLE])} for all tasks")
    if rule.cap is not None and (rule.cap <= 0 or not QUANTILE.fullmatch(rule.measure)):
        raise source.fault(
            "cap", f"{rule.cap} has no use here", "Give one above 0, and only to quantiles (…_p95)"
        )


def _limits(measure: str) -> tuple[float, float]:
    """Least and greatest value that a rule's measure can have."""
    if measure == INVALID:
        return SHARES
    spent = QUANTILE.fullmatch(measure) or PER_SUCCESS.fullmatch(measure)
    return (limits_of_measure(spent["of"])[0], math.inf) if spent else limits_of_measure(measure)


def _within(written: float, low: float, high: float) -> str:
    """What to write in place of a limit that no value can have."""
    if high == 1 < written <= 100:
        return f"Write a share in [0, 1], such as {written / 100:g} for {written:g} %"
    return f"Write a number of at least {low:g}" + ("" if high == math.inf else f" and at most {high:g}")


def _check_regression(source: Source, regression: Regression) -> None:
    given = {name: getattr(regression, name) for name in MARGINS}
    if all(margin is None for margin in given.values()):
        raise source.fault("", "no margin is given", f"Give at least one of {', '.join(MARGINS)}")
    for name, margin in given.items():
        if margin is not None and margin < 0:
            raise source.fault(name, f"{margin} is negative", "Write how much worse is allowed, 0 or more")
        if margin is not None and name in RATE_MARGINS and margin > 1:
            raise source.fault(name, f"a rate never changes by {margin:g}", _within(margin, 0.0, 1.0))
    if not regression.strata:
        raise source.fault("strata", "there is none", f"Write {shown([WHOLE])} for all tasks")
