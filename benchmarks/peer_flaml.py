"""FLAML's CFO as a peer; it stops as FLAML's `early_stop` does, when its local search has converged, or at the cap.

It is told the cost of every training, and begins as its authors advise at what is likely cheap: whole numbers at
their lower end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from flaml import CFO, tune
from peer_pipe import serve

_PATIENCE = 100  # so often in a row it may have nothing to suggest, as in flaml.tune.run


def domain(parameter: Mapping[str, Any]) -> Any:
    if parameter["kind"] == "choice":
        return tune.choice(parameter["choices"])
    low, high = parameter["low"], parameter["high"]
    if parameter["kind"] == "int":  # its upper end is excluded
        return tune.lograndint(low, high + 1) if parameter["log"] else tune.randint(low, high + 1)
    return tune.loguniform(low, high) if parameter["log"] else tune.uniform(low, high)


def play(question: dict[str, Any], train: Callable[[Mapping[str, Any]], tuple[float, float]]) -> int:
    space = {parameter["name"]: domain(parameter) for parameter in question["space"]}
    searcher = CFO(
        metric="score",
        mode="max",
        space=space,
        seed=question["seed"],
        num_samples=question["cap"],
        cost_attr="cost",
        low_cost_partial_config={p["name"]: p["low"] for p in question["space"] if p["kind"] == "int"},
    )
    seen: list[float] = []
    asked = idle = 0
    while len(seen) < question["cap"] and idle < _PATIENCE and not searcher.is_ls_ever_converged:
        asked += 1
        params = searcher.suggest(str(asked))
        if params is None:
            idle += 1
            continue
        idle = 0
        score, cost = train({name: params[name] for name in space})
        seen.append(score)
        searcher.on_trial_complete(str(asked), {"score": score, "cost": cost, **_stated(params)})
    return seen.index(max(seen))


def _stated(params: Mapping[str, Any]) -> dict[str, Any]:
    return {f"config/{name}": value for name, value in params.items()} | {"config": dict(params)}


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    serve(play)
