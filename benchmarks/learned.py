"""A tuner on the learned surrogate alone, for experiments: one file of weights, one rule, the tasks of the benchmark.

    python benchmarks/learned.py --weights FOLDER --data FOLDER --settings '[{"rule": "ratio"}]' --each 8 --seeds 2

FOLDER has fold-0 .. fold-3.surrogate (experiments/surrogate/weights); a family is played by the network that has never
seen it.  Without --weights the default tuner plays.  Settings: "rule", "net" or "ratio", is what ranks; "told": false
leaves out the range of scores; "first": "default" takes the first run of the default tuner; "weight" is that of the
network in a mixture with the default surrogate.  The data folder holds hpo/ and, for the six families trained here, the
file families.jsonl (a copy of benchmarks/results/families.jsonl).
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import json
import multiprocessing
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tasks import LEVELS, Question, Training, Tuner, play, tuner_for

import autobct
from autobct.belief.surrogate.encoding import (
    COST_EDGES,
    COST_UNIT,
    OUTCOME,
    SCORE_EDGES,
    SCORE_UNIT,
    Layout,
    slots_of,
    squash,
    unsquash,
)
from autobct.belief.surrogate.network import COST_BINS, SCORE_BINS, Network, network_of
from autobct.maps.container import unpack
from autobct.tuning.space.candidates import around, spread

SCORES = unsquash((SCORE_EDGES[1:] + SCORE_EDGES[:-1]) / 2)
COSTS = np.exp((COST_EDGES[1:] + COST_EDGES[:-1]) / 2)


def layout_of(space: autobct.Space) -> Layout:
    facts = []
    for p in space.parameters:
        if p.count == 1:
            continue
        if isinstance(p, autobct.Categorical):
            facts += [(0, 1, 0, 0, 0)] * p.count
        else:
            ratio = np.log(p.high / p.low) if p.low > 0 else 0.0
            facts.append((isinstance(p, autobct.Int), 0, p.log, ratio, 0))
    return Layout(*np.array(facts, dtype=np.float32).T)


class Mind:
    """What the network makes of the runs so far."""

    def __init__(self, network: Network, layout: Layout, runs: Sequence[tuple[Any, float, float]], price: float,
                 score_range: tuple[float, float] | None) -> None:  # fmt: skip
        self.network, self.layout = network, layout
        controls = np.array([r[0] for r in runs], dtype=np.float32).reshape(len(runs), layout.dim)
        scores, costs = np.array([r[1] for r in runs]), np.array([r[2] for r in runs])
        context = np.zeros(5)
        context[0], context[4] = np.log1p(len(runs)) / 4.0, min(layout.dim, 24) / 10.0
        flags = np.zeros((len(runs), OUTCOME))
        if runs:
            mean = np.log(costs).mean()
            kappa, best = price * np.exp(mean), scores.max()
            flags[:, 0] = squash((scores - best) / kappa) / SCORE_UNIT
            flags[:, 1] = np.clip(np.log(costs) - mean, -8, 8) / COST_UNIT
            flags[:, 2] = 1.0
            if score_range is not None:
                width, room = score_range[1] - score_range[0], (score_range[1] - best) / kappa
                context[1] = 1.0
                context[2] = np.clip(np.log(width / kappa), -4, 14) / SCORE_UNIT
                context[3] = squash(np.clip(room, -1e5, 1e5)) / SCORE_UNIT
        self.context = context
        first = np.zeros((1, OUTCOME))
        first[0, 5] = 1.0
        zero = np.concatenate([self._slots(np.full((1, layout.dim), 0.5), blank=True), first, context[None]], axis=1)
        rows = np.concatenate([self._slots(controls), flags, np.tile(context, (len(runs), 1))], axis=1)
        self.memory = network.read(np.concatenate([zero, rows]).astype(np.float32))

    def _slots(self, controls: Any, blank: bool = False) -> Any:
        slots = slots_of(self.layout, np.asarray(controls, dtype=np.float32))
        if blank:
            slots = slots.copy()
            slots.reshape(len(slots), -1, 7)[:, :, 0] = 0.0
        return slots

    def logits(self, controls: Any, observed: bool = False) -> Any:
        flags = np.zeros((len(controls), OUTCOME))
        flags[:, 6] = observed
        rows = np.concatenate([self._slots(controls), flags, np.tile(self.context, (len(controls), 1))], axis=1)
        return self.network.predict(self.memory, rows.astype(np.float32))

    def noise(self, controls: Any) -> float:
        """Variance of an observed score around the true one, in kappa squared: seen at the runs."""
        return float(np.median(np.maximum(spread2(self.shares(controls, True)) - spread2(self.shares(controls)), 0.0)))

    def shares(self, controls: Any, observed: bool = False) -> Any:
        """Probabilities of the bins of the true score, or of an observed one."""
        return _softmax(self.logits(controls, observed).astype(float)[:, :SCORE_BINS])

    def predicted(self, controls: Any, tail: float = 0.0) -> tuple[Any, Any]:
        """Probabilities of the bins of score, and expected cost over the mean so far.  tail: what is cut off on top."""
        logits = self.logits(controls).astype(float)
        score, cost = _softmax(logits[:, :SCORE_BINS]), _softmax(logits[:, SCORE_BINS : SCORE_BINS + COST_BINS])
        above = np.cumsum(score[:, ::-1], axis=1)[:, ::-1]
        return np.where(above > tail, score, 0.0), cost @ COSTS


def spread2(shares: Any) -> Any:
    """Squared half width of the central 68 %, in kappa squared."""
    cdf = np.cumsum(shares, axis=1)
    low, high = (SCORES[np.argmax(cdf >= level, axis=1)] for level in (0.16, 0.84))
    return ((high - low) / 2.0) ** 2


def _softmax(logits: Any) -> Any:
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def learned_tuner(
    network: Network,
    *,
    rule: str = "net",
    told: bool = True,
    caution: float = 0.15,
    tail: float = 0.005,
    noisy: bool = True,
    first: str = "network",
) -> Tuner:
    """rule: what ranks, "net" (improvement less cost) or "ratio"; stops when no net value is positive."""

    def tuner(question: Question, train: Training) -> int:
        space = autobct.Space.of(question.space)
        layout, rng = layout_of(space), np.random.default_rng(question.seed)
        even = spread(space)
        runs: list[tuple[Any, float, float]] = []
        while len(runs) < question.cap:
            mind = Mind(network, layout, runs, question.price, question.score_range if told else None)
            if not runs and first == "default":
                control = tuner_for(question).ask().control
            elif not runs:
                before = mind.logits(even)[:, -4:].astype(float)
                value = before[:, 0] - caution * np.exp(before[:, 1] + np.exp(2.0 * before[:, 3].clip(-5, 1)) / 2)
                control = even[value.argmax()]
            else:
                control = _next(mind, space, even, runs, rng, rule, tail, noisy)
                if control is None:
                    break
            score, cost = train(space.params(control))
            runs.append((control, score, cost))
        mind = Mind(network, layout, runs, question.price, question.score_range if told else None)
        means = mind.predicted(np.array([r[0] for r in runs]))[0] @ SCORES
        return int(means.argmax())

    return tuner


def _next(mind: Mind, space: Any, even: Any, runs: Any, rng: Any, rule: str, tail: float, noisy: bool) -> Any:
    made = np.array([r[0] for r in runs])
    means = mind.predicted(made)[0] @ SCORES
    best, noise = means.max(), mind.noise(made) if noisy else 0.0

    def values(controls: Any) -> tuple[Any, Any]:
        ei, costs = gains_at(mind, best, noise, controls, tail)
        return ei - costs, (ei / costs if rule == "ratio" else ei - costs)

    found, (net, rank) = even, values(even)
    tops = made[np.argsort(-means)[:5]]
    for _ in range(3):
        near = around(space, tops, rng=rng)
        more = values(near)
        found, net, rank = np.concatenate([found, near]), np.append(net, more[0]), np.append(rank, more[1])
        tops = found[np.argsort(-rank)[:5]]
    key = np.where(net > 0, rank, -np.inf)
    return found[key.argmax()] if (net > 0).any() else None


def gains_at(mind: Mind, best: float, noise: float, controls: Any, tail: float = 0.005) -> tuple[Any, Any]:
    """Expected improvement on the incumbent and cost at controls, in kappa.  noise: variance of an observed score."""
    shares, costs = mind.predicted(controls, tail)
    middle, width = shares @ SCORES, spread2(shares)
    kept = np.sqrt(width / (width + noise + 1e-12))[:, None]
    moved = middle[:, None] + kept * (SCORES - middle[:, None])
    return np.sum(shares * np.maximum(moved - best, 0.0), axis=1), costs


def mixed_tuner(network: Network, *, weight: float = 0.5, told: bool = True, how: str = "mean") -> Tuner:
    """The ensemble and the network, their expected improvements averaged; candidates and first run of the default."""
    from dataclasses import replace

    from autobct.tuning.decide.position import train_at
    from autobct.value.acquisition import expected_improvement
    from autobct.value.state import run_price

    def tuner(question: Question, train: Training) -> int:
        plain = {"price": question.price, "seed": question.seed, "max_runs": question.cap}
        mind_tuner = tuner_for(question) if told else autobct.Tuner(question.space, **plain)
        layout = layout_of(mind_tuner.problem.space)
        runs: list[tuple[Any, float, float]] = []
        while len(runs) < question.cap:
            if not runs:
                chosen = mind_tuner.ask()
            else:
                position = mind_tuner.position()
                problem = position.problem
                unit = problem.score_scale.unit
                state = replace(position.state, feasibility=position.feasibility)
                ei = expected_improvement(state, problem.terms) * unit
                price = run_price(position.state, problem.terms) * unit
                mind = Mind(network, layout, runs, question.price, question.score_range if told else None)
                kappa = question.price * np.exp(np.mean(np.log([r[2] for r in runs])))
                made = np.array([r[0] for r in runs])
                best = (mind.predicted(made)[0] @ SCORES).max()
                gain, cost = gains_at(mind, best, mind.noise(made), problem.controls)
                if how == "mean":
                    both = (1 - weight) * ei + weight * kappa * gain
                else:
                    both = ei ** (1 - weight) * (kappa * gain) ** weight
                costs = price ** (1 - weight) * (kappa * cost) ** weight
                net = np.where(position.excluded, -np.inf, both - costs)
                if not (net > 0).any():
                    break
                key = np.where(net > 0, both / costs, -np.inf)
                chosen = train_at(position, int(key.argmax()), position.stop_value)
                mind_tuner.adopt(chosen)
            score, spent = train(chosen.params)
            mind_tuner.tell(chosen, score=score, cost=spent)
            runs.append((chosen.control, score, spent))
        return mind_tuner.best.trial

    return tuner


@cache
def loaded(file: str) -> Network:
    return network_of(unpack(Path(file).read_bytes())[0])


def played(job: tuple[str, str, str, dict[str, Any], float, int]) -> tuple[str, str, float, int, float, int]:
    name, data, weights, settings, level, seed = job
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments" / "surrogate"))
    from benchmark_tasks import named_task

    task = named_task(name, data)
    kind = mixed_tuner if "weight" in settings else learned_tuner
    tuner = kind(loaded(weights), **settings) if weights else _present(**settings)
    outcome = play(tuner, task, level, seed)
    return name, task.family, level, seed, outcome.captured, outcome.trials


def _present(told: bool = True, **settings: Any) -> Tuner:
    from tasks import autobct_tuner

    return autobct_tuner(**settings, **({} if told else {"score_range": None}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", default="", help="folder; empty: the present default")
    parser.add_argument("--data", required=True)
    parser.add_argument("--settings", default="{}", help='JSON, e.g. {"rule": "ratio"}; several in a list')
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--each", type=int, default=8, help="tasks per family")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments" / "surrogate"))
    from benchmark_tasks import FOLDS, all_names

    members: dict[str, list[str]] = {}
    for name in all_names(asked.data):
        members.setdefault(name.split("-")[0], []).append(name)
    tasks = {f: n[:: max(1, len(n) // asked.each)][: asked.each] for f, n in members.items()}
    variants = json.loads(asked.settings)
    for settings in variants if isinstance(variants, list) else [variants]:
        file = {fold: str(Path(asked.weights) / f"{fold}.surrogate") if asked.weights else "" for fold in FOLDS}
        jobs = [
            (name, asked.data, file[fold], settings, level, seed)
            for fold, families in FOLDS.items() for family in families for name in tasks.get(family, [])
            for level in LEVELS for seed in range(asked.seeds)
        ]  # fmt: skip
        with multiprocessing.get_context("spawn").Pool(asked.workers) as pool:
            rows = list(pool.imap_unordered(played, jobs, chunksize=2))
        report(settings, rows)
        if asked.out is not None:
            with asked.out.open("a") as file:
                file.writelines(json.dumps([settings, *row]) + "\n" for row in rows)


def report(settings: Any, rows: Sequence[Any]) -> None:
    print(json.dumps(settings))
    means = []
    for family in dict.fromkeys(row[1] for row in rows):
        of = [[row for row in rows if row[1] == family and row[2] == level] for level in LEVELS]
        means.append([np.mean([r[4] for r in at]) for at in of])
        print(f"{family:14s} {len({r[0] for r in of[0]}):3d} " + " ".join(f"{m:6.3f}" for m in means[-1])
              + "   " + " ".join(f"{np.mean([r[5] for r in at]):5.1f}" for at in of), flush=True)  # fmt: skip
    print(f"{'mean':14s}     " + " ".join(f"{m:6.3f}" for m in np.mean(means, axis=0)), flush=True)


if __name__ == "__main__":
    main()
