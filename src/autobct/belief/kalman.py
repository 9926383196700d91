"""The Kalman filter of section 2.3 (eqs. filter_a, filter_b) in the inverse-free form of appendix A.

It is exact for singular covariances: what is known for certain stays as it is.  The same ten lines serve
weights (features phi(u)) and values at candidate controls (features e_g), one belief or a batch of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.gaussian import Gaussian


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What one run at a control will show.  mean: (...) m(u, x),  var: (...) s(u, x)^2, noise included,

    gain: (..., J) by how much the believed vector moves per standard deviation of surprise.
    """

    mean: Array
    var: Array
    gain: Array


def predict(weights: Gaussian, features: Array, noise: Array | float) -> Prediction:
    """Predictive distribution of one observation.

    features: (..., J),  noise: (...) sigma(u), a standard deviation
    """
    spread = np.einsum("...ij,...j->...i", weights.cov, features)  # Sigma phi
    latent = np.maximum(np.einsum("...i,...i->...", features, spread), 0.0)
    var = latent + np.square(noise)
    return Prediction(
        mean=np.einsum("...i,...i->...", weights.mean, features),
        var=var,
        gain=spread / np.sqrt(var)[..., None],
    )


def update(weights: Gaussian, features: Array, noise: Array | float, observed: Array | float) -> Gaussian:
    """The belief after observing `observed` at a control with these features.  All arrays may be batched."""
    predicted = predict(weights, features, noise)
    surprise = (observed - predicted.mean) / np.sqrt(predicted.var)
    gain = predicted.gain
    return Gaussian(
        mean=weights.mean + gain * surprise[..., None],  # eq. (filter_a), without an inverse
        cov=weights.cov - gain[..., :, None] * gain[..., None, :],  # symmetric to the last bit
    )
