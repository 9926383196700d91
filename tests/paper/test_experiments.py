"""The settings of the experiments against what the paper prints of them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from tools.paper_checked import checked, posteriors

from autobct.paper.experiment import CostScale, Experiment
from autobct.paper.experiments import EXPERIMENTS, experiment
from autobct.tuning.space.space import Space

ALL = list(EXPERIMENTS.values())
by_name = pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)


@pytest.mark.parametrize("one", [one for one in ALL if one.published_run and one.dim == 1], ids=lambda one: one.name)
def test_prior_noise_and_basis_give_the_papers_posterior_column(one: Experiment) -> None:
    """Five tables of the paper, to the third decimal: prior, noise, basis and filter are the paper's."""
    found = [believed for _, believed in posteriors(one)]
    assert found == pytest.approx([line[3] for line in one.published_run], abs=1.5e-3)


def test_the_papers_on_the_fly_values_are_ours() -> None:
    """V of every line of table 3; the paper's come from 1000 samples, ours from integrals."""
    lines = checked(EXPERIMENTS["synthetic-otf"])
    assert [line.value for line in lines] == pytest.approx([line.published_value for line in lines], abs=0.006)
    assert all(line.value < line.most for line in lines)


def test_the_papers_forests_were_above_what_any_policy_can_get() -> None:
    lines = checked(EXPERIMENTS["cnn-r"])
    assert [line.published_value > line.most for line in lines] == [True, True, True, False, False]
    assert all(line.value < line.most for line in lines)
    assert lines[-1].value == pytest.approx(lines[-1].published_value, abs=0.005)


def test_another_noise_would_not() -> None:
    one = EXPERIMENTS["cnn-r"]
    other = replace(one.prior, model=replace(one.prior.model, score_noise=0.05))
    (*_, (_, found)) = posteriors(replace(one, prior=other, score_noise=0.05))
    assert abs(found - 0.445) > 0.02


@by_name
def test_a_published_run_ends_as_its_summary_says(one: Experiment) -> None:
    for line, row in zip(one.published_run[-1:], one.published, strict=False):
        assert (line[0], line[2], line[3]) == (row.score, row.control, row.believed)
        assert sum(run[1] for run in one.published_run) == pytest.approx(row.cost, abs=2e-3)
        assert len(one.published_run) == row.runs


@by_name
def test_the_price_is_the_papers(one: Experiment) -> None:
    assert one.price == 0.16
    assert one.controls.shape == ((101, 1) if one.dim == 1 else (441, 2))


@pytest.mark.parametrize(
    ("name", "control", "expected"),
    [
        ("synthetic-map-2", [0.74], {"n_estimators": 74}),
        ("synthetic-otf", [0.76], {"n_estimators": 76}),
        ("cnn-batch", [0.42], {"batch": 89}),
        ("cnn-r", [0.43], {"r": 0.000525}),
        ("cnn-2d-map", [0.5, 0.15], {"r": 0.001, "batch": 38}),
        ("cnn-2d-map", [0.46, 0.295], {"r": 0.00069, "batch": 66}),
        ("higgs", [0.125], {"share": 0.0242}),
        ("intel-plain", [0.54], {"epochs": 19}),
        ("intel-resnet50", [0.48], {"epochs": 17}),
        ("fraud", [0.01], {"scale": 1.09}),
        ("fraud-2d", [0.0, 0.0], {"scale": 1.0, "code": 1.0}),
    ],
)
def test_controls_stand_for_what_the_paper_says(name: str, control: list[float], expected: dict[str, float]) -> None:
    assert Space.of(experiment(name).space).params(np.array(control)) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("name", "raw", "score"),
    [
        ("synthetic-map-2", 0.99, 0.98),
        ("cnn-batch", 0.732, 0.806),
        ("cnn-2d-map", 0.7835, 0.953),
        ("higgs", 0.72, 0.6),
        ("fraud", 0.74, 0.99),
        ("fraud-2d", 0.73, 0.97),
    ],
)
def test_scores_are_scaled_as_the_paper_prints_both(name: str, raw: float, score: float) -> None:
    assert experiment(name).score.to_model(raw) == pytest.approx(score, abs=0.006)


@pytest.mark.parametrize(
    ("name", "minutes", "cost"),
    [("cnn-r", 2.7, 0.357), ("higgs", 4.8, 0.96), ("fraud", 42.9, 1.89), ("fraud-2d", 62.0, 2.868)],
)
def test_minutes_of_the_papers_machine_are_its_costs(name: str, minutes: float, cost: float) -> None:
    assert experiment(name).cost.to_model(60.0 * minutes, 1.0) == pytest.approx(cost, abs=0.02)


@by_name
def test_a_run_at_the_known_control_costs_what_it_did_in_the_paper(one: Experiment) -> None:
    factor = one.cost.factor(7.0)
    assert one.cost.to_model(7.0, factor) == pytest.approx(one.cost.cost)
    assert one.cost.to_model(0.0, factor) == 0.0
    assert len(one.cost.control) == one.dim


def test_a_faster_machine_has_a_larger_factor() -> None:
    scale = CostScale(0.0, 7.5, (0.42,), 0.2, "here")
    assert scale.factor(9.0) == pytest.approx(2 * scale.factor(18.0))
    with pytest.raises(ValueError, match="must take time"):
        scale.factor(0.0)


def test_what_is_restated_must_agree_with_the_prior() -> None:
    with pytest.raises(ValueError, match="higgs: basis, noise and space are"):
        replace(EXPERIMENTS["higgs"], score_noise=0.15)


def test_names_are_told_apart_and_unknown_ones_refused() -> None:
    assert len({one.source + str(one.method) + one.table for one in ALL}) == len(ALL) == 12
    with pytest.raises(ValueError, match="no experiment is called 'iris'; there are: synthetic-map-2,"):
        experiment("iris")
    assert all(one.name.startswith(one.table) or one.table in one.name for one in ALL)


def test_every_table_of_the_paper_is_there() -> None:
    named = list(itertools.chain.from_iterable(one.source.split(";")[0].split("table")[1].split() for one in ALL))
    assert {int(word) for word in named if word.isdigit()} == set(range(1, 13))
