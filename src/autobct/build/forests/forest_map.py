"""The paper's map: value iteration with forests over a cloud, for one price and one noise (algorithm 3, section 4)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.basis import Model
from autobct.belief.gaussian import Belief
from autobct.belief.prior import Prior, paper_prior
from autobct.build.forests.cloud import concatenate, paper_cloud
from autobct.build.forests.features import Features, at_references, expansion, references_first, weight_features
from autobct.build.forests.iteration import Cut, Fit, Progress, above, forest_fit, value_iteration
from autobct.value.acquisition import Assess
from autobct.value.lookahead.nodes import Nodes, product, stratified
from autobct.value.lookahead.one_step import ByValue, Continuation, control_values, damped, never, one_run_value
from autobct.value.state import State, Terms, control_grid, view


@dataclass(frozen=True, slots=True, eq=False)
class ForestMap:
    """V~_1 .. V~_N and how they came about.

    values:      one continuation per number of runs left, V~_1 first
    references:  (R, p) the first candidates of any state the values are asked for
    controls:    (G, p) candidates T was taken over, the references first
    seconds:     (N,) time of each run of value iteration, its regression included
    """

    values: list[Continuation]
    terms: Terms
    model: Model
    references: Array
    controls: Array
    states: int
    seconds: list[float]

    def view(self, belief: Belief) -> State:
        """A belief as the values want to see it."""
        return view(belief, self.model, self.controls)

    def relaxed(self, *, nodes: Nodes | None = None, damping: float = 0.0) -> Assess:
        """The relaxed method: V~_N for ever, under one step of lookahead (algorithm 4).  damping: epsilon."""
        return self._policy(lambda made: self.values[-1], nodes, damping)

    def exact(self, *, nodes: Nodes | None = None, damping: float = 0.0) -> Assess:
        """The exact method: N + 1 runs at most, with V~_{N - n} as the value of going on when n are made."""

        def going_on(made: int) -> Continuation | None:
            left = [never, *self.values]  # by runs left after the next one
            return left[len(self.values) - made] if made <= len(self.values) else None

        return self._policy(going_on, nodes, damping)

    def _policy(self, going_on: Callable[[int], Continuation | None], nodes: Nodes | None, damping: float) -> Assess:
        outcomes = nodes or product(stratified(8), stratified(3))
        inner = np.arange(len(self.references))

        def policy(state: State, terms: Terms, made: int) -> Array:
            value = going_on(made)
            if value is None:
                return np.full(state.score.mean.shape, -np.inf)
            return control_values(state, terms, outcomes, damped(value, damping), inner=inner)

        return ByValue(policy)


def build_forest_map(
    priors: str | Sequence[str | Prior],
    price: float = 0.16,
    *,
    runs: int,
    noise: tuple[float, float] | None = None,
    cloud: Belief | None = None,
    residual: bool = False,
    regression: Callable[[Features], Fit] | None = None,
    references: Array | None = None,
    controls: Array | None = None,
    nodes: Nodes | None = None,
    chunk: int = 256,
    found: Sequence[Continuation] = (),
    progress: Progress | None = None,
    rng: np.random.Generator | None = None,
    cut: Cut = map,
) -> ForestMap:
    """Value iteration over a cloud, each V~_n a forest on the paper's raw numbers.

    priors:      the paper's by name, or any that share a model; they say which bases, and the cloud if there is none
    noise:       (score_noise, cost_noise) of the map; those of the first prior if None
    cloud:       states to learn on, one leading axis; `paper_cloud` around the priors if None (drawn with rng)
    residual:    regress V - V_1 instead of V
    regression:  another `Fit` than the forest of 100 trees
    found:       V~_1, V~_2, .. of an earlier build with the same arguments, which goes on after them
    cut:         who applies T to the chunks of the cloud: `map`, or a cluster
    """
    known = [
        paper_prior(one) if isinstance(one, str) else one for one in ([priors] if isinstance(priors, str) else priors)
    ]
    model = known[0].model
    if noise is not None:
        model = replace(model, score_noise=noise[0], cost_noise=noise[1])
    first, shown = _candidates(known[0].dim, references, controls)
    if cloud is None:
        generator = rng or np.random.default_rng(0)
        cloud = concatenate(
            paper_cloud(known[0].dim, rng=generator, priors=[Prior(model, one.belief) for one in known])
        )
    terms = Terms(price, cost_model=model.cost_model)
    features = weight_features(model.score_basis, model.cost_basis, first)
    fit = (regression or (lambda numbers: forest_fit(numbers, jobs=-1)))(features)
    ended = [time.perf_counter()]
    values = [*found]
    if len(values) < runs:
        values += value_iteration(
            view(cloud, model, first),
            terms,
            runs=runs - len(values),
            nodes=nodes or product(stratified(6), stratified(2)),
            fit=_timed(above(value_at(len(first)), terms, fit) if residual else fit, ended),
            start=values[-1] if values else never,
            inner=np.arange(len(first)),
            chunk=chunk,
            expand=expansion(model, first, shown),
            progress=progress,
            cut=cut,
        )
    return ForestMap(
        values=values,
        terms=terms,
        model=model,
        references=first,
        controls=shown,
        states=len(cloud.score.mean),
        seconds=np.diff(ended).tolist(),
    )


def value_at(references: int) -> Continuation:
    """V_1 with a choice among the references only: a lower bound that is a function of the belief alone."""
    return lambda state, terms: one_run_value(at_references(state, references), terms)


def _candidates(dim: int, references: Array | None, controls: Array | None) -> tuple[Array, Array]:
    """References and controls; by default 26 of both in 1-D, 5 x 5 among 9 x 9 in 2-D."""
    shown = control_grid(26 if dim == 1 else 9, dim) if controls is None else controls
    first = control_grid(26 if dim == 1 else 5, dim) if references is None else references
    return first, references_first(first, shown)


def _timed(fit: Fit, ended: list[float]) -> Fit:
    def timed(cloud: State, values: Array) -> Continuation:
        fitted = fit(cloud, values)
        ended.append(time.perf_counter())
        return fitted

    return timed
