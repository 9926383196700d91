"""HIGGS, section 4.3 and appendix D.6: from what share of the data should a random forest learn?

The paper samples both what it learns from and what it tests on.  With a partial copy the smallest sample would leave a
few dozen rows to test on, so a fixed part is tested on here and the sample is drawn from the rest.  The paper's
forest is `ranger`, of which nothing else is said; its default is 500 trees, here there are 100.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from experiments.paper.data.higgs import Collisions

from autobct.paper.experiment import TrainingOutcome

TREES = 100


def train(
    params: Mapping[str, Any],
    seed: int,
    data: Collisions,
    device: object = None,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> TrainingOutcome:
    """A forest on params {'share': of the rows}, drawn anew for every seed, and its accuracy.  One core, no device."""
    try:
        from sklearn.ensemble import RandomForestClassifier
    except ImportError:
        raise ImportError("the paper's forests need scikit-learn: pip install 'autobct[paper]'") from None
    rng = np.random.default_rng(seed)
    started = clock()
    count = max(2, round(params["share"] * len(data.train)))
    sample = rng.choice(len(data.train), count, replace=False)
    forest = RandomForestClassifier(TREES, random_state=int(rng.integers(2**31)), n_jobs=1)
    forest.fit(data.train[sample], data.train_labels[sample])
    accuracy = float(forest.score(data.test, data.test_labels))
    return TrainingOutcome(accuracy, clock() - started)
