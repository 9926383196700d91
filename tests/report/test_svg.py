"""Markup that escapes, axes with round numbers, areas above a level."""

import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import autobct
from autobct.report.axis import axis_over, choices_axis, number, parameter_axis
from autobct.report.chart import Markup, path_of, tag
from autobct.report.draw_map import loops_above
from autobct.tuning.visible import one_line, visible

HOSTILE = "<script>alert('x')</script>\"&'\n\x1b[31m\u202e"


class Seen(HTMLParser):
    """Which elements and attributes a parser finds, and the text between them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, str | None] = {}
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_text_and_attributes_are_escaped():
    seen = Seen()
    seen.feed(tag("g", HOSTILE, tag("text", "a < b"), aria_label=HOSTILE, class_="run"))
    shown = visible(HOSTILE)
    assert seen.tags == ["g", "text"]
    assert seen.attributes == {"aria-label": shown, "class": "run"}
    assert seen.text == shown + "a < b"


def test_markup_is_not_escaped_twice():
    assert tag("p", Markup("<b>x</b>")) == "<p><b>x</b></p>"
    assert Markup("<b>").__html__() == "<b>"


def test_numbers_are_written_to_a_tenth_of_a_pixel():
    assert tag("circle", cx=1.0, cy=2.26, r=3, fill=None) == '<circle cx="1" cy="2.3" r="3"/>'
    assert path_of(np.array([0.0, 1.04]), np.array([2.0, 3.0]), closed=True) == "M0 2L1 3z"


def test_what_is_invisible_becomes_a_sign():
    assert visible("a\x1b[2Jb\x00c\u202ed\ud800") == "a�[2Jb�c�d�"
    assert visible("two\nlines\tand 文字") == "two\nlines\tand 文字"
    assert one_line("two\n  lines " + "x" * 100, 12) == "two lines x…"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1 + 0.2, "0.3"),
        (12345.678, "12346"),
        (0.000123456, "0.0001235"),
        (1e-6, "1e-6"),
        (-2.5e9, "-2.5e9"),
        (0.0, "0"),
        (100.0, "100"),
        (7, "7"),
        (True, "True"),
        (np.float64(0.5), "0.5"),
        (np.int64(3), "3"),
        (float("nan"), "nan"),
        ("relu", "relu"),
        (None, "None"),
    ],
)
def test_numbers_as_a_person_writes_them(value, text):
    assert number(value) == text


def test_ticks_are_round_and_inside():
    axis = axis_over("score", np.array([0.312, 0.987, np.nan, np.inf]))
    assert [text for _, text in axis.ticks] == ["0.4", "0.6", "0.8", "1"]
    assert axis.low < 0.312
    assert axis.high > 0.987


@pytest.mark.parametrize("values", [[], [3.0], [0.0], [np.nan], [5.0, 5.0], [1e-300, 1e300], [-1e9, 1e9]])
@pytest.mark.parametrize("log", [False, True])
def test_no_values_are_too_odd_for_an_axis(values, log):
    axis = axis_over("cost", np.array(values), log=log).over(0.0, 100.0)
    assert axis.low < axis.high
    assert np.isfinite(axis.at(np.array([axis.low, axis.high, 1.0, 0.0]))).all()
    assert 1 <= len(axis.ticks) <= 12


def test_an_axis_of_ratios():
    axis = axis_over("cost", np.array([0.5, 800.0]), log=True, room=0.0).over(0.0, 100.0)
    assert [text for _, text in axis.ticks] == ["1", "10", "100"]
    assert axis.at(20.0) == pytest.approx(50.0)  # the middle of 0.5 and 800


def test_a_parameters_ticks_are_its_own_values():
    axis = parameter_axis("rate", autobct.Float(1e-4, 1, log=True))
    assert [text for _, text in axis.ticks] == ["0.0001", "0.001", "0.01", "0.1", "1"]
    np.testing.assert_allclose([place for place, _ in axis.ticks], [0, 0.25, 0.5, 0.75, 1], atol=1e-12)
    whole = parameter_axis("depth", autobct.Int(1, 3))
    assert whole.ticks == ((0.0, "1"), (0.5, "2"), (1.0, "3"))
    assert choices_axis("act", autobct.Categorical(["a", None])).ticks == ((0.0, "a"), (1.0, "None"))


def area_of(loop):
    """The area inside a closed line, by the shoelace formula."""
    x, y = loop.T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def test_the_area_above_a_level_of_a_cone_is_a_disc():
    grid = np.linspace(-2.0, 2.0, 161)
    cone = -np.hypot(*np.meshgrid(grid, grid))
    (loop,) = loops_above(cone, -1.5)
    assert area_of(loop) * (grid[1] - grid[0]) ** 2 == pytest.approx(np.pi * 1.5**2, rel=1e-3)


def test_a_line_that_meets_the_rim_goes_along_it():
    plane = np.tile(np.arange(5.0), (4, 1))  # rises from column 0 to column 4
    (loop,) = loops_above(plane, 1.5)
    assert area_of(loop) == pytest.approx(2.5 * 3)
    (whole,) = loops_above(plane, -1.0)
    assert area_of(whole) == pytest.approx(4 * 3)
    assert loops_above(plane, 9.0) == []


def test_two_hills_and_a_hole():
    x, y = np.meshgrid(np.linspace(-3, 3, 121), np.linspace(-2, 2, 81))
    hills = np.exp(-((x - 1.5) ** 2) - y**2) + np.exp(-((x + 1.5) ** 2) - y**2)
    assert len(loops_above(hills, 0.8)) == 2
    assert len(loops_above(-hills, -0.8)) == 3  # the rim, and a hole for each hill


def test_without_contourpy_the_install_line_is_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "contourpy", None)
    with pytest.raises(ImportError, match=r"pip install 'autobct\[report\]'"):
        loops_above(np.eye(3), 0.5)
