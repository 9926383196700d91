"""Builds of the paper's forest maps: deterministic, resumable, and a file that gives back what was built."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from autobct.belief.prior import paper_prior
from autobct.build.checkpoints import BuildError
from autobct.build.forests.forest_builder import ForestRequest, build_forest, quick_or_paper
from autobct.build.forests.forest_map import probe_error, read_forest
from autobct.maps.container import MapFileError, pack, read_file, unpack
from autobct.value.state import view

REQUEST = ForestRequest(runs=2, trees=5, states=120, draws=0)


def tensors(path: Path) -> dict[str, np.ndarray]:
    return unpack(read_file(path))[0]


def same(one: Path, other: Path) -> bool:
    ours, theirs = tensors(one), tensors(other)
    return set(ours) == set(theirs) and all(np.array_equal(ours[name], theirs[name]) for name in ours)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return build_forest(REQUEST, tmp_path_factory.mktemp("whole"))


def test_the_file_gives_back_the_map(whole):
    arrays, notes = unpack(read_file(whole))
    found = read_forest(arrays, notes)
    assert probe_error(arrays) == 0.0
    assert (len(found.values), found.states, found.terms.price) == (2, 120, 0.16)
    assert {"trees: 5", "states: 120", "seed: 0"} <= set(notes["build"].splitlines())
    prior = paper_prior("synthetic")
    state = view(prior.belief, found.model, found.controls)
    values = found.relaxed()(state, found.terms, 0).value
    assert values.shape == (26,)
    assert np.isfinite(values).all()


def test_a_seed_gives_the_same_bits_and_another_seed_does_not(whole, tmp_path):
    assert same(whole, build_forest(REQUEST, tmp_path / "again"))
    assert not same(whole, build_forest(replace(REQUEST, seed=1), tmp_path / "other"))


@pytest.mark.parametrize("done", [1, 2])
def test_an_interrupted_build_goes_on_to_the_same_bits(whole, tmp_path, done):
    def stop(count: int, total: int, text: str) -> None:
        if count == done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_forest(REQUEST, tmp_path, stop)
    assert {path.name for path in tmp_path.iterdir()} == {f"V_{run}.safetensors" for run in range(1, done + 1)}
    said: list[str] = []
    assert same(whole, build_forest(REQUEST, tmp_path, lambda count, total, text: said.append(text)))
    assert f"continuing after V_{done}" in said[0]


def test_another_build_in_the_folder_is_refused(whole):
    with pytest.raises(BuildError, match="there: trees: 5\nasked: trees: 6"):
        build_forest(replace(REQUEST, trees=6), whole.parent)


def test_what_it_is_worth_is_recorded(tmp_path):
    path = build_forest(replace(REQUEST, runs=1, draws=4), tmp_path)
    rows = json.loads(unpack(read_file(path))[1]["policy"])
    assert len(rows) == 6
    assert all(row["draws"] == 4 and np.isfinite(row["gap"]) for row in rows)


@pytest.mark.parametrize("missing", ["references", "controls", "forest.1.roots", "probe.values"])
def test_a_map_that_is_not_whole_gets_a_sentence(whole, missing):
    arrays, notes = unpack(read_file(whole))
    arrays, notes = unpack(pack({name: array for name, array in arrays.items() if name != missing}, notes))
    read = probe_error if missing.startswith("probe.") else lambda arrays: read_forest(arrays, notes)
    with pytest.raises(MapFileError, match="incomplete or inconsistent"):
        read(arrays)


@pytest.mark.parametrize(
    ("note", "text", "named"),
    [
        ("basis", "quintic", "this version does not know"),
        ("cost_model", "free", "this version does not know"),
        ("price", "cheap", "does not state its price"),
        ("price", "-1", "must be positive"),
        ("score_noise", "nan", "must be positive"),
    ],
)
def test_notes_that_make_no_sense_get_a_sentence(whole, note, text, named):
    arrays, notes = unpack(read_file(whole))
    with pytest.raises(MapFileError, match=named):
        read_forest(arrays, {**notes, note: text})


def test_values_that_were_changed_are_noticed(whole):
    arrays, _ = unpack(read_file(whole))
    with pytest.raises(MapFileError, match="does not give the values stored with it"):
        probe_error({**arrays, "probe.values": arrays["probe.values"] + 0.01})


@pytest.mark.parametrize(
    ("change", "named"),
    [({"dim": 3}, "dim"), ({"cost": "free"}, "cost"), ({"runs": 0}, "runs"), ({"seed": -1}, "seed")],
)
def test_what_cannot_be_built_is_refused_at_the_door(change, named):
    with pytest.raises(ValueError, match=named):
        replace(REQUEST, **change)


def test_the_papers_size_is_the_default():
    asked = quick_or_paper(2, "linear", None, None, 0, quick=False)
    assert (asked.runs, asked.trees, asked.states) == (4, 100, None)
    assert asked.name == "2d-linear-last-forest"
