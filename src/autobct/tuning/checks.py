"""What a user said of a problem, checked at the door."""

from __future__ import annotations

import numpy as np

from autobct.belief.arrays import Array, distinct, finite_array, finite_number, whole_number
from autobct.belief.prior import PAPER_PRIORS, Prior
from autobct.tuning.space.row_table import Table
from autobct.tuning.space.space import Space

PAPER = "paper"
"""As a prior: the paper's bases and fixed scale, in ranges that may still be widened."""

ENSEMBLE = "ensemble"
"""As a prior: the default without the learned surrogate, the ensemble of response surfaces alone."""


def stated_prior(told: object, space: Space) -> Prior | None:
    """A prior of the user's; None where it comes from the space: for `PAPER`, `ENSEMBLE` and if nothing was said."""
    if told is None or (isinstance(told, str) and told in (PAPER, ENSEMBLE)):
        return None
    prior = PAPER_PRIORS.get(told) if isinstance(told, str) else told
    if not isinstance(prior, Prior):
        names = ", ".join(map(repr, [PAPER, ENSEMBLE, *PAPER_PRIORS]))
        raise (ValueError if isinstance(told, str) else TypeError)(
            f"prior must be a Prior or one of {names}, got {told!r}; write e.g. prior='paper'"
        )
    if prior.dim != space.dim:
        raise ValueError(
            f"prior is for {prior.dim} coordinate{'s' if prior.dim != 1 else ''} but the space has {space.dim}; "
            f"use bases with dim={space.dim}"
        )
    return prior


def check_flag(flag: object, name: str) -> None:
    """True or False, and nothing that is taken for one of them."""
    if not isinstance(flag, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {flag!r}; write {name}=True")


def stated_noise(score_noise: object, *, learning: bool) -> float | None:
    """The standard deviation of a score that was stated; None if it is to be learned."""
    if score_noise is None:
        return None
    if not learning:
        raise ValueError("score_noise is for the default surrogate; leave it out with a prior")
    if isinstance(score_noise, str):
        if score_noise != "exact":
            raise ValueError(f"score_noise must be a number or 'exact', got {score_noise!r}; write score_noise='exact'")
        return 0.0
    return finite_number(score_noise, "score_noise", least=0.0)


def stated_controls(space: Space, candidates: Array | int | None) -> Array:
    """The candidates (G, p) that were stated, as rows or by their number; those of the space if they were not."""
    if candidates is not None and isinstance(space, Table):
        raise ValueError("candidates cannot be combined with a Table, whose rows are the candidates; leave them out")
    if candidates is None:
        return space.candidates()
    if np.ndim(candidates) == 0:
        return space.candidates(whole_number(candidates, "candidates", example=101, least=2))
    controls = np.array(finite_array(candidates, "candidates"))
    if controls.shape != (len(controls), space.dim) or controls.size == 0 or np.any((controls < 0) | (controls > 1)):
        raise ValueError(
            f"candidates must be rows of {space.dim} numbers between 0 and 1, got an array of shape "
            f"{controls.shape}; write e.g. np.linspace(0, 1, 101)[:, None]"
        )
    return distinct(space.canonical(controls)) if space.conditional else controls
