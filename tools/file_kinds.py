"""One sound file of every kind that the package reads, and how it is read."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tools.mutations import Mutation, of_bytes, of_container, of_journal, of_text

from autobct.belief.surrogate.network import Network
from autobct.belief.surrogate.network_inputs import WHOLE
from autobct.belief.surrogate.network_weights import array_shapes
from autobct.belief.surrogate.predictive import Layout
from autobct.build.forests.forest_map import probe_error, read_forest
from autobct.build.layout import read_prior
from autobct.maps.container import pack, read_shipped, unpack
from autobct.maps.library import read_map, read_surrogate
from autobct.maps.probes import check_probes
from autobct.maps.signatures import check_signature, signature_text
from autobct.run.config import parse, read_text
from autobct.run.job import Job
from autobct.run.journal import Journal, read_journal
from autobct.run.recorded import read_run
from autobct.run.session import tune_program
from autobct.run.toml_space import read_lines
from autobct.tuning.progress import Listeners

TOML = """
command = ["{python}", "train.py", "{{params_json}}"]
price = "0.01 per 30s"
score_range = [0.3, 1.0]
seed = 3
env = {{ MODE = "quick" }}
guess = {{ x = 4 }}
[space]
x = {{ type = "int", low = 1, high = 20 }}
rate = {{ type = "float", low = 1e-4, high = 1.0, log = true }}
kind = {{ type = "categorical", choices = ["a", "b"] }}
depth = {{ type = "int", low = 1, high = 9, step = 2, when = {{ kind = "b" }} }}
[score]
pattern = 'score = ([0-9.]+)'
[limits]
max_runs = 3
timeout = "10 min"
"""
RUN = """
command = ["{python}", "-I", "-S", "-c", "print(1 - ({{x}} - 7) ** 2 / 50)"]
price = 0.0001
[space]
x = {{ type = "int", low = 1, high = 20 }}
[limits]
max_runs = 3
"""
PRIOR = {
    "basis": "cubic",
    "cost_model": "linear",
    "score_noise": 0.05,
    "cost_noise": 0.1,
    "score": {"mean": [0.4, 0.1, -0.2, 0.1], "cov": [1.0, 1.0, 1.0, 1.0]},
    "cost": {"mean": [1.0, 1.0, 2.0, 2.0], "cov": [0.64, 4.0, 4.0, 4.0]},
}
PRIOR_TOML = """basis = "cubic"
cost_model = "log-linear"
score_noise = 0.05
cost_noise = 0.1
[score]
mean = [0.4, 0.1, -0.2, 0.1]
cov = [1.0, 1.0, 1.0, 1.0]
[cost]
mean = [1.0, 1.0, 2.0, 2.0]
cov = [0.64, 4.0, 4.0, 4.0]
"""
ROWS = "machine,cores,rate\n" + "".join(f"m{k},{k + 1},{0.5 + k}\n" for k in range(30))


@dataclass(frozen=True)
class FileKind:
    """A kind of file.

    read:    the bytes, and a folder to write them to, as what they stand for; FileError if refused
    values:  what it says, to be compared;  exact: whether a mutation may change none of that
    allowed: whether what a mutation says is what the original said
    """

    name: str
    data: bytes
    mutated: Mutation
    read: Callable[[bytes, Path], Any]
    values: Callable[[Any], Any] = repr
    exact: bool = False
    allowed: Callable[[Any, Any], bool] = lambda values, original: bool(values == original)


def file_kinds(folder: Path) -> Iterator[FileKind]:
    """All of them.  folder: to make some in."""
    value_map, surrogate, forest = read_shipped("1d-linear-last"), surrogate_bytes(), forest_bytes()
    for name, data, read in (
        ("map", value_map, read_as_map),
        ("surrogate", surrogate, read_as_surrogate),
        ("forest", forest, read_as_forest),
    ):
        yield FileKind(name, data, of_bytes, read, lambda found: found[1], exact=True)
        yield FileKind(f"{name}, resealed", data, of_container, read, lambda found: found[0])
    yield FileKind("prior, TOML", PRIOR_TOML.encode(), of_text, lambda data, place: read_as_prior(data, place, ".toml"))
    yield FileKind(
        "prior, JSON", json.dumps(PRIOR).encode(), of_text, lambda data, place: read_as_prior(data, place, ".json")
    )
    yield FileKind("settings, TOML", TOML.format(python=sys.executable).encode(), of_text, read_as_settings)
    yield FileKind("rows, CSV", ROWS.encode(), of_text, read_as_rows)
    journal = journal_bytes(folder)
    yield FileKind(
        "journal", journal, of_bytes, read_as_journal, lambda found: found, exact=True, allowed=_is_beginning
    )
    yield FileKind("journal, resealed", journal, of_journal, read_as_replayed, lambda found: found.why)
    yield FileKind("signature", SIGNATURE.encode(), of_bytes, read_as_signature, exact=True)


def surrogate_bytes() -> bytes:
    """A small network of random weights."""
    rng = np.random.default_rng(0)
    shapes = array_shapes(32, 16, 2)
    return pack(
        {name: rng.normal(0, 0.1, shape).astype(np.float16) for name, shape in shapes.items()}, {"kind": "surrogate"}
    )


def forest_bytes() -> bytes:
    """Two forests of one small tree each."""
    tree = {
        "feature": np.array([0, 1, -1, -1, -1], dtype=np.int32),
        "threshold": np.array([0.5, 0.1, 0, 0, 0], dtype=np.float32),
        "left": np.array([1, 2, -1, -1, -1], dtype=np.int32),
        "right": np.array([4, 3, -1, -1, -1], dtype=np.int32),
        "value": np.array([0, 0, 0.1, 0.2, 0.3], dtype=np.float32),
        "roots": np.array([0], dtype=np.int32),
        "inputs": np.array(28, dtype=np.int32),
    }
    shown = np.random.default_rng(0).normal(size=(8, 28)).astype(np.float32)
    expected = np.where(shown[:, 0] > 0.5, 0.3, np.where(shown[:, 1] > np.float32(0.1), 0.2, 0.1)).astype(np.float32)
    grid = np.linspace(0, 1, 11)[:, None]
    tensors = {f"forest.{run}.{name}": array for run in (1, 2) for name, array in tree.items()}
    tensors |= {"references": grid, "controls": grid, "probe.features": shown}
    tensors["probe.values"] = np.stack([expected, expected]).astype(np.float64)
    notes = {"kind": "forest", "basis": "cubic", "cost_model": "linear", "states": "8"}
    return pack(tensors, {**notes, "price": "0.1", "score_noise": "0.05", "cost_noise": "0.1"})


def journal_bytes(folder: Path) -> bytes:
    """The journal of a real tuning of three runs."""
    path = folder / "recorded.toml"
    path.write_text(RUN.format(python=sys.executable))
    tune_program(Job.of(path), Listeners([]))
    return (folder / "recorded.run" / "journal.jsonl").read_bytes()


def read_as_map(data: bytes, folder: Path) -> tuple[Any, Any]:
    """A value map, its probe points recomputed."""
    found = read_map(data)
    check_probes(found.value_map, found.probes)
    _check_finite(data)
    return found.value_map.spec.prices, _contents(data)


def read_as_surrogate(data: bytes, folder: Path) -> tuple[Any, Any]:
    """A surrogate, and a prediction with it."""
    network, _ = read_surrogate(data)
    assert isinstance(network, Network)
    layout = Layout(*np.zeros((5, 2), dtype=np.float32))
    seen = network.read(layout.facts, *(np.zeros((2, size), dtype=np.float32) for size in (2, WHOLE)))
    out = network.predict(seen, *(np.ones((3, size), dtype=np.float32) for size in (2, WHOLE)))
    _check_finite(data)
    assert np.isfinite(out).all()
    return out.shape, _contents(data)


def read_as_forest(data: bytes, folder: Path) -> tuple[Any, Any]:
    """A forest map, its probe points recomputed."""
    tensors, notes = unpack(data)
    read_forest(tensors, notes)
    probe_error(tensors)
    _check_finite(data)
    return notes, _contents(data)


def _check_finite(data: bytes) -> None:
    """What was accepted has numbers only: with its checksum made right, values may be others and must be values."""
    assert all(np.isfinite(array).all() for array in unpack(data)[0].values())


def _contents(data: bytes) -> Any:
    tensors, notes = unpack(data)
    return notes, {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in tensors.items()}


def read_as_prior(data: bytes, folder: Path, suffix: str) -> Any:
    """A prior."""
    path = folder / f"prior{suffix}"
    path.write_bytes(data)
    prior = read_prior(path)
    assert np.isfinite(prior.belief.score.cov).all()
    return prior


def read_as_settings(data: bytes, folder: Path) -> Any:
    """What `autobct run` is told."""
    path = folder / "tune.toml"
    path.write_bytes(data)
    settings = parse(read_text(path))
    assert settings.digest
    return settings


def read_as_rows(data: bytes, folder: Path) -> Any:
    """The rows of a table."""
    path = folder / "rows.csv"
    path.write_bytes(data)
    return read_lines(read_text(path, 1 << 23))


def read_as_journal(data: bytes, folder: Path) -> list[dict[str, Any]]:
    """The records of a journal, read and resumed."""
    place = folder / "mutated.run"
    place.mkdir(exist_ok=True)
    (place / "journal.jsonl").write_bytes(data)
    records = read_journal(place / "journal.jsonl")
    journal, again = Journal.resume(place / "journal.jsonl")
    journal.close()
    assert again == records
    return records


def read_as_replayed(data: bytes, folder: Path) -> Any:
    """A tuning read from its journal."""
    place = folder / "mutated.run"
    place.mkdir(exist_ok=True)
    (place / "journal.jsonl").write_bytes(data)
    found = read_run(place)
    numbers = [number for run in found.history for number in (run.score or 0.0, run.cost, run.estimated_score)]
    assert np.isfinite([*numbers, found.tuner.total_cost, *found.tuner.belief.score.mean]).all()
    assert all(run.cost >= 0.0 and (run.score is None) != (run.error is None) for run in found.history)
    return found


def _is_beginning(values: Any, original: Any) -> bool:
    return bool(values == original[: len(values)])


# The key of RFC 8032's first test, whose seed is public; it signs b"a file".
_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
_SIGNED = b"a file"
_SIGNATURE = (
    "3096b634f52c9b17a1fd09fe3f0513c02c3dcc851da928dba72ce0398b0a0567"
    "547e7686a5b23a6a200e8c88c97be2c3df49093e5d3f9165242dd324e21fd00c"
)
SIGNATURE = signature_text(bytes.fromhex(_KEY), bytes.fromhex(_SIGNATURE))


def read_as_signature(data: bytes, folder: Path) -> str:
    """The signer of a file."""
    path = folder / "signed"
    path.write_bytes(_SIGNED)
    (folder / "signed.sig").write_bytes(data)
    return check_signature(path, _SIGNED, [_KEY])
