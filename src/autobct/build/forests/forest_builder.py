"""The paper's map from beginning to end: cloud, value iteration with random forests, file.  On CPU, for one price."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autobct.belief.arrays import Array, Indices
from autobct.belief.cost import COST_MODELS
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.prior import Prior
from autobct.build.checkpoints import BuildError, Checkpoints
from autobct.build.forests.cloud import concatenate, paper_cloud
from autobct.build.forests.forest import Forest
from autobct.build.forests.forest_map import PROBES, ForestMap, ForestValue, build_forest_map, save_forest
from autobct.build.forests.iteration import Cut, Features, Fit, Fitted, forest_fit, weight_features
from autobct.build.layout import PAPER_NAMES, basis_of, priors_of
from autobct.build.map_worth import DuelRow, numpy_duel, row_of
from autobct.maps.container import MAX_FILE, SUFFIX
from autobct.value.lookahead.one_step import Continuation
from autobct.value.state import State, control_grid, view
from autobct.version import __version__

Progress = Callable[[int, int, str], None]
"""As in `autobct.build.networks.network_builder`."""

_NODE_BYTES = 20
_UNIQUE = 0.64  # share of the states in a bootstrap sample


@dataclass(frozen=True, slots=True)
class ForestRequest:
    """Everything that decides what a build finds.

    runs:    N, value functions;  trees: in each forest
    states:  of the paper's cloud, that many drawn; all of them if None
    price:   gamma, the one price that the map is for
    draws:   simulated runs per prior of the paper that the finished map is judged on; 0 for none
    """

    dim: int = 1
    cost: str = "linear"
    runs: int = 4
    trees: int = 100
    states: int | None = None
    price: float = 0.16
    seed: int = 0
    draws: int = 200

    def __post_init__(self) -> None:
        """Refuse what cannot be built, before anything is."""
        basis_of(self.dim)
        if self.cost not in COST_MODELS:
            raise ValueError(f"cost must be one of {', '.join(COST_MODELS)}, got {self.cost!r}")
        for name, value in (("runs", self.runs), ("trees", self.trees), ("states", self.states)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        if self.seed < 0:
            raise ValueError(f"seed must be zero or positive, got {self.seed}")

    @property
    def name(self) -> str:
        """What such a map is called, e.g. 1d-linear-last-forest."""
        return f"{self.dim}d-{self.cost.removesuffix('-linear')}-last-forest"

    def lines(self) -> tuple[str, ...]:
        """The request, "name: value" a line."""
        import sklearn

        names = ("dim", "cost", "runs", "trees", "states", "price", "seed")
        return (
            "regression: forest",
            *(f"{name}: {getattr(self, name)}" for name in names),
            f"scikit-learn: {sklearn.__version__}",
            f"numpy: {np.__version__}",
        )


def quick_or_paper(
    dim: int, cost: str, runs: int | None, states: int | None, seed: int, *, quick: bool
) -> ForestRequest:
    """The request behind `autobct maps build --regression forest`: the paper's cloud, or a poor map in seconds."""
    few = (2, 10, 400, 10) if quick else (4, 100, None, 200)
    return ForestRequest(
        dim=dim, cost=str(cost), runs=runs or few[0], trees=few[1], states=states or few[2], seed=seed, draws=few[3]
    )


def build_forest(
    request: ForestRequest, folder: Path, progress: Progress = lambda done, total, text: None, *, cut: Cut = map
) -> Path:
    """Build the map, or go on where a build of the same request stopped; the finished file, in `folder`.

    cut: who applies the Bellman operator to the chunks of the cloud: `map`, or a cluster; the map is the same
    """
    checkpoints = Checkpoints(folder, request.lines(), first=1)
    priors = priors_of(PAPER_NAMES[request.dim], request.dim, request.cost)
    model, references = priors[0].model, control_grid(26 if request.dim == 1 else 5, request.dim)
    features = weight_features(model.score_basis, model.cost_basis, references)
    cloud = _cloud(request, [Prior(model, prior.belief) for prior in priors])
    kept, damage = checkpoints.load(request.runs)
    if damage is not None:
        progress(len(kept), request.runs, damage)
    if kept:
        progress(len(kept), request.runs, f"continuing after V_{len(kept)}, found in {folder}")
    built = build_forest_map(
        priors,
        request.price,
        runs=request.runs,
        cloud=cloud,
        references=references,
        regression=lambda numbers: _kept_fit(numbers, request, checkpoints, len(kept), progress),
        found=[ForestValue(features, Forest.from_tensors(one.tensors, "forest")) for one in kept],
        cut=cut,
    )
    judging = time.perf_counter()
    rows = _judged(request, built, priors) if request.draws else []
    seconds = sum(one.seconds for one in kept) + sum(built.seconds) + time.perf_counter() - judging
    path = folder / f"{request.name}{SUFFIX}"
    try:
        save_forest(
            path, built, features(view(_spread(cloud, PROBES), model, references)), _about(request, seconds, rows)
        )
    except OSError as error:
        kept_too = checkpoints.kept(request.runs)
        raise BuildError(f"the map could not be written ({error.strerror or error}); {kept_too}") from error
    return path


def _about(request: ForestRequest, seconds: float, rows: list[DuelRow]) -> dict[str, str]:
    return {
        "build": "\n".join(request.lines()),
        "autobct": __version__,
        "seconds": f"{seconds:.1f}",
        "policy": json.dumps([row.as_dict() for row in rows]),
    }


def _judged(request: ForestRequest, built: ForestMap, priors: list[Prior]) -> list[DuelRow]:
    """The relaxed policy on the paper's first beliefs, with the noise that the map is for."""
    rows = []
    for name, prior in zip(PAPER_NAMES[request.dim], priors, strict=True):
        rng, own = np.random.default_rng(request.seed), Prior(built.model, prior.belief)
        duel = numpy_duel(built.relaxed(), own, built.terms, built.controls, draws=request.draws, rng=rng)
        rows.append(row_of(name, request.price, duel))
    return rows


def _cloud(request: ForestRequest, priors: list[Prior]) -> Belief:
    """The paper's cloud, or as many of its states as were asked for."""
    rng = np.random.default_rng(request.seed)
    whole = concatenate(paper_cloud(request.dim, rng=rng, priors=priors))
    size = len(whole.score.mean)
    if request.states is None or request.states >= size:
        return whole
    return _rows(whole, np.sort(rng.choice(size, request.states, replace=False)))


def _kept_fit(
    features: Features, request: ForestRequest, checkpoints: Checkpoints, done: int, progress: Progress
) -> Fit:
    """A forest small enough for a map file, kept on disk before it is used."""
    started = time.perf_counter()

    def fit(cloud: State, values: Array) -> Continuation:
        nonlocal started, done
        leaf = _leaf(request, len(values))
        fitted = forest_fit(features, trees=request.trees, leaf=leaf, seed=request.seed, jobs=-1)(cloud, values)
        assert isinstance(fitted, Fitted)
        trees = [tree.tree_ for tree in fitted.estimator.estimators_]
        forest = Forest.of(trees, inputs=int(fitted.estimator.n_features_in_))
        took = time.perf_counter() - started
        checkpoints.save(done, forest.to_tensors("forest"), took)
        started, done = time.perf_counter(), done + 1
        said = f"V_{done}: {len(values):,} states, {forest.feature.size:,} nodes, {took:.1f} s"
        progress(done, request.runs, said)
        return ForestValue(features, forest)

    return fit


def _leaf(request: ForestRequest, states: int) -> int:
    """Least number of states in a leaf, so that all forests together fit in one map file."""
    nodes = 0.9 * MAX_FILE / _NODE_BYTES / request.runs / request.trees  # in a tree
    return max(1, math.ceil(2 * _UNIQUE * states / nodes))


def _spread(cloud: Belief, count: int) -> Belief:
    size = len(cloud.score.mean)
    return _rows(cloud, np.linspace(0, size - 1, min(count, size)).astype(np.intp))


def _rows(cloud: Belief, chosen: Indices) -> Belief:
    def part(belief: Gaussian) -> Gaussian:
        return Gaussian(belief.mean[chosen], belief.cov[chosen])

    return Belief(part(cloud.score), part(cloud.cost))
