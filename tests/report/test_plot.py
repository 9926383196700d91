"""Figures for notebooks: what they draw is what the result says."""

import os
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.report.cases import HOSTILE, half_failing, many, one, told

import autobct
from autobct import plot


@pytest.fixture(scope="module")
def result():
    return one()


def line(panel, label):
    (found,) = [line for line in panel.lines if line.get_label() == label]
    return np.asarray(found.get_xdata(), dtype=float), np.asarray(found.get_ydata(), dtype=float)


def test_history_draws_every_score_at_its_total_cost(result):
    (panel,) = plot.history(result).axes
    totals, scores = line(panel, "observed")
    np.testing.assert_allclose(totals, np.cumsum([run.cost for run in result.history]))
    np.testing.assert_allclose(scores, [run.score for run in result.history])
    _, going_on = line(panel, "value of continuing")
    values = [decision.value for decision in result.decisions if isinstance(decision, autobct.Train)]
    np.testing.assert_allclose(going_on[: len(values)], values)


def test_history_marks_failed_runs():
    (panel,) = plot.history(one(train=half_failing, max_runs=6, policy=autobct.relaxed(depth=2), prior="paper")).axes
    assert len(line(panel, "failed")[0]) >= 1


def test_belief_draws_what_the_tuner_believes(result):
    score, cost = plot.belief(result).axes
    u, drawn = line(score, "now")
    untrained = ~np.isin(u, [run.control[0] for run in result.history])  # where scores were measured they count too
    estimated = np.array([result.tuner.estimated_score(np.array([x])) for x in u])
    np.testing.assert_allclose(drawn[untrained], estimated[untrained])
    np.testing.assert_allclose(line(cost, "observed")[1], [run.cost for run in result.history])


def test_belief_has_a_row_for_each_parameter():
    result = many()
    figure = plot.belief(result)
    assert [panel.get_xlabel() for panel in figure.axes[::2]] == list(result.importance())
    figure.canvas.draw()
    choice = next(panel for panel in figure.axes if panel.get_xlabel() == "act")
    assert all(len(label.get_text()) <= 16 for label in choice.get_xticklabels())
    assert len(HOSTILE) > 16


def test_what_if_draws_the_prices_asked_for(result):
    runs, score = plot.what_if(result, [0.3, "0.001 per unit", 0.01]).axes
    told_runs = dict(zip(*runs.lines[0].get_data(), strict=True))
    for price in (0.001, 0.01, 0.3):
        (other,) = result.what_if([price])
        assert told_runs[price] == other.runs
    assert score.get_xscale() == "log"


def test_forecast_takes_a_tuner_or_a_forecast():
    tuner = autobct.Tuner({"x": autobct.Float(0, 1)}, price=0.05, policy=autobct.relaxed(depth=1), prior="paper")
    forecast = tuner.forecast(draws=5)
    runs, cost, score = plot.forecast(forecast).axes
    assert sum(patch.get_height() for patch in runs.patches) == pytest.approx(1.0)
    assert sum(patch.get_height() for patch in cost.patches) == 5
    assert sum(patch.get_height() for patch in score.patches) == 5


def test_a_tuner_can_be_drawn_too():
    tuner, _ = told(autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-5), 3)
    assert all(isinstance(draw(tuner), Figure) for draw in (plot.history, plot.belief, plot.what_if))


def test_before_the_first_run_there_is_no_what_if():
    with pytest.raises(ValueError, match="no run has finished"):
        plot.what_if(autobct.Tuner({"x": autobct.Float(0, 1)}, price=0.01))


def test_other_things_are_refused():
    with pytest.raises(TypeError, match="needs a result or a tuner, got 3"):
        plot.history(3)
    with pytest.raises(TypeError, match="needs a result or a tuner, got 3"):
        plot.forecast(3)


def test_without_matplotlib_the_install_line_is_named():
    code = (
        "import sys; sys.modules['matplotlib'] = None; import autobct; from autobct import plot\n"
        "try: plot.history(autobct.Tuner({'x': autobct.Float(0, 1)}, price=0.01))\n"
        "except ImportError as error: print(error)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("plots need matplotlib")
    assert "pip install 'autobct[report]'" in done.stdout


def test_many_prices_at_once_are_answered_like_each_alone():
    tuner, _ = told(autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-6, score_range=(0, 1)), 6)
    result, prices = tuner.result(), np.geomspace(1e-5, 1.0, 9).tolist()
    together = [(other.price, other.runs, other.known, other.score) for other in result.what_if(prices[::-1])]
    alone = [(other.price, other.runs, other.known, other.score) for p in prices[::-1] for other in result.what_if([p])]
    assert together == alone
    assert len({runs for _, runs, _, _ in alone}) > 2  # they do differ
