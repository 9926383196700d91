"""Beliefs and terms that the tests of the value room share."""

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.basis import Model, cubic
from autobct.belief.cost import LINEAR, LOG_LINEAR, CostModel
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.prior import Prior, default_prior, paper_prior
from autobct.value.lookahead.nodes import Nodes, product, stratified
from autobct.value.state import State, Terms, keep, view

PAPER = Terms(0.16)
RECALL = Terms(0.16, recall=True, overhead=0.002)
LOG = Terms(0.3, cost_model=LOG_LINEAR, overhead=0.001)
LOG_RECALL = Terms(0.3, cost_model=LOG_LINEAR, recall=True, overhead=0.001)
ALL_TERMS = [PAPER, RECALL, LOG, LOG_RECALL]
TERMS_IDS = ["linear-last", "linear-recall", "log-last", "log-recall"]

FEW: Nodes = product(stratified(4), stratified(3))


def grid(count: int) -> Array:
    """Controls spread evenly over [0, 1], (count, 1)."""
    return np.linspace(0, 1, count)[:, None]


def prior_state(name: str = "synthetic", count: int = 21) -> State:
    """A 1-D prior of the paper on a grid."""
    prior = paper_prior(name)
    return view(prior.belief, prior.model, grid(count))


def prior_for(terms: Terms) -> Prior:
    """The paper's synthetic prior for its cost model, the default prior for the other."""
    return paper_prior("synthetic") if terms.cost_model is LINEAR else default_prior(cubic())


def random_weights(seed: int, batch: tuple[int, ...] = (), *, rank: int = 4) -> Belief:
    """Any belief about two cubics, with full covariances of the given rank."""
    rng = np.random.default_rng(seed)

    def one(level: float) -> Gaussian:
        root = 0.6 * rng.standard_normal((*batch, 4, rank))
        mean = rng.standard_normal((*batch, 4))
        mean[..., 0] += level
        return Gaussian(mean, root @ np.swapaxes(root, -1, -2))

    return Belief(one(0.0), one(1.0))


def random_model(seed: int, cost_model: CostModel = LINEAR) -> Model:
    """Two cubics with noise that depends on the control."""
    low, slope = np.random.default_rng(seed).uniform(0.05, 0.4, 2)
    return Model(
        cubic(), cubic(), lambda u: low + slope * u[..., 0], lambda u: low + slope * u[..., 0] ** 2, cost_model
    )


def random_state(seed: int, count: int = 7, *, terms: Terms = PAPER, batch: tuple[int, ...] = ()) -> State:
    """Any belief on a grid; with recall, also one or two models trained."""
    state = view(random_weights(seed, batch), random_model(seed, terms.cost_model), grid(count))
    if not terms.recall:
        return state
    kept = np.random.default_rng(seed + 1).integers(-1, count, (*batch, 2))
    return keep(state, kept)


def one_of(state: State, index: int) -> State:
    """The belief at one place of the first batch axis, unbatched."""
    return State(
        Gaussian(state.score.mean[index], state.score.cov[index]),
        Gaussian(state.cost.mean[index], state.cost.cov[index]),
        state.score_noise,
        state.cost_noise,
        state.kept[index],
    )
