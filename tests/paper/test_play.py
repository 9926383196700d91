"""Experiments played against tables: what a line says, what is returned, how summaries come about."""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np
import pytest
from tests.paper.tables import made_table

from autobct.paper.experiment import MOST_RUNS, Method, TrainingOutcome
from autobct.paper.experiments import EXPERIMENTS
from autobct.paper.play import default_player, opening, paper_player, replay_of
from autobct.paper.summary import (
    difference,
    published_rows,
    published_run_cells,
    recorded_factor,
    replayed,
    spread,
    text_lines,
)
from autobct.value.maps.value_map import ValueMap

HIGGS, OTF = EXPERIMENTS["higgs"], EXPERIMENTS["synthetic-otf"]


def test_lines_are_the_tuners_numbers_in_the_papers_units() -> None:
    start = opening(OTF, paper_player(OTF.method, 1))
    told = [(0.545, 0.066), (0.976, 0.381), (0.983, 0.445)]

    def train(control: np.ndarray, params: object, run: int) -> TrainingOutcome:
        score, cost = told[run]
        return TrainingOutcome(float(OTF.score.to_raw(score)), 60.0 * 0.01 * cost)

    played, tuner = start.play(train, 1.0)
    assert [line.score for line in played.lines] == pytest.approx([0.545, 0.976, 0.983])
    assert [line.total for line in played.lines] == pytest.approx([0.066, 0.447, 0.892])
    assert played.lines[0].control == (0.0,)
    assert played.lines[0].params == {"n_estimators": 1}
    assert played.lines[0].believed == pytest.approx(0.545, abs=1e-3)
    assert played.lines[0].value == pytest.approx(0.653, abs=0.015)  # the paper's, of 1000 samples
    assert played.last.value is not None
    assert played.last.value <= played.last.believed  # which is why it stops
    assert played.returned == len(played.lines) - 1 == 2
    assert played.net(0.16) == pytest.approx(0.983 - 0.16 * 0.892)
    assert len(tuner.history) == 3


def test_vi_map_is_one_lookahead_on_the_iterate_of_that_depth() -> None:
    for depth in (2, 3, 4):
        policy = paper_player(Method(map=True, depth=depth, damping=0.02), 1).policy
        assert isinstance(getattr(policy, "value_map", None), ValueMap)
        assert policy.value_map.deepest == depth  # type: ignore[union-attr]


def test_the_value_at_the_first_belief_is_that_of_one_run_more() -> None:
    """V_2's lookahead is V_3, and on the fly depth 2 is V_2: 0.308 and 0.243 at the synthetic prior."""
    on_map = opening(EXPERIMENTS["synthetic-map-2"], paper_player(Method(map=True, depth=2), 1)).first
    on_the_fly = opening(OTF, paper_player(OTF.method, 1)).first
    assert on_map.value == pytest.approx(0.308, abs=0.01)
    assert on_the_fly.value == pytest.approx(0.243, abs=0.002)


def test_our_policy_may_return_an_earlier_model() -> None:
    def train(control: np.ndarray, params: object, run: int) -> TrainingOutcome:
        good = 1.2 if run == 0 else 0.0
        return TrainingOutcome(float(OTF.score.to_raw(good)), 0.1)

    played, _ = opening(OTF, default_player()).play(train, 1.0)
    assert len(played.lines) > 1
    assert played.returned == 0
    assert played.model.score > played.last.score


def test_a_tuning_that_never_wants_to_stop_is_capped() -> None:
    cheap = replace(OTF, cost=replace(OTF.cost, cost=0.001))
    rng = np.random.default_rng(0)

    def train(control: np.ndarray, params: object, run: int) -> TrainingOutcome:
        return TrainingOutcome(float(rng.random()), 0.0)

    played, _ = opening(cheap, paper_player(cheap.method, 1)).play(train, 1.0)
    assert len(played.lines) <= MOST_RUNS


def test_seeds_give_the_same_tunings_again_and_others_differ() -> None:
    replay = replay_of(made_table(HIGGS), 1)
    first, second = (replayed(HIGGS, paper_player(HIGGS.method, 1), replay, 6) for _ in range(2))
    assert first.played == second.played
    assert len({one.last.score for one in first.played}) > 1


def test_a_summary_by_hand() -> None:
    replay = replay_of(made_table(HIGGS), 1)
    tunings = replayed(HIGGS, paper_player(HIGGS.method, 1), replay, 5)
    summary, scores = tunings.summary, [one.last.score for one in tunings.played]
    assert summary.score.mean == pytest.approx(statistics.mean(scores))
    assert summary.score.sd == pytest.approx(statistics.stdev(scores))
    assert summary.net.mean == pytest.approx(summary.score.mean - 0.16 * summary.cost.mean)
    assert summary.runs.mean == statistics.mean(len(one.lines) for one in tunings.played)
    assert tunings.mean_scores is not None
    at = [HIGGS.score.to_model(replay.mean_score(np.array(one.last.control), 1)) for one in tunings.played]
    assert list(tunings.mean_scores) == pytest.approx(at)
    assert summary.mean_net is not None


def test_the_cost_of_a_table_is_the_papers_at_the_known_control() -> None:
    replay = replay_of(made_table(HIGGS), 1)
    seconds = replay.mean_seconds(np.array(HIGGS.cost.control), 1)
    assert HIGGS.cost.to_model(seconds, recorded_factor(HIGGS, replay)) == pytest.approx(HIGGS.cost.cost)


def test_paired_differences() -> None:
    assert difference([1.0, 2.0, 4.0], [0.0, 1.0, 1.0]) == pytest.approx((5 / 3, np.std([1, 1, 3], ddof=1) / 3**0.5))
    assert difference([1.0], [0.5]) == (0.5, None)
    assert spread([2.0]).sd is None


def test_the_papers_rows_beneath() -> None:
    (_, one_run), (label, mean) = published_rows(EXPERIMENTS["cnn-2d-map"])
    assert label == "paper, mean of 40"
    assert (str(mean.score), str(mean.control[1]), str(mean.runs)) == ("0.782 (0.15)", "0.295 (0.23)", "8.450 (1.8)")
    assert one_run.net.mean == pytest.approx(0.953 - 0.16 * 1.721)
    lines = text_lines(published_run_cells(EXPERIMENTS["cnn-r"].published_run))
    assert lines[0].split() == ["n", "h_n", "t_n", "sum", "t", "u", "posterior", "V"]
    assert lines[-1].split() == ["5", "0.794", "0.368", "1.796", "0.430", "0.445", "0.389"]
