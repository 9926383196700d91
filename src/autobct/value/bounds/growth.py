"""Bounds on the value function: what no policy can exceed.

`clairvoyant_value` is W_0, the value of knowing the truth before the only run; `upper_bound` and `lower_bound`
are v^* and v_* of lemma upper_bound of the paper, far looser, in closed form up to a one-dimensional integral.

A slip of the paper is settled here: its v_* has no term for the noise in the cost.  With alpha = beta = 0 known
for certain V is -gamma E[(sigma_T eta)^+] < 0 = v_*, so that term is subtracted too.
"""

from __future__ import annotations

from itertools import product as iterproduct

import numpy as np
from scipy.integrate import quad

from autobct.belief.arrays import Array
from autobct.belief.basis import Basis, Model, noise_at, probe_controls
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.normal import upsilon
from autobct.value.state import State, Terms, price_of


def clairvoyant_value(state: State, terms: Terms, normals: Array) -> Array:
    """max_u ( H(u) - price of a run at u, given the truth ) for each drawn truth; average it for W_0.  (n,).

    normals: (2, n, G) independent standard normals, as data.  V_N <= V <= W_0 for every N, equal at a truth.
    """
    scores = state.score.draw(normals[0])
    costs = state.cost.draw(normals[1])
    return np.asarray((scores - price_of(costs, state.cost_noise, terms)).max(axis=-1))


def upper_bound(belief: Belief, model: Model) -> float:
    """v^*: E|alpha| sup_u |phi(u)|, above every V_N (lemma upper_bound)."""
    return expected_norm(belief.score) * _largest_norm(model.score_basis)


def lower_bound(belief: Belief, model: Model, price: float) -> float:
    """v_*: -v^* - gamma (E|beta| sup_u |psi(u)| + E[noise^+]), below every V_N (lemma upper_bound; linear cost)."""
    noise = noise_at(model.cost_noise, probe_controls(model.cost_basis.dim), "cost_noise").max()
    cost = expected_norm(belief.cost) * _largest_norm(model.cost_basis) + float(upsilon(0.0, noise))
    return -upper_bound(belief, model) - price * cost


def expected_norm(vector: Gaussian) -> float:
    """E of the Euclidean norm of a normal vector, by one integral over its moment generating function.

    sqrt(q) = (4 pi)^(-1/2) int_0^inf (1 - exp(-t q)) t^(-3/2) dt, and E exp(-t |v|^2) factors over the
    eigenvectors.
    """
    values, vectors = np.linalg.eigh(vector.cov)
    variances = np.clip(values, 0.0, None)
    offsets = np.square(vectors.T @ vector.mean)
    scale = float(variances.sum() + offsets.sum())
    if scale == 0.0:
        return 0.0

    def integrand(s: float) -> float:  # t = s^2 / scale keeps the integrand smooth at zero
        t = s * s / scale
        log_mgf = -0.5 * np.log1p(2 * t * variances) - t * offsets / (1 + 2 * t * variances)
        return float(-np.expm1(log_mgf.sum()) / (s * s))

    near, _ = quad(integrand, 0.0, 1.0, epsabs=1e-12, epsrel=1e-12)
    far, _ = quad(lambda r: integrand(1.0 / r) / (r * r), 0.0, 1.0, epsabs=1e-12, epsrel=1e-12)
    return float((near + far) * np.sqrt(scale / np.pi))


def _largest_norm(basis: Basis) -> float:
    """sup_u |phi(u)| over the corners of the cube and probe controls."""
    varied = min(basis.dim, 12)
    corners = np.array(list(iterproduct([0.0, 1.0], repeat=varied)))
    padded = np.pad(corners, ((0, 0), (0, basis.dim - varied)))
    controls = np.concatenate([padded, probe_controls(basis.dim)])
    return float(np.linalg.norm(basis(controls), axis=-1).max())
