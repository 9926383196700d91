"""Builds of network maps: the same bits for a seed however often they are interrupted, and nothing lost on the way."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from autobct.belief.prior import paper_prior
from autobct.build import checkpoints
from autobct.build.checkpoints import BuildError, clear_checkpoints
from autobct.build.forests.iteration import references_first
from autobct.build.layout import default_names, priors_of, training_controls
from autobct.build.networks import network_builder as builder
from autobct.build.networks.judge import shrinking as shrinking_in_torch
from autobct.build.networks.judged import game_of, torch_duel, values_of
from autobct.build.networks.network_builder import BuildRequest, build_map, default_settings, request_for
from autobct.build.networks.network_training import TrainingSettings, derived_seed, stack_priors
from autobct.maps.library import read_map, verify
from autobct.tuning.decide.policy import mapped
from autobct.value.lookahead.on_the_fly import on_the_fly
from autobct.value.maps.value_map import mismatches
from autobct.value.state import Terms, view

pytestmark = pytest.mark.heavy

TINY = TrainingSettings(states=48, steps=6, batch=16, runs=3, rounds=2, longest=4, hidden=8, chunk=32)
REQUEST = BuildRequest(settings=TINY, draws=0)


def networks(path: Path) -> list[np.ndarray]:
    found = read_map(path).value_map.networks
    return [array for network in found for array in (*network.weights, *network.biases)]


def same(one: Path, other: Path) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(networks(one), networks(other), strict=True))


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return build_map(REQUEST, tmp_path_factory.mktemp("whole"))


def test_the_finished_map_is_whole_and_says_how_it_was_built(whole):
    assert verify(whole) == 0.0
    about = read_map(whole).about
    assert set(about) == {"build", "autobct", "numpy", "seconds", "policy"}
    lines = about["build"].splitlines()
    assert {"dim: 1", "cost: linear", "recall: False", "states: 48", "seed: 0"} <= set(lines)
    assert {line.partition(":")[0] for line in lines} >= {"priors", "device", "torch"}
    assert float(about["seconds"]) > 0
    assert read_map(whole).value_map.deepest == 4


def test_a_seed_gives_the_same_bits_and_another_seed_does_not(whole, tmp_path):
    assert same(whole, build_map(REQUEST, tmp_path / "again"))
    assert not same(whole, build_map(replace(REQUEST, seed=1), tmp_path / "other"))


def test_the_state_of_torch_outside_does_not_matter(whole, tmp_path):
    torch.manual_seed(77)
    before = torch.get_rng_state()
    path = build_map(REQUEST, tmp_path)
    assert torch.equal(torch.get_rng_state(), before)
    assert same(whole, path)


@pytest.mark.parametrize("done", [1, 2, 3])
def test_an_interrupted_build_goes_on_to_the_same_bits(whole, tmp_path, done, monkeypatch):
    def stop(count: int, total: int, text: str) -> None:
        if count == done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_map(REQUEST, tmp_path, stop)
    assert files(tmp_path) == {f"V_{index + 2}.safetensors" for index in range(done)}
    trained = []
    original = builder.next_value
    monkeypatch.setattr(builder, "next_value", lambda *a, **k: trained.append(1) or original(*a, **k))
    said: list[str] = []
    assert same(whole, build_map(REQUEST, tmp_path, lambda count, total, text: said.append(text)))
    assert len(trained) == 3 - done
    assert f"continuing after V_{done + 1}" in said[0]


def test_a_killed_process_leaves_whole_checkpoints(whole, tmp_path):
    code = (
        "import os, signal, sys; from pathlib import Path; from autobct.build.networks.network_builder import *\n"
        "from autobct.build.networks.network_training import TrainingSettings\n"
        f"request = BuildRequest(settings={TINY!r}, draws=0)\n"
        "def die(done, total, text):\n"
        "    if done == 2: os.kill(os.getpid(), signal.SIGKILL)\n"
        "build_map(request, Path(sys.argv[1]), die)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    died = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env=environment, capture_output=True, check=False
    )
    assert died.returncode == -signal.SIGKILL
    assert files(tmp_path) == {"V_2.safetensors", "V_3.safetensors"}
    assert same(whole, build_map(REQUEST, tmp_path))


def test_a_full_disk_keeps_the_last_good_checkpoint(whole, tmp_path, monkeypatch):
    write = checkpoints.write_file

    def full(path, data):
        if Path(path).name == "V_3.safetensors":
            raise OSError(28, "No space left on device")
        write(path, data)

    monkeypatch.setattr(checkpoints, "write_file", full)
    with pytest.raises(BuildError, match=r"V_3.* \(No space left on device\); V_2 is kept in .* continues from there"):
        build_map(REQUEST, tmp_path)
    assert files(tmp_path) == {"V_2.safetensors"}
    monkeypatch.undo()
    assert same(whole, build_map(REQUEST, tmp_path))


def test_a_full_disk_at_the_very_end_keeps_all_of_them(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(builder, "save_map", full)
    with pytest.raises(BuildError, match=r"the map could not be written .* V_2 to V_4 are kept"):
        build_map(REQUEST, tmp_path)
    assert files(tmp_path) == {"V_2.safetensors", "V_3.safetensors", "V_4.safetensors"}


def test_a_half_written_checkpoint_is_never_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    with pytest.raises(BuildError, match="nothing is kept yet"):
        build_map(REQUEST, tmp_path)
    assert files(tmp_path) == set()


def test_another_build_in_the_folder_is_refused_with_the_lines_that_differ(whole):
    with pytest.raises(BuildError) as refused:
        build_map(replace(REQUEST, seed=3, recall=True), whole.parent)
    assert str(refused.value).splitlines()[1:] == [
        "there: recall: False",
        "there: seed: 0",
        "asked: recall: True",
        "asked: seed: 3",
    ]
    assert verify(whole) == 0.0


@pytest.mark.parametrize("damage", ["truncated", "altered", "another kind"])
def test_a_damaged_checkpoint_is_made_again(whole, tmp_path, damage):
    build_map(REQUEST, tmp_path)
    path = tmp_path / "V_3.safetensors"
    data = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(data[:-10])
    elif damage == "altered":
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    else:
        path.write_bytes(whole.read_bytes())
    said: list[str] = []
    assert same(whole, build_map(REQUEST, tmp_path, lambda count, total, text: said.append(text)))
    assert "V_3.safetensors is not usable" in said[0]
    assert "continuing after V_2" in said[1]


def test_checkpoints_are_cleared_and_the_map_is_not(tmp_path):
    path = build_map(REQUEST, tmp_path)
    clear_checkpoints(tmp_path)
    assert files(tmp_path) == {path.name}
    path.unlink()
    clear_checkpoints(tmp_path)
    assert not tmp_path.exists()


def test_what_it_is_worth_is_recorded(tmp_path):
    request = replace(REQUEST, dim=2, settings=replace(TINY, runs=1), draws=6)
    told: list[tuple[int, int]] = []
    path = build_map(request, tmp_path, lambda done, total, text: told.append((done, total)))
    rows = json.loads(read_map(path).about["policy"])
    assert [row["prior"] for row in rows] == ["cnn-2d", "fraud-2d"]
    assert all(row["draws"] == 6 and row["price"] == 0.16 and np.isfinite(row["net"]) for row in rows)
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("cost", ["linear", "log-linear"])
def test_the_papers_prices_and_noises_are_inside_the_maps_range(tmp_path, cost):
    request = BuildRequest(cost=cost, settings=replace(TINY, runs=1), draws=0)
    spec = read_map(build_map(request, tmp_path)).value_map.spec
    for prior in priors_of(default_names(1, cost), 1, cost):
        for price in (0.04, 0.16, 0.64):
            for noise in (0.02, 0.05, 0.15):
                asked = replace(prior, model=replace(prior.model, score_noise=noise))
                assert mismatches(spec, asked, Terms(price, prior.model.cost_model, False, spec.overhead)) == []


@pytest.mark.parametrize("recall", [False, True])
def test_torch_and_numpy_play_the_same_policy(tmp_path, recall):
    request = BuildRequest(recall=recall, settings=replace(TINY, steps=60, runs=2), draws=0)
    value_map = read_map(build_map(request, tmp_path)).value_map
    spec, prior = value_map.spec, paper_prior("cnn-batch")
    controls = training_controls(1)
    game = game_of(spec, controls, device="cpu")
    state = view(prior.belief, prior.model, references_first(spec.references, controls))
    terms = Terms(0.16, recall=recall, overhead=spec.overhead)
    start = stack_priors([prior], game)
    policy = mapped(value_map)(references_first(spec.references, controls), 0)
    for made, close in ((0, 5e-3), (1, 1e-4)):  # the first: fewer controls in NumPy
        expected = shrinking_in_torch(values_of(value_map, "cpu"))(game, start, made)[0].detach().numpy()
        assert policy(state, terms, made).value == pytest.approx(expected, abs=close)
    for made in (2, 9):  # the map is used up: depth 2 in NumPy, and nearly so in torch, at other inner controls
        found = policy(state, terms, made).value
        assert np.array_equal(found, on_the_fly(state, terms, depth=2))
        expected = shrinking_in_torch(values_of(value_map, "cpu"))(game, start, made)[0].detach().numpy()
        assert found == pytest.approx(expected, abs=5e-3)


def test_a_duel_is_a_function_of_its_seed(whole):
    value_map = read_map(whole).value_map
    values, prior = values_of(value_map, "cpu"), paper_prior("fraud")
    one, same_numbers, other = (
        torch_duel(value_map.spec, values, prior, 0.16, draws=20, seed=seed, device="cpu") for seed in (0, 0, 1)
    )
    assert np.array_equal(one.net, same_numbers.net)
    assert not np.array_equal(one.base_net, other.base_net)
    assert one.runs.min() >= 1


def test_every_value_function_has_its_own_seed():
    seeds = {derived_seed(seed, index) for seed in range(20) for index in range(20)}
    assert len(seeds) == 400
    assert all(0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"dim": 3}, "dim must be 1 or 2"),
        ({"cost": "cubic"}, "cost must be one of linear, log-linear"),
        ({"priors": ("cnn-2d",)}, "prior must be one of synthetic"),
        ({"priors": (paper_prior("cnn-2d"),)}, "must use the basis 'cubic'"),
        ({"priors": (paper_prior("fraud"),), "cost": "log-linear"}, "log-linear cost"),
        ({"settings": replace(TINY, runs=0)}, "runs must be at least 1"),
        ({"seed": -1}, "seed must be zero or positive"),
        ({"device": "abacus"}, "device must be cpu or cuda"),
    ],
)
def test_what_cannot_be_built_is_refused_at_the_door(change, named):
    with pytest.raises(ValueError, match=named):
        replace(REQUEST, **change)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one")
def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="torch finds none here"):
        BuildRequest(device="cuda")


def test_a_prior_of_ones_own_is_told_from_another():
    own = [replace(REQUEST, priors=(paper_prior(name),)).lines() for name in ("fraud", "intel", "fraud")]
    assert own[0] == own[2] != own[1]


def test_the_command_lines_request_fills_in_what_is_not_said():
    asked = request_for(1, "linear", True, 5, None, 2, "cpu", quick=False)
    assert asked.settings == replace(default_settings(1, "cpu"), runs=5)
    assert (asked.name, asked.seed, asked.draws) == ("1d-linear-recall", 2, 1000)
