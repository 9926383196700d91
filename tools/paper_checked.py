"""The paper's own runs told to our filter and our values: what is the same, and where its maps were off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from autobct.belief.gaussian import Belief
from autobct.paper.experiment import Experiment
from autobct.paper.play import paper_player
from autobct.value.bounds.simple_bounds import clairvoyant_value
from autobct.value.state import Terms, view

_DRAWS, _SEED = 4000, 0


@dataclass(frozen=True, slots=True)
class Checked:
    """One line of a published table.

    believed, value:  posterior mean score and V here, after the same observations
    most:             W_0, which no value can exceed: that of one who is told the truth and trains once
    """

    number: int
    published_believed: float
    believed: float
    published_value: float
    value: float
    most: float


def posteriors(experiment: Experiment) -> Iterator[tuple[Belief, float]]:
    """The belief after each line of the published run, and the posterior mean score at its control."""
    prior, belief = experiment.prior, experiment.prior.belief
    for score, cost, control, *_ in experiment.published_run:
        at = np.array(control)
        belief = prior.model.observe(belief, at, score=score, cost=cost)
        yield belief, float(prior.model.score_basis(at) @ belief.score.mean)


def misfit(experiment: Experiment) -> tuple[float, float]:
    """How far the posterior scores are from the published ones: the largest error, and the root of the mean square."""
    found = [believed for _, believed in posteriors(experiment)]
    off = np.abs(np.subtract(found, [line[3] for line in experiment.published_run]))
    return float(off.max()), float(np.sqrt(np.mean(off**2)))


def checked(experiment: Experiment) -> list[Checked]:
    """Every line of the published run; none if the paper prints none."""
    model, found = experiment.prior.model, []
    player = paper_player(experiment.method, experiment.dim)
    assert player.policy is not None
    values, controls = player.policy(experiment.controls, 0), experiment.controls[:: 1 if experiment.dim == 1 else 4]
    terms = Terms(experiment.price, overhead=player.overhead)
    normals = np.random.default_rng(_SEED).standard_normal((2, _DRAWS, len(controls)))
    lines = zip(experiment.published_run, posteriors(experiment), strict=True)
    for number, ((*_, believed, value), (belief, here)) in enumerate(lines, 1):
        going_on = float(values(view(belief, model, experiment.controls), terms, number).value.max())
        most = clairvoyant_value(view(belief, model, controls), Terms(experiment.price), normals)
        found.append(
            Checked(
                number=number,
                published_believed=believed,
                believed=here,
                published_value=value,
                value=going_on,
                most=float(most.mean()),
            )
        )
    return found
