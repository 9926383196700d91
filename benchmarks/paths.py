"""Long plays, beyond where a tuner would stop: what ranking and stopping are worth, and how calibrated both are.

    python benchmarks/paths.py play --data FOLDER --out FILE.jsonl [--each 8] [--seeds 2] [--told half] [--rules ...]
    python benchmarks/paths.py report FILE.jsonl

Every line is one play on one task at one price, up to 40 runs.  Before each run it has what the ensemble and the
network, which has never seen the family, expect at the candidate that is chosen, and afterwards what that brought.
So any stopping rule can be tried on the same plays.  Scores and prices are in ranges of the task's scores.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import itertools
import json
import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from left_out import chosen_tasks, loaded, network_for, using
from tasks import LEVELS, Bench, Question, Task, seed_on, tuner_for

from autobct.tuning.decide.position import train_at
from autobct.value.acquisition import expected_improvement
from autobct.value.state import run_price

LONGEST, FARTHEST = 40, 2.5
SHARES = (1.0, 0.6, 0.4, 0.25, 0.15)
"""Of the expected improvement that may be counted on."""


def _mean(e: Any, g: Any) -> Any:
    return (e + g) / 2


def _geometric(e: Any, g: Any) -> Any:
    return np.sqrt(np.maximum(e, 0.0) * np.maximum(g, 0.0))


RULES: dict[str, Any] = {
    "mix": lambda e, c, g, d, kappa: _mean(e, g) / np.sqrt(c * d),
    "mix-1": lambda e, c, g, d, kappa: _mean(e, g) / (np.sqrt(c * d) + kappa),
    "mix-less": lambda e, c, g, d, kappa: _mean(e, g) - np.sqrt(c * d),
    "geo-1": lambda e, c, g, d, kappa: _geometric(e, g) / (np.sqrt(c * d) + kappa),
    "geo-less": lambda e, c, g, d, kappa: _geometric(e, g) - np.sqrt(c * d),
    "ens": lambda e, c, g, d, kappa: e / (c + 0.001),
    "ens-less": lambda e, c, g, d, kappa: e - c,
    "net": lambda e, c, g, d, kappa: g / d,
    "net-less": lambda e, c, g, d, kappa: g - d,
}
"""What ranks.  e, g: expected improvement of ensemble and network;  c, d: their prices;  kappa: of a typical run."""


def path(task: Task, level: float, seed: int, rule: str, *, told: bool) -> dict[str, Any]:
    """One play."""
    bench, price = Bench(task, seed, LONGEST), task.price(level)
    question = Question(task.space, price, task.score_range, seed_on(task, seed), LONGEST)
    tuner = tuner_for(question, **({} if told else {"score_range": None}))
    known, unit = task.yardstick, task.yardstick.range
    steps: list[list[float]] = []
    returned: list[int] = []
    while len(bench.trials) < LONGEST and price * tuner.total_cost < FARTHEST * unit:
        if not bench.trials:
            chosen = tuner.ask()
        else:
            position = tuner.position()
            values = expectations(position, price * typical(bench), unit)
            at = int(np.where(position.excluded, -np.inf, RULES[rule](**values)).argmax())
            steps.append([float(f"{np.broadcast_to(v, len(values['e']))[at]:.5g}") for v in values.values()])
            chosen = train_at(position, at, position.stop_value)
            tuner.adopt(chosen)
        score, spent = bench(chosen.params)
        tuner.tell(chosen, score=score, cost=spent)
        returned.append(int(tuner.best.trial))
    return {
        "rule": rule, "task": task.name, "family": task.family, "level": level, "seed": seed, "told": told,
        "star": (dict(known.star)[level] - known.low) / unit, "ref": (known.reference(level) - known.low) / unit,
        "true": [(trial.true - known.low) / unit for trial in bench.trials], "returned": returned,
        "paid": [price * trial.cost / unit for trial in bench.trials], "steps": steps,
    }  # fmt: skip


def typical(bench: Bench) -> float:
    """The geometric mean of the costs so far."""
    return float(np.exp(np.mean([np.log(trial.cost) for trial in bench.trials])))


def expectations(position: Any, kappa: float, unit: float) -> dict[str, Any]:
    """What the ensemble (e, c) and the network (g, d) expect at all candidates; the ensemble where it is not asked."""
    terms, scale = position.problem.terms, position.problem.score_scale.unit / unit
    second = next(iter(position.state.others), None)
    alone = replace(position.state, feasibility=position.feasibility, others=(), realised=1.0)
    improvement, price = expected_improvement(alone, terms) * scale, run_price(alone, terms) * scale
    chance = 1.0 if position.feasibility is None else position.feasibility
    return {
        "e": improvement,
        "c": price,
        "g": improvement if second is None else second.improvement(terms) * scale * chance,
        "d": price if second is None else second.price(terms) * scale,
        "kappa": kappa / unit,
    }


def job_of(job: tuple[Any, ...]) -> dict[str, Any]:
    """One play, in a process of its own."""
    from benchmark_tasks import named_task

    name, data, weights, level, seed, rule, told = job
    using(loaded(weights))
    return path(named_task(name, data), level, seed, rule, told=told)


def play_all(asked: argparse.Namespace) -> None:
    """All plays, each with a network that has not seen the family."""
    tasks = chosen_tasks(asked.data, asked.each)
    jobs = [
        (name, asked.data, network_for(family, asked.weights), level, seed, rule,
         asked.told == "true" or (asked.told == "half" and (number + seed + LEVELS.index(level)) % 2 == 0))
        for rule in asked.rules.split(",") for seed in range(asked.seeds) for number in range(asked.each)
        for level in LEVELS for family, names in tasks.items() for name in names[number : number + 1]
    ]  # fmt: skip
    with multiprocessing.get_context("spawn").Pool(asked.workers) as pool, asked.out.open("w") as out:
        for found in pool.imap_unordered(job_of, jobs, chunksize=1):
            out.write(json.dumps(found) + "\n")
            out.flush()


def captured_after(play: dict[str, Any]) -> Any:
    """What stopping after each number of runs would have captured."""
    worth = np.array(play["true"])[play["returned"]] - np.cumsum(play["paid"])
    return (worth - play["ref"]) / (play["star"] - play["ref"])


def stop_at(play: dict[str, Any], share: float) -> int:
    """The number of runs after which this share of the mean expected improvement is not worth the price."""
    for made, (e, c, g, d, _) in enumerate(play["steps"], start=1):
        if share * _mean(e, g) <= np.sqrt(c * d):
            return made
    return len(play["true"])


def row(plays: Sequence[dict[str, Any]], runs_of: Callable[[dict[str, Any]], int]) -> tuple[Any, Any]:
    """Captured and runs at each level, families weighing alike."""
    found: dict[tuple[str, float], list[tuple[float, int]]] = {}
    for play in plays:
        runs = runs_of(play)
        found.setdefault((play["family"], play["level"]), []).append((captured_after(play)[runs - 1], runs))
    means = [[np.mean(of, axis=0) for (_, level), of in found.items() if level == at] for at in LEVELS]
    return tuple(np.array([np.mean(at, axis=0) for at in means]).T)


def report(file: Path) -> None:
    """Stopping rules on the same plays; of expected improvements, what was realised."""
    every = [json.loads(line) for line in file.read_text().splitlines()]
    for rule in dict.fromkeys(play["rule"] for play in every):
        plays = [play for play in every if play["rule"] == rule]
        print(f"{rule}, {len(plays)} plays: captured, and runs")
        shown: dict[str, Callable[[dict[str, Any]], int]] = {
            "the first run alone": lambda play: 1,
            **{f"{share:g} of the expected": (lambda play, share=share: stop_at(play, share)) for share in SHARES},
            "the best moment": lambda play: int(captured_after(play).argmax()) + 1,
        }
        for name, runs_of in shown.items():
            captured, runs = row(plays, runs_of)
            print(f"  {name:22s}", *(f"{x:6.3f}" for x in captured), "  ", *(f"{x:5.1f}" for x in runs))
        reliability(plays)


def reliability(plays: Sequence[dict[str, Any]]) -> None:
    """By how much runs were expected to pay, how much they did, and how many did."""
    rows = []
    for play in plays:
        score = np.array(play["true"])[play["returned"]]
        for made, (e, c, g, d, _) in enumerate(play["steps"], start=1):
            rows.append((_mean(e, g) / np.sqrt(c * d), score[made] - score[made - 1], play["paid"][made], _mean(e, g)))
    ratio, gained, paid, hoped = np.array(rows).T
    print("  expected over price    runs   gained over price   gained over expected   runs that paid")
    edges = (0.0, 0.1, 0.3, 0.6, 1.0, 1.5, 2.5, 5.0, 15.0, np.inf)
    for low, high in itertools.pairwise(edges):
        of = (ratio >= low) & (ratio < high)
        if of.any():
            got = gained[of].sum()
            print(f"  {low:5g} to {high:5g}      {of.sum():8d}   {got / paid[of].sum():14.2f}"
                  f"   {got / hoped[of].sum():18.2f}   {np.mean(gained[of] > paid[of]):15.0%}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="what", required=True)
    playing = kinds.add_parser("play")
    playing.add_argument("--data", required=True)
    playing.add_argument("--out", type=Path, required=True)
    playing.add_argument("--weights", type=Path, help="networks of folds; the shipped one if not given")
    playing.add_argument("--seeds", type=int, default=2)
    playing.add_argument("--each", type=int, default=8, help="tasks per family")
    playing.add_argument("--told", default="half", choices=["true", "false", "half"], help="the range of scores")
    playing.add_argument("--rules", default="mix", help=f"of {', '.join(RULES)}")
    playing.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    kinds.add_parser("report").add_argument("file", type=Path)
    asked = parser.parse_args()
    if asked.what == "report":
        report(asked.file)
    else:
        play_all(asked)


if __name__ == "__main__":
    main()
