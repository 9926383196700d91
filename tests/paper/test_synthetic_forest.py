"""The synthetic example against section 4.1: the board by hand, the clock faked, the paper's tables replayed."""

import itertools

import numpy as np
import pytest

from autobct import Stop, Train
from autobct.paper import synthetic_forest as synthetic
from autobct.report.runs_table import last_row


def test_checkerboard_by_hand():
    points = np.array([[0.05, 0.05], [0.15, 0.05], [0.05, 0.15], [0.15, 0.15], [0.95, 0.05], [0.1, 0.0], [0.0, 0.0]])
    assert synthetic.checkerboard(points).tolist() == [0, 1, 1, 0, 1, 1, 0]


def test_checkerboard_of_another_size():
    corners = np.array([[[0.25, 0.25], [0.25, 0.75]], [[0.75, 0.25], [0.75, 0.75]]])
    assert synthetic.checkerboard(corners, a=2, b=2).tolist() == [[0, 1], [1, 0]]
    assert synthetic.checkerboard(corners, a=2, b=1).tolist() == [[0, 0], [1, 1]]


def test_data_comes_from_the_seed():
    data, same, other = (synthetic.draw_data(seed, (300, 200)) for seed in (5, 5, 6))
    assert data.train.shape == (300, 2)
    assert data.validation.shape == (200, 2)
    assert np.array_equal(data.train, same.train)
    assert np.array_equal(data.validation, same.validation)
    assert not np.array_equal(data.train, other.train)
    assert not np.isin(data.validation, data.train).any()
    assert np.array_equal(data.validation_labels, synthetic.checkerboard(data.validation))
    assert 0.3 < data.train_labels.mean() < 0.7


def test_forests_come_from_seed_and_run():
    data = synthetic.draw_data(0, (300, 200))
    accuracy = {
        (seed, run): synthetic.forest_trainer(data, seed=seed)({"n_estimators": 3}, run)[0]
        for seed, run in [(0, 0), (0, 1), (1, 0)]
    }
    assert synthetic.forest_trainer(data, seed=0)({"n_estimators": 3}, 1)[0] == accuracy[0, 1]
    assert len(set(accuracy.values())) > 1


def test_a_forest_learns_the_board():
    data = synthetic.draw_data(0, (3_000, 500))
    assert synthetic.forest_accuracy(data, 20, random_state=0) > 0.8


def ticking(*durations: float):
    """A clock under which the k-th thing timed takes the k-th of these seconds."""
    starts_and_ends = itertools.chain.from_iterable((0.0, seconds) for seconds in durations)
    return lambda: next(starts_and_ends)


def test_calibration_takes_the_median_and_extrapolates():
    found = synthetic.calibrate(synthetic.draw_data(0, (50, 50)), seed=0, clock=ticking(0.9, 0.18, 0.17))
    assert (found.trees, found.seconds) == (10, 0.18)
    assert found.slowest == pytest.approx(1.8)  # 100 trees
    assert found.cost_unit == pytest.approx(2.0)  # so that 100 trees cost 0.9


def test_the_trainer_reports_the_seconds_of_the_clock():
    train = synthetic.forest_trainer(synthetic.draw_data(0, (50, 50)), seed=0, clock=ticking(1.25))
    assert train({"n_estimators": 1}, 0)[1] == 1.25


def test_the_tuner_is_the_papers():
    problem = synthetic.paper_tuner(3.0).problem
    assert problem.terms.price == pytest.approx(0.16)
    assert problem.terms.overhead == 0.0
    assert not problem.terms.recall
    assert problem.cost_scale.to_model(3.0) == 1.0
    assert problem.score_scale.to_model(0.75) == 0.5
    assert problem.controls.shape == (101, 1)
    assert [problem.space.params(np.array([u]))["n_estimators"] for u in (0.0, 0.74, 0.76, 1.0)] == [1, 74, 76, 100]


def test_recall_keeps_the_small_price_of_every_run():
    terms = synthetic.paper_tuner(3.0, recall=True).problem.terms
    assert terms.recall
    assert terms.overhead > 0


def test_decisions_as_in_the_papers_table():
    """Told the outcomes of the paper's on-the-fly table, it starts as the paper did and stops after three runs."""
    outcomes = [(0.545, 0.066), (0.976, 0.381), (0.983, 0.445)]
    tuner = synthetic.paper_tuner(0.6)
    made = []
    for decision in synthetic.decisions(
        tuner, lambda params, run: (0.5 + outcomes[run][0] / 2, 0.6 * outcomes[run][1])
    ):
        made.append(decision)
        if len(made) == 2:
            first = last_row(tuner.problem, tuner.history, decision)
    assert [type(decision) for decision in made] == [Train, Train, Train, Stop]
    assert made[0].control[0] == 0.0
    assert first.estimated_score == pytest.approx(0.545, abs=0.001)
    assert first.value == pytest.approx(0.653, abs=0.015)  # the paper's has a standard deviation of 0.011
    assert made[-1].why.startswith("Stopped after 3 runs")
