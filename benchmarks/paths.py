"""Long plays, beyond where a tuner would stop, with everything a stopping rule could look at.

    python benchmarks/paths.py --weights FOLDER --data FOLDER --out FILE.jsonl --each 8 --seeds 1 [--told false]

Every line is one play on one task at one price.  Runs are chosen by the mixture of ensemble and network, whose network
has never seen the family; before each run the file has what both expect of it and of what others would have chosen.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import json
import multiprocessing
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from learned import SCORES, Mind, gains_at, layout_of, loaded
from tasks import LEVELS, Bench, Question, Task, seed_on, tuner_for

import autobct
from autobct.tuning.decide.position import train_at
from autobct.value.acquisition import expected_improvement
from autobct.value.state import run_price

LONGEST = 40


def path(
    task: Task, network: Any, level: float, seed: int, told: bool, longest: int, rule: str = "mix"
) -> dict[str, Any]:
    """One play.  Scores and prices are in ranges of the task's scores."""
    bench, price = Bench(task, seed, longest), task.price(level)
    question = Question(task.space, price, task.score_range, seed_on(task, seed), longest)
    plain = {"price": price, "seed": question.seed, "max_runs": longest}
    tuner = tuner_for(question) if told else autobct.Tuner(question.space, **plain)
    layout = layout_of(tuner.problem.space)
    known, unit = task.yardstick, task.yardstick.range
    runs: list[tuple[Any, float, float]] = []
    steps: list[dict[str, Any]] = []
    while len(runs) < longest and price * sum(r[2] for r in runs) < 2.5 * unit:
        if not runs:
            chosen = tuner.ask()
        else:
            position = tuner.position()
            row, best = looked(task, tuner, position, network, layout, runs, price, told, rule)
            steps.append(row)
            chosen = train_at(position, best, position.stop_value)
            tuner.adopt(chosen)
        score, spent = bench(chosen.params)
        tuner.tell(chosen, score=score, cost=spent)
        runs.append((chosen.control, score, spent))
        if len(steps) and "returned" not in steps[-1]:
            steps[-1]["returned"] = int(tuner.best.trial)
    return {
        "rule": rule, "task": task.name, "family": task.family, "level": level, "seed": seed, "told": told, "dim": len(task.space),
        "width": layout.dim, "table": type(task.surface).__name__,
        "star": (dict(known.star)[level] - known.low) / unit, "ref": (known.reference(level) - known.low) / unit,
        "true": [(t.true - known.low) / unit for t in bench.trials],
        "seen": [(t.seen - known.low) / unit for t in bench.trials],
        "paid": [price * t.cost / unit for t in bench.trials],
        "steps": steps,
    }  # fmt: skip


def looked(
    task: Task,
    tuner: Any,
    position: Any,
    network: Any,
    layout: Any,
    runs: Any,
    price: float,
    told: bool,
    rule: str,
) -> tuple[dict[str, Any], int]:
    """What both surrogates say of the candidates, at the one that each rule would choose; and the mixture's choice."""
    problem, unit = position.problem, task.yardstick.range
    state = replace(position.state, feasibility=position.feasibility)
    ei = expected_improvement(state, problem.terms) * problem.score_scale.unit / unit
    cost = run_price(position.state, problem.terms) * problem.score_scale.unit / unit
    begin = time.process_time()
    mind = Mind(network, layout, runs, price, task.score_range if told else None)
    kappa = price * np.exp(np.mean(np.log([r[2] for r in runs]))) / unit
    made = np.array([r[0] for r in runs])
    means = mind.predicted(made)[0] @ SCORES
    gain, spent = gains_at(mind, means.max(), mind.noise(made), problem.controls)
    seconds = time.process_time() - begin
    gain, spent = kappa * gain, kappa * spent
    allowed = ~position.untried
    values = {"e": ei, "c": cost, "g": gain, "d": spent, "kappa": kappa, "runs": len(runs)}
    at = {name: int(np.where(allowed, RULES[name](**values), -np.inf).argmax()) for name in (rule, *SHOWN)}
    points = np.array([task.point(problem.space.params(problem.controls[i])) for i in at.values()])
    scores, costs = task.true(task.nearest(points))
    found: dict[str, Any] = {"kappa": kappa, "noise": mind.noise(made) * kappa**2, "size": len(ei), "seconds": seconds}
    for k, (name, i) in enumerate(at.items()):
        found["chosen" if k == 0 else name] = [ei[i], cost[i], gain[i], spent[i],
                       (scores[k] - task.yardstick.low) / unit, price * costs[k] / unit]  # fmt: skip
    found["most"] = [ei[allowed].max(), gain[allowed].max()]
    return _rounded(found), at[rule]


def _rounded(found: dict[str, Any]) -> dict[str, Any]:
    return {k: [float(f"{x:.4g}") for x in v] if isinstance(v, list) else float(f"{v:.4g}") for k, v in found.items()}


def _mean(e: Any, g: Any) -> Any:
    return (e + g) / 2


def _geometric(e: Any, g: Any) -> Any:
    return np.sqrt(np.maximum(e, 0.0) * np.maximum(g, 0.0))


RULES: dict[str, Any] = {
    "mix": lambda e, c, g, d, kappa, runs: _mean(e, g) / np.sqrt(c * d),
    "mix-less": lambda e, c, g, d, kappa, runs: _mean(e, g) - np.sqrt(c * d),
    "geo-less": lambda e, c, g, d, kappa, runs: _geometric(e, g) - np.sqrt(c * d),
    "geo-less-2": lambda e, c, g, d, kappa, runs: (
        _mean(e, g) / np.sqrt(c * d) if runs == 1 else _geometric(e, g) - np.sqrt(c * d)
    ),
    "geo-1": lambda e, c, g, d, kappa, runs: _geometric(e, g) / (np.sqrt(c * d) + kappa),
    "geo-0.3": lambda e, c, g, d, kappa, runs: _geometric(e, g) / (np.sqrt(c * d) + 0.3 * kappa),
    "mix-1": lambda e, c, g, d, kappa, runs: _mean(e, g) / (np.sqrt(c * d) + kappa),
    "mix-0.3": lambda e, c, g, d, kappa, runs: _mean(e, g) / (np.sqrt(c * d) + 0.3 * kappa),
    "ens-less": lambda e, c, g, d, kappa, runs: e - c,
    "net-less": lambda e, c, g, d, kappa, runs: g - d,
    "ens": lambda e, c, g, d, kappa, runs: e / (c + 0.001),
}
"""What ranks.  e, g: expected improvement of ensemble and network;  c, d: their prices of a run."""
SHOWN = ("mix-less", "geo-less", "ens-less", "net-less")


def job_of(job: tuple[Any, ...]) -> dict[str, Any] | None:
    name, data, weights, level, seed, told, longest, until, rule = job
    if time.time() > until:
        return None
    from benchmark_tasks import named_task

    return path(named_task(name, data), loaded(weights), level, seed, told, longest, rule)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--each", type=int, default=8, help="tasks per family")
    parser.add_argument("--longest", type=int, default=LONGEST)
    parser.add_argument("--told", default="true", choices=["true", "false", "half"])
    parser.add_argument("--seconds", type=float, default=1e9, help="start no play after so long")
    parser.add_argument("--families", default="")
    parser.add_argument("--rules", default="mix", help=f"of {', '.join(RULES)}")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    from benchmark_tasks import FOLDS, all_names

    members: dict[str, list[str]] = {}
    for name in all_names(asked.data):
        members.setdefault(name.split("-")[0], []).append(name)
    tasks = {f: n[:: max(1, len(n) // asked.each)][: asked.each] for f, n in members.items()}
    wanted = asked.families.split(",") if asked.families else [f for fs in FOLDS.values() for f in fs]
    jobs = [
        (name, asked.data, str(Path(asked.weights) / f"{fold}.surrogate"), level, seed,
         asked.told == "true" or (asked.told == "half" and (number + seed + LEVELS.index(level)) % 2 == 0), asked.longest, time.time() + asked.seconds, rule)
        for rule in asked.rules.split(",") for seed in range(asked.seeds) for number in range(asked.each) for level in LEVELS
        for fold, families in FOLDS.items() for family in families if family in wanted
        for name in tasks[family][number : number + 1]
    ]  # fmt: skip
    with multiprocessing.get_context("spawn").Pool(asked.workers) as pool, asked.out.open("w") as out:
        for found in pool.imap_unordered(job_of, jobs, chunksize=1):
            if found is not None:
                out.write(json.dumps(found) + "\n")
                out.flush()


sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments" / "surrogate"))

if __name__ == "__main__":
    main()
