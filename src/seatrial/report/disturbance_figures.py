"""Figures of disturbances as SVG: before and after, latency curves, where chains broke."""

from collections.abc import Iterable, Sequence
from typing import Any

from seatrial.report.disturbances import DisturbedArm
from seatrial.report.figures import FONT, INK, RULE

# More lines than these cannot be told apart; the tables hold all.
MOST_ARMS, MOST_CURVES = 24, 8
SIDES = {"baseline": "#1f6fb2", "disturbed": "#c2571a"}
LINKS = {
    "visible": "#7d8792", "observed": "#d23f31", "understood": "#e08a3c", "repaired": "#d9b72b",
    "finished": "#8d5fb0", "none": "#3d8f5f", "unknown": "#c9ced4",
}  # fmt: skip
WIDTH, LINE, SIDE = 520, 26, 17
ROWS = "rows"


def disturbance_figures(arms: Sequence[DisturbedArm]) -> dict[str, str]:
    """SVG text by name of figure; figures without anything to show are left out."""
    made = {
        "before-after": before_after(arms[:MOST_ARMS]),
        "latency": latency_curves(arms),
        "chain": chain_breaks(arms[:MOST_ARMS]),
    }
    return {name: svg for name, svg in made.items() if svg}


def label(arm: DisturbedArm) -> str:
    """A disturbance as a figure names it."""
    return f"{arm.system}, {arm.perturbation}"


def before_after(arms: Sequence[DisturbedArm]) -> str:
    """Safe success without and with each disturbance, with 95 % intervals."""
    points = [
        {"arm": label(arm), "side": side, "rate": e.value, "low": e.low, "high": e.high}
        for arm in arms
        if arm.drop is not None
        for side, e in (("baseline", arm.drop.before), ("disturbed", arm.drop.after))
        if e.value is not None and e.low is not None and e.high is not None
    ]
    if not points:
        return ""
    # Takes longer to load than most commands take to run.
    import altair

    base = altair.Chart(altair.NamedData(ROWS)).encode(
        y=altair.Y("arm:N", title=None, sort=None, axis=altair.Axis(labelLimit=260)),
        yOffset=altair.YOffset("side:N", sort=list(SIDES)),
        color=colours("side", SIDES),
    )
    scale = altair.Scale(domain=[0, 1])
    bars = base.mark_rule(strokeWidth=2).encode(
        x=altair.X("low:Q", title="safe success", scale=scale, axis=altair.Axis(format="%")), x2="high:Q"
    )
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x=altair.X("rate:Q", scale=scale))
    names = len({point["arm"] for point in points})
    return drawn(altair.layer(bars, dots).properties(width=WIDTH, height=2 * SIDE * names), points)


def latency_curves(arms: Iterable[DisturbedArm]) -> str:
    """Share of trials that have not noticed yet, by steps since the disturbance (Kaplan and Meier)."""
    points: list[dict[str, Any]] = []
    named: list[str] = []
    for arm in arms:
        curve = None if arm.latency is None else arm.latency.curve
        if curve is None or not curve.n_trials or len(named) == MOST_CURVES:
            continue
        name = label(arm)
        named.append(name)
        places = [0.0, *curve.places, max(curve.watched_until, *curve.places, 0.0)]
        values = [1.0, *curve.values, curve.values[-1] if curve.values else 1.0]
        points += [
            {"arm": name, "order": order, "steps": at, "left": value}
            for order, (at, value) in enumerate(zip(places, values, strict=True))
        ]
    if not points:
        return ""
    # Takes longer to load than most commands take to run.
    import altair

    chart = altair.Chart(altair.NamedData(ROWS)).mark_line(interpolate="step-after", strokeWidth=2.5)
    encoded = chart.encode(
        x=altair.X(
            "steps:Q", title="steps since the disturbance", axis=altair.Axis(format="d", tickMinStep=1)
        ),
        y=altair.Y(
            "left:Q", title="not noticed yet", scale=altair.Scale(domain=[0, 1]), axis=altair.Axis(format="%")
        ),
        color=altair.Color("arm:N", sort=named, legend=legend(columns=2)),
        strokeDash=altair.StrokeDash("arm:N", sort=named, legend=None),
        order="order:Q",
    )
    return drawn(encoded.properties(width=WIDTH, height=200), points)


def chain_breaks(arms: Sequence[DisturbedArm]) -> str:
    """Delivered trials by the link at which their mechanism chain broke."""
    rows = [
        {"arm": label(arm), "link": link, "order": order, "trials": arm.broke_at[link]}
        for arm in arms
        for order, link in enumerate(LINKS)
        if arm.broke_at.get(link)
    ]
    if not rows:
        return ""
    # Takes longer to load than most commands take to run.
    import altair

    most = max(arm.delivery.delivered for arm in arms)
    chart = altair.Chart(altair.NamedData(ROWS)).mark_bar()
    encoded = chart.encode(
        y=altair.Y("arm:N", title=None, sort=None, axis=altair.Axis(labelLimit=260)),
        x=altair.X(
            "trials:Q", title="delivered trials", axis=altair.Axis(format="d", tickCount=min(most, 10))
        ),
        color=colours("link", LINKS),
        order="order:Q",
    )
    names = len({row["arm"] for row in rows})
    return drawn(encoded.properties(width=WIDTH, height=LINE * names), rows)


def colours(field: str, named: dict[str, str]) -> Any:
    """A colour for each of a field's values, the same in every figure."""
    # Takes longer to load than most commands take to run.
    import altair

    scale = altair.Scale(domain=list(named), range=list(named.values()))
    return altair.Color(f"{field}:N", scale=scale, sort=list(named), legend=legend())


def legend(columns: int = 7) -> Any:
    """A legend above the figure."""
    # Takes longer to load than most commands take to run.
    import altair

    return altair.Legend(title=None, orient="top", direction="horizontal", columns=columns, labelLimit=260)


def drawn(chart: Any, rows: list[dict[str, Any]]) -> str:
    """The chart as SVG, in the report's look, over the rows it names."""
    # Takes longer to load than most commands take to run.
    import vl_convert

    styled = chart.properties(background="white").configure(font=FONT, aria=False)
    styled = styled.configure_view(stroke=None).configure_axis(
        labelColor=INK, titleColor=INK, gridColor=RULE, domainColor=INK, tickColor=INK,
        labelFontSize=12, titleFontSize=12, titleFontWeight="normal",
    ).configure_legend(labelColor=INK, labelFontSize=12)  # fmt: skip
    svg: str = vl_convert.vegalite_to_svg({**styled.to_dict(), "datasets": {ROWS: rows}})
    return svg
