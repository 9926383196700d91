"""States a map is learned on (section 3.4 and the start of section 4): beliefs about weights, with one leading axis.

A cloud is a stream of batches, so that it may be of any size; `concatenate` makes one batch of it.  The paper asks for
a) truths, b) states near the priors of interest, c) states between them.

| paper | here |
|---|---|
| N_c, K of section 3.4 | `count`, `shrinkages` of `sampled_cloud` |
| realistic unimodal shapes, depth D | `unimodal_shapes`, `depth` of `propagated_cloud` |
| the 1-D and the 2-D cloud of section 4 | `paper_cloud(1, ...)`, `paper_cloud(2, ...)` |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from autobct.belief.arrays import Array, Indices, whole_number
from autobct.belief.basis import Basis, Model, noise_at
from autobct.belief.gaussian import Belief, Gaussian, Truth
from autobct.belief.normal import update
from autobct.belief.prior import PAPER_PRIORS, Prior
from autobct.build.forests.shapes import Covariances, lkj, lkj_around, unimodal_shapes, wishart, wishart_around
from autobct.build.layout import images, mirror
from autobct.value.state import control_grid

__all__ = [
    "concatenate",
    "images",
    "lkj",
    "lkj_around",
    "mirror",
    "paper_cloud",
    "propagated_cloud",
    "sampled_cloud",
    "tree_size",
    "unimodal_shapes",
    "wishart",
    "wishart_around",
]
# --- sampled states: steps 1-3 of section 3.4 ---


def sampled_cloud(
    priors: Sequence[Belief],
    count: int,
    shrinkages: int,
    *,
    rng: np.random.Generator,
    covariances: Covariances | None = None,
    spread: float = 1.0,
    batch: int = 1024,
) -> Iterator[Belief]:
    """`count` sampled beliefs, each with its covariances times k/K for k = 0..K; count * (K + 1) states in all.

    Means are normal around the priors (taken in turn), `spread` times as wide as the prior itself, so that they cover
    the truths it allows; `covariances` defaults to a Wishart law whose mean is the prior's.
    """
    whole_number(count, "count", example=1000)
    around = covariances or wishart_around()
    steps = np.linspace(0.0, 1.0, whole_number(shrinkages, "shrinkages", example=10) + 1)
    for start in range(0, count, batch):
        places = np.arange(start, min(start + batch, count)) % len(priors)
        yield concatenate(
            _shrunk(prior, int((places == i).sum()), steps, around, spread, rng)
            for i, prior in enumerate(priors)
            if (places == i).any()
        )


def _shrunk(
    prior: Belief, count: int, steps: Array, around: Covariances, spread: float, rng: np.random.Generator
) -> Belief:
    """Steps 1-3: `count` beliefs, each at every shrinkage; the states of one belief stand together."""

    def one(part: Gaussian) -> Gaussian:
        wide = Gaussian(part.mean, spread**2 * part.cov)
        mean = wide.draw(rng.standard_normal((count, part.size)))
        cov = around(part.cov, count, rng)[:, None] * steps[:, None, None]
        return Gaussian(np.repeat(mean, steps.size, axis=0), cov.reshape(-1, part.size, part.size))

    return Belief(one(prior.score), one(prior.cost))


# --- shapes, pushed through the filter: the enrichment of section 4 ---


def propagated_cloud(
    shapes: Truth,
    priors: Sequence[Prior],
    controls: Array,
    depth: int,
    *,
    rng: np.random.Generator,
    width: int | None = None,
    batch: int = 16384,
) -> Iterator[Belief]:
    """Every state on the way when each shape is observed, with noise, from each prior along controls to depth D.

    All sequences of controls (G, p) are followed; where a layer would have more than `width` states per shape and
    prior, `width` of them are drawn.  One shape and prior give `tree_size(G, depth, width)` states.
    """
    whole_number(depth, "depth", example=3)
    widest = max(_layers(len(controls), depth, width))
    group = max(1, batch // widest)
    for prior in priors:
        for start in range(0, len(shapes.score_weights), group):
            chosen = slice(start, start + group)
            some = Truth(shapes.score_weights[chosen], shapes.cost_weights[chosen])
            yield from _tree(some, prior, controls, depth, width, rng)


def tree_size(controls: int, depth: int, width: int | None = None) -> int:
    """How many states one shape gives from one prior."""
    return sum(_layers(controls, depth, width))


def paper_cloud(dim: int, *, rng: np.random.Generator, priors: Sequence[Prior] | None = None) -> Iterator[Belief]:
    """A cloud of the paper's size around the paper's priors: 156,000 states (1-D) or 761,600 (2-D), 1,000 truths.

    The paper gives totals, truths, 100 shapes and D; the rest is chosen so that the totals come out exactly:
    1-D: 6 priors x 100 shapes x (5 + 25 + 125) sequences of 5 controls, D = 3        93,000 states
         1,000 sampled beliefs x (K + 1) shrinkages with K = 62                       63,000
    2-D: 2 priors x 100 shapes x (16 + 256 + 8 x 402) of 4 x 4 controls, D = 10      697,600
         1,000 sampled beliefs x (K + 1) shrinkages with K = 63                       64,000
    With priors of the caller's, their number changes the first line in proportion.
    """
    if dim not in (1, 2):
        raise ValueError(f"dim must be 1 or 2, got {dim!r}; the paper has no other cloud, compose one from the parts")
    centres = [prior for prior in PAPER_PRIORS.values() if prior.dim == dim] if priors is None else list(priors)
    side, depth, width, shrinkages = (5, 3, None, 62) if dim == 1 else (4, 10, 402, 63)
    yield from sampled_cloud([prior.belief for prior in centres], 1000, shrinkages, rng=rng)
    model = centres[0].model
    shapes = unimodal_shapes(100, model.score_basis, rng=rng, cost_model=model.cost_model)
    yield from propagated_cloud(shapes, centres, control_grid(side, dim), depth, rng=rng, width=width)


def _layers(controls: int, depth: int, width: int | None) -> list[int]:
    sizes = [1]
    for _ in range(depth):
        sizes.append(sizes[-1] * controls if width is None else min(sizes[-1] * controls, width))
    return sizes[1:]


def _tree(
    shapes: Truth, prior: Prior, controls: Array, depth: int, width: int | None, rng: np.random.Generator
) -> Iterator[Belief]:
    """The layers of one group of shapes, (shapes * states,) each."""
    count = len(shapes.score_weights)
    state = Belief(_tiled(prior.belief.score, count), _tiled(prior.belief.cost, count))  # (shapes, 1 state)
    for _ in range(depth):
        children = state.score.mean.shape[1] * len(controls)
        picked = np.tile(np.arange(children), (count, 1))
        if width is not None and children > width:
            picked = np.argpartition(rng.random((count, children)), width, axis=-1)[:, :width]
        parents, tried = np.divmod(picked, len(controls))
        state = _observed(_children(state, parents), shapes, prior.model, controls[tried], rng)
        yield Belief(_flat(state.score), _flat(state.cost))


def _observed(state: Belief, shapes: Truth, model: Model, controls: Array, rng: np.random.Generator) -> Belief:
    """One noisy observation of its shape in every state.  state: (shapes, states), controls (shapes, states, p)."""

    def seen(part: Gaussian, weights: Array, basis: Basis, noise: Array) -> Gaussian:
        features = basis(controls)
        shown = np.einsum("snj,sj->sn", features, weights) + noise * rng.standard_normal(noise.shape)
        return update(part, features, noise, shown)

    return Belief(
        seen(state.score, shapes.score_weights, model.score_basis, noise_at(model.score_noise, controls)),
        seen(state.cost, shapes.cost_weights, model.cost_basis, noise_at(model.cost_noise, controls)),
    )


def _children(state: Belief, parents: Indices) -> Belief:
    def one(part: Gaussian) -> Gaussian:
        return Gaussian(
            np.take_along_axis(part.mean, parents[..., None], axis=1),
            np.take_along_axis(part.cov, parents[..., None, None], axis=1),
        )

    return Belief(one(state.score), one(state.cost))


def _tiled(part: Gaussian, count: int) -> Gaussian:
    return Gaussian(np.tile(part.mean, (count, 1, 1)), np.tile(part.cov, (count, 1, 1, 1)))


def _flat(part: Gaussian) -> Gaussian:
    return Gaussian(part.mean.reshape(-1, part.size), part.cov.reshape(-1, part.size, part.size))


# --- putting together ---


def concatenate(beliefs: Iterable[Belief]) -> Belief:
    """One batch from many."""
    parts = list(beliefs)

    def joined(of: Callable[[Belief], Gaussian]) -> Gaussian:
        return Gaussian(
            np.concatenate([of(part).mean for part in parts]), np.concatenate([of(part).cov for part in parts])
        )

    return Belief(joined(lambda belief: belief.score), joined(lambda belief: belief.cost))
