"""The first belief of one or two plain numbers: it learns its scale, on the paper's basis, for which maps are shipped.

The members are response surfaces as in more dimensions (`learning.py`), of the degree that the paper's basis has.  The
paper's functions span the same polynomials, so that what the members believe can be written in them without loss.

| here | shape |
|---|---|
| into: the members' functions are `features @ into` of the paper's | (J, J) |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array, Indices
from autobct.belief.basis import Basis, probe_controls
from autobct.belief.cost import LOG_LINEAR
from autobct.belief.ensemble import Ensemble, Mixture
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.learning import Growth, Habits, cost_of, ensemble_of
from autobct.belief.model import Model
from autobct.belief.prior import Prior
from autobct.belief.surface import Surface, surface


@dataclass(frozen=True, slots=True, eq=False)
class Rewritten:
    """An ensemble whose members have functions of their own, of the same span as the basis.  into: (J, J)."""

    members: Ensemble
    into: Array

    def prior(self) -> RewrittenMixture:
        """The mixture before any run."""
        return self.posterior(np.empty((0, len(self.into))), np.empty(0))

    def posterior(self, features: Array, scores: Array) -> RewrittenMixture:
        """The mixture after n runs.  features: (n, J) of the basis,  scores: (n,)."""
        mixture = self.members.posterior(features @ self.into, scores)
        return RewrittenMixture(rewritten(mixture.gaussian(), self.into), mixture.noise, mixture, self.into)

    def only(self, functions: Indices) -> Rewritten:
        """The same of some functions of the basis: for controls where all others are zero."""
        return Rewritten(self.members, self.into[functions])


@dataclass(frozen=True, slots=True, eq=False)
class RewrittenMixture:
    """Mean, covariance and noise of a mixture.  weights: of the basis;  noise: see `Mixture.noise`."""

    weights: Gaussian
    noise: float
    mixture: Mixture
    into: Array

    def draw(self, uniforms: Array, normals: Array) -> tuple[Array, Array]:
        """Weights (n, J) of the basis and standard deviations (n,) of the noise, each of one member."""
        weights, noises = self.mixture.draw(uniforms, normals)
        return weights @ self.into.T, noises

    def gaussian(self) -> Gaussian:
        """The Gaussian with the mixture's mean and covariance."""
        return self.weights


def plain_prior(
    basis: Basis,
    growths: Sequence[Growth],
    *,
    cost_level: float,
    cost_spread: float,
    tops: Mapping[int, tuple[float, float]] | None = None,
    habits: Habits | None = None,
) -> Prior:
    """A first belief on an additive basis of numbers that learns how much scores differ.

    growths: of the log cost over each number;  tops, habits: as in `learning_prior`
    """
    told, same = habits or Habits(), same_span(basis)
    of_cost = surface(same.parameters, degree=2, size=0)
    members = Rewritten(ensemble_of(same, told, tops or {}), written_in(basis, same))
    mixture = members.prior()
    cost = rewritten(cost_of(of_cost, growths, cost_level, cost_spread, told), written_in(basis, of_cost))
    model = Model(basis, basis, mixture.noise, told.cost_noise, LOG_LINEAR)
    return Prior(model, Belief(mixture.gaussian(), cost), members)


def same_span(basis: Basis) -> Surface:
    """The orthonormal surface of as many functions and the same degree: for `cubic` and `additive_quartic`."""
    return surface((0,) * basis.dim, degree=max(basis.degrees), size=basis.size)


def written_in(basis: Basis, other: Surface) -> Array:
    """The functions of a surface as sums of those of a basis that spans them.  (J of the basis, J of the surface)."""
    controls = probe_controls(basis.dim)
    return np.asarray(np.linalg.lstsq(basis(controls), other.basis(controls), rcond=None)[0])


def rewritten(weights: Gaussian, into: Array) -> Gaussian:
    """Weights of the members' functions as weights of the basis: the same belief about every score."""
    cov = into @ weights.cov @ into.T
    return Gaussian(into @ weights.mean, (cov + cov.T) / 2)
