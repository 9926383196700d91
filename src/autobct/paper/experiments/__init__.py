"""The experiments of section 4, one file for each of its parts, and all of them by name."""

from __future__ import annotations

from autobct.paper.experiment import Experiment
from autobct.paper.experiments import cnn, real_data, synthetic

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        synthetic.MAP_2,
        synthetic.MAP_4,
        synthetic.OTF,
        cnn.BATCH,
        cnn.RATE,
        cnn.MAP,
        cnn.OTF,
        real_data.HIGGS,
        real_data.PLAIN,
        real_data.RESNET50,
        real_data.FRAUD,
        real_data.FRAUD_2D,
    )
}
"""In the paper's order."""


def experiment(name: str) -> Experiment:
    """One of them; ValueError, with all names, if there is none of that name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"no experiment is called {name!r}; there are: {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
