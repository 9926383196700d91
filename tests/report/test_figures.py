"""Beliefs replayed from a history, and what is drawn of them."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.image import imread

import autobct
from autobct.paper.synthetic_forest import paper_tuner
from autobct.report.figures import belief_figure, check_figure_path, save_figure
from autobct.tuning.model.posterior import beliefs

# h_n, t_n, u_{n-1} and the posterior score of the paper's tables for the synthetic example
PAPER_TABLES = {
    "map N=2": [(0.556, 0.068, 0.0, 0.555), (0.734, 0.083, 0.06, 0.697), (0.977, 0.675, 0.74, 0.98)],
    "map N=4": [(0.56, 0.074, 0.0, 0.559), (0.738, 0.093, 0.07, 0.707), (0.981, 0.653, 0.79, 0.984)],
    "on the fly N=2": [(0.545, 0.066, 0.0, 0.545), (0.976, 0.381, 0.56, 0.973), (0.983, 0.445, 0.76, 0.991)],
}


def paper_run(number, score, cost, control):
    """A run in raw units: accuracy and seconds, 0.6 s being one unit of cost."""
    return autobct.Run(number, {}, np.array([control]), 0.5 + score / 2, 0.6 * cost, None, 0.0)


def paper_history(table="on the fly N=2"):
    return [paper_run(number, *row[:3]) for number, row in enumerate(PAPER_TABLES[table])]


@pytest.fixture
def problem():
    return paper_tuner(0.6).problem


def log_linear_tuner(**options):
    return autobct.Tuner({"x": autobct.Float(0, 1)}, price=0.001, cost_range=(0.5, 10), **options)


def panels(figure):
    """The axes as (row, column)."""
    return np.array(figure.axes).reshape(2, -1)


def line(panel, label):
    (found,) = [line for line in panel.lines if line.get_label() == label]
    return np.asarray(found.get_xdata(), dtype=float), np.asarray(found.get_ydata(), dtype=float)


@pytest.mark.parametrize("table", PAPER_TABLES)
def test_replayed_beliefs_are_those_of_the_papers_tables(problem, table):
    after = beliefs(problem, paper_history(table))[1:]
    for step, (_, _, control, posterior) in zip(after, PAPER_TABLES[table], strict=True):
        features = step.problem.prior.model.score_basis(np.array([control]))
        assert features @ step.belief.score.mean == pytest.approx(posterior, abs=0.0011)  # both sides are rounded


@pytest.mark.parametrize("score", [0.65, None, -1e9])  # None: the run failed; the last one diverged
def test_the_last_column_is_what_the_tuner_believes(score):
    tuner = log_linear_tuner()
    for told in (0.6, score, 0.7):
        outcome = {"error": "out of memory"} if told is None else {"score": told}
        tuner.tell(tuner.ask(), **outcome, cost=2.0)
    top, bottom = panels(belief_figure(tuner.problem, tuner.history))
    u, drawn = line(top[-1], "estimate")
    features = tuner.problem.prior.model.score_basis(u[:, None])
    np.testing.assert_allclose(drawn, features @ tuner.belief.score.mean, rtol=1e-12)
    features = tuner.problem.prior.model.cost_basis(u[:, None])
    np.testing.assert_allclose(line(bottom[-1], "estimate")[1], np.exp(features @ tuner.belief.cost.mean), rtol=1e-12)


def test_one_column_for_the_prior_and_each_run(problem):
    figure = belief_figure(problem, paper_history())
    top, bottom = panels(figure)
    assert [panel.get_title() for panel in top] == ["prior", "after run 1", "after run 2", "after run 3"]
    assert (top[0].get_ylabel(), bottom[0].get_ylabel()) == ("score H(u)", "cost T(u)")
    assert {text.get_text() for text in figure.legends[0].get_texts()} >= {"estimate", "68 % band", "95 % band"}


def test_many_runs_show_the_prior_and_the_last_four(problem):
    history = [paper_run(number, 0.9, 0.3, number / 10) for number in range(7)]
    top, _ = panels(belief_figure(problem, history))
    assert [panel.get_title() for panel in top] == ["prior", *(f"after run {k}" for k in (4, 5, 6, 7))]
    assert len(line(top[1], "observed")[0]) == 4
    assert line(top[1], "next run")[0][0] == 0.4


def test_the_lines_are_the_believed_means(problem):
    top, bottom = panels(belief_figure(problem, paper_history()))
    u, prior_score = line(top[0], "estimate")
    np.testing.assert_allclose(prior_score, 0.4 + 0.1 * (u - 0.5) - 0.2 * (u - 0.5) ** 2 + 0.1 * (u - 0.5) ** 3)
    np.testing.assert_allclose(line(bottom[0], "estimate")[1][[0, -1]], [0.75, 2.25])
    assert np.interp(0.76, *line(top[3], "estimate")) == pytest.approx(0.991, abs=0.001)


def test_bands_are_one_and_two_standard_deviations(problem):
    top, _ = panels(belief_figure(problem, ()))
    middle_at_half = 0.4  # and sd 1 there: only the constant counts
    band68, low95, high95 = (
        collection.get_paths()[0].vertices[:, 1][np.isclose(collection.get_paths()[0].vertices[:, 0], 0.5)]
        for collection in top[0].collections
    )
    np.testing.assert_allclose([band68.min(), band68.max()], [middle_at_half - 1, middle_at_half + 1])
    np.testing.assert_allclose([low95.min(), high95.max()], [middle_at_half - 1.96, middle_at_half + 1.96])


def test_crosses_and_the_chosen_control(problem):
    history = paper_history()
    top, bottom = panels(belief_figure(problem, history, chosen=history[1]))
    np.testing.assert_allclose(line(top[2], "observed"), ([0.0, 0.56], [0.545, 0.976]))
    np.testing.assert_allclose(line(bottom[2], "observed")[1], [0.066, 0.381])
    assert [line(panel, "next run")[0][0] for panel in top[:3]] == [0.0, 0.56, 0.76]
    assert line(top[3], "returned")[0][0] == 0.56
    assert to_hex(top[0].lines[0].get_color()) != to_hex(bottom[0].lines[0].get_color())


def test_log_linear_costs_are_positive_on_a_log_axis():
    tuner = log_linear_tuner()
    tuner.tell(tuner.ask(), score=0.6, cost=2.0)
    _, bottom = panels(belief_figure(tuner.problem, tuner.history))
    assert bottom[0].get_yscale() == "log"
    assert bottom[0].get_ylim()[0] > 0
    assert line(bottom[1], "observed")[1] == pytest.approx([0.2])  # in units of the most expensive run
    model, after = tuner.problem.prior.model, tuner.belief.cost.mean
    u, drawn = line(bottom[1], "estimate")
    np.testing.assert_allclose(drawn, np.exp(model.cost_basis(u[:, None]) @ after))


def test_a_failed_run_has_a_cost_but_no_score():
    tuner = log_linear_tuner()
    tuner.tell(tuner.ask(), error="out of memory", cost=2.0)
    top, bottom = panels(belief_figure(tuner.problem, tuner.history))
    assert np.isnan(line(top[1], "observed")[1]).all()
    assert np.isfinite(line(bottom[1], "observed")[1]).all()


def test_more_than_one_coordinate_is_refused():
    tuner = autobct.Tuner({"x": autobct.Float(0, 1), "y": autobct.Float(0, 1)}, price=0.01)
    with pytest.raises(ValueError, match="draws one coordinate, but the space has 2"):
        belief_figure(tuner.problem, ())


def test_saved_files_are_images(problem, tmp_path):
    figure = belief_figure(problem, paper_history())
    save_figure(figure, tmp_path / "beliefs.png")
    save_figure(figure, tmp_path / "beliefs.SVG")
    pixels = imread(tmp_path / "beliefs.png")
    assert pixels.shape[:2] > (300, 600)
    assert pixels.std() > 0.05
    assert ElementTree.parse(tmp_path / "beliefs.SVG").getroot().tag.endswith("svg")


@pytest.mark.slow
def test_the_same_history_gives_the_same_file(problem, tmp_path):
    for name in ("one.svg", "two.svg"):
        save_figure(belief_figure(problem, paper_history()), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("beliefs.jpg", ".png or .svg"), ("folder.png", "is a folder"), ("nowhere/beliefs.png", "does not exist")],
)
def test_files_that_could_not_be_written_are_refused(tmp_path: Path, name, sentence):
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ValueError, match=sentence):
        check_figure_path(tmp_path / name)
