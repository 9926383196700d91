"""Maps as files: what is written is read again, and whatever is not whole is refused in one sentence."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.value.map_cases import GAME_IDS, GAMES, Game, random_map, random_map_state

from autobct.maps import container, library
from autobct.maps.container import MapFileError, pack, unpack
from autobct.maps.library import load_map, map_bytes, read_map, save_map, shipped_map, verify
from autobct.maps.probes import check_probes, probes_of

GAME: Game = (1, "log-linear", True)
ABOUT = {"seed": "0", "device": "cpu", "certificate": "never below depth 2"}


def altered(*, tensors: dict[str, Any] | None = None, notes: dict[str, Any] | None = None) -> bytes:
    """The file of a map with some arrays or notes replaced, or left out where None."""
    arrays, texts = unpack(map_bytes(random_map(GAME), ABOUT))
    changed: dict[str, Any] = {**arrays, **(tensors or {})}
    told: dict[str, Any] = {**texts, **(notes or {})}
    return pack(
        {name: array for name, array in changed.items() if array is not None},
        {name: text for name, text in told.items() if text is not None},
    )


@pytest.mark.parametrize("game", GAMES, ids=GAME_IDS)
def test_a_map_comes_back_as_it_was(tmp_path: Path, game: Game) -> None:
    value_map, path = random_map(game), tmp_path / "map.safetensors"
    save_map(path, value_map, ABOUT)
    found = read_map(path)
    for name in ("basis", "dim", "cost_model", "recall", "overhead", "prices", "noises"):
        assert getattr(found.value_map.spec, name) == getattr(value_map.spec, name)
    np.testing.assert_array_equal(found.value_map.spec.references, value_map.spec.references)
    np.testing.assert_array_equal(found.value_map.spec.neighbours, value_map.spec.neighbours)
    assert found.about == ABOUT
    state, terms = random_map_state(game, value_map.spec.references, np.random.default_rng(0))
    for left in range(1, 5):
        assert found.value_map.continuation(left)(state, terms) == value_map.continuation(left)(state, terms)
    assert verify(path) <= 1e-6
    assert load_map(path.read_bytes()).deepest == value_map.deepest


def test_the_same_map_gives_the_same_bytes() -> None:
    assert map_bytes(random_map(GAME), ABOUT) == map_bytes(random_map(GAME), dict(reversed(ABOUT.items())))


def test_notes_may_not_take_the_files_own_names() -> None:
    with pytest.raises(MapFileError, match="may not contain basis, format"):
        map_bytes(random_map(GAME), {"format": "9", "basis": "mine"})


def test_probes_are_all_kinds_of_states() -> None:
    probes = probes_of(random_map(GAME))
    assert np.ptp(probes.values) > 0.1
    assert (probes.hand >= 0).any()
    assert check_probes(random_map(GAME), probes) == 0.0


def test_a_network_that_was_changed_does_not_give_its_probes() -> None:
    arrays, _ = unpack(map_bytes(random_map(GAME), ABOUT))
    data = altered(tensors={"network.1.biases.2": arrays["network.1.biases.2"] + np.float32(0.05)})
    read_map(data)
    for reader in (verify, load_map):
        with pytest.raises(MapFileError, match="does not give the values stored with it"):
            reader(data)


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ({"kind": "forest"}, "of kind 'forest'"),
        ({"kind": None}, "of kind None"),
        ({"format": "2"}, "format '2'"),
        ({"basis": None}, "incomplete or inconsistent"),
        ({"basis": '"quintic"'}, "basis 'quintic'"),
        ({"basis": "cubic"}, "incomplete or inconsistent"),
        ({"dim": "2"}, "in 2 dimensions"),
        ({"dim": "1e999"}, "incomplete or inconsistent"),
        ({"dim": '"1"'}, "does not state its problem"),
        ({"cost_model": '"free"'}, "cost model 'free'"),
        ({"recall": "1"}, "does not state its problem"),
        ({"overhead": "NaN"}, "overhead"),
        ({"overhead": "1" + "0" * 400}, "incomplete or inconsistent"),
        ({"prices": "[1.0]"}, "does not state its prices"),
        ({"prices": "[2.0, 1.0]"}, "prices"),
        ({"prices": "[0, 1]"}, "does not state its prices"),
        ({"noises": "{}"}, "does not state its prices and noises"),
        ({"noises": "[" * 100_000}, "incomplete or inconsistent"),
    ],
)
def test_notes_that_make_no_sense_are_refused(notes: dict[str, Any], message: str) -> None:
    with pytest.raises(MapFileError, match=message) as caught:
        read_map(altered(notes=notes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "tensors",
    [
        {"references": None},
        {"references": np.zeros(())},
        {"references": np.zeros((6, 2))},
        {"references": np.full((6, 1), 3.0)},
        {"references": np.zeros((6, 1), dtype=np.float32)},
        {"references": np.zeros((1000, 1))},
        {"neighbours": None},
        {"neighbours": np.full((2, 5), 6, dtype=np.int32)},
        {"neighbours": np.zeros((2, 5))},
        {"neighbours": np.zeros((5,), dtype=np.int32)},
        {"network.0.weights.0": None},
        {"network.0.weights.0": np.zeros((3, 12), dtype=np.float32)},
        {"network.7.weights.0": np.zeros((3, 12), dtype=np.float32)},
        {"network": np.zeros(1)},
        {"extra": np.zeros(1)},
        {"probe.values": None},
        {"probe.values": np.zeros((3, 7))},
        {"probe.values": np.zeros(())},
        {"probe.terms": np.zeros((8, 3))},
        {"probe.terms": np.zeros(())},
        {"probe.hand": np.full(8, 6, dtype=np.int32)},
        {"probe.hand": np.zeros(8)},
        {"probe.score_mean": np.zeros((8, 5), dtype=np.float32)},
        {"probe.score_root": np.zeros((), dtype=np.float32)},
        {"probe.more": np.zeros(1)},
    ],
    ids=lambda tensors: "-".join(f"{k}{'' if v is None else v.shape}" for k, v in tensors.items()),
)
def test_arrays_that_do_not_belong_together_are_refused(tensors: dict[str, Any]) -> None:
    with pytest.raises(MapFileError) as caught:
        read_map(altered(tensors=tensors))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["probe.score_mean", "probe.cost_mean", "probe.score_root", "probe.cost_root"])
def test_probes_of_any_size_are_refused_without_a_warning(name: str) -> None:
    arrays, _ = unpack(map_bytes(random_map(GAME), ABOUT))
    with pytest.raises(MapFileError, match="does not give the values"):
        verify(altered(tensors={name: np.full_like(arrays[name], 3e38)}))


def test_fewer_values_than_networks_are_found_out() -> None:
    with pytest.raises(MapFileError, match="does not give the values"):
        verify(altered(tensors={"probe.values": np.zeros((2, 8))}))


def test_every_single_byte_that_is_cut_or_changed_is_noticed() -> None:
    data = map_bytes(random_map(GAME), ABOUT)
    rng = np.random.default_rng(0)
    for position in rng.integers(0, len(data), 60).tolist():
        for broken in (data[:position], data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]):
            with pytest.raises(MapFileError):
                load_map(broken)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MapFileError, match="cannot be read"):
        load_map(tmp_path / "none.safetensors")


def test_shipped_maps_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.safetensors"
    save_map(path, random_map(GAME), ABOUT)
    monkeypatch.setattr(container, "shipped", lambda: {"mine": path})
    shipped_map.cache_clear()
    assert shipped_map("mine") is shipped_map("mine")
    shipped_map.cache_clear()
    with pytest.raises(MapFileError, match="the package has no map 'other'; there are: mine"):
        shipped_map("other")


def test_all_maps_that_came_with_the_package_are_whole() -> None:
    for name in container.shipped():
        assert library.verify(container.read_shipped(name)) <= 1e-5


def test_the_game_is_readable_in_the_notes() -> None:
    _, notes = unpack(map_bytes(random_map(GAME), ABOUT))
    assert json.loads(notes["cost_model"]) == "log-linear"
    assert json.loads(notes["recall"]) is True
    assert notes["kind"] == "network"


def test_whole_numbers_and_numpy_numbers_are_written_as_plain_ones() -> None:
    value_map = random_map(GAME)
    told = replace(value_map.spec, prices=(0, 3), overhead=np.float32(0.0), recall=np.bool_(True))
    spec = read_map(map_bytes(replace(value_map, spec=told), {})).value_map.spec
    assert (spec.prices, spec.overhead, spec.recall) == ((0.0, 3.0), 0.0, True)


def test_a_range_of_prices_survives() -> None:
    value_map = random_map(GAME)
    told = replace(value_map, spec=replace(value_map.spec, prices=(0.01, 3.0), noises=(0.02, 0.4)))
    spec = read_map(map_bytes(told, {})).value_map.spec
    assert (spec.prices, spec.noises) == ((0.01, 3.0), (0.02, 0.4))
