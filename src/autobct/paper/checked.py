"""The paper's own runs told to our filter and our values: what is the same, and where its maps were off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autobct.paper.experiment import Experiment
from autobct.paper.play import paper_player
from autobct.value.bound import clairvoyant_value
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


def checked(experiment: Experiment) -> list[Checked]:
    """Every line of the published run; none if the paper prints none."""
    prior, found = experiment.first_belief, []
    player, belief = paper_player(experiment.method, experiment.dim), prior.belief
    assert player.policy is not None
    values, controls = player.policy(experiment.controls, 0), experiment.controls[:: 1 if experiment.dim == 1 else 4]
    terms = Terms(experiment.price, overhead=player.overhead)
    luck = np.random.default_rng(_SEED).standard_normal((2, _DRAWS, len(controls)))
    for number, (score, cost, control, believed, value) in enumerate(experiment.published_run, 1):
        at = np.array(control)
        belief = prior.model.observe(belief, at, score=score, cost=cost)
        here = float(prior.model.score_basis(at) @ belief.score.mean)
        going_on = float(values(view(belief, prior.model, experiment.controls), terms, number).max())
        most = clairvoyant_value(view(belief, prior.model, controls), Terms(experiment.price), luck)
        found.append(Checked(number, believed, here, value, going_on, float(most.mean())))
    return found
