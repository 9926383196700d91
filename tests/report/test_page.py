"""The page: what it says, that it is whole, and that nothing in a run can become markup."""

import base64
import hashlib
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.report.cases import HOSTILE, Document, half_failing, hill, many, one, told, tuned, two

import autobct
from autobct.report import page_words
from autobct.report.axis import number
from autobct.report.draw_belief import belief_charts
from autobct.report.draw_map import MIDDLE, dials, run_cost, run_score, swept
from autobct.report.draw_progress import price_charts, progress_chart
from autobct.report.live import table_of
from autobct.report.page import page_of, write_report
from autobct.report.story import after_each_run, other_prices, story_of, tell


def page(result):
    return page_of(story_of(result))


@pytest.fixture(scope="module")
def results():
    return {"one": one(), "two": two(), "many": many()}


@pytest.mark.parametrize("kind", ["one", "two", "many"])
def test_the_answer_comes_first(results, kind):
    result = results[kind]
    text = Document(page(result)).text
    start = text[: text.index("Progress")]
    assert result.why in start
    assert all(name in start for name in result.params)
    assert f"{result.score:.4g}" in start
    assert "Total cost" in start


def test_every_run_is_in_the_table(results):
    document = Document(page(results["many"]))
    assert len(document.all("tr")) == 1 + len(results["many"].history)
    heads = [attributes for attributes in document.all("th") if attributes.get("scope") == "col"]
    assert len(heads) == 1 + 4 + 5 + 1  # the run, its params, the numbers, what then


def test_pictures_fit_the_space(results):
    def captions(kind):
        return [
            attributes["aria-label"] for attributes in Document(page(results[kind])).all("svg") if "role" in attributes
        ]

    assert [text.split(":")[0] for text in captions("one")[2:]] == ["Estimated score along x", "Estimated cost along x"]
    assert sum("over x and y" in text for text in captions("two")) == 2
    assert sum("Uncertainty" in text for text in captions("two")) == 2
    assert sum("along" in text for text in captions("many")) == 8  # score and cost for each of four parameters
    assert sum(" over " in text for text in captions("many")) == 6  # every pair, categories too


@pytest.mark.parametrize("kind", ["one", "two", "many"])
def test_every_picture_is_told_in_words(results, kind):
    document = Document(page(results[kind]))
    pictures = [attributes for attributes in document.all("svg") if attributes.get("class") == "chart"]
    assert pictures
    assert all(len(attributes["aria-label"].split()) > 5 for attributes in pictures)
    assert len(document.all("figcaption")) == len(document.all("figure"))


def test_curves_are_what_the_tuner_believes_also_after_failed_runs():
    tuner, _ = told(autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-5), 2)
    tuner.tell(tuner.ask(), error="out of memory", cost=1.0)
    story = story_of(tuner)
    controls = swept(story.centre, dials(story.problem.space), 21)
    middle = run_score(story.posterior, controls)[MIDDLE]
    trained = {run.control.tobytes() for run in tuner.history}  # where a measured score counts besides the surface
    for score, control in zip(middle, controls, strict=True):
        if control.tobytes() not in trained:
            assert score == pytest.approx(tuner.estimated_score(control), rel=1e-12)


def test_bands_hold_the_stated_share_of_what_is_believed():
    tuner, _ = told(autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-5, cost_range=(1, 10)), 2)
    story, control = story_of(tuner), np.array([[0.3]])
    model, rng = story.problem.prior.model, np.random.default_rng(0)
    cost = story.posterior.belief.cost
    draws = rng.multivariate_normal(cost.mean, cost.cov, size=40_000) @ model.cost_basis(control)[0]
    costs = story.problem.cost_scale.to_raw(np.exp(draws + model.cost_noise * rng.standard_normal(40_000)))
    band = run_cost(story.posterior, control)[:, 0]
    shares = [np.mean(costs < edge) for edge in band]
    np.testing.assert_allclose(shares, [0.025, 0.16, 0.5, 0.84, 0.975], atol=0.008)


def test_nothing_in_a_run_becomes_markup():
    result = one(train=half_failing, max_runs=6, policy=autobct.relaxed(depth=2), prior="paper")
    safe = one()
    hostile = replace(
        story_of(many()), title=HOSTILE, why=HOSTILE, unfinished=HOSTILE, alarm=HOSTILE, settings=((HOSTILE, HOSTILE),)
    )
    kinds = {name for name, _ in Document(page(safe)).elements}
    for text in (page(result), page_of(hostile)):
        document = Document(text)
        assert {name for name, _ in document.elements} <= kinds | {"p", "strong", "rect"}
        assert len(document.all("script")) == 1
        assert not any(name.startswith("on") for _, attributes in document.elements for name in attributes)
        assert not any("style" in attributes for _, attributes in document.elements)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
        assert HOSTILE in document.text


def test_names_of_parameters_are_text_too():
    result = one()
    tuner, decisions = told(autobct.Tuner({HOSTILE: autobct.Float(0, 1)}, price=0.01), 2)
    document = Document(page_of(tell(tuner, decisions=decisions)))
    assert HOSTILE in document.text
    assert {name for name, _ in document.elements} == {name for name, _ in Document(page(result)).elements}


def test_the_policy_allows_only_what_is_in_the_page(results):
    text = page(results["one"])
    (policy,) = [a["content"] for a in Document(text).all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for kind in ("style", "script"):
        (inside,) = re.findall(f"<{kind}>(.*?)</{kind}>", text, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert rules[f"{kind}-src"] == f"'sha256-{digest}'"


def test_nothing_points_outside(results):
    for kind in results:
        text = page(results[kind])
        assert "://" not in text
        targets = [a.get(key) for _, a in Document(text).elements for key in ("href", "src", "xlink:href") if key in a]
        assert targets == ["data:,"]


def test_the_same_result_gives_the_same_page(results):
    assert page(results["many"]) == page(results["many"])


def test_fifty_runs_stay_small():
    space = {f"p{k}": autobct.Float(0, 1) for k in range(6)} | {"c": autobct.Categorical(["a", "b", "c"])}
    tuner = autobct.Tuner(
        space, price=1e-12, overhead=0.0, score_range=(0, 1), policy=autobct.relaxed(depth=1), prior="paper"
    )
    tuner, decisions = told(tuner, 50)
    assert len(tuner.history) == 50
    assert len(page_of(tell(tuner, decisions=decisions)).encode()) < 300_000


def test_a_tuning_that_has_not_ended_says_so():
    tuner, _ = told(autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-5), 2)
    assert "Not finished." in Document(page(tuner)).text
    assert "Not finished." not in Document(page(one())).text


def test_a_tuning_without_any_run_or_with_failed_ones_only_has_a_page():
    tuner = autobct.Tuner({"x": autobct.Float(0, 1), "c": autobct.Categorical(["a", "b"])}, price=0.01)
    assert "No run has finished yet." in Document(page(tuner)).text
    tuner.tell(tuner.ask(), error="out of memory", cost=1.0)
    assert "out of memory" in Document(page(tuner)).text


def test_a_lower_score_can_be_the_better_one():
    result = one(train=lambda params: ((params["x"] - 0.3) ** 2, 1.0), direction="minimize")
    text = Document(page(result)).text
    assert "the value of continuing is below the estimated score of the best so far" in text
    assert f"the best {min(run.score for run in result.history):.4g}"[:14] in text
    assert "± -" not in text


@pytest.mark.parametrize(("direction", "word"), [("maximize", "minus"), ("minimize", "plus")])
def test_the_value_of_continuing_is_explained_as_it_is_computed(direction, word):
    text = Document(page(one(direction=direction))).text
    assert f"the expected final score {word} the price of all further runs" in text


def test_a_finished_run_outside_the_chart_is_not_marked_as_failed():
    tuner = autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-9, score_range=(-60, 1), cost_range=(0.5, 2))
    for score in (0.90, 0.91, -50.0, 0.92, 0.93, 0.94):
        tuner.tell(tuner.ask(), score, 1.0)
    story = story_of(tuner)
    drawn = progress_chart(story)
    assert 'class="cross"' not in drawn
    assert drawn.count('class="beyond"') == 1
    text = Document(page_of(story)).text
    assert "run outside the chart" in text
    assert "failed" not in text.partition("Estimated score and cost")[0].replace("none failed", "")
    assert "run outside the chart" not in Document(page(one())).text


def test_only_a_tuning_that_stopped_says_stop():
    def last_cell(result):
        return page_words.rows(story_of(result))[-1].cells[-1].text

    def interrupt(_, event):
        if isinstance(event, autobct.Run) and event.trial == 1:
            raise KeyboardInterrupt

    assert last_cell(one()) == "stop"
    interrupted = one(callbacks=[interrupt])
    assert interrupted.why == "Interrupted after 2 runs."
    assert last_cell(interrupted) == ""


def test_captions_of_maps_state_where_the_ends_are(results):
    story = story_of(results["two"])
    captions = [drawn.caption for drawn in belief_charts(story)]
    pair = tuple(dials(story.problem.space))
    for caption, estimated in ((captions[2], run_cost), (captions[3], None)):
        ends = re.findall(r"(\S+) near x=(\S+) and y=(\S+?)(?:\.$| )", caption)
        assert len(ends) == 2, caption
        if estimated is None:
            continue
        for value, *places in ends:
            control = np.array([[dial.parameter.to_unit(float(at)) for dial, at in zip(pair, places, strict=True)]])
            assert float(value) == pytest.approx(estimated(story.posterior, control)[MIDDLE, 0], rel=0.01)
    timed = two(price="0.003 per s")
    factor = page(timed).partition("Uncertainty of the cost")[2].partition("</svg></figure>")[0]
    assert "× or ÷ cost<" in factor  # a factor has no unit


def test_scores_at_other_prices_are_stated_only_where_they_are_known():
    result = two(price=2e-3, max_runs=3)
    story = replace(story_of(result), what_if=other_prices(result))
    unknown = [other for other in story.what_if if not other.known]
    assert unknown
    caption = price_charts(story)[1].caption
    assert "with an unknown outcome" in caption
    for other in unknown:
        assert f"at a price of {number(other.price.per_cost, 3)}" not in caption


def test_without_a_score_range_nothing_is_drawn_before_the_first_run():
    def train(params):
        return 300.0 + params["x"], 1.0

    assert np.isnan(story_of(one(train=train, score_range=None)).going_on[0])
    assert np.isfinite(story_of(one(train=train, score_range=(200, 400))).going_on[0])


def test_the_best_so_far_is_estimated_in_one_way(results):
    """Where decisions are not known, as with several jobs, the line shows what they would have stated."""
    noisy = two(train=lambda params: (hill(params)[0] + 0.1 * math.sin(1e3 * params["x"]), 1.0), max_runs=8, price=1e-5)
    for result in (*results.values(), noisy):
        story = story_of(result)
        np.testing.assert_allclose(
            replace(story, decisions=()).incumbent, story.incumbent, rtol=1e-3
        )  # ranges of today


def test_decisions_that_knew_fewer_runs_are_not_shown_as_if_they_knew_them():
    """Two workers: each decides while the other is training."""
    tuner = autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-4, score_range=(0, 1), cost_range=(0.5, 5))
    made = [tuner.ask(), tuner.ask()]
    for which in range(4):
        tuner.tell(made[which], hill(made[which].params)[0], 1.0)
        made.append(tuner.ask())
    story = story_of(tuner.result("done", made[:4]))
    best = story.incumbent
    assert np.isnan(story.going_on[1])  # decided before any run had finished
    for value, score in zip(story.going_on, best, strict=True):
        assert np.isnan(value) or np.isnan(score) or value >= score - 0.01
    np.testing.assert_allclose(best, story.estimates, rtol=1e-3)
    in_turn = story_of(one())
    assert np.isfinite(in_turn.going_on[:-1]).all()  # max_runs allows no other


def test_of_programs_side_by_side_only_the_last_decision_was_made_in_turn():
    result = one()
    runs = len(result.history)
    assert after_each_run(result.decisions, runs, 1) == result.decisions
    assert after_each_run(result.decisions, runs, 3) == (*[None] * runs, result.decisions[-1])


def test_pointing_at_a_run_shows_its_score_and_cost_in_every_chart(results):
    for kind in results:
        text, run = page(results[kind]), results[kind].history[0]
        assert "<title>Run 1</title>" not in text
        assert f"<title>Run 1: score {number(run.score)}, cost {number(run.cost)}</title>" in text


def test_the_alarm_and_the_notes_are_told():
    story = replace(story_of(one()), alarm="Too many surprises.", notes=("A score left its range.",))
    text = Document(page_of(story)).text
    assert "The model may be wrong. Too many surprises." in text
    assert "A score left its range." in text


def test_other_prices_are_drawn(tmp_path):
    result = one()
    write_report(result, tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "At other prices" in text
    assert "your price" in text


def test_where_the_price_is_one_of_waiting_the_page_counts_the_wall_clock(tmp_path):
    result = replace(one(), n_jobs=4, price_of="waiting")
    write_report(result, tmp_path / "run.html")
    text = Document((tmp_path / "run.html").read_text(encoding="utf-8")).text
    wait, price = max(result.waits), result.problem.price.per_cost
    assert wait < result.cost
    assert f"Wall clock{wait:.4g}" in text
    assert f"worth {number(price * wait, 3)} in score" in text
    assert "computing, which has no price here" in text
    assert "All of them are prices of waiting" in text
    write_report(one(), tmp_path / "run.html")
    text = Document((tmp_path / "run.html").read_text(encoding="utf-8")).text
    assert "Wall clock" not in text
    assert "prices of waiting" not in text


def test_result_report_writes_the_page(tmp_path):
    one().report(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [file.name for file in tmp_path.iterdir()] == ["run.html"]


@pytest.mark.parametrize(
    ("name", "sentence"), [("run.pdf", ".html file"), ("folder.html", "is a folder"), ("no/run.html", "does not exist")]
)
def test_files_that_could_not_be_written_are_refused(tmp_path, name, sentence):
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(ValueError, match=sentence):
        write_report(one(), tmp_path / name)


def test_a_full_disk_leaves_the_old_page(tmp_path, monkeypatch):
    (tmp_path / "run.html").write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_report(one(), tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_only_results_and_tuners_have_a_page(tmp_path):
    with pytest.raises(TypeError, match="a report needs a result or a tuner, got 3"):
        write_report(3, tmp_path / "run.html")


def test_the_space_can_be_read_off_the_page():
    tuner, _ = told(autobct.Tuner({"x": autobct.Float(0, 0.5), "k": autobct.Int(0, 8, step=2)}, price=1e-5), 1)
    text = Document(page(tuner)).text
    assert "Float(low=0.0, high=0.5)" in text
    assert "Int(low=0, high=8, step=2)" in text


def test_secrets_of_the_environment_are_not_shown():
    tuner, decisions = told(autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-5), 2)
    text = page_of(tell(tuner, decisions=decisions, settings={"env.TOKEN": "hunter2", "command": ["train"]}))
    assert "hunter2" not in text
    assert "env.TOKEN" in text
    assert "[&#34;train&#34;]" in text or "[&quot;train&quot;]" in text


def test_charts_come_in_the_order_of_importance_and_say_the_numbers():
    result = many()
    shares, text = result.importance(), page(result)
    places = [text.index(f"Estimated score along {name}") for name in shares if not math.isclose(shares[name], 0.0)]
    assert places == sorted(places)
    first, share = next(iter(shares.items()))
    assert f"{first} {share:.0%}" in Document(text).text


def test_terminal_page_and_demo_say_the_same_words():
    """One word for one thing: `estimated score` and `continuing`; neither posterior, nor believed, nor V."""
    text = Document(page(one())).text
    live_heads = [str(column.header) for column in table_of([], ("x",), []).columns]
    assert "estimated score" in text
    assert "continuing" in text
    assert {"estimated", "continuing"} <= set(live_heads)
    for word in ("believed", "Believed", "posterior", "in hand", "going on", "gone on", "went on"):
        assert word not in text
        assert word not in " ".join(live_heads)


def test_the_first_card_states_the_estimate_of_the_result(tmp_path):
    space = {"x": autobct.Float(0, 1), "y": autobct.Float(0, 1)}
    result = tuned(space, lambda params: (0.9 - (params["x"] - 0.3) ** 4 + 0.05 * math.sin(40 * params["y"]), 1.0))
    result.report(tmp_path / "page.html")
    assert f"estimated {result.expected_score:.4g} ±" in (tmp_path / "page.html").read_text("utf-8")
