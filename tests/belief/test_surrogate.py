"""The learned surrogate in NumPy: what the network must do whatever its weights are."""

from __future__ import annotations

import importlib
from dataclasses import fields, replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from autobct.belief.surrogate.network import HEAD, NARROW_HEAD, Network
from autobct.belief.surrogate.network_inputs import PLACE, SHAPES, WAVES, WHOLE
from autobct.belief.surrogate.network_weights import array_shapes, network_of, sizes_of
from autobct.belief.surrogate.predictive import Layout, squash, unsquash
from autobct.maps.container import unpack
from autobct.maps.library import NAME

WIDTH, NARROW, LAYERS = 64, 32, 2
Weights = dict[str, np.ndarray]
Array = np.ndarray


def random_weights(rng: np.random.Generator, layers: int = LAYERS) -> Weights:
    weights = {}
    for name, shape in array_shapes(WIDTH, NARROW, layers).items():
        if name.endswith(("near", "sharp")):
            weights[name] = rng.uniform(-1.0, 3.0, shape)
        elif "norm" in name and name.endswith("weight"):
            weights[name] = rng.uniform(0.5, 1.5, shape)
        else:
            weights[name] = rng.standard_normal(shape) / np.sqrt(shape[-1])
    return weights


@pytest.fixture
def network() -> Network:
    return network_of(random_weights(np.random.default_rng(0)))


def layout(dim: int, seed: int = 8) -> Layout:
    rng = np.random.default_rng(seed)
    whole, category, log, grows = rng.random((4, dim)) < 0.4
    return Layout(*(np.asarray(f, np.float32) for f in (whole, category, log, rng.uniform(0.0, 9.0, dim), grows)))


def rows(count: int, seed: int, dim: int = 5) -> tuple[Array, Array]:
    """Places and wholes of rows."""
    rng = np.random.default_rng(seed)
    return tuple(
        part.astype(np.float32) for part in (rng.uniform(-1, 1, (count, dim)), rng.normal(size=(count, WHOLE)))
    )


def runs_of(count: int, seed: int, dim: int = 5) -> tuple[Array, Array]:
    """So many rows, the first of which is no run."""
    places, wholes = rows(count, seed, dim)
    return np.concatenate([np.zeros_like(places[:1]), places[1:]]), wholes


def test_candidates_do_not_see_each_other(network: Network) -> None:
    seen, (places, wholes) = network.read(layout(5).facts, *runs_of(6, 1)), rows(500, 2)
    together = network.predict(seen, places, wholes)
    for i in (0, 7, 191, 192, 499):
        alone = network.predict(seen, places[i : i + 1], wholes[i : i + 1])
        np.testing.assert_allclose(together[i : i + 1], alone, atol=1e-4)


def test_what_all_candidates_have_in_common_is_said_once(network: Network) -> None:
    seen, (places, wholes) = network.read(layout(5).facts, *runs_of(6, 1)), rows(9, 2)
    every = np.tile(wholes[:1], (9, 1))
    np.testing.assert_allclose(
        network.predict(seen, places, wholes[:1]), network.predict(seen, places, every), atol=1e-5
    )


def test_the_order_of_runs_makes_no_difference(network: Network) -> None:
    (places, wholes), candidates = runs_of(7, 3), rows(4, 4)
    mixed = [0, 6, 5, 4, 3, 2, 1]  # the context stays first
    one, other = (network.read(layout(5).facts, places[order], wholes[order]) for order in (slice(None), mixed))
    np.testing.assert_allclose(network.predict(one, *candidates), network.predict(other, *candidates), atol=1e-4)


def test_the_order_of_coordinates_makes_no_difference(network: Network) -> None:
    (places, wholes), (at, asked), order = runs_of(7, 3), rows(4, 4), [3, 0, 4, 1, 2]
    known = layout(5)
    mixed = Layout(*(getattr(known, field.name)[order] for field in fields(Layout)))
    one, other = network.read(known.facts, places, wholes), network.read(mixed.facts, places[:, order], wholes)
    expected = network.predict(one, at, asked)
    np.testing.assert_allclose(network.predict(other, at[:, order], asked), expected, atol=1e-4)
    swapped = network.predict(network.read(known.facts, places[:, order], wholes), at[:, order], asked)
    assert np.abs(swapped - expected).max() > 1e-2  # what is known of each makes one


@pytest.mark.parametrize("dim", [1, 2, 40])
def test_there_may_be_any_number_of_coordinates_and_runs(network: Network, dim: int) -> None:
    for count in (1, 2, 40):
        logits = network.predict(network.read(layout(dim).facts, *runs_of(count, 5, dim)), *rows(3, 6, dim))
        assert np.isfinite(logits).all()
        assert np.ptp(logits, axis=0).max() > 1e-3


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("again", [False, True])
def test_it_is_what_the_formulas_say(layers: int, again: bool) -> None:
    """By hand, in float64, with loops: runs, then a candidate, which may be where a run was."""
    weights = random_weights(np.random.default_rng(5), layers)
    known, runs, (place, whole) = layout(3), runs_of(4, 6, 3), rows(1, 7, 3)
    candidate = (runs[0][2:3] if again else place, whole)
    network = network_of(weights)
    found = network.predict(network.read(known.facts, *runs), *candidate)[0]
    np.testing.assert_allclose(found, by_hand(weights, known.facts, runs, candidate), atol=1e-4)


def by_hand(weights: Weights, facts: Array, runs: tuple[Array, Array], candidate: tuple[Array, Array]) -> Array:
    """Logits at one candidate."""
    (places, wholes), (place, whole) = runs, candidate
    count, dim = places.shape
    places, wholes = np.concatenate([places, place]).astype(float), np.concatenate([wholes, whole]).astype(float)
    everyone, seen = range(count + 1), range(count)
    basis = [[_waves(u) if i > 0 else np.zeros(PLACE) for u in places[i]] for i in everyone]  # the context has no place
    row = [_layer(weights, "whole2", _gelu(_layer(weights, "whole", wholes[i]))) for i in everyone]
    column = {}
    for i in seen:
        for j in range(dim):
            told = weights["fact.weight"] @ facts[j] + weights["shared.weight"] @ wholes[i]
            column[i, j] = _layer(weights, "embed", _relu(_layer(weights, "place", basis[i][j]) + told))
    layers = sizes_of(weights)[2]
    for k in range(layers):
        name = f"blocks.{k}"
        normed = {at: _norm(weights, f"{name}.norm1", column[at]) for at in column}
        for i, j in list(column):
            query = _layer(weights, f"{name}.column_query", normed[i, j])
            both = [np.split(_layer(weights, f"{name}.column_key_value", normed[n, j]), 2) for n in seen]
            looked = []
            for head in range(NARROW // NARROW_HEAD):
                part = slice(head * NARROW_HEAD, (head + 1) * NARROW_HEAD)
                shares = _shares([query[part] @ key[part] / np.sqrt(NARROW_HEAD) for key, _ in both])
                looked.append(sum(share * value[part] for share, (_, value) in zip(shares, both, strict=True)))
            column[i, j] = column[i, j] + _layer(weights, f"{name}.column_out", np.concatenate(looked))
        normed = {at: _norm(weights, f"{name}.norm2", column[at]) for at in column}
        typical = [np.mean([normed[i, j] for i in seen], axis=0) for j in range(dim)]
        shapes = [_layer(weights, f"{name}.shapes", each).reshape(PLACE, SHAPES) for each in typical]
        relevance = [np.logaddexp(_layer(weights, f"{name}.relevance", each), 0.0) for each in typical]
        for i in everyone:
            row[i] = row[i] + _layer(weights, f"{name}.read", sum(_relu(basis[i][j] @ shapes[j]) for j in range(dim)))
        row = _looked(weights, name, row, places, relevance, count)
        if k == layers - 1:
            break
        for i in seen:
            row[i] = row[i] + _layer(weights, f"{name}.gather", np.mean([normed[i, j] for j in range(dim)], axis=0))
        for i, j in column:
            inner = _layer(weights, f"{name}.column_up", _norm(weights, f"{name}.norm5", column[i, j]))
            inner = inner + _layer(weights, f"{name}.side", _norm(weights, f"{name}.norm6", row[i]))
            column[i, j] = column[i, j] + _layer(weights, f"{name}.column_down", _relu(inner))
    return _layer(weights, "head", _norm(weights, "norm", row[count]))


def _looked(
    weights: Weights, name: str, row: list[Array], places: Array, relevance: list[Array], count: int
) -> list[Array]:
    """Every row after it has looked at the runs."""
    normed, near = [_norm(weights, f"{name}.norm3", each) for each in row], np.logaddexp(weights[f"{name}.near"], 0.0)
    both = [np.split(_layer(weights, f"{name}.key_value", each), 2) for each in normed[:count]]
    after = []
    for i, each in enumerate(normed):
        query, seen = _layer(weights, f"{name}.query", each), []
        for head in range(WIDTH // HEAD):
            part, looks = slice(head * HEAD, (head + 1) * HEAD), []
            for n in range(count):
                cosine = query[part] @ both[n][0][part]
                cosine /= np.linalg.norm(query[part]) * np.linalg.norm(both[n][0][part])
                away = sum(
                    relevance[j][head] * ((places[i, j] - places[n, j]) / 2.0) ** 2 for j in range(len(relevance))
                )
                placed = i > 0 and n > 0  # the first is the context, which has no place
                looks.append(
                    weights[f"{name}.sharp"][head] * cosine - placed * (away + near[head] * np.log(away + 1e-3))
                )
            seen.append(sum(share * both[n][1][part] for n, share in enumerate(_shares(looks))))
        thinking = row[i] + _layer(weights, f"{name}.out", np.concatenate(seen))
        inner = _gelu(_layer(weights, f"{name}.up", _norm(weights, f"{name}.norm4", thinking)))
        after.append(thinking + _layer(weights, f"{name}.down", inner))
    return after


def _waves(u: float) -> Array:
    return np.array([1.0, u, u * u, *(np.sin(wave * u) for wave in WAVES), *(np.cos(wave * u) for wave in WAVES)])


def _layer(weights: Weights, name: str, x: Array) -> Array:
    return weights[f"{name}.weight"] @ x + weights[f"{name}.bias"]


def _norm(weights: Weights, name: str, x: Array) -> Array:
    away = x - x.mean()
    return away / np.sqrt(np.mean(away**2) + 1e-5) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _shares(looks: list[float]) -> Array:
    return np.exp(np.array(looks) - max(looks)) / np.exp(np.array(looks) - max(looks)).sum()


def _relu(x: Array) -> Array:
    return np.maximum(x, 0.0)


def _gelu(x: Array) -> Array:
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))


def test_arrays_that_do_not_belong_together_are_refused() -> None:
    weights = random_weights(np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"blocks\.1\.query\.weight has shape \(64, 65\), not \(64, 64\)"):
        network_of({**weights, "blocks.1.query.weight": np.zeros((WIDTH, WIDTH + 1))})
    with pytest.raises(ValueError, match="1 arrays too many or too few"):
        network_of({**weights, "more": np.zeros(1)})
    del weights["place.bias"]
    with pytest.raises(ValueError, match=r"no place\.bias"):
        network_of(weights)


def test_squashing_has_an_inverse() -> None:
    z = np.array([-1e4, -3.0, 0.0, 0.5, 2e5])
    np.testing.assert_allclose(unsquash(squash(z)), z, rtol=1e-9)
    assert squash(np.array(np.e - 1.0)) == pytest.approx(1.0)


def test_places_and_facts() -> None:
    one = np.ones(2, dtype=np.float32)
    known = Layout(whole=one * [1, 0], category=one * [0, 1], log=one * 0, ratio=one * [6, 0], grows=one * [0, 1])
    np.testing.assert_allclose(known.places(np.array([[0.25, 1.0]])), [[-0.5, 1.0]])
    np.testing.assert_allclose(known.facts, [[1, 0, 0, 1, 0, 0, 0], [0, 1, 0, 0, 1, 0, 0]])
    assert replace(known, ratio=one * 99).facts.max() < 2.5


@pytest.mark.heavy
@pytest.mark.parametrize(("dim", "count", "trained"), [(1, 2, True), (6, 12, True), (16, 40, True), (3, 8, False)])
def test_numpy_says_what_torch_says(monkeypatch: pytest.MonkeyPatch, dim: int, count: int, trained: bool) -> None:
    """Of the trained weights, and of those that training begins with."""
    torch = pytest.importorskip("torch")
    place = Path(__file__).resolve().parents[2] / "experiments" / "surrogate"
    monkeypatch.syspath_prepend(str(place))
    model = importlib.import_module("model")
    there = model.Network()
    weights = {name: parameter.detach().numpy() for name, parameter in there.named_parameters()}
    if trained:
        weights, notes = unpack((resources.files("autobct.maps") / "files" / NAME).read_bytes())
        there = model.Network(**{name: int(notes[name]) for name in ("width", "narrow", "layers")})
        there.load_state_dict({name: torch.tensor(array.astype(np.float32)) for name, array in weights.items()})
    here, known, runs, candidates = network_of(weights), layout(dim), runs_of(count, 1, dim), rows(40, 2, dim)
    with torch.no_grad():
        both = (torch.from_numpy(np.concatenate(pair))[None] for pair in zip(runs, candidates, strict=True))
        facts, mask = torch.from_numpy(known.facts)[None], torch.ones(1, count, dtype=torch.bool)
        expected = there(*both, facts, torch.ones(1, dim), mask)[0].numpy()
    np.testing.assert_allclose(here.predict(here.read(known.facts, *runs), *candidates), expected, atol=1e-4)
