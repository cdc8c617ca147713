"""Progress curves as SVG: a step line from 0 to 1, marked where it falls and where a rule was broken."""

from functools import lru_cache
from itertools import pairwise
from typing import Any

from seatrial.evidence.read import AttemptEvidence
from seatrial.report.wording import course

# A family every SVG viewer has; nothing is downloaded.
FONT = "DejaVu Sans, Verdana, sans-serif"
INK, RULE, LINE = "#4a5560", "#d5dade", "#1f6fb2"
MARKS = {
    "progress fell": ("triangle-down", "#c2571a"),
    "hard violation": ("cross", "#d23f31"),
    "soft violation": ("diamond", "#8d5fb0"),
    "not watched": ("square", "#7d8792"),
}
WIDTH, HEIGHT = 620, 150


def progress_svg(attempt: AttemptEvidence) -> str:
    """The progress curve of one attempt; empty when nothing was judged."""
    if not attempt.progress:
        return ""
    # Takes longer to load than most commands take to run.
    import vl_convert

    last = max(attempt.record.actions or 0, attempt.progress[-1][0])
    points = [{"step": step, "progress": value} for step, value in attempt.progress]
    points.append({"step": last, "progress": attempt.progress[-1][1]})
    marks = marked_points(attempt)
    names = tuple(name for name in MARKS if any(mark["what"] == name for mark in marks))
    chart = {
        **chart_without_data(last, attempt.verdicts.every_step, names),
        "datasets": {"points": points, "marks": marks},
        "description": described(attempt),
    }
    svg: str = vl_convert.vegalite_to_svg(chart)
    return svg


@lru_cache(maxsize=512)
def chart_without_data(last: int, stepwise: bool, names: tuple[str, ...]) -> dict[str, Any]:
    """The chart as data, to be given its points and marks: checking it costs more than drawing it.

    Args:
        last: step at the right end.
        stepwise: a line through every step; otherwise one point.
        names: kinds of marks in the legend, keys of ``MARKS``.
    """
    # Takes longer to load than most commands take to run.
    import altair

    x = altair.X(
        "step:Q",
        title="step (gateway request)",
        scale=altair.Scale(domain=[0, max(last, 1)], nice=False),
        axis=altair.Axis(format="d", tickMinStep=1, tickCount=min(last + 1, 12), grid=False),
    )
    y = altair.Y(
        "progress:Q",
        title="verified progress",
        scale=altair.Scale(domain=[0, 1]),
        axis=altair.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2~f"),
    )
    line = altair.Chart(altair.NamedData("points")).encode(x=x, y=y)
    drawn = [line.mark_line(interpolate="step-after", color=LINE, strokeWidth=2.5) if stepwise else
             line.mark_point(color=LINE, filled=True, size=90)]  # fmt: skip
    if names:
        shapes, colours = zip(*(MARKS[name] for name in names), strict=True)
        legend = altair.Legend(title=None, orient="top", direction="horizontal")
        look: dict[str, Any] = {"legend": legend, "sort": list(names)}
        encoded = altair.Chart(altair.NamedData("marks")).encode(
            x=x,
            y=y,
            shape=altair.Shape("what:N", scale=altair.Scale(domain=names, range=list(shapes)), **look),
            color=altair.Color("what:N", scale=altair.Scale(domain=names, range=list(colours)), **look),
        )
        drawn.append(encoded.mark_point(filled=True, size=110, opacity=1))
    chart = altair.layer(*drawn).properties(width=WIDTH, height=HEIGHT, background="white")
    chart = chart.configure(font=FONT, aria=False).configure_view(stroke=None).configure_axis(
        labelColor=INK, titleColor=INK, gridColor=RULE, domainColor=INK, tickColor=INK,
        labelFontSize=12, titleFontSize=12, titleFontWeight="normal",
    ).configure_legend(labelColor=INK, labelFontSize=12, symbolSize=90)  # fmt: skip
    spec: dict[str, Any] = chart.to_dict()
    return spec


def marked_points(attempt: AttemptEvidence) -> list[dict[str, Any]]:
    """Where progress fell, and where a constraint was broken or could not be watched."""
    pairs = pairwise(attempt.progress)
    marks = [mark(after[0], after[1], "progress fell") for before, after in pairs if after[1] < before[1]]
    for event in attempt.violations:
        what = "not watched" if not event.certain else ("hard violation" if event.hard else "soft violation")
        marks.append(mark(event.step, value_at(attempt, event.step), what))
    return marks


def mark(step: int, value: float, what: str) -> dict[str, Any]:
    """One point of the marks layer."""
    return {"step": step, "progress": value, "what": what}


def value_at(attempt: AttemptEvidence, step: int) -> float:
    """Progress after a step, in [0, 1]."""
    earlier = [value for at, value in attempt.progress if at <= step]
    return earlier[-1] if earlier else attempt.progress[0][1]


def described(attempt: AttemptEvidence) -> str:
    """The curve in words, for those who do not see it."""
    broken = sum(event.certain for event in attempt.violations)
    name = f"Verified progress of trial {attempt.planned.trial}, attempt {attempt.record.attempt}"
    return f"{name}: {course(attempt.progress)}." + (f" {broken} certain violations." if broken else "")
