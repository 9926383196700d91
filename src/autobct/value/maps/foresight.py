"""Lambda with a value map behind it, for the candidates of one problem: what a decision with a map computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array, Indices
from autobct.belief.cost import LOG_LINEAR
from autobct.belief.gaussian import Gaussian
from autobct.belief.normal import improvement
from autobct.value.lookahead.nodes import Nodes, gauss_hermite, product, stratified
from autobct.value.lookahead.on_the_fly import Level, on_the_fly
from autobct.value.maps.map_inputs import lookout, reach_of
from autobct.value.maps.map_spec import BASES, MapMismatch, MapSpec
from autobct.value.maps.sieve import Sieve, sieve
from autobct.value.maps.value_map import ValueMap
from autobct.value.simulate import rows
from autobct.value.state import State, Terms, variance

SCORE_RULE, COST_RULE = stratified(8), stratified(3)
"""Outcomes of a run: those that maps are trained with."""

_WEIGHTS = np.outer(SCORE_RULE.weights, COST_RULE.weights).ravel()
_ROUGH = {1: ((6, 3), (4, 2)), 2: ((4, 2), (3, 1))}  # score and cost nodes of two steps, by dimension
_FINE = {1: ((12, 4), (8, 3)), 2: ((8, 3), (6, 2))}
_TOLD_APART = 6  # candidates whose steps on top of a map are computed with many outcomes
_AT_A_TIME = 32  # candidates whose successors' successors are kept in memory


@dataclass(frozen=True, slots=True, eq=False)
class Foresight:
    """A map seen from the candidates (G, p) of a problem.

    to_references: (R,) where the references are among the candidates, or (R, G) by linear algebra
    """

    value_map: ValueMap
    to_references: Array | Indices
    sieve: Sieve

    def control_values(self, state: State, terms: Terms, runs_left: int, *, damping: float = 0.0) -> Array:
        """Lambda(x, (1 - damping) V_n) for n >= 1 runs left after the next, V_1 over the references: (..., G).

        The best candidate's value is exact; values of those far from the best are averages of their neighbours'.
        """
        if state.score.mean.ndim > 1:
            return np.stack([self.control_values(one, terms, runs_left, damping=damping) for one in _each(state)])
        value_map = self.value_map
        ready = lookout(state, terms, self.to_references, value_map.spec.neighbours)

        def evaluate(chosen: Indices) -> Array:
            after = ready.after(chosen, SCORE_RULE, COST_RULE)
            going_on = (
                value_map.one_more_run(after)
                if runs_left < 2
                else value_map.evaluate(value_map.network(runs_left), after)
            )
            worth = np.maximum(after.level + after.scale * after.stop, (1 - damping) * going_on)
            return np.asarray(_WEIGHTS @ worth.reshape(-1, len(chosen)) - ready.prices[chosen])

        return self.sieve.values(evaluate, also=_best_last_run(state, terms, ready.prices))

    def on_top(self, state: State, terms: Terms, runs_left: int, *, depth: int, damping: float = 0.0) -> Array:
        """OTF(x, depth; V_n): on-the-fly steps on top of the map, the paper's second modification.  (..., G).

        Few outcomes find the candidates that matter, many then tell these apart; the others' values are the rough ones,
        moved by what the best of them was off by, and never above it.
        """
        if depth == 1:
            return self.control_values(state, terms, runs_left, damping=damping)
        if state.score.mean.ndim > 1:
            return np.stack([self.on_top(x, terms, runs_left, depth=depth, damping=damping) for x in _each(state)])
        rough, fine = steps_on_top(self.value_map.spec)

        def evaluate(nodes: tuple[Nodes, Nodes], chosen: Indices) -> Array:
            parts = np.array_split(chosen, -(-len(chosen) // _AT_A_TIME))
            return np.concatenate(
                [self._steps(state, terms, runs_left, part, nodes, depth=depth, damping=damping) for part in parts]
            )

        if not self.sieve.stages:
            return evaluate(fine, np.arange(self.sieve.size))
        values: Array = self.sieve.values(lambda chosen: evaluate(rough, chosen))
        apart = self.sieve.apart(values, _TOLD_APART)
        exact = evaluate(fine, apart)
        values = np.asarray(np.minimum(values + (exact[0] - values[apart[0]]), exact.max()))
        values[apart] = exact
        return values

    def _steps(
        self,
        state: State,
        terms: Terms,
        runs_left: int,
        chosen: Indices,
        nodes: tuple[Nodes, Nodes],
        *,
        depth: int,
        damping: float,
    ) -> Array:
        inner = np.arange(len(self.value_map.spec.references))
        levels = [Level(one, inner) for one in nodes]
        terminal = self.value_map.continuation(runs_left)
        seen = self._seen(state, chosen)
        values = on_the_fly(seen, terms, depth=depth, terminal=terminal, levels=levels, damping=damping)
        return values[-len(chosen) :]

    def _seen(self, state: State, chosen: Indices) -> State:
        """The belief at the references, then at the models trained so far, then at some candidates."""
        models = np.maximum(state.kept, 0)
        at = np.eye(state.size)
        first = at[self.to_references.astype(np.intp)] if self.to_references.ndim == 1 else self.to_references
        seen = np.concatenate([first, at[models], at[chosen]])

        def noise(values: Array) -> Array:
            return np.concatenate([np.full(len(first), values[0]), values[models], values[chosen]])

        def part(belief: Gaussian) -> Gaussian:
            return belief.at(seen)

        kept = np.where(state.kept >= 0, len(first) + np.arange(len(models)), -1)
        return State(
            score=part(state.score),
            cost=part(state.cost),
            score_noise=noise(state.score_noise),
            cost_noise=noise(state.cost_noise),
            kept=kept,
        )


def steps_on_top(spec: MapSpec) -> tuple[tuple[Nodes, Nodes], tuple[Nodes, Nodes]]:
    """Outcomes of the first and the second step on top of a map: few, and many.

    A log-linear cost is smooth in its surprise, and three Gauss-Hermite nodes catch its exponential; strata do not.
    """
    smooth = spec.cost_model == LOG_LINEAR.name

    def nodes(score: int, cost: int) -> Nodes:
        return product(stratified(score), gauss_hermite(3) if smooth and cost > 2 else stratified(cost))

    rough, fine = ((nodes(*first), nodes(*second)) for first, second in (_ROUGH[spec.dim], _FINE[spec.dim]))
    return rough, fine


def _best_last_run(state: State, terms: Terms, prices: Array) -> int:
    """The best candidate for one more run, beside the incumbent: what the values of all runs are counting on.

    If it were missed, a run elsewhere that only puts it off could seem the best, again and again.
    """
    mean, kept = state.score.mean, state.kept[state.kept >= 0]
    if not terms.recall or kept.size == 0:
        return int((mean - prices).argmax())
    best = kept[mean[kept].argmax()]
    reach = reach_of(variance(state.score), state.score.rows(np.array([best]))[0], state.score_noise)
    gain = improvement((mean - mean[best]).astype(np.float32), reach.astype(np.float32))
    return int((gain - prices).argmax())


def _each(state: State) -> Iterator[State]:
    """The states of a batch, one by one."""
    return (rows(state, np.asarray(i)) for i in range(len(state.score.mean)))


def foresight(value_map: ValueMap, controls: Array) -> Foresight:
    """A map for candidate controls (G, p); MapMismatch if they do not tell what the map must know."""
    return Foresight(value_map, _to_references(value_map.spec, controls), sieve(controls))


def _to_references(spec: MapSpec, controls: Array) -> Array | Indices:
    """The references among the candidates, or as linear functions of them: exact, both being linear in the weights."""
    basis = BASES[spec.basis]
    if controls.shape[1] != spec.dim:
        raise MapMismatch(f"map: controls in {spec.dim}-D\nproblem: controls in {controls.shape[1]}-D")
    distance = np.abs(controls - spec.references[:, None, :]).max(axis=-1)  # (R, G)
    if distance.min(axis=1).max() < 1e-9:
        return np.asarray(distance.argmin(axis=1))
    features = basis(controls)
    rank = int(np.linalg.matrix_rank(features))
    if rank < basis.size:
        raise MapMismatch(
            f"map: {basis.size} weights to be identified\nproblem: {len(controls)} candidates identify {rank}"
        )
    return np.asarray(basis(spec.references) @ np.linalg.pinv(features))
