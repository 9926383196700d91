"""The experiments of section 4, one file for each, and all of them by name."""

from __future__ import annotations

from autobct.paper.experiment import Experiment
from autobct.paper.experiments import cnn_2d, cnn_batch, cnn_r, fraud, fraud_2d, higgs, intel, synthetic

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        synthetic.MAP_2,
        synthetic.MAP_4,
        synthetic.OTF,
        cnn_batch.BATCH,
        cnn_r.RATE,
        cnn_2d.MAP,
        cnn_2d.OTF,
        higgs.HIGGS,
        intel.PLAIN,
        intel.RESNET50,
        fraud.FRAUD,
        fraud_2d.FRAUD_2D,
    )
}
"""In the paper's order."""


def experiment(name: str) -> Experiment:
    """One of them; ValueError, with all names, if there is none of that name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"no experiment is called {name!r}; there are: {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
