"""The control maps against the numbers that the paper prints."""

import math

import numpy as np
import pytest
from experiments.paper import controls


@pytest.mark.parametrize(
    ("u", "batch"), [(0, 10), (1, 200), (0.42, 89), (0.15, 38), (0.295, 66), (0.3, 67)]
)  # 89, 38 and 66 are in the text
def test_batch_size(u: float, batch: int) -> None:
    assert controls.batch_size(u) == batch


@pytest.mark.parametrize(("u", "rate"), [(0, 1e-5), (1, 0.1), (0.5, 0.001), (0.43, 0.0005), (0.46, 0.0007)])
def test_learning_rate(u: float, rate: float) -> None:
    assert controls.learning_rate(u) == pytest.approx(rate, rel=0.15)  # the paper prints one digit


def test_learning_rate_is_even_on_the_log_scale() -> None:
    steps = np.diff([math.log10(controls.learning_rate(u)) for u in (0, 0.25, 0.5, 0.75, 1)])
    assert steps == pytest.approx(np.ones(4))


@pytest.mark.parametrize(("u", "epochs"), [(0, 1), (1, 35), (0.54, 19), (0.48, 17)])
def test_epochs(u: float, epochs: int) -> None:
    assert controls.epochs(u) == epochs


def test_every_number_of_epochs_has_its_control() -> None:
    assert [controls.epochs(u) for (u,) in controls.grid(35).tolist()] == list(range(1, 36))


def test_every_number_of_trees_has_its_control() -> None:
    assert [controls.trees(u) for (u,) in controls.grid(100).tolist()] == list(range(1, 101))


def test_scale_and_code() -> None:
    assert controls.scale(0.01) == pytest.approx(1.09)
    assert [controls.code(u) for (u,) in controls.grid(10).tolist()] == list(range(1, 11))
    assert [controls.code(u) for u in (0.05, 0.06, 0.94, 0.95)] == [1, 2, 9, 10]


def test_share_of_the_higgs_rows() -> None:
    assert controls.sample_share(0.13) == pytest.approx(0.024, abs=0.001)
    assert controls.sample_share(1.0) == 1.0


def test_the_grid_varies_its_last_control_fastest() -> None:
    assert controls.grid(3, 2).tolist() == [[a, b] for a in (0, 0.5, 1) for b in (0, 0.5, 1)]
    assert controls.grid(21)[7].tolist() == [0.35]
