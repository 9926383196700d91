"""Mutated files of every kind, and the inputs that a coverage-guided fuzzer found interesting.

`python -m tools.fuzz_files` makes 20,000 mutations of each kind; docs/reliability.md has what came of them.
"""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.value.map_cases import random_map
from tools.file_kinds import file_kinds, forest_bytes
from tools.fuzz_files import SPARE, fuzz
from tools.fuzz_guided import attempt, readers

from autobct.build.forests.forest_map import probe_error, read_forest
from autobct.maps.container import MapFileError, pack, unpack
from autobct.maps.library import load_map, map_bytes, read_map
from autobct.value.maps.value_map import ValueMap

COUNT = 150  # of each kind
CORPUS = Path(__file__).parent / "corpus.bin"
KINDS = 13


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def kinds(folder: Path) -> list:  # type: ignore[type-arg]
    found = list(file_kinds(folder))
    assert len(found) == KINDS
    return found


@pytest.mark.parametrize("number", range(KINDS))
def test_mutations_are_refused_with_one_type_of_error(number: int, kinds: list, folder: Path) -> None:  # type: ignore[type-arg]
    found = fuzz(kinds[number], COUNT, 1, folder, measured=False)
    assert found.troubles == []
    assert found.accepted + found.refused == COUNT
    assert found.refused > 0


@pytest.mark.parametrize("number", range(KINDS))
def test_memory_stays_below_twice_the_file(number: int, kinds: list, folder: Path) -> None:  # type: ignore[type-arg]
    found = fuzz(kinds[number], 5, 2, folder, measured=True)
    assert found.memory < SPARE


def test_the_fuzzer_sees_what_it_looks_for(kinds: list, folder: Path) -> None:  # type: ignore[type-arg]
    """A reader that raises something else, one that believes everything, and one that warns."""
    from dataclasses import replace

    def raises(data: bytes, place: Path) -> object:
        if data != kinds[0].data:
            raise KeyError("lost")
        return (0, 0)

    def warns(data: bytes, place: Path) -> object:
        if data != kinds[0].data:
            warnings.warn("odd", RuntimeWarning, stacklevel=1)
        return (0, 0)

    believes = replace(kinds[0], read=lambda data, place: (0, data))
    for kind in (replace(kinds[0], read=raises), replace(kinds[0], read=warns), believes):
        assert fuzz(kind, 5, 0, folder, measured=False).troubles


def test_inputs_that_a_fuzzer_found(folder: Path) -> None:
    """The file holds many: each has its length, four bytes, before it, and its reader as its first byte."""
    data, known, seen = CORPUS.read_bytes(), readers(), Counter[tuple[int, str]]()
    while data:
        size = int.from_bytes(data[:4], "little")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            seen[data[4] % KINDS, attempt(data[4 : 4 + size], folder, known)] += 1
        data = data[4 + size :]
    assert seen.total() > 100
    assert {reader for reader, _ in seen} == set(range(KINDS))
    assert {outcome for _, outcome in seen} >= {
        "accepted",
        "MapFileError",
        "PriorFileError",
        "SettingsError",
        "JournalError",
    }


# --- files made to take long: refused before the first evaluation


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls = [0]
    evaluate = ValueMap.evaluate

    def counting(*args: object) -> object:
        calls[0] += 1
        return evaluate(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(ValueMap, "evaluate", counting)
    return calls


def crafted(networks: int, probes: int, layers: int = 2) -> bytes:
    """A sound map whose one network is repeated, and so are its probe points."""
    tensors, notes = unpack(map_bytes(random_map((1, "log-linear", True)), {}))
    kept = {name: array for name, array in tensors.items() if not name.startswith(("network.", "probe."))}
    first = {name: array for name, array in tensors.items() if name.startswith("network.0.")}
    for k in range(networks):
        kept |= {name.replace("network.0.", f"network.{k}."): array for name, array in first.items()}
        last = len(first) // 2
        for extra in range(last, layers):
            kept |= {f"network.{k}.weights.{extra}": np.ones((1, 1), np.float32)}
            kept |= {f"network.{k}.biases.{extra}": np.zeros(1, np.float32)}
    for name, array in tensors.items():
        if name.startswith("probe.") and name != "probe.values":
            kept[name] = np.concatenate([array] * -(-probes // len(array)))[:probes]
    kept["probe.values"] = np.zeros((networks, probes))
    return pack(kept, notes)


def test_a_map_of_very_many_probe_points_is_refused_before_it_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = crafted(64, 256)
    calls = counted(monkeypatch)
    with pytest.raises(MapFileError, match="do not belong together"):
        load_map(data)
    assert calls == [0]


def test_the_most_that_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = crafted(64, 8)
    calls = counted(monkeypatch)
    with pytest.raises(MapFileError, match="does not give the values stored with it"):
        load_map(data)
    assert calls == [64 * 8]


def test_very_many_networks_layers_or_neighbours_are_refused() -> None:
    with pytest.raises(MapFileError, match="1 to 64 networks"):
        read_map(crafted(65, 8))
    with pytest.raises(MapFileError, match="more than 8 layers"):
        read_map(crafted(2, 8, layers=40))
    tensors, notes = unpack(crafted(1, 8))
    with pytest.raises(MapFileError, match="pairs of neighbours"):
        read_map(pack({**tensors, "neighbours": np.zeros((2, 100_000), np.int32)}, notes))


def test_a_header_of_very_many_arrays_is_refused_unread() -> None:
    header = b"{" + b",".join(b'"%d":{}' % k for k in range(50_000)) + b"}"
    with pytest.raises(MapFileError, match="more than 4096 arrays"):
        unpack(len(header).to_bytes(8, "little") + header)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"probe.features": np.zeros((65, 28), np.float32)}, "at most 64 rows"),
        ({"references": np.linspace(0, 1, 65)[:, None]}, "at most 64 controls"),
        ({"controls": np.linspace(0, 1, 1025)[:, None]}, "at most 1024 controls"),
        ({"controls": np.full((3, 1), 1e300)}, "unit cube"),
        ({f"forest.{k}.value": np.zeros(1, np.float32) for k in range(3, 70)}, "1 to 64 forests"),
    ],
)
def test_large_forests_are_refused(changed: dict, says: str) -> None:  # type: ignore[type-arg]
    tensors, notes = unpack(forest_bytes())

    def opened() -> None:
        read_forest({**tensors, **changed}, notes)
        probe_error({**tensors, **changed})

    with pytest.raises(MapFileError, match=says):
        opened()
