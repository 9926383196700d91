"""The page in a real browser: it loads nothing, has no errors, sorts its table, and reads well with scripts off."""

import pytest
from tests.report.cases import HOSTILE, many, one
from tools.chromium import browser, find_chromium

import autobct
from autobct.report.page import page_of
from autobct.report.story import story_of

pytestmark = [pytest.mark.heavy, pytest.mark.skipif(find_chromium() is None, reason="needs chromium")]


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "run.html"
    path.write_text(page_of(story_of(many(max_runs=5, price=1e-5))), encoding="utf-8")
    return path.as_uri()


def rows(tab):
    return tab.evaluate("[...document.querySelectorAll('tbody tr')].map(row => row.cells[0].textContent).join(' ')")


def test_nothing_is_requested_and_nothing_goes_wrong(chromium, address):
    tab = chromium.page()
    tab.open(address)
    assert tab.evaluate("document.querySelectorAll('svg.chart').length") > 5
    assert tab.requests == [address]
    assert tab.troubles == []


def test_this_browser_would_have_noticed(chromium, tmp_path):
    path = tmp_path / "bad.html"
    text = page_of(story_of(one(max_runs=2)))
    path.write_text(text.replace("</main>", "<img src='http://127.0.0.1:9/x.png'><script>1</script></main>"))
    tab = chromium.page()
    tab.open(path.as_uri())
    assert len([text for text in tab.troubles if "Content Security Policy" in text]) == 2


def test_a_click_sorts_the_table_and_another_turns_it_round(chromium, address):
    tab = chromium.page()
    tab.open(address)
    head = "[...document.querySelectorAll('thead button')].find(button => button.textContent === 'score')"
    scores = "[...document.querySelectorAll('tbody tr')].map(row => Number(row.cells[5].dataset.value))"
    tab.evaluate(f"{head}.click()")
    rising = tab.evaluate(scores)
    assert rising == sorted(rising)
    tab.evaluate(f"{head}.click()")
    assert tab.evaluate(scores) == rising[::-1]
    assert tab.troubles == []


def test_without_scripts_all_is_there(chromium, address):
    with_scripts, without = chromium.page(), chromium.page(scripts=False)
    for tab in (with_scripts, without):
        tab.open(address)
    text = "document.querySelector('main').innerText.replace(/\\s+/g, ' ')"
    assert without.evaluate(text) == with_scripts.evaluate(text)
    assert without.evaluate("document.querySelectorAll('thead button').length") == 0
    assert rows(without) == "1 2 3 4 5"


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_page_is_never_wider_than_the_screen(chromium, address, width):
    tab = chromium.page()
    tab.look(width=width)
    tab.open(address)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def luminance(colour):
    """Relative luminance of "rgb(r, g, b)", as WCAG has it."""
    channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_the_paper(chromium, address, scheme):
    tab = chromium.page()
    tab.look(width=1280, scheme=scheme)
    tab.open(address)
    style = "getComputedStyle(document.querySelector({!r})).{}"
    paper = luminance(tab.evaluate(style.format(".card", "backgroundColor")))
    assert (paper > 0.5) == (scheme == "light")
    colours = [style.format(".why", "color"), style.format("figcaption", "color"), style.format(".chart text", "fill")]
    colours += [style.format(f".chart .{name}", "color") for name in ("score", "cost", "go")]
    for colour in map(tab.evaluate, colours):
        low, high = sorted([paper, luminance(colour)])
        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_names_values_and_errors_of_others_are_only_text(chromium, tmp_path):
    space = {HOSTILE: autobct.Float(0, 1), "kind": autobct.Categorical([HOSTILE, "javascript:alert(3)"])}
    tuner = autobct.Tuner(space, price=1e-9, seed=1)
    for number in range(4):
        decision = tuner.ask()
        outcome = {"error": HOSTILE} if number == 1 else {"score": 0.5 + 0.1 * number}
        tuner.tell(decision, cost=1.0, **outcome)
    path = tmp_path / "hostile.html"
    path.write_text(page_of(story_of(tuner)), encoding="utf-8")
    tab = chromium.page()
    tab.open(path.as_uri())
    assert tab.troubles == []
    assert tab.requests == [path.as_uri()]
    assert tab.evaluate("document.querySelectorAll('script').length") == 1
    assert tab.evaluate("document.querySelectorAll('img, iframe, object, a[href]').length") == 0
    assert "onerror=alert(2)" in tab.evaluate("document.body.innerText")
    assert rows(tab) == "1 2 3 4"
