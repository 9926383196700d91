"""A network in NumPy against a plain loop and against torch."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from autobct.value.maps.value_map import Perceptron


def network(*widths: int, seed: int = 0) -> Perceptron:
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(widths))
    return Perceptron(
        tuple((rng.standard_normal(pair) / np.sqrt(pair[0])).astype(np.float32) for pair in pairs),
        tuple(rng.standard_normal(out).astype(np.float32) for _, out in pairs),
    )


def by_loop(net: Perceptron, features: np.ndarray) -> float:
    """One row, one unit at a time, in double precision."""
    units = [float(x) for x in features]
    for layer, (weight, bias) in enumerate(zip(net.weights, net.biases, strict=True)):
        sums = [
            float(bias[j]) + sum(unit * float(w) for unit, w in zip(units, weight[:, j], strict=True))
            for j in range(bias.size)
        ]
        units = sums if layer == len(net.weights) - 1 else [max(0.0, total) for total in sums]
    return units[0]


@pytest.mark.parametrize("widths", [(3, 1), (4, 5, 1), (7, 6, 5, 1)])
def test_it_is_the_plain_loop(widths: tuple[int, ...]) -> None:
    net = network(*widths)
    features = np.random.default_rng(1).standard_normal((4, 3, widths[0]))
    expected = [[by_loop(net, row) for row in block] for block in features]
    np.testing.assert_allclose(net(features), expected, atol=2e-6)


@pytest.mark.heavy
def test_it_is_what_torch_computes() -> None:
    torch = pytest.importorskip("torch")
    net = network(56, 64, 64, 1)
    hidden = torch.from_numpy(np.random.default_rng(2).standard_normal((9000, 56)).astype(np.float32))
    expected = hidden
    for layer, (weight, bias) in enumerate(zip(net.weights, net.biases, strict=True)):
        expected = expected @ torch.from_numpy(weight) + torch.from_numpy(bias)
        expected = expected if layer == 2 else torch.relu(expected)
    np.testing.assert_allclose(net(hidden.numpy()), expected.numpy()[:, 0], atol=2e-5)


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0,), (2, 0, 3)])
def test_batch_axes_stay(shape: tuple[int, ...]) -> None:
    net = network(4, 8, 1)
    values = net(np.zeros((*shape, 4)))
    assert values.shape == shape
    assert values.dtype == np.float64


def test_many_rows_are_the_same_as_each_alone() -> None:
    net = network(4, 8, 1)
    features = np.random.default_rng(3).standard_normal((10_000, 4))
    alone = [float(net(features[row])) for row in (0, 4095, 4096, 9999)]
    np.testing.assert_allclose(net(features)[[0, 4095, 4096, 9999]], alone, atol=1e-6)


@pytest.mark.parametrize("rows", ["slices", "indices"])
def test_the_first_layer_may_be_added_up_from_parts(rows: str) -> None:
    """Score features on one axis, cost features on another: the sum broadcasts, no feature is repeated."""
    net = network(5, 16, 8, 1)
    rng = np.random.default_rng(4)
    score, cost = rng.standard_normal((6, 1, 3)), rng.standard_normal((1, 4, 2))
    first, second = (slice(0, 3), slice(3, 5)) if rows == "slices" else (np.array([0, 1, 2]), np.array([3, 4]))
    parts = (score @ net.weights[0][first] + cost @ net.weights[0][second]).astype(np.float32)
    features = np.concatenate([np.broadcast_to(score, (6, 4, 3)), np.broadcast_to(cost, (6, 4, 2))], axis=-1)
    before = parts.copy()
    np.testing.assert_allclose(net.finish(parts), net(features), atol=2e-6)
    np.testing.assert_array_equal(parts, before)  # the caller's array is not used up


def test_a_file_gives_the_same_network() -> None:
    net = network(4, 8, 1)
    tensors = net.to_tensors("v1") | network(3, 1).to_tensors("v10")
    assert set(net.to_tensors("v1")) == {"v1.weights.0", "v1.weights.1", "v1.biases.0", "v1.biases.1"}
    again = Perceptron.from_tensors(tensors, "v1")
    features = np.random.default_rng(5).standard_normal((20, 4))
    np.testing.assert_array_equal(again(features), net(features))
    assert again.inputs == 4


Tensors = dict[str, np.ndarray]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.clear(), "needs tensors"),
        (lambda t: t.pop("n.biases.1"), "needs tensors"),
        (lambda t: t.update({"n.other": t["n.biases.0"]}), "needs tensors"),
        (lambda t: t.update({"n.weights.1": t.pop("n.weights.0")}), "needs tensors"),
        (lambda t: t.update({"n.weights.2": t["n.weights.1"], "n.biases.9": t["n.biases.1"]}), "needs tensors"),
        (lambda t: t.update({"n.weights.1": t["n.weights.1"][:-1]}), "layer 1 .* does not fit"),
        (lambda t: t.update({"n.weights.0": t["n.weights.0"][0]}), "layer 0 .* does not fit"),
        (lambda t: t.update({"n.weights.0": t["n.weights.0"][:0]}), "layer 0 .* does not fit"),
        (lambda t: t.update({"n.biases.0": t["n.biases.0"][:1]}), "layer 0 .* does not fit"),
        (lambda t: t.update({"n.biases.0": np.float32(1.0) + np.zeros((), np.float32)}), "layer 0 .* does not fit"),
        (lambda t: t.update({"n.weights.0": t["n.weights.0"].astype(float)}), "must be float32"),
        (lambda t: t.update({"n.biases.1": np.array([np.nan], np.float32)}), "finite"),
        (lambda t: t.update({"n.weights.1": np.full((8, 1), np.inf, np.float32)}), "finite"),
        (
            lambda t: t.update({"n.weights.1": np.ones((8, 2), np.float32), "n.biases.1": np.ones(2, np.float32)}),
            "one number",
        ),
    ],
)
def test_a_malformed_file_is_refused_in_one_sentence(change: Callable[[Tensors], object], says: str) -> None:
    tensors = network(4, 8, 1).to_tensors("n")
    change(tensors)
    with pytest.raises(ValueError, match=says):
        Perceptron.from_tensors(tensors, "n")


def test_a_layer_without_a_bias_is_refused() -> None:
    net = network(4, 8, 1)
    with pytest.raises(ValueError, match="bias for each"):
        Perceptron(net.weights, net.biases[:1])
    with pytest.raises(ValueError, match="bias for each"):
        Perceptron((), ())


def test_features_of_another_length_are_refused() -> None:
    net = network(4, 8, 1)
    with pytest.raises(ValueError, match="features must have 4"):
        net(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="features must have 4"):
        net(1.0)
    with pytest.raises(ValueError, match="pre_activation must have 8"):
        net.finish(np.zeros((2, 4), np.float32))
