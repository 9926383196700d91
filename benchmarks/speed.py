"""Decision time against Optuna's samplers, in one run, as ratios; growth with grid, depth, history and dimension.

    make bench          (or: python benchmarks/speed.py [--write])

Every time is a median over repeats, one BLAS thread; peers and autobct alternate, so that a busy machine slows both.
"""

from __future__ import annotations

import os

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"

import argparse
import json
import platform
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import adapter_overhead
import numpy as np

import autobct
from autobct.belief.prior import paper_prior
from autobct.tuning.statement import Plan
from autobct.value.lookahead.on_the_fly import on_the_fly
from autobct.value.maps.map_spec import MapSpec
from autobct.value.maps.value_map import Perceptron, ValueMap
from autobct.value.state import Terms, keep, view

RESULTS = Path(__file__).parent / "results" / "speed.json"


def median_seconds(action: Callable[[], object], repeats: int) -> float:
    action()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def one_dimensional_score(u: float, rng: np.random.Generator) -> float:
    return 1 - (u - 0.3) ** 2 + 0.02 * rng.standard_normal()


def optuna_suggestion(sampler_name: str, trials: int, dim: int = 1) -> Callable[[], object]:
    """One suggestion of an Optuna sampler that has seen `trials` trials."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = getattr(optuna.samplers, sampler_name)(seed=0)
    study = optuna.create_study(sampler=sampler, direction="maximize")
    space = {f"u{i}": optuna.distributions.FloatDistribution(0, 1) for i in range(dim)}
    rng = np.random.default_rng(0)
    for _ in range(trials):
        trial = study.ask(space)
        study.tell(trial, one_dimensional_score(trial.params["u0"], rng))

    def suggest() -> None:
        trial = study.ask(space)
        study.tell(trial, state=optuna.trial.TrialState.FAIL)  # leaves the number of finished trials as it is

    return suggest


def tuner_after(trials: int, dim: int = 1, candidates: int | None = None) -> autobct.Tuner:
    """A tuner that has been told `trials` runs: a price so low that it never stops, a control at random each time."""
    space = {f"u{i}": autobct.Float(0, 1) for i in range(dim)}
    tuner = autobct.Tuner(space, price=1e-9, policy=spread_out, candidates=candidates, prior="paper")
    rng = np.random.default_rng(0)
    for _ in range(trials):
        decision = tuner.ask()
        tuner.tell(decision, score=one_dimensional_score(decision.control[0], rng), cost=1.0)
    return autobct.Tuner.standing(Plan(autobct.relaxed(depth=2)), tuner.memory)


def tuner_on_a_map(dim: int, trials: int = 20) -> autobct.Tuner:
    """A tuner on 101 or 21 x 21 candidates deciding on a map of the shipped size; random networks."""
    side = 11 if dim == 1 else 5
    references = np.stack(np.meshgrid(*[np.linspace(0, 1, side)] * dim, indexing="ij"), -1).reshape(-1, dim)
    grid = np.arange(side**dim).reshape((side,) * dim)
    ends = [(np.delete(grid, -1, axis).ravel(), np.delete(grid, 0, axis).ravel()) for axis in range(dim)]
    neighbours = np.stack([np.concatenate(part) for part in zip(*ends, strict=True)])
    basis = "cubic" if dim == 1 else "additive-quartic"
    spec = MapSpec(basis, dim, "log-linear", True, 0.002, references, neighbours, (0.0, 1e9), (0.0, 1e9))
    rng, hidden = np.random.default_rng(0), 64 if dim == 1 else 96
    shapes = [(spec.inputs, hidden), (hidden, hidden), (hidden, 1)]
    weights = tuple((0.1 * min(shape) / hidden * rng.standard_normal(shape)).astype(np.float32) for shape in shapes)
    network = Perceptron(weights, tuple(np.zeros(shape[1], dtype=np.float32) for shape in shapes))
    tuner = tuner_after(trials, dim, candidates=101 if dim == 1 else 441)
    values = autobct.mapped(ValueMap(spec, (network,) * 8))(tuner.problem.controls, 0)
    deepest = Plan(lambda controls, seed: lambda state, terms, runs: values(state, terms, 1))  # its deepest network
    return autobct.Tuner.standing(deepest, tuner.memory)


def tuner_by_default(dim: int, trials: int = 20) -> autobct.Tuner:
    """A tuner as it comes, told runs at random candidates, at a price so low that it goes on."""
    space = {f"u{i}": autobct.Float(0, 1) for i in range(dim)}
    tuner = autobct.Tuner(space, price=1e-7)
    rng = np.random.default_rng(0)
    for trial, place in enumerate(rng.choice(len(tuner.problem.controls), trials, replace=False)):
        control = tuner.problem.controls[place]
        score = one_dimensional_score(control[0], rng)
        tuner.replay([autobct.Run(trial, tuner.problem.space.params(control), control, score, 1.0, None, np.nan)])
    return tuner


def spread_out(controls: np.ndarray, seed: int) -> Callable[..., autobct.Assessment]:
    """A policy for the benchmark only: any control next, never a stop."""

    def values(state: object, terms: object, runs: int) -> autobct.Assessment:
        return autobct.Assessment.by_value(1e3 + np.random.default_rng((seed, runs)).random(len(controls)))

    return values


def decision_of(tuner: autobct.Tuner) -> Callable[[], object]:
    """What `ask` does but for starting a run, so that the history stays as it is; candidates are not searched again."""
    return tuner.peek


def lookahead(depth: int, *, grid: int = 101, recall: bool = False) -> Callable[[], object]:
    prior = paper_prior("synthetic")
    state = view(prior.belief, prior.model, np.linspace(0, 1, grid)[:, None])
    if recall:
        state = keep(state, np.linspace(0, grid - 1, 3).astype(np.intp))
    terms = Terms(0.16, recall=recall, overhead=0.002 if recall else 0.0)
    return lambda: on_the_fly(state, terms, depth=depth)


def compared(rows: list[dict[str, object]], name: str, ours: Callable[[], object], peer: Callable[[], object]) -> None:
    """Alternate ours and the peer's; keep the ratio."""
    times = [(median_seconds(ours, 5), median_seconds(peer, 3)) for _ in range(3)]
    mine = statistics.median(t for t, _ in times)
    theirs = statistics.median(t for _, t in times)
    ratio = statistics.median(peer_time / our_time for our_time, peer_time in times)
    rows.append({"what": name, "ms": 1e3 * mine, "peer_ms": 1e3 * theirs, "peer_over_ours": ratio})
    print(f"{name:58s} {1e3 * mine:9.2f} ms   peer {1e3 * theirs:8.2f} ms   ratio {ratio:7.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the table in benchmarks/results/speed.json")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, object]] = []
    gp = optuna_suggestion("GPSampler", 20)
    print("ratio = peer's time / ours; peer: one Optuna GPSampler suggestion in one dimension with 20 past trials")
    for depth in (1, 2, 3):
        compared(rows, f"depth {depth}, last model, 101 controls", lookahead(depth), gp)
    for depth in (1, 2, 3):
        compared(rows, f"depth {depth}, recall, 3 models trained, 101 controls", lookahead(depth, recall=True), gp)
    compared(rows, "Tuner.ask, depth 2, 20 runs", decision_of(tuner_after(20)), gp)
    tpe = optuna_suggestion("TPESampler", 20)
    compared(rows, "Tuner.ask, depth 2, 20 runs; peer TPESampler", decision_of(tuner_after(20)), tpe)
    for dim, grid in ((1, "101"), (2, "21 x 21")):
        peer = optuna_suggestion("TPESampler", 20, dim)
        compared(rows, f"Tuner.ask, value map, {grid}; peer TPESampler", decision_of(tuner_on_a_map(dim)), peer)
    for dim in (1, 2):
        name = f"Tuner.ask by default, {dim}-D; peer TPESampler"
        compared(rows, name, decision_of(tuner_by_default(dim)), optuna_suggestion("TPESampler", 20, dim))
    print("\nratio = decision at trial 10,000 / decision at trial 10")
    compared(
        rows,
        "Tuner.ask at trial 10; peer: at trial 10,000",
        decision_of(tuner_after(10)),
        decision_of(tuner_after(10_000)),
    )
    print("\nratio = time at 101 controls / time here (growth with the grid)")
    for grid in (26, 51, 201, 401):
        compared(rows, f"depth 2, last model, {grid} controls; peer: 101", lookahead(2, grid=grid), lookahead(2))
    print("\nratio = GPSampler in the same dimension with 20 trials / ours")
    for dim in (2, 4, 7):
        compared(
            rows,
            f"Tuner.ask, {dim} parameters",
            decision_of(tuner_after(20, dim)),
            optuna_suggestion("GPSampler", 20, dim),
        )
    print("\nper trial beyond the tuner's own decision: ms of processor time; peer: the host with random suggestions")
    for cost in adapter_overhead.costs(trials=50):
        rows.append({"what": f"{cost.name}: beyond the decision", "ms": cost.overhead, "peer_ms": cost.host})
        print(f"{cost.name:58s} {cost.overhead:9.2f} ms   peer {cost.host:8.2f} ms", flush=True)
    if arguments.write:
        import optuna
        import scipy

        about = {
            "command": "make bench",
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            "python": platform.python_version(),
            "versions": {m.__name__: m.__version__ for m in (autobct, np, scipy, optuna)},
        }
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
