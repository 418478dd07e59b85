"""Charts: whatever the numbers are, the drawing is valid, inside its frame and free of NaN."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regard.render.chart_labels import Box, Canvas, width_of, wrapped
from regard.render.chart_scales import Scale, number_label, scale_of, ticks
from regard.render.charts import WIDTH, draw_figure
from regard.render.figures import Axis, Chart, Guide, HeatMap, Series
from regard.render.heat_maps import MAX_CELLS, NUM_SHADES

NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
STYLES = st.sampled_from(["line", "dashed", "points", "bars", "area"])
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=30)
PLACE = re.compile(r"(-?[\d.]+),(-?[\d.]+)")


ROWS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=12)
# Plain values: executed signatures draw random numbers of their own, which a strategy must not.
PLANS = st.tuples(
    st.lists(st.tuples(WORDS, ROWS, STYLES), min_size=1, max_size=4),
    st.lists(st.tuples(NUMBERS, WORDS, st.booleans()), max_size=2),
    st.tuples(WORDS, WORDS, st.booleans(), st.booleans()),
)


def planned(plan) -> Chart:
    series, guides, (across, upward, is_log_x, is_log_y) = plan
    return Chart(
        title=across,
        caption=upward,
        x=Axis(label=across, is_log=is_log_x),
        y=Axis(label=upward, is_log=is_log_y),
        series=[
            Series(label=label, x=[x for x, _ in rows], y=[y for _, y in rows], style=style)
            for label, rows, style in series
        ],
        guides=[Guide(at=at, label=label, is_vertical=is_vertical) for at, label, is_vertical in guides],
    )


def chart(*series: Series, x: Axis | None = None, y: Axis | None = None, guides=()) -> Chart:
    return Chart(title="T", caption="C", x=x or Axis(label="x"), y=y or Axis(label="y"), series=series, guides=guides)


def parsed(figure) -> ElementTree.Element:
    """The drawing as XML, which is stricter than HTML."""
    return ElementTree.fromstring(draw_figure(figure))


def elements(figure, name: str) -> list[ElementTree.Element]:
    return [each for each in parsed(figure).iter() if name in each.get("class", "").split()]


def points(path: ElementTree.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in PLACE.findall(path.get("d", ""))]


@settings(max_examples=60)
@given(PLANS)
@example(([("", [(0.0, 1e-140)], "line")], [], ("", "", False, True)))
@example(([("", [(0.0, 1e140)], "line")], [], ("", "", False, True)))
@example(([("", [(0.0, 6.2e136), (0.0, 4.4e-128)], "line")], [], ("", "", False, True)))
def test_any_chart_is_valid_has_no_nan_and_stays_inside_the_plot(plan):
    source = draw_figure(planned(plan))
    root = ElementTree.fromstring(source)
    svg = root.find("svg")
    assert svg is not None
    assert svg.get("role") == "img"
    assert svg.find("title") is not None
    assert not re.search(r'="[^"]*\b(?:nan|inf)\b', source)
    assert "style=" not in source
    height = float(svg.get("viewBox").split()[3])
    base = next(each for each in root.iter() if each.get("class") == "chart-base")
    left, bottom = points(base)[0]
    for each in root.iter():
        if each.get("class", "").startswith(("chart-line", "chart-fill")) and not _is_sample(each):
            for x, y in points(each):
                assert left - 0.1 <= x <= WIDTH + 0.1
                assert -0.1 <= y <= bottom + 0.1 <= height


def _is_sample(path: ElementTree.Element) -> bool:
    return "h20" in path.get("d", "")


ENDS = st.tuples(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12), st.just(False)) | st.tuples(
    st.floats(1e-100, 1e90), st.floats(1.01, 1e40), st.just(True)
)


def scale_between(lower: float, reach: float, is_log: bool) -> Scale:
    upper = lower * reach if is_log else lower + reach * max(1.0, abs(lower))
    return Scale(lower=lower, upper=upper, start=0.0, end=300.0, is_log=is_log)


@given(ENDS, st.integers(2, 9))
def test_ticks_are_in_range_in_order_and_few(ends, most):
    scale = scale_between(*ends)
    found = ticks(scale, most)
    places = [float(scale(tick.at)) for tick in found]
    assert all(scale.lower <= tick.at <= scale.upper for tick in found)
    assert all(before < after for before, after in pairwise(places))
    assert len({tick.label for tick in found}) == len(found)
    assert len(found) <= 3 * most + 1
    assert "-" not in "".join(tick.label for tick in found)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_scale_keeps_the_order(one, other):
    scale = Scale(lower=-1e6, upper=1e6, start=0.0, end=400.0)
    assert (scale(one) <= scale(other)) == (one <= other) or abs(one - other) < 1e-6


def test_ticks_of_known_ranges():
    labels = {
        (0.0, 1.0, False): ["0", "0.2", "0.4", "0.6", "0.8", "1.0"],
        (-3.0, 7.0, False): ["−2", "0", "2", "4", "6"],
        (1.0, 1e4, True): ["1", "10", "100", "1000", "10\N{THIN SPACE}000"],
        (1e-9, 1e3, True): ["10⁻⁹", "10⁻⁶", "10⁻³", "10⁰", "10³"],
        (0.9, 6.0, True): ["1", "2", "5"],
    }
    for (lower, upper, is_log), expected in labels.items():
        scale = Scale(lower=lower, upper=upper, start=0.0, end=1.0, is_log=is_log)
        assert [tick.label for tick in ticks(scale)] == expected


def test_numbers_are_written_with_true_minus_signs():
    assert number_label(-2.5, 0.5) == "−2.5"
    assert number_label(-3e-7, 1e-7) == "−3×10⁻⁷"
    assert number_label(-1e9, 1e9) == "−10⁹"


def test_a_gap_splits_the_line_and_a_lone_point_is_seen():
    whole = chart(Series(label="", x=range(5), y=[1.0, 2.0, 3.0, 2.0, 1.0]))
    broken = chart(Series(label="", x=range(5), y=[1.0, 2.0, math.nan, 2.0, 1.0]))
    lone = chart(Series(label="", x=range(5), y=[1.0, 2.0, math.nan, 2.0, math.inf]))
    found = [[len(elements(each, name)) for name in ("chart-line", "chart-point")] for each in (whole, broken, lone)]
    assert found == [[1, 0], [2, 0], [1, 1]]


def test_a_line_that_leaves_the_plot_is_cut_at_its_edge():
    figure = chart(Series(label="", x=[0.0, 1.0, 2.0], y=[0.0, 10.0, 0.0]), y=Axis(label="y", lower=0.0, upper=5.0))
    first, second = elements(figure, "chart-line")
    top = min(y for _, y in points(first))
    assert points(first)[-1][1] == top == points(second)[0][1]
    plot = points(first)[0][0], points(second)[-1][0]
    assert points(first)[-1][0] == pytest.approx(plot[0] + (plot[1] - plot[0]) / 4, abs=0.11)


def test_bars_take_edges_or_starts():
    by_edges = chart(Series(label="", x=[0.0, 1.0, 2.0], y=[1.0, 2.0], style="bars"))
    by_starts = chart(Series(label="", x=[0.0, 1.0], y=[1.0, 2.0], style="bars"))
    assert draw_figure(by_edges) == draw_figure(by_starts)


@pytest.mark.parametrize(
    ("figure", "complaint"),
    [
        (chart(), "no series"),
        (chart(Series(label="lonely", x=[], y=[])), "'lonely' of 'T' has no points"),
        (chart(Series(label="uneven", x=[1.0], y=[1.0, 2.0])), "1 x and 2 y"),
        (chart(Series(label="s", x=[1.0], y=[1.0]), x=Axis(label="x", lower=2.0, upper=1.0)), "from 2 to 1"),
        (chart(Series(label="s", x=[1.0], y=[1.0]), y=Axis(label="y", is_log=True, lower=0.0)), "cannot start at 0"),
        (HeatMap(title="H", caption="", x=Axis(label=""), y=Axis(label=""), values=[]), "no rows"),
        (
            HeatMap(title="H", caption="", x=Axis(label=""), y=Axis(label=""), values=[[1.0], [1.0, 2.0]]),
            "rows of 1, 2",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_the_reason(figure, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        draw_figure(figure)


def test_nothing_finite_leaves_an_empty_frame():
    assert not elements(chart(Series(label="", x=[1.0, 2.0], y=[math.nan, math.inf])), "chart-line")


def test_labels_stand_beside_lines_that_are_far_apart_and_in_a_legend_otherwise():
    x = np.linspace(0.0, 1.0, 50)
    apart = chart(Series(label="low", x=x, y=0 * x), Series(label="high", x=x, y=0 * x + 1))
    tangled = chart(*(Series(label=f"curve {k}", x=x, y=np.sin(40 * x + k)) for k in range(6)))
    assert len(elements(apart, "chart-label")) == 2
    assert not elements(apart, "chart-key")
    assert not elements(tangled, "chart-label")
    assert len(elements(tangled, "chart-key")) == 6


def test_lines_differ_beyond_colour():
    x = np.linspace(0.0, 1.0, 5)
    figure = chart(*(Series(label=f"{k}", x=x, y=x + k) for k in range(6)))
    assert len({each.get("class").split()[-1] for each in elements(figure, "chart-line")}) == 6


@given(st.lists(st.tuples(st.floats(0, 380), st.floats(0, 180)), min_size=2, max_size=40), st.floats(5, 120))
def test_a_label_never_touches_a_line_or_another_label(places, width):
    lines = [np.array(places[::2] or places), np.array(places[1::2])]
    canvas = Canvas(frame=Box(left=0, top=0, width=400, height=200), lines=lines)
    for own in range(2):
        box = canvas.beside(own, width)
        if box is not None:
            assert box.distance(np.concatenate(lines)) > 0
            assert not any(box.overlaps(other) for other in canvas.boxes)
            canvas.boxes.append(box)


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "Zs")), max_size=200), st.floats(40, 300))
def test_wrapped_lines_fit(words, width):
    lines = wrapped(words, width)
    assert all(width_of(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(words.split())


TABLES = st.integers(1, 9).flatmap(
    lambda width: st.lists(st.lists(NUMBERS, min_size=width, max_size=width), min_size=1, max_size=9)
)


@settings(max_examples=50)
@given(TABLES, st.sampled_from(["diverging", "sequential"]))
def test_any_heat_map_is_valid_and_covers_its_cells(values, scale):
    figure = HeatMap(title="H", caption="C", x=Axis(label="x"), y=Axis(label="y"), values=values, scale=scale)
    source = draw_figure(figure)
    assert not re.search(r'="[^"]*\b(?:nan|inf)\b', source)
    [cells, _] = [each for each in ElementTree.fromstring(source).iter("g") if each.get("class") == "chart-cells"]
    widths = [int(width) for path in cells for width in re.findall(r"h(\d+)v1", path.get("d"))]
    assert sum(widths) == len(values) * len(values[0])


def test_a_large_heat_map_is_thinned():
    values = np.random.default_rng(0).random((300, 400))
    source = draw_figure(HeatMap(title="H", caption="C", x=Axis(label="x"), y=Axis(label="y"), values=values))
    assert source.count("v1h") <= MAX_CELLS
    assert len(source) < 150_000


def test_the_ends_of_a_diverging_scale_are_as_far_from_zero():
    figure = HeatMap(
        title="H", caption="C", x=Axis(label="x"), y=Axis(label="y"), values=[[-1.0, 0.0, 4.0]], scale="diverging"
    )
    shades = [each.get("class") for each in parsed(figure).iter("path") if "v1h" in each.get("d", "")]
    assert shades[1:] == [f"d{NUM_SHADES // 2}", f"d{NUM_SHADES - 1}"]
    assert shades[0] != "d0"


def test_a_scale_given_by_its_axis_is_kept():
    scale = scale_of(Axis(label="", lower=0.0, upper=9.0), np.array([3.0]), start=0.0, end=90.0, is_padded=True)
    assert float(scale(4.5)) == 45.0
