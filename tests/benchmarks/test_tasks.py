"""The arithmetic of the tuning tasks, on a made-up task whose statistics are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from surfaces import NoDataError, Table
from tasks import (
    LEVELS,
    Bench,
    Question,
    Task,
    Training,
    Trial,
    autobct_tuner,
    best_seen,
    named,
    outcome_of,
    play,
    published,
    seed_on,
)
from yardsticks import measured, sampled

import autobct


def line(points):
    """Score x, cost 1 + x: uniform scores, so that every quantile is known."""
    return points[:, 0], 1.0 + points[:, 0]


@pytest.fixture
def task(tmp_path, monkeypatch):
    monkeypatch.setattr("yardsticks.kept_folder", lambda: tmp_path)
    return Task("line", "made-up", {"x": autobct.Float(0, 1)}, line, (0.0, 1.0), noise=0.01)


@pytest.fixture
def table():
    space = {"x": autobct.Float(1.0, 100.0, log=True), "n": autobct.Int(1, 5)}
    points = np.array([[1.0, 1.0], [10.0, 1.0], [100.0, 1.0]])
    return Task(
        "rows", "made-up", space, Table(points, np.array([0.1, 0.5, 0.9]), np.array([1.0, 2.0, 3.0])), (0, 1), 0.0, 0.0
    )


def fixed(*values: float):
    def tuner(question: Question, train: Training) -> int:
        return int(np.argmax([train({"x": x})[0] for x in values]))

    return tuner


def test_the_yardstick_of_a_line_is_that_of_a_uniform(task):
    known = task.yardstick
    assert known.c50 == pytest.approx(1.5, abs=0.005)
    assert known.low == pytest.approx(0.1, abs=0.005)
    assert known.best == pytest.approx(1.0, abs=1e-3)
    assert (known.mean_score, known.mean_cost) == (pytest.approx(0.5, abs=0.005), pytest.approx(1.5, abs=0.005))
    # price = level x 0.9 / 1.5; the best trade-off of x - price (1 + x) is x = 1
    for level, star in known.star:
        assert star == pytest.approx(1.0 - 2.0 * level * 0.6, abs=0.01)
        assert task.price(level) == pytest.approx(0.6 * level, rel=0.01)


def test_the_yardstick_is_read_back_as_it_was_found(task):
    again = Task("line", "made-up", task.space, line, (0.0, 1.0), noise=0.01)
    first, second = task.yardstick, again.yardstick
    assert first == second
    assert first == sampled(task.true, task.points, 1)


def test_a_broken_file_is_found_anew(task, tmp_path):
    expected = sampled(task.true, task.points, 1)
    _ = task.yardstick
    (file,) = tmp_path.glob("*.json")
    for text in ("", "[]", '{"star": 3}', file.read_text().replace("0.003", "0.5")):
        file.write_text(text)
        assert Task("line", "made-up", task.space, line, (0.0, 1.0), noise=0.01).yardstick == expected


def test_captured_is_one_for_the_clairvoyant_and_zero_for_one_random_training(task):
    known, rng = task.yardstick, np.random.default_rng(3)
    for level in LEVELS:
        assert known.captured(dict(known.star)[level], level) == 1.0
        at_random = [play(fixed(x), task, level, seed).captured for seed, x in enumerate(rng.random(400))]
        assert abs(np.mean(at_random)) < 4 * np.std(at_random) / 20


def test_utility_counts_every_training_and_the_true_score(task):
    trials = [Trial(0.9, 0.2, 2.0), Trial(0.5, 0.6, 3.0)]
    found = outcome_of(task, 0.1, trials, best_seen(trials))
    assert found.chosen == 0
    assert found.utility == pytest.approx(0.2 - task.price(0.1) * 5.0)
    assert found.cost == pytest.approx(5.0 / task.yardstick.c50)


def test_noise_is_that_of_the_task_and_the_same_for_every_tuner(task):
    bench = Bench(task, seed=5, cap=4000)
    for _ in range(4000):
        bench({"x": 0.5})
    seen, cost = np.array([(trial.seen, trial.cost) for trial in bench.trials]).T
    assert seen.mean() == pytest.approx(0.5, abs=0.001)
    assert seen.std() == pytest.approx(0.01, rel=0.05)
    assert cost.mean() == pytest.approx(1.5, rel=0.005)
    assert cost.std() == pytest.approx(0.075, rel=0.05)
    first, second = play(fixed(0.2, 0.4), task, 0.01, 7).history, play(fixed(0.3, 0.4), task, 0.01, 7).history
    assert first[1] == second[1]
    assert play(fixed(0.2, 0.4), task, 0.01, 8).history[1] != first[1]


def test_a_tuner_is_told_nothing_of_the_yardstick(task):
    told = []

    def tuner(question: Question, train: Training) -> int:
        told.append(question)
        train({"x": 0.5})
        return 0

    play(tuner, task, 0.01, 0)
    assert told == [Question(task.space, task.price(0.01), (0.0, 1.0), seed_on(task, 0), 50, None)]


def test_every_task_and_every_seed_has_its_own_noise(task):
    other = Task("other", "made-up", task.space, line, (0.0, 1.0), noise=0.01)
    seeds = {seed_on(one, seed) for one in (task, other) for seed in range(100)}
    assert len(seeds) == 200
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_table_gives_the_nearest_row_that_is_left(table):
    bench = Bench(table, seed=0)
    seen = [bench({"x": 9.0, "n": 1})[0] for _ in range(3)]
    assert seen == [0.5, 0.1, 0.9]  # on the log scale 9 is nearer to 1 than to 100
    assert table.yardstick == measured(np.array([0.1, 0.5, 0.9]), np.array([1.0, 2.0, 3.0]))


def test_more_trials_than_the_cap_and_values_outside_are_refused(task):
    with pytest.raises(RuntimeError, match="more than 2 trials"):
        play(fixed(0.1, 0.2, 0.3), task, 0.01, 0, cap=2)
    with pytest.raises(ValueError, match="from 0"):
        play(fixed(1.5), task, 0.01, 0)
    with pytest.raises(ValueError, match="returned trial 3 of 1"):
        play(lambda question, train: int(3 + 0 * train({"x": 0.5})[0]), task, 0.01, 0)


def test_autobct_plays(task):
    found = play(autobct_tuner(), task, 0.003, 0)
    assert found.trials >= 1
    assert found.captured > 0.5
    assert found.seconds > 0


def test_points_and_params_are_each_others_inverse(table):
    space = {**table.space, "kind": autobct.Categorical(["a", "b", "c"])}
    mixed = Task("mixed", "made-up", space, line, (0.0, 1.0), 0.0)
    points = mixed.points(np.random.default_rng(0).random((300, 3)))
    for point in points:
        assert mixed.point(mixed.params(point)) == pytest.approx(point, rel=1e-15)
    for column, values in ((1, 5), (2, 3)):
        assert np.bincount(points[:, column].astype(int)).max() < 1.5 * 300 / values


def test_without_data_the_sentence_says_what_to_get(monkeypatch, tmp_path):
    monkeypatch.delenv("AUTOBCT_DATA", raising=False)
    with pytest.raises(NoDataError, match=r"YAHPO Gym.*AUTOBCT_DATA=FOLDER"):
        published()
    with pytest.raises(NoDataError, match="no tuning tasks in"):
        named(["xgb_mnist"], tmp_path)
    (tmp_path / "hpo").mkdir()
    with pytest.raises(NoDataError, match=r"xgb_mnist.npz is missing"):
        named(["xgb_mnist"], tmp_path)
    with pytest.raises(ValueError, match="there is no task 'moon'"):
        named(["moon"], tmp_path)
