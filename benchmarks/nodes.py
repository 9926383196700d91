"""How exact the default lookahead is: its values against the same lookahead with many nodes and all candidates.

    python benchmarks/nodes.py

States: the paper's 1-D priors, and each after one, two and three runs of a simulated tuning.  Errors in score units.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time

import numpy as np

from autobct.belief.prior import paper_prior
from autobct.value.lookahead.nodes import gauss_hermite, product, stratified
from autobct.value.lookahead.on_the_fly import Level, default_levels, on_the_fly
from autobct.value.lookahead.one_step import control_values, one_run_value, two_run_values
from autobct.value.state import State, Terms, keep, view

PRIORS = ("synthetic", "cnn-batch", "cnn-r", "higgs", "intel", "fraud")
CONTROLS = np.linspace(0, 1, 101)[:, None]


def states(terms: Terms, seed: int = 0) -> list[State]:
    """The priors, and states a tuning reaches from them."""
    rng = np.random.default_rng(seed)
    found = []
    for name in PRIORS:
        prior = paper_prior(name)
        belief, trained = prior.belief, []
        for _ in range(4):
            state = view(belief, prior.model, CONTROLS)
            kept = trained[-3:] if terms.recall else trained[-1:]
            state = keep(state, np.array(kept, dtype=np.intp))
            found.append(state)
            chosen = int(on_the_fly(state, terms, depth=2).argmax())
            trained.append(chosen)
            score = state.score.mean[chosen] + rng.normal(0, 0.3)
            cost = abs(state.cost.mean[chosen] + rng.normal(0, 0.3))
            belief = prior.model.observe(belief, CONTROLS[chosen], score=score, cost=cost)
    return found


def report(name: str, values: list[float], truth: list[float], seconds: float) -> None:
    error = 1e3 * (np.array(values) - np.array(truth))
    rms = np.sqrt((error**2).mean())
    print(f"{name:44s} rms {rms:6.2f}e-3  mean {error.mean():+6.2f}e-3  {1e3 * seconds:8.1f} ms")


def measure(name: str, value: object, found: list[State], truth: list[float]) -> None:
    start = time.perf_counter()
    values = [float(value(state).max()) for state in found]  # type: ignore[operator]
    report(name, values, truth, (time.perf_counter() - start) / len(found))


def main() -> None:
    last, recall = Terms(0.16), Terms(0.16, recall=True, overhead=0.002)
    found = states(last)
    print("V_2, last model: against 64 cost strata, all 101 inner controls, exact in the score")
    truth = [float(two_run_values(s, last, stratified(64)).max()) for s in found]
    for cells in (3, 4, 6):
        measure(
            f"exact in the score, {cells} cost strata, 26 inner",
            lambda s, c=cells: two_run_values(s, last, stratified(c), inner=np.arange(0, 101, 4)),
            found,
            truth,
        )
    for score, cost in ((8, 4), (12, 6), (16, 8)):
        measure(
            f"stratified {score} x {cost}",
            lambda s, a=score, b=cost: control_values(s, last, product(stratified(a), stratified(b)), one_run_value),
            found,
            truth,
        )
        measure(
            f"Gauss-Hermite {score} x {cost}",
            lambda s, a=score, b=cost: control_values(
                s, last, product(gauss_hermite(a), gauss_hermite(b)), one_run_value
            ),
            found,
            truth,
        )
    measure("default", lambda s: on_the_fly(s, last, depth=2), found, truth)

    found = states(recall)
    print("R2, recall: against 48 x 12 strata, all 101 inner controls")
    truth = [
        float(control_values(s, recall, product(stratified(48), stratified(12)), one_run_value).max()) for s in found
    ]
    for score, cost, step in ((6, 2, 5), (8, 3, 5), (12, 4, 4), (16, 6, 2)):
        measure(
            f"stratified {score} x {cost}, {100 // step + 1} inner",
            lambda s, a=score, b=cost, k=step: control_values(
                s, recall, product(stratified(a), stratified(b)), one_run_value, inner=np.arange(0, 101, k)
            ),
            found,
            truth,
        )
    measure("default", lambda s: on_the_fly(s, recall, depth=2), found, truth)

    print("depth 3: against 12 x 6 then 8 x 4 (recall) or exact with 6 cost strata (last model), 26 inner controls")
    for terms, name in ((last, "last model"), (recall, "recall")):
        found = states(terms)[::2]
        inner = np.arange(0, 101, 4)
        second = Level(product(stratified(8), stratified(4))) if terms.recall else Level(stratified(6))
        fine = [Level(product(stratified(12), stratified(6)), inner), second]
        truth = [float(on_the_fly(s, terms, depth=3, levels=fine).max()) for s in found]
        assert default_levels(3, 101, terms)
        measure(f"default, {name}", lambda s, t=terms: on_the_fly(s, t, depth=3), found, truth)


if __name__ == "__main__":
    main()
