"""Drawings of estimates: intervals, curves with bands, or points on two axes, as SVG or one HTML file."""

import json
import math
from pathlib import Path
from typing import Any, Literal

import msgspec

from seatrial.errors import UsageError
from seatrial.journal.run import write_whole
from seatrial.report.figures import FONT, INK, RULE, WIDTH

Look = Literal["intervals", "steps", "lines", "points", "pairs"]
ROW_HEIGHT, CURVE_HEIGHT = 26, 360
# More bands than this hide each other and the lines.
MOST_BANDS = 4
# Characters that can end a script within HTML, or a line within JavaScript.
UNSAFE = "<>&\u2028\u2029"


class Drawing(msgspec.Struct, frozen=True, kw_only=True):
    """What is drawn.

    Attributes:
        look: "intervals" puts ``y`` names beside x with low to high; "steps" and "lines" draw y over x, a
            line for each series, with a band from low to high unless there are more than four; "points" sets
            series by x and y; "pairs" sets ``count`` tasks at each x and y, about the diagonal.
        rows: ``series``, ``x``, ``y``, ``low``, ``high``; nulls are not drawn.
        x, y: titles of the axes.
        log_x: whether x is drawn on a logarithmic scale; rows at or below 0 are then not drawn.
    """

    look: Look
    rows: list[dict[str, Any]]
    x: str
    y: str
    log_x: bool = False


def draw(path: Path, drawing: Drawing, title: str) -> None:
    """Write the drawing.

    Raises:
        UsageError: there is nothing to draw.
        OSError: the file cannot be written; nothing is left of it.
    """
    rows = [clean for row in drawing.rows if (clean := _drawable(row, drawing)) is not None]
    if not rows:
        raise UsageError(f"--plot {path}: every value is unknown, so there is nothing to draw.")
    spec = chart(msgspec.structs.replace(drawing, rows=rows), title)
    # Takes longer to load than most commands take to run.
    import vl_convert

    made: str = vl_convert.vegalite_to_svg(spec) if path.suffix == ".svg" else _page(spec)
    write_whole(path, made.encode(), sync=False)


def _page(spec: dict[str, Any]) -> str:
    """One HTML file; no name in the chart can end the script that holds it, or begin another.

    The library writes the chart's text into a script as it is, so each character that means something to
    HTML goes through it as letters that occur nowhere in the chart, and comes out as its JavaScript escape.
    """
    # Takes longer to load than most commands take to run.
    import vl_convert

    text = json.dumps(spec, ensure_ascii=False)
    mark = "seatrialEscape"
    while mark in text:
        mark += "x"
    for character in UNSAFE:
        text = text.replace(character, f"{mark}{ord(character):04x}")
    page: str = vl_convert.vegalite_to_html(json.loads(text), bundle=True)
    return page.replace(mark, "\\u")


def _drawable(row: dict[str, Any], drawing: Drawing) -> dict[str, Any] | None:
    """The row with unbounded and unknown ends left off; null where the point itself is."""
    clean: dict[str, Any] = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }
    if clean["x"] is None or clean["y"] is None:
        return None
    if drawing.log_x:
        # The ends lie on x for intervals, on y for curves.
        ends = ("low", "high") if drawing.look == "intervals" else ()
        clean |= {name: None for name in ends if (clean.get(name) or 0) <= 0}
        if float(clean["x"]) <= 0:
            return None
    return clean


def chart(drawing: Drawing, title: str) -> dict[str, Any]:
    """The drawing as a Vega-Lite chart."""
    # Takes longer to load than most commands take to run.
    import altair

    ways = {"intervals": _intervals, "pairs": _pairs}
    made = ways.get(drawing.look, _over_x)(drawing)
    names = {row["y"] for row in drawing.rows} if drawing.look == "intervals" else set()
    height = max(2, len(names)) * ROW_HEIGHT if names else CURVE_HEIGHT
    whole = made.properties(
        width=WIDTH, height=height, background="white", title=altair.TitleParams(title, fontSize=13)
    )
    whole = whole.configure(font=FONT).configure_view(stroke=None).configure_axis(
        labelColor=INK, titleColor=INK, gridColor=RULE, domainColor=INK, tickColor=INK, labelLimit=320,
        titleFontWeight="normal",
    ).configure_legend(labelColor=INK, labelLimit=320, title=None)  # fmt: skip
    spec: dict[str, Any] = whole.to_dict()
    return spec


def _x(drawing: Drawing) -> Any:
    # Takes longer to load than most commands take to run.
    import altair

    scale = altair.Scale(type="log") if drawing.log_x else altair.Scale(zero=False)
    return altair.X("x:Q", title=drawing.x, scale=scale)


def _intervals(drawing: Drawing) -> Any:
    # Takes longer to load than most commands take to run.
    import altair

    names = list(dict.fromkeys(row["y"] for row in drawing.rows))
    y = altair.Y("y:N", title=drawing.y or None, sort=names)
    colour = altair.Color("series:N", legend=None)
    base = altair.Chart(altair.InlineData(values=drawing.rows))
    bars = (
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_rule(strokeWidth=2)
        .encode(x=altair.X("low:Q", title=drawing.x), x2="high:Q", y=y, color=colour)
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(x=_x(drawing), y=y, color=colour)
    return altair.layer(bars, points)


def _pairs(drawing: Drawing) -> Any:
    """Places of equal size on both axes; tasks on the diagonal are ties, and the same place holds several."""
    # Takes longer to load than most commands take to run.
    import altair

    values = [float(row[axis]) for row in drawing.rows for axis in ("x", "y")]
    ends = [min(values), max(values)] if min(values) < max(values) else [min(values) - 1, max(values) + 1]
    scale = altair.Scale(domain=ends, nice=False, padding=12)
    x = altair.X("x:Q", title=drawing.x, scale=scale)
    y = altair.Y("y:Q", title=drawing.y, scale=scale)
    same = altair.Chart(altair.InlineData(values=[{"x": end, "y": end} for end in ends]))
    diagonal = same.mark_line(color=RULE, strokeDash=[4, 4]).encode(x=x, y=y)
    base = altair.Chart(altair.InlineData(values=drawing.rows))
    points = base.mark_point(filled=True, opacity=0.7).encode(
        x=x, y=y, color=altair.Color("series:N", title=None), shape=altair.Shape("series:N", title=None),
        size=altair.Size("count:Q", title="tasks", scale=altair.Scale(range=[60, 500]), legend=None),
        tooltip=[altair.Tooltip("label:N", title="tasks"), altair.Tooltip("count:Q", title="how many")],
    )  # fmt: skip
    several = base.transform_filter("datum.count > 1")
    counts = several.mark_text(fontSize=10, dx=12, dy=-8, color=INK).encode(x=x, y=y, text="count:Q")
    return altair.layer(diagonal, points, counts)


def _over_x(drawing: Drawing) -> Any:
    # Takes longer to load than most commands take to run.
    import altair

    base = altair.Chart(altair.InlineData(values=drawing.rows))
    colour = altair.Color("series:N", title=None)
    y = altair.Y("y:Q", title=drawing.y)
    bounded = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    ends: dict[str, Any] = {"y": altair.Y("low:Q", title=drawing.y), "y2": "high:Q"}
    if drawing.look == "points":
        bars = bounded.mark_rule(opacity=0.6).encode(x=_x(drawing), color=colour, **ends)
        points = base.mark_point(filled=True, size=90, opacity=1).encode(x=_x(drawing), y=y, color=colour)
        return altair.layer(bars, points)
    shape: Literal["step-after", "linear"] = "step-after" if drawing.look == "steps" else "linear"
    band = bounded.mark_area(opacity=0.15, interpolate=shape).encode(x=_x(drawing), color=colour, **ends)
    line = base.mark_line(interpolate=shape, point=drawing.look == "lines")
    drawn = line.encode(x=_x(drawing), y=y, color=colour)
    few = len({row["series"] for row in drawing.rows}) <= MOST_BANDS
    return altair.layer(band, drawn) if few else altair.layer(drawn)
