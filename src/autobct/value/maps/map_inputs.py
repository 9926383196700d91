"""What a value map sees of a state: a few numbers at its reference controls, and nothing else.

Of a successor a map needs means, variances and neighbours' covariances at the references, never the whole covariance:
`Lookout` has just these for a run at every candidate, which is what makes a decision with a map quick.

| `autobct.build.networks.game` | here |
|---|---|
| `BatchedInputs`, (n, G, A, B, R) | `MapInputs`, the references first: (R, ..., A, B) |
| `look_ahead` | `lookout`, then `Lookout.after` |
| `root` | `outlook` |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array, Array32, Indices
from autobct.belief.cost import LOG_LINEAR
from autobct.belief.gaussian import Gaussian
from autobct.belief.normal import V, loss, observed_sd, remaining, remaining_variance
from autobct.value.lookahead.nodes import Rule
from autobct.value.state import State, Terms, gather, kept_means, price_of, stop_value, variance

_LARGEST_LOG = 30.0  # of a log cost: beyond it every run is out of the question, and float32 must hold it
_NONE = np.empty((0, 1, 1, 1), dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class MapInputs:
    """States as a map sees them: float32, in units of lambda.  All broadcast to (..., A, B), or to (A, B, g).

    level, scale:  score = level + scale x what stands here;  scale is lambda, float64
    mean (R, ..., A, 1), price (R, ..., 1, B):  posterior mean score, and price of a run, at the references
    reach (R, ..., A, 1):  with recall: standard deviation of how far a run there moves its score away from that of
                           the incumbent, which moves with it;  empty without recall
    fixed (2 R + E + 2, ..., 1, 1):  outcome-free: sd, neighbours' covariances, log sd of the cost, log noises
    stop (..., A, 1):  reward of stopping; -inf if there is none
    truth (...):  whether nothing is uncertain: then nothing is to be learned either, whatever a network says
    """

    level: Array
    scale: Array
    mean: Array32
    price: Array32
    reach: Array32
    fixed: Array32
    stop: Array32
    truth: NDArray[np.bool_]

    @property
    def sd(self) -> Array32:
        """Standard deviations of the score at the references, (R, ..., 1, 1)."""
        return self.fixed[: len(self.mean)]


def outlook(state: State, terms: Terms, references: int, neighbours: Indices) -> MapInputs:
    """Any states whose first candidates are the references, e.g. successors with `inner` the references."""
    axes = max(state.score.mean.ndim, state.score.cov.ndim - 1, state.cost.mean.ndim, state.cost.cov.ndim - 1)

    def first(values: Array) -> Array:
        return np.moveaxis(values.reshape((1,) * (axes - values.ndim) + values.shape), -1, 0)

    means = first(state.score.mean[..., :references])
    level = np.asarray(means.max(axis=0))
    var, cost_var = (first(_diagonal(belief.cov, references)) for belief in (state.score, state.cost))
    left, right = neighbours
    score_noise, cost_noise = state.score_noise[..., 0], state.cost_noise[..., 0]
    scale = _lambda(var, score_noise)
    intercept, spread = _cost_lines(first(state.cost.mean[..., :references]), cost_var, cost_noise, terms, scale)
    return MapInputs(
        level=level,
        scale=scale,
        mean=_float32((means - level) / scale),
        price=_price(_float32(intercept), _float32(spread), _float32(terms.overhead / scale), terms),
        reach=_float32(reach_of(var, first(_held(state, references)), score_noise) / scale) if terms.recall else _NONE,
        fixed=_outcome_free(
            var, first(state.score.cov[..., left, right]), cost_var, score_noise, cost_noise, scale, terms
        ),
        stop=_float32((stop_value(state) - level) / scale),
        truth=np.asarray(~(var.any(axis=0) | cost_var.any(axis=0))),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Lookout:
    """One belief, looked ahead from: what a run at each of its G candidates leads to, before the outcome is known.

    prices:              (G,) of the run itself, in score units
    intercepts, slopes:  (.., G) lines in the surprises: of costs (R), means (R), the model just trained, earlier ones
    fixed:               (.., G) outcome-free: spread of the cost (R), overhead, then `MapInputs.fixed`
    reach:               (1 + M, R, G) with recall: `MapInputs.reach`, were each of these models the best one
    """

    terms: Terms
    level: float
    scale: Array
    prices: Array
    intercepts: Array32
    slopes: Array32
    fixed: Array32
    reach: Array32
    truth: NDArray[np.bool_]
    references: int

    def after(self, chosen: Indices, score_rule: Rule, cost_rule: Rule) -> MapInputs:
        """The states that a run at each of the chosen candidates leads to, axes (A, B, g).

        The chosen stand last: NumPy is quick along a long last axis.
        """
        count = self.references
        intercepts, slopes = self.intercepts.take(chosen, axis=1), self.slopes.take(chosen, axis=1)
        fixed = self.fixed.take(chosen, axis=1)[:, None, None]
        costs, scores = slice(count), slice(count, None)
        by_score = _lines(intercepts[scores], slopes[scores], score_rule)[:, :, None]  # (R + M, A, 1, g)
        by_cost = _lines(intercepts[costs], slopes[costs], cost_rule)[:, None]  # (R, 1, B, g)
        return MapInputs(
            level=np.asarray(self.level),
            scale=self.scale[chosen],
            mean=by_score[:count],
            price=_price(by_cost, fixed[:count], fixed[count], self.terms),
            reach=self._reach(by_score[count:], chosen),
            fixed=fixed[count + 1 :],
            stop=by_score[count:].max(axis=0),
            truth=self.truth,
        )

    def _reach(self, models: Array32, chosen: Indices) -> Array32:
        """Of the best of the models (1 + M, A, 1, g) after each outcome: (R, A, 1, g); empty without recall."""
        reach = self.reach.take(chosen, axis=-1)  # (1 + M, R, g)
        if len(reach) < 2:
            return np.asarray(reach[0][:, None, None]) if len(reach) else _NONE
        best = models.argmax(axis=0)[None, :, 0]  # (1, A, g)
        found: Array32 = reach[0][:, None]
        for model in range(1, len(reach)):
            found = np.where(best == model, reach[model][:, None], found)
        return np.asarray(found[:, :, None])


def lookout(state: State, terms: Terms, to_references: Array | Indices, neighbours: Indices) -> Lookout:
    """An unbatched belief, looked ahead from at all its candidates.

    to_references: (R,) where the references are among the candidates; or (R, G), the values at the references as
    linear functions of those at the candidates
    """
    means, cov, rows = _seen_from(state.score, to_references)
    costs, cost_cov, cost_rows = _seen_from(state.cost, to_references)
    own, own_cost = variance(state.score), variance(state.cost)
    score_noise, cost_noise = state.score_noise, state.cost_noise
    step, cost_step = observed_sd(own, score_noise), observed_sd(own_cost, cost_noise)
    gain, cost_gain = rows / step, cost_rows / cost_step  # (R, G)
    var = remaining_variance(np.diagonal(cov)[:, None], gain)
    cost_var = remaining_variance(np.diagonal(cost_cov)[:, None], cost_gain)
    left, right = neighbours
    link = remaining(cov[left, right][:, None], gain[left], gain[right])
    level, scale, count = float(means.max()), _lambda(var, score_noise), len(means)
    kept = state.kept[state.kept >= 0] if terms.recall else state.kept[:0]
    intercepts = np.empty((2 * count + 1 + kept.size, state.size), dtype=np.float32)
    slopes, rest = np.empty_like(intercepts), np.empty((count + 1, state.size), dtype=np.float32)
    intercepts[:count], rest[:-1] = _cost_lines(costs[:, None], cost_var, cost_noise, terms, scale)
    slopes[:count] = cost_gain if terms.cost_model is LOG_LINEAR else cost_gain / observed_sd(cost_var, cost_noise)
    intercepts[count : 2 * count] = (means[:, None] - level) / scale
    slopes[count : 2 * count] = gain / scale
    intercepts[2 * count] = (state.score.mean - level) / scale  # the model just trained
    slopes[2 * count] = own / (step * scale)
    intercepts[2 * count + 1 :] = (state.score.mean[kept][:, None] - level) / scale  # the models trained so far
    kept_rows = state.score.rows(kept)  # (M, G)
    slopes[2 * count + 1 :] = kept_rows / (step * scale)
    rest[-1] = terms.overhead / scale
    fixed = _outcome_free(var, link, cost_var, score_noise, cost_noise, scale, terms)
    prices = price_of(state.cost.mean, cost_step, terms)
    truth = np.asarray(not (rows.any() or cost_rows.any()))
    reach = np.empty((0, count, state.size), dtype=np.float32)
    if terms.recall:
        held = np.empty((1 + kept.size, count, state.size))  # covariance of each model with the references afterwards
        held[0] = remaining(rows, own / step, gain)
        kept_cov = kept_rows[:, to_references] if to_references.ndim == 1 else kept_rows @ to_references.T  # (M, R)
        held[1:] = remaining(kept_cov[:, :, None], (kept_rows / step)[:, None], gain)
        reach = _float32(reach_of(var, held, score_noise) / scale)
    return Lookout(
        terms=terms,
        level=level,
        scale=scale,
        prices=prices,
        intercepts=intercepts,
        slopes=slopes,
        fixed=np.concatenate([rest, fixed]),
        reach=reach,
        truth=truth,
        references=count,
    )


def reach_of(var: V, held: V, score_noise: V) -> V:
    """Sd of the change of (score at a control - incumbent's score) in a run there.  In NumPy and in torch.

    var, held: variance of the former, covariance of the two
    """
    found: V = abs(var - held) / observed_sd(var, score_noise)
    return found


def _seen_from(belief: Gaussian, to_references: Array | Indices) -> tuple[Array, Array, Array]:
    """Mean (R,) and covariance (R, R) at the references, and their covariance (R, G) with the candidates."""
    if to_references.ndim == 1:
        at = to_references.astype(np.intp, copy=False)
        rows = belief.rows(at)
        return belief.mean[at], rows[:, at], rows
    rows = to_references @ belief.cov
    return to_references @ belief.mean, rows @ to_references.T, rows


def _diagonal(cov: Array, count: int) -> Array:
    return np.maximum(np.diagonal(cov[..., :count, :count], axis1=-2, axis2=-1), 0.0)


def _lambda(var: Array, score_noise: Array) -> Array:
    """The scale of scores: lambda^2 = max variance at the references + (sigma_H / 10)^2."""
    return np.asarray(np.sqrt(var.max(axis=0) + np.square(0.1 * score_noise)))


def _held(state: State, references: int) -> Array:
    """Covariance of the score of the incumbent with those at the references; zero with none.  (..., R)."""
    if state.kept.shape[-1] == 0:
        return np.zeros(references)
    means = kept_means(state)
    best = gather(state.kept, means.argmax(axis=-1)[..., None])[..., 0]
    cov = state.score.cov[..., :, :references]
    index = np.maximum(best, 0)[..., None, None]
    ndim = max(cov.ndim, index.ndim)
    aligned = cov.reshape((1,) * (ndim - cov.ndim) + cov.shape), index.reshape((1,) * (ndim - index.ndim) + index.shape)
    rows = np.take_along_axis(*aligned, axis=-2)[..., 0, :]
    return np.where((best >= 0)[..., None], rows, 0.0)


def _outcome_free(
    var: Array, link: Array, cost_var: Array, score_noise: Array, cost_noise: Array, scale: Array, terms: Terms
) -> Array32:
    """sd, link, log sd of the cost, log noises, over lambda; a log cost has no unit.  (2 R + E + 2, ...)."""
    per_cost = 1.0 if terms.cost_model is LOG_LINEAR else terms.price / scale
    count, pairs = len(var), len(link)
    inputs = np.empty((2 * count + pairs + 2, *np.broadcast(var[0], cost_var[0]).shape), dtype=np.float32)
    inputs[:count] = np.sqrt(var) / scale
    inputs[count : count + pairs] = link / (scale * scale)
    inputs[count + pairs : -2] = np.sqrt(cost_var) * per_cost + 1e-3
    inputs[-2] = score_noise / scale
    inputs[-1] = cost_noise * per_cost + 1e-3
    logs = inputs[count + pairs :]
    np.log(logs, out=logs)
    return inputs


def _cost_lines(costs: Array, cost_var: Array, cost_noise: Array, terms: Terms, scale: Array) -> tuple[Array, Array]:
    """What `_price` needs of costs: (log price over lambda, unused) or (mean over sd, price of one sd over lambda)."""
    total = cost_var + cost_noise * cost_noise
    if terms.cost_model is LOG_LINEAR:
        return np.minimum(costs + 0.5 * total, _LARGEST_LOG) + np.log(terms.price / scale), total
    sd = np.sqrt(total)
    return costs / sd, terms.price * sd / scale


def _price(lines: Array32, spread: Array32, overhead: Array32, terms: Terms) -> Array32:
    """Expected price of a run over lambda, gamma Upsilon + overhead, in float32."""
    expected = np.exp(lines) if terms.cost_model is LOG_LINEAR else spread * loss(lines)
    return np.asarray(expected + overhead)


def _lines(intercepts: Array32, slopes: Array32, rule: Rule) -> Array32:
    """intercepts + slopes z at every node, (.., g) -> (.., A, g)."""
    lines = slopes[:, None] * rule.points.astype(np.float32)[:, None]
    lines += intercepts[:, None]
    return lines


def _float32(values: Array) -> Array32:
    """In order, without which NumPy takes many times as long over what follows."""
    return values.astype(np.float32, order="C")
