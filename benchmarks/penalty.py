"""Information relaxation: an upper bound from *any* value function, the tighter the nearer it is to the true one.

Tell the decision maker all surprises beforehand, but charge what they are worth by a guess F of the value function
(Brown, Smith and Sun, 2010; Rogers, 2007; Haugh and Kogan, 2004).  On every path of surprises, over all controls,

    X(x, n) = max( stop(x),  max_j  Q_F(x, j) + X(x_1, n + 1) - F(x_1) ),      Q_F(x, j) = E[F(x_1) | x, j] - price_j(x)

and V(x_0) <= E[X(x_0, 0)].  With F = V every bracket is at most zero and the bound is V itself.  After `depth` runs X
is replaced by the bound of one run (`dual.first_look`), which is above V.  What pushes the bound up and nothing down:

- Q_F comes from outcomes drawn without bias and apart from the path, the same for all controls of a state, so that its
  errors, and those of W_0 at the end of a path, enter a maximum;
- F may be wrong anywhere by any amount: the charge has mean zero under every policy.

All surprises are shared by the controls: a decision maker who knows them cannot choose the better draw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array, Array32, Indices, whole_number
from autobct.belief.gaussian import Gaussian
from autobct.value.bounds.branches import Branches, Ground, after_run, ground_of, planted, seen
from autobct.value.bounds.dual import first_look
from autobct.value.bounds.outcomes import folded_lattice, spread_normals, to_normals
from autobct.value.bounds.simple_bounds import Estimate
from autobct.value.lookahead.nodes import Nodes
from autobct.value.lookahead.one_step import Continuation, control_values
from autobct.value.state import State, Terms, stop_value


def relaxed_information(
    start: State,
    terms: Terms,
    value: Continuation,
    *,
    depth: int,
    paths: int,
    rng: np.random.Generator,
    inner: Indices | None = None,
    outcomes: int = 34,
    truths: int = 256,
) -> Estimate:
    """The bound from an unbatched state, as a mean over paths of surprises.

    value:     F, the value of going on: lookahead, a value map, anything
    depth:     runs that are followed on every path: the work grows with the number of candidates to this power
    inner:     candidates that F is shown, before the models trained so far; all if None
    outcomes:  of a run, drawn for Q_F;  truths: drawn where a path ends
    """
    whole_number(depth, "depth", example=2)
    whole_number(paths, "paths", example=100, least=2)
    relaxation = _Relaxation(ground_of(start, terms), value, inner)
    tree = planted(start)
    dim = tree.score_root.shape[-1] + tree.cost_root.shape[-1]
    found = [float(relaxation.along(_drawn_path(depth, outcomes, truths, dim, rng), tree, 0)[0]) for _ in range(paths)]
    return Estimate.of(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """surprises: (depth, 2) of the runs;  nodes: one set of outcomes a level, for Q_F;  truths: (d, S) normals."""

    surprises: Array
    nodes: list[Nodes]
    truths: Array32


@dataclass(frozen=True, slots=True, eq=False)
class _Relaxation:
    ground: Ground
    value: Continuation
    inner: Indices | None

    def along(self, path: _Path, states: Branches, made: int) -> Array:
        """X of every state after so many runs.  (n,)."""
        if made == len(path.surprises):
            return self._at_the_end(states, path.truths)
        state = seen(states, self.ground)
        ahead = control_values(state, self.ground.terms, path.nodes[made], self.value, inner=self.inner)
        count, size = ahead.shape
        every = states.rows(np.repeat(np.arange(count), size))
        z, w = np.broadcast_to(path.surprises[made][:, None, None], (2, count * size, 1))
        met = after_run(every, self.ground, np.tile(np.arange(size), count), z, w)
        going = ahead + (self.along(path, met, made + 1) - self._guess(met)).reshape(count, size)
        return np.asarray(np.maximum(stop_value(state), going.max(axis=1)))

    def _guess(self, states: Branches) -> Array:
        """F: at least what stopping is worth."""
        state = seen(states, self.ground)
        return np.maximum(stop_value(state), self.value(self._shown(state), self.ground.terms))

    def _shown(self, state: State) -> State:
        """As `successors` shows it: the inner candidates, then the models trained so far."""
        if self.inner is None:
            return state
        shown = np.broadcast_to(self.inner, (len(state.kept), self.inner.size))
        columns = np.concatenate([shown, np.maximum(state.kept, 0)], axis=1)
        places = np.arange(self.inner.size, columns.shape[1])

        def part(belief: Gaussian) -> Gaussian:
            block = np.take_along_axis(belief.cov, columns[:, :, None], axis=1)
            return Gaussian(
                np.take_along_axis(belief.mean, columns, axis=1),
                np.take_along_axis(block, columns[:, None, :], axis=2),
            )

        return State(
            part(state.score),
            part(state.cost),
            state.score_noise[columns],
            state.cost_noise[columns],
            np.where(state.kept >= 0, places, -1),
        )

    def _at_the_end(self, states: Branches, truths: Array32) -> Array:
        look = first_look(states, self.ground, np.broadcast_to(truths, (len(states), *truths.shape)))
        return np.asarray(look.clairvoyant + np.maximum(look.stop, look.going.max(axis=1)))


def _drawn_path(depth: int, outcomes: int, truths: int, dim: int, rng: np.random.Generator) -> _Path:
    drawn = to_normals(folded_lattice(outcomes, depth, rng=rng))  # (depth, Q, 2)
    weights = np.full((outcomes, 1), 1.0 / outcomes)
    nodes = [Nodes(pairs[None, :, :1], pairs[None, :, 1:], weights) for pairs in drawn]
    return _Path(rng.standard_normal((depth, 2)), nodes, spread_normals(truths, dim, rng=rng).T.astype(np.float32))
