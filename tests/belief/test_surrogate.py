"""The learned surrogate in NumPy: what the network must do whatever its weights are."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from autobct.belief.surrogate.network import (
    INPUTS,
    OUTPUTS,
    SLOT,
    SLOTS,
    Layout,
    Network,
    network_of,
    slots_of,
    squash,
    unsquash,
)
from autobct.maps.container import unpack

WIDTH, HIDDEN, LAYERS = 64, 96, 2


def random_weights(rng: np.random.Generator) -> dict[str, np.ndarray]:
    shapes = {"embed": (WIDTH, INPUTS), "embed2": (WIDTH, WIDTH), "head": (OUTPUTS, WIDTH)}
    weights: dict[str, np.ndarray] = {"norm.weight": np.ones(WIDTH), "norm.bias": np.zeros(WIDTH)}
    for k in range(LAYERS):
        name = f"blocks.{k}"
        shapes |= {
            f"{name}.query": (WIDTH, WIDTH),
            f"{name}.key_value": (2 * WIDTH, WIDTH),
            f"{name}.out": (WIDTH, WIDTH),
            f"{name}.up": (HIDDEN, WIDTH),
            f"{name}.down": (WIDTH, HIDDEN),
        }
        for norm in ("norm1", "norm2"):
            weights |= {f"{name}.{norm}.weight": rng.uniform(0.5, 1.5, WIDTH), f"{name}.{norm}.bias": np.zeros(WIDTH)}
        weights[f"{name}.near"] = rng.standard_normal((2, WIDTH // 32))
    for name, (out, into) in shapes.items():
        weights |= {f"{name}.weight": rng.standard_normal((out, into)) / np.sqrt(into), f"{name}.bias": np.zeros(out)}
    return weights


@pytest.fixture
def network() -> Network:
    return network_of(random_weights(np.random.default_rng(0)))


def rows(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, INPUTS)).astype(np.float32)


def test_candidates_do_not_see_each_other(network: Network) -> None:
    memory, candidates = network.read(rows(6, 1)), rows(9, 2)
    together = network.predict(memory, candidates)
    alone = np.concatenate([network.predict(memory, candidates[i : i + 1]) for i in range(9)])
    np.testing.assert_allclose(together, alone, atol=1e-4)


def test_the_order_of_runs_makes_no_difference(network: Network) -> None:
    runs, candidates = rows(7, 3), rows(4, 4)
    mixed = np.concatenate([runs[:1], runs[1:][::-1]])  # the context stays first
    np.testing.assert_allclose(
        network.predict(network.read(runs), candidates), network.predict(network.read(mixed), candidates), atol=1e-4
    )


def test_attention_is_what_the_formula_says() -> None:
    """One layer by hand, in float64, with loops."""
    weights = random_weights(np.random.default_rng(5))
    network = network_of(weights)
    runs, candidate = rows(3, 6), rows(1, 7)
    memory = network.read(runs)
    keys, values = memory.layers[0]
    embedded = _by_hand(weights, candidate[0])
    normed = embedded - embedded.mean()
    normed = normed / np.sqrt(np.mean(normed**2) + 1e-5) * weights["blocks.0.norm1.weight"]
    query = (weights["blocks.0.query.weight"] @ normed).reshape(-1, 32)
    near = np.logaddexp(weights["blocks.0.near"], 0.0)
    seen = []
    for head in range(WIDTH // 32):
        looks = np.array([query[head] @ keys[head, n] / np.sqrt(32.0) for n in range(3)])
        for n in range(1, 3):  # the first is the context, which has no place
            away = np.sum((_place(candidate[0]) - _place(runs[n])) ** 2)
            looks[n] -= near[0, head] * min(away, 4.0) + near[1, head] * np.log(away + 1e-3)
        shares = np.exp(looks - looks.max()) / np.exp(looks - looks.max()).sum()
        seen.append(shares @ values[head])
    expected = embedded + weights["blocks.0.out.weight"] @ np.concatenate(seen)
    found = _after_attention(network, memory, candidate)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def _place(row: np.ndarray) -> np.ndarray:
    return row[: SLOTS * SLOT].reshape(SLOTS, SLOT)[:, 0] / 2.0


def _by_hand(weights: dict[str, np.ndarray], row: np.ndarray) -> np.ndarray:
    x = weights["embed.weight"] @ row.astype(float)
    x = 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
    return weights["embed2.weight"] @ x


def _after_attention(network: Network, memory: object, candidate: np.ndarray) -> np.ndarray:
    """The first layer's row after attention: its small network switched off."""
    from dataclasses import replace

    from autobct.belief.surrogate.network import _advanced, _distances, _places

    block = network.blocks[0]
    quiet = replace(block, down=(np.zeros_like(block.down[0]), np.zeros_like(block.down[1])))
    near = _distances(_places(candidate), memory.places, memory.special)  # type: ignore[attr-defined]
    return _advanced(network._embedded(candidate), quiet, memory.layers[0], near)[0]  # type: ignore[attr-defined]


def test_a_file_with_a_wrong_shape_is_refused() -> None:
    weights = random_weights(np.random.default_rng(0))
    weights["blocks.1.query.weight"] = np.zeros((WIDTH, WIDTH + 1))
    with pytest.raises(ValueError, match=r"blocks\.1\.query has shapes"):
        network_of(weights)


def test_squashing_has_an_inverse() -> None:
    z = np.array([-1e4, -3.0, 0.0, 0.5, 2e5])
    np.testing.assert_allclose(unsquash(squash(z)), z, rtol=1e-9)
    assert squash(np.array(np.e - 1.0)) == pytest.approx(1.0)


def test_slots_hold_places_and_kinds() -> None:
    one = np.ones(2, dtype=np.float32)
    layout = Layout(whole=one * [1, 0], category=one * [0, 1], log=one * 0, ratio=one * [6, 0], grows=one * 0)
    slots = slots_of(layout, np.array([[0.25, 1.0]], dtype=np.float32)).reshape(SLOTS, SLOT)
    np.testing.assert_allclose(slots[0], [-0.5, 1, 1, 0, 0, 1, 0])
    np.testing.assert_allclose(slots[1], [1.0, 1, 0, 1, 0, 0, 0])
    assert not slots[2:].any()


@pytest.mark.heavy
def test_numpy_says_what_torch_says_of_the_trained_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    place = Path(__file__).resolve().parents[2] / "experiments" / "surrogate"
    monkeypatch.syspath_prepend(str(place))
    model = importlib.import_module("model")
    weights, notes = unpack((place / "weights" / "all.surrogate").read_bytes())
    sizes = {name: int(notes[name]) for name in ("width", "layers", "heads", "hidden")}
    there = model.Network(**sizes)
    there.load_state_dict({name: torch.tensor(array.astype(np.float32)) for name, array in weights.items()})
    here, runs, candidates = network_of(weights), rows(12, 1), rows(40, 2)
    with torch.no_grad():
        mask = torch.ones(1, 12, dtype=torch.bool)
        expected = there(torch.from_numpy(runs)[None], torch.from_numpy(candidates)[None], mask)[0].numpy()
    np.testing.assert_allclose(here.predict(here.read(runs), candidates), expected, atol=1e-4)
