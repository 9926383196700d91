"""Is stopping calibrated?  The default tuner, played on beyond where it stops, on families that its network never saw.

    python benchmarks/stopping.py --data FOLDER [--each 3] [--seeds 1] [--out FILE.jsonl]

Every play goes on for up to 30 runs, or until they have cost 2.5 ranges of the task's scores, making the run that the
tuner names in its refusal.  Four tables: by how much a run was expected to pay and how much it did; of the first runs
that were not made, how many would have paid; where the regret comes from, by decisions and at the stop; and how rare
settings are that are clearly better than the model returned.  FOLDER is that of left_out.py, with both tables of
families.  All numbers are in ranges of the task's scores, and families weigh alike in the third table.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import itertools
import json
import multiprocessing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from left_out import chosen_tasks
from tasks import LEVELS, Bench, Question, Task, seed_on, tuner_for

import autobct

LONGEST, FARTHEST = 30, 2.5
BETTER, LOOKS = 0.05, 1024
"""What is clearly better, in ranges of the scores, and at how many settings one looks for it."""
EDGES = (0.0, 0.1, 0.3, 0.6, 1.0, 1.5, 2.5, 5.0, np.inf)
"""Of the expected gain over the price of a run."""


def played_on(task: Task, level: float, seed: int) -> dict[str, Any]:
    """One play: after every run the true score of what would be returned, and what each was expected to gain."""
    bench, price, unit = Bench(task, seed, LONGEST), task.price(level), task.yardstick.range
    tuner = tuner_for(Question(task.space, price, task.score_range, seed_on(task, seed), LONGEST + 1))
    stopped, expected, scores, tops = 0, list[tuple[float, float]](), list[float](), list[float]()
    while len(bench.trials) < LONGEST and price * tuner.total_cost < FARTHEST * unit:
        decision = tuner.ask()
        if isinstance(decision, autobct.Stop):
            stopped = stopped or len(bench.trials)
            if decision.best_alternative is None:
                break
            decision = decision.best_alternative
            tuner.adopt(decision)
        expected.append((decision.expected_gain / unit, decision.price_of_run / unit))
        score, cost = bench(decision.params)
        tuner.tell(decision, score=score, cost=cost)
        assert tuner.best is not None  # no run fails here
        scores.append((bench.trials[tuner.best.trial].true - task.yardstick.low) / unit)
        tops.append((max(trial.true for trial in bench.trials) - task.yardstick.low) / unit)
    uniforms = np.random.default_rng(seed).random((LOOKS, len(task.space)))
    clearly = task.yardstick.low + unit * (scores[(stopped or len(scores)) - 1] + BETTER)
    return {
        "task": task.name, "family": task.family, "level": level, "stopped": stopped or len(scores), "scores": scores,
        "tops": tops, "better": float(np.mean(task.true(task.nearest(task.points(uniforms)))[0] > clearly)),
        "expected": expected, "paid": [price * trial.cost / unit for trial in bench.trials],
        "star": (dict(task.yardstick.star)[level] - task.yardstick.low) / unit,
    }  # fmt: skip


def job_of(job: tuple[str, str, float, int]) -> dict[str, Any]:
    """One play, in a process of its own."""
    from benchmark_tasks import named_task

    name, data, level, seed = job
    return played_on(named_task(name, data), level, seed)


def reliability(plays: Sequence[dict[str, Any]]) -> None:
    """By how much runs were expected to pay, and how much they did; the first run of a tuning is not counted."""
    rows = [
        (*play["expected"][k], play["scores"][k] - play["scores"][k - 1], play["paid"][k])
        for play in plays
        for k in range(1, len(play["scores"]))
    ]
    hoped, price, gained, paid = np.array(rows).T
    print("expected gain over price    runs   gained over price   gained over expected   runs that paid")
    for low, high in itertools.pairwise(EDGES):
        of = (hoped / price >= low) & (hoped / price < high)
        if of.any():
            got = gained[of].sum()
            print(f"{low:8g} to {high:5g}   {of.sum():13d}   {got / paid[of].sum():14.2f}"
                  f"   {got / max(hoped[of].sum(), 1e-12):18.2f}   {np.mean(gained[of] > paid[of]):15.0%}")  # fmt: skip


def refused(plays: Sequence[dict[str, Any]]) -> None:
    """The run that each stop did not make, and the last one made before it."""
    print("\n" + f"{'':27s}" + "".join(f"{level:>16.1%}" for level in LEVELS))
    for name, offset in (("the first run not made", 0), ("the last run made", -1)):
        cells = []
        for level in LEVELS:
            at = [(play, play["stopped"] + offset) for play in plays if play["level"] == level]
            pairs = [(p["scores"][k] - p["scores"][k - 1], p["paid"][k]) for p, k in at if 1 <= k < len(p["scores"])]
            gained, paid = np.array(pairs or [(0.0, 1.0)]).T
            cells.append(f"{np.mean(gained > paid):6.0%} {gained.sum() / paid.sum():9.2f}")
        print(f"{name + ': paid, gain/price':27.27s}" + "".join(f"{cell:>16s}" for cell in cells))


def regret(plays: Sequence[dict[str, Any]]) -> None:
    """Against U*, who knows the task: by decisions; then as the price of all runs and two gaps at the stop."""
    names = ("all of it", "first run", "later choices", "stopped too early", "stopped too late",
             "price of all runs", "best one behind U*", "returned one behind")  # fmt: skip
    found: dict[tuple[float, str], list[tuple[float, ...]]] = {}
    for play in plays:
        net = np.array(play["scores"]) - np.cumsum(play["paid"])
        stop, best = play["stopped"] - 1, int(np.argmax(net))
        first = min(play["paid"][0], play["star"] - net[0])  # whoever knew the task would now make the best run
        lost = float(net[best] - net[stop])
        parts = (play["star"] - net[stop], first, play["star"] - first - net[best])
        at_stop = (
            sum(play["paid"][: stop + 1]),
            play["star"] - play["tops"][stop],
            play["tops"][stop] - play["scores"][stop],
        )
        found.setdefault((play["level"], play["family"]), []).append(
            (*parts, lost * (stop < best), lost * (stop > best), *at_stop)
        )
    print("\n" + f"{'regret':20s}" + "".join(f"{level:>8.1%}" for level in LEVELS))
    for which, name in enumerate(names):
        means = [np.mean([np.mean(rows, axis=0)[which] for (at, _), rows in found.items() if at == p]) for p in LEVELS]
        print(f"{name:20s}" + "".join(f"{mean:8.3f}" for mean in means))


def rare(plays: Sequence[dict[str, Any]]) -> None:
    """Shares of all settings that are clearly better than the model returned, over plays."""
    print("\n" + f"{f'settings better by {BETTER}':27s}" + "".join(f"{level:>8.1%}" for level in LEVELS))
    for name, at in (("lower quartile", 0.25), ("median", 0.5), ("upper quartile", 0.75)):
        shares = [np.quantile([play["better"] for play in plays if play["level"] == level], at) for level in LEVELS]
        print(f"{name:27s}" + "".join(f"{share:8.2%}" for share in shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--each", type=int, default=3, help="tasks per family")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, help="one line of JSON for every play is written")
    asked = parser.parse_args()
    tasks = [*chosen_tasks(asked.data, asked.each).values(), *chosen_tasks(asked.data, asked.each, fresh=True).values()]
    jobs = [(name, asked.data, p, s) for s in range(asked.seeds) for p in LEVELS for names in tasks for name in names]
    with multiprocessing.get_context("spawn").Pool(asked.workers) as pool:
        plays = list(pool.imap_unordered(job_of, jobs))
    if asked.out is not None:
        asked.out.write_text("".join(json.dumps(play) + "\n" for play in plays))
    reliability(plays)
    refused(plays)
    regret(plays)
    rare(plays)


if __name__ == "__main__":
    main()
