"""The page: one HTML file that holds everything it shows and asks the network for nothing."""

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

from seatrial.evidence.read import AttemptEvidence, RunEvidence
from seatrial.report import wording
from seatrial.report.cases import RULE, picked
from seatrial.report.comparisons import Comparison
from seatrial.report.disturbance_story import disturbance_story
from seatrial.report.encounters import EncounterLine
from seatrial.report.forks import Forks
from seatrial.report.headline import Headline
from seatrial.report.intervals import Intervals
from seatrial.report.protocol import Protocol, systems_shown
from seatrial.report.reliability import AttemptLine, CallLine
from seatrial.report.tables import HELP, WHOLE, Cell, Row, currency_of
from seatrial.report.variants import VariantLine
from seatrial.report.verdict_notes import note_lines, verdict_notes

if TYPE_CHECKING:
    from seatrial.report.disturbance_section import DisturbanceSection

BY_HELP = (
    " Help: the most that a person gave in a trial. Trials came by it through what happened in them, so "
    "these parts are not to be compared with each other."
)
APPENDIX = [
    "trial", "attempt", "task", "system", "arm", "seed", "terminal_class", "stop_reason", "censored",
    "strict_success", "safe_success", "partial_progress", "max_progress", "progress_slope",
    "regression_depth", "regression_area", "repeat_completions", "drift_actions", "broken_after_full",
    "premature_finish", "blocking_subgoal", "hard_violations", "unknown_windows", "soft_cost", "actions",
    "failed_actions", "partial_actions", "denied_actions", "unknown_actions", "malformed_actions",
    "semantic_units", "output_tokens", "money", "currency", "dependency_depth", "verification_delay",
    "human_minutes", "horizon_group", "idle_actions", "wasted_unread", "wasted_undone", "model_retries",
    "model_failures",
]  # fmt: skip


class PageContent(msgspec.Struct, frozen=True, kw_only=True):
    """All that the template reads.

    Attributes:
        comparisons: of outcome; those of process measures stand apart.
        figures: SVG text by (trial, attempt) of those shown; empty text where nothing was judged.
    """

    protocol: Protocol
    groups: list[Cell]
    rows: list[Row]
    headline: Headline
    comparisons: list[Comparison]
    process: list[Comparison]
    attempts: list[AttemptLine]
    calls: list[CallLine]
    encounters: list[EncounterLine]
    intervals: list[Intervals]
    variants: list[VariantLine]
    section: "DisturbanceSection"
    conclusions: list[str]
    limits: list[str]
    runs: list[RunEvidence]
    figures: dict[tuple[str, int], str]
    forks: Forks = Forks()


def render(content: PageContent) -> str:
    """The whole page."""
    # Needed by this one command only, so that the others start faster.
    import jinja2

    folder = files("seatrial.report") / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    table = {(r.system, r.arm, r.stratum, r.measure): r for r in content.rows}
    attempts = [attempt for run in content.runs for attempt in run.attempts]
    return environment.get_template("report.html.j2").render(
        content=content,
        style=(folder / "report.css").read_text(encoding="utf-8"),
        words=wording,
        whole=[cell for cell in content.groups if cell.stratum == WHOLE],
        headline_whole=[row for row in content.headline.rows if row.stratum == WHOLE],
        headline_strata=[row for row in content.headline.rows if row.stratum != WHOLE],
        by_help=BY_HELP if any(row.stratum.startswith(HELP) for row in content.headline.rows) else "",
        caveats=dict.fromkeys(text for row in content.headline.rows for text in row.caveats),
        systems=systems_shown(content.protocol.systems),
        model_lines=any(line.model_calls is not None for line in content.calls),
        row=lambda cell, measure: table[(cell.system, cell.arm, cell.stratum, measure)],
        money=f"money, {currency}" if (currency := currency_of(a.record for a in attempts)) else "money",
        attempts=attempts,
        counted=[a for a in attempts if a.counted and (a.planned.trial, a.record.attempt) in content.figures],
        trials=sum(attempt.counted for attempt in attempts),
        picked=picked(attempt for attempt in attempts if attempt.counted),
        rule=RULE,
        subgoals=subgoal_rows,
        story=disturbance_story,
        notes=lambda attempt: [(note.subgoal, note_lines(note)) for note in verdict_notes(attempt)],
        appendix=APPENDIX,
        inline=inline_svg,
    )


def subgoal_rows(attempt: AttemptEvidence) -> Sequence[tuple[str, str, str]]:
    """Subgoal, its fresh final verdicts, and the course of its verdicts with their steps."""
    verdicts = attempt.verdicts
    names = dict.fromkeys([*verdicts.final, *(row.subgoal for row in verdicts.rows)])
    found = []
    for name in names:
        course: list[str] = []
        latest = None
        for row in sorted(verdicts.rows, key=lambda row: row.step):
            if row.subgoal == name and row.verdict != latest:
                course.append(f"{row.verdict} from {row.step}")
                latest = row.verdict
        found.append((name, ", ".join(verdicts.final.get(name, [])) or "unknown", ", ".join(course)))
    return found


def inline_svg(svg: str, prefix: str) -> str:
    """SVG to stand inside the page: ids made unique, since one page holds many figures."""
    body = svg[svg.index("<svg") :]
    unique = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', body)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", unique)
