"""The peers, their pipes, their cells and the arithmetic of the table, on made-up tasks without data."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import peer_pipe
import pytest
from peer_cells import Cell, append, cell_of, code, read
from peer_gp import gittins, gp_tuner, log_ei_per_cost, log_gain
from peer_list import PEERS, Entry
from peer_oracle import ORACLES
from peer_pipe import Peer
from peer_plain import random, sobol, spread
from peer_table import bootstrap, line_of, paired
from scipy.integrate import quad
from tasks import LEVELS, Task, autobct_tuner, outcome_of, play

import autobct

PEERS_FOLDER = Path(peer_pipe.__file__).parent


def hill(points):
    """Best at 0.3; the cost grows with x."""
    return 0.9 - (points[:, 0] - 0.3) ** 2, np.exp(points[:, 0])


@pytest.fixture
def task(tmp_path, monkeypatch):
    monkeypatch.setattr("yardsticks.kept_folder", lambda: tmp_path)
    return Task("hill", "made-up", {"x": autobct.Float(0, 1)}, hill, (0.0, 1.0), noise=0.003)


def cell(task: str, seed: int, trials, level=None, chosen=0) -> Cell:
    return Cell("peer", task, level, seed, "", tuple(trials), chosen, 0.5)


@pytest.mark.parametrize("z", [-30.0, -4.0, -1.0, -0.3, 2.0])
def test_the_expected_gain_is_the_integral(z):
    shift = 0.5 * z**2 if z < 0 else 0.0  # scaled up, so that the integral sees the tail
    whole, _ = quad(lambda x: (x + z) * math.exp(-0.5 * x**2 + shift), -z, -z + 12.0, epsabs=0, epsrel=1e-11)
    expected = math.log(whole) - shift - 0.5 * math.log(2 * math.pi)
    assert float(log_gain(np.array([z]))[0]) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_the_index_solves_its_equation_and_both_rules_stop_together():
    mean, sd, cost = np.array([0.2, 0.5, 0.9]), np.array([0.1, 0.3, 0.01]), np.array([0.01, 0.02, 0.5])
    index, _ = gittins(mean, sd, cost, 0.6)
    assert sd * np.exp(log_gain((mean - index) / sd)) == pytest.approx(cost, rel=1e-9)
    worth, threshold = log_ei_per_cost(mean, sd, cost, 0.6)
    assert ((index > 0.6) == (worth > threshold)).all()


@pytest.mark.parametrize("acquisition", [log_ei_per_cost, gittins])
def test_a_process_finds_the_hill_and_stops(task, acquisition):
    found = play(gp_tuner(acquisition, 2), task, 0.003, 0)
    assert 3 <= found.trials < 30
    assert found.captured > 0.7
    expensive = play(gp_tuner(acquisition, 2), task, 0.1, 0)
    assert expensive.trials < found.trials


def test_sobol_begins_at_the_centre_and_random_depends_on_the_seed(task):
    assert spread(3, 2)[0].tolist() == [0.5, 0.5]
    assert spread(3, 2, seed=1).tolist() != spread(3, 2, seed=2).tolist()
    assert play(sobol, task, 0.01, 0).history[0].true == pytest.approx(hill(np.array([[0.5]]))[0][0])
    first, second = (play(random, task, 0.01, seed).history for seed in (0, 1))
    assert [t.true for t in first] != [t.true for t in second]
    assert len(first) == 50


def test_a_peer_in_another_process_plays_as_here(task, tmp_path):
    script = tmp_path / "peer.py"
    script.write_text(
        "from peer_pipe import serve\n"
        "def play(question, train):\n"
        "    print('noise on the standard output')\n"
        "    (x,) = question['space']\n"
        "    assert x == {'name': 'x', 'kind': 'float', 'low': 0.0, 'high': 1.0, 'log': False}, x\n"
        "    scores = [train({'x': u})[0] for u in question['settings']['at']]\n"
        "    return scores.index(max(scores))\n"
        "serve(play)\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PEERS_FOLDER))
        peer = Peer(sys.executable, script, {"at": [0.9, 0.3]})
        found = [play(peer, task, 0.01, seed) for seed in (0, 1)]
        peer.close()
    here = [play(lambda question, train: max((0, 1), key=lambda k: train({"x": (0.9, 0.3)[k]})[0]), task, 0.01, 0)]
    assert found[0].history == here[0].history
    assert [outcome.chosen for outcome in found] == [1, 1]
    assert found[0].seconds < 5


def test_a_peer_that_dies_is_an_error(task, tmp_path):
    script = tmp_path / "peer.py"
    script.write_text("raise SystemExit(3)")
    with pytest.raises((RuntimeError, BrokenPipeError)):
        play(Peer(sys.executable, script, {}), task, 0.01, 0)


def test_cells_are_read_back_and_a_cut_line_is_left_out(task, tmp_path):
    file = tmp_path / "cells.jsonl"
    kept = cell_of(("autobct", "hill", 0.01, 3, code()), play(autobct_tuner(), task, 0.01, 3))
    append(file, [kept, replace(kept, seed=4)])
    with file.open("a") as out:
        out.write(json.dumps({"tuner": "x"})[:-3])
    found = read(file)
    assert found == {kept.key: kept, replace(kept, seed=4).key: replace(kept, seed=4)}
    assert read(tmp_path / "none.jsonl") == {}


def test_k_is_chosen_once_for_the_whole_table_and_the_best_seen_is_returned(task):
    other = Task("other", "made-up", task.space, hill, (0.0, 1.0), noise=0.003)
    trials = [(0.5, 0.5, 1.0), (0.9, 0.88, 1.0), (0.7, 0.7, 1.0)]
    cells = [cell(name, seed, trials) for name in ("hill", "other") for seed in (0, 1)]
    line = line_of(Entry("peer", lambda: random, hindsight=True), cells, [task, other])
    for level in LEVELS:
        worth = [
            outcome_of(task, level, cells[0].history[:k], chosen).captured for k, chosen in ((1, 0), (2, 1), (3, 1))
        ]
        assert line.rows[level].captured == pytest.approx(max(worth))
        assert line.rows[level].k == 1 + worth.index(max(worth))
        assert line.rows[level].error == pytest.approx(0.0, abs=1e-12)
    assert line.by_task["hill"][0.003] == pytest.approx([line.rows[0.003].captured] * 2)
    assert line.rows[0.003].k == 2


def test_a_tuner_that_stops_is_taken_at_its_word(task):
    trials = [(0.5, 0.5, 1.0), (0.9, 0.88, 1.0)]
    cells = [cell("hill", 0, trials, level=level, chosen=0) for level in LEVELS]
    line = line_of(Entry("peer", lambda: random, priced=True), cells, [task])
    assert line.rows[0.1].captured == outcome_of(task, 0.1, cells[0].history, 0).captured
    assert line.rows[0.1].trials == 2
    assert line.rows[0.1].k is None


def test_the_bootstrap_is_the_standard_error_of_a_mean():
    values = np.random.default_rng(1).standard_normal(40)
    assert bootstrap(values) == pytest.approx(values.std() / math.sqrt(40), rel=0.05)


def test_pairs_are_over_the_tasks_that_both_have_played():
    ours = {"a": {0.1: [1.0, 3.0]}, "b": {0.1: [0.0]}, "c": {0.1: [9.0]}}
    theirs = {"a": {0.1: [1.0]}, "b": {0.1: [0.0, -2.0]}}
    mean, error = paired(ours, theirs, 0.1)
    assert mean == 1.0
    assert error == pytest.approx(0.0, abs=1e-12)


def test_every_oracle_is_at_least_as_good_as_it_should_be(task):
    own = play(autobct_tuner(), task, 0.03, 0).captured
    given = {name: oracle(task, 0.03, 0) for name, oracle in ORACLES.items()}
    assert given["stop"] >= own - 1e-12
    assert given["candidates"] >= given["belief"] - 0.05  # the belief's own first run was a good draw
    assert given["candidates"] == pytest.approx(1.0, abs=0.05)
    assert given["first"] > 0.5


def test_every_peer_has_a_label_of_its_own():
    labels = [entry.label for entry in PEERS.values()]
    assert len(set(labels)) == len(labels)
    assert all(not (entry.priced and entry.hindsight) for entry in PEERS.values())
