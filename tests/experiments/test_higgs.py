"""The Higgs forest, grown for real on small generated data."""

from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from experiments.paper import higgs
from experiments.paper.data.higgs import load_collisions
from tests.experiments import paper_data


def test_a_forest_learns_more_from_more(tmp_path: Path) -> None:
    data = load_collisions(paper_data.write_all(tmp_path))
    few, all_of_them = (higgs.train({"share": share}, 0, data) for share in (0.02, 1.0))
    assert few.score < all_of_them.score
    assert all_of_them.score > 0.8
    assert all_of_them.seconds > 0


def test_the_sample_comes_from_the_seed(tmp_path: Path) -> None:
    data = load_collisions(paper_data.write_all(tmp_path))
    scores = [higgs.train({"share": 0.1}, seed, data).score for seed in (0, 0, 1, 2, 3)]
    assert scores[0] == scores[1]
    assert len(set(scores)) > 1
