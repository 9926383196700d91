"""Time and memory of a decision in spaces of 1 to 20 parameters, against Optuna's samplers in the same run; and how
both grow to 10,000 trials.

    python benchmarks/dimensions.py [--write] [--rounds 3] [--only "7 numbers"] [--told 10 50 100 1000 10000]

A decision is what a tuner does from one outcome to the next params: ask and tell together, in CPU seconds on one
thread, the median over trials 5 to 20. Every cell is a process of its own; tuners take turns, so that a busy machine
slows all of them. Memory is the peak resident memory of that process (resource.ru_maxrss), libraries included. Ratios
are medians over rounds, each round with its own seed. All settings are the defaults; Optuna's samplers draw their first
ten trials at random.
"""

from __future__ import annotations

import os

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"

import argparse
import json
import math
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "dimensions.json"
PAGE = HERE.parent / "docs" / "howto" / "spaces.md"
SPACES = {
    "1 number": (1, 0),
    "2 numbers": (2, 0),
    "5 numbers": (5, 0),
    "7 numbers": (7, 0),
    "10 numbers": (10, 0),
    "20 numbers": (20, 0),
    "3 categories": (0, 3),
    "7 numbers, 3 categories": (7, 3),
}
"""Numbers, and categories of four choices each."""

TUNERS = ("autobct", "GPSampler", "TPESampler")
TRIALS, FIRST = 20, 5
GROWING = "7 numbers"
CHOICES = "abcd"
Step = Callable[[int], None]


def score_of(params: Mapping[str, Any], rng: Any) -> float:
    """A smooth hill with a little noise."""
    places = [CHOICES.index(value) / 3 if isinstance(value, str) else value for value in params.values()]
    return float(0.7 - sum((u - 0.4) ** 2 for u in places) / len(places) + 0.01 * rng.standard_normal())


def ours(space: tuple[int, int], seed: int) -> Any:
    import autobct

    numbers, categories = space
    told: dict[str, Any] = {f"x{k}": autobct.Float(0, 1) for k in range(numbers)}
    told |= {f"c{k}": autobct.Categorical(list(CHOICES)) for k in range(categories)}
    return autobct.Tuner(told, price=1e-3, overhead=0.0, seed=seed)  # a price at which all surrogates are asked


def stepping(tuner: str, space: tuple[int, int], seed: int) -> Step:
    """What is timed: the number of a trial -> params asked for and an outcome told."""
    import numpy as np

    rng = np.random.default_rng(seed)
    if tuner == "autobct":
        made = ours(space, seed)

        def step(trial: int) -> None:
            decision = made.ask()
            best = decision if hasattr(decision, "params") else decision.best_alternative
            control = getattr(best, "control", made.problem.controls[0])
            made.replay([_run(made, trial, control, score_of(made.problem.space.params(control), rng))])

        return step
    study, distributions = _study(tuner, space, seed)

    def suggest(trial: int) -> None:
        asked = study.ask(distributions)
        study.tell(asked, score_of(asked.params, rng))

    return suggest


def _run(tuner: Any, trial: int, control: Any, score: float) -> Any:
    import autobct

    return autobct.Run(trial, tuner.problem.space.params(control), control, score, 1.0, None, math.nan)


def _study(sampler: str, space: tuple[int, int], seed: int) -> tuple[Any, dict[str, Any]]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=seed), direction="maximize")
    told: dict[str, Any] = {f"x{k}": optuna.distributions.FloatDistribution(0, 1) for k in range(space[0])}
    told |= {f"c{k}": optuna.distributions.CategoricalDistribution(list(CHOICES)) for k in range(space[1])}
    return study, told


def spent(step: Step, trials: Sequence[int]) -> list[float]:
    """CPU seconds of each of some trials."""
    times = []
    for trial in trials:
        began = time.process_time()
        step(trial)
        times.append(time.process_time() - began)
    return times


def peak() -> float:
    """Peak resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cell(tuner: str, name: str, seed: int) -> dict[str, float]:
    """One tuner in one space."""
    spent(stepping(tuner, (3, 0), seed), range(12))  # the time of what is imported at first use counts for nobody
    times = spent(stepping(tuner, SPACES[name], seed), range(TRIALS))
    return {
        "seconds": statistics.median(times[FIRST - 1 :]),
        "last": statistics.median(times[-3:]),
        "memory": peak(),
    }


def growth(tuner: str, told: Sequence[int], seed: int) -> list[dict[str, float]]:
    """A decision after so many trials, told as they are when a tuning is resumed: at random params."""
    import numpy as np

    rng, made, rows = np.random.default_rng(seed), 0, []
    numbers = SPACES[GROWING]
    if tuner == "autobct":
        ours_made = ours(numbers, seed)

        def tell(trial: int) -> None:
            control = np.round(rng.random(numbers[0]), 12)
            ours_made.replay([_run(ours_made, trial, control, score_of(ours_made.problem.space.params(control), rng))])

        def decide(trial: int) -> None:
            tell(trial)
            ours_made.peek()
    else:
        import optuna

        study, distributions = _study(tuner, numbers, seed)

        def tell(trial: int) -> None:
            params = {name: float(rng.random()) for name in distributions}
            value = score_of(params, rng)
            study.add_trial(optuna.create_trial(params=params, distributions=distributions, value=value))

        def decide(trial: int) -> None:
            asked = study.ask(distributions)
            study.tell(asked, score_of(asked.params, rng))

    for count in told:
        for trial in range(made, count):
            tell(trial)
        times = spent(decide, range(count, count + 9))
        tracemalloc.start()
        decide(count + 9)
        traced = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        made = count + 10
        rows.append({"told": count, "seconds": statistics.median(times), "traced": traced, "memory": peak()})
    return rows


def child(*words: str) -> Any:
    """What another process has measured."""
    command = [sys.executable, str(Path(__file__)), "--cell", *words]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def table(names: Sequence[str], rounds: int) -> Iterator[dict[str, Any]]:
    """A row for each space."""
    print(f"{'':26s}{'GPSampler / ours':>26s}{'TPESampler / ours':>26s}{'peak memory, MB':>30s}")
    print(f"{'':26s}" + f"{'trials 5-20':>16s}{'at 20':>10s}" * 2 + "".join(f"{name:>11s}" for name in TUNERS))
    for name in names:
        found = [{tuner: child(tuner, name, str(seed)) for tuner in TUNERS} for seed in range(rounds)]
        ratios = {
            f"{tuner} {key}": statistics.median(one[tuner][key] / one["autobct"][key] for one in found)
            for tuner in TUNERS[1:]
            for key in ("seconds", "last")
        }
        memory = {tuner: statistics.median(one[tuner]["memory"] for one in found) for tuner in TUNERS}
        shown = "".join(f"{ratios[f'{tuner} seconds']:16.1f}{ratios[f'{tuner} last']:10.1f}" for tuner in TUNERS[1:])
        print(f"{name:26s}{shown}" + "".join(f"{memory[tuner]:11.0f}" for tuner in TUNERS), flush=True)
        yield {"space": name, "ratios": ratios, "memory_mb": memory, "rounds": found}


def grown(told: Sequence[int]) -> dict[str, list[dict[str, float]]]:
    """Rows for ours and for TPE, the only one of the two that is made for so many trials."""
    rows = {tuner: child(tuner, "growth", *map(str, told)) for tuner in ("autobct", "TPESampler")}
    print(f"\n{GROWING}: {'told':>8s}{'time / first':>14s}{'in a decision, MB':>20s}{'process, MB':>13s}")
    for tuner, found in rows.items():
        for row in found:
            ratio = row["seconds"] / found[0]["seconds"]
            print(f"{tuner:11s}{row['told']:8d}{ratio:14.2f}{row['traced']:20.2f}{row['memory']:13.0f}")
    return rows


def page(text: str, kept: Mapping[str, Any]) -> str:
    """The text of the page with both tables anew, each after the comment that names it."""
    cells = [
        [row["space"]]
        + [f"{row['ratios'][f'{tuner} seconds']:.2g}" for tuner in TUNERS[1:]]
        + [", ".join(f"{row['memory_mb'][tuner]:.0f} MB" for tuner in TUNERS)]
        for row in kept["spaces"]
    ]
    grown = []
    for tuner, rows in kept["growth"].items():
        grown.append([f"time, {tuner}", *(f"{row['seconds'] / rows[0]['seconds']:.2g}" for row in rows)])
        grown.append([f"memory in a decision, {tuner}", *(f"{row['traced']:.1f} MB" for row in rows)])
    for name, body in (("spaces", cells), ("growth", grown)):
        lines = "\n".join(f"| {' | '.join(row)} |" for row in body)
        marked = re.compile(rf"(<!-- dimensions: {name} -->\n\n\|[^\n]*\n\|[^\n]*\n)(?:\|[^\n]*\n)*")
        text = marked.sub(lambda found, lines=lines: f"{found[1]}{lines}\n", text)
    return text


def about(rounds: int) -> dict[str, Any]:
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    return {
        "command": "python benchmarks/dimensions.py --write",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("numpy", "scipy", "optuna", "torch")},
        "commit": found.stdout.strip() or "unknown",
        "seeds": list(range(rounds)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--write", action="store_true", help="keep the tables in benchmarks/results and docs/howto/spaces.md"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=list(SPACES), default=list(SPACES))
    parser.add_argument("--told", nargs="*", type=int, default=[10, 50, 100, 1000, 10_000])
    parser.add_argument("--cell", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.cell:
        tuner, name, *words = asked.cell
        print(
            json.dumps(
                growth(tuner, list(map(int, words)), 0) if name == "growth" else cell(tuner, name, int(words[0]))
            )
        )
        return
    rows = list(table(asked.only, asked.rounds))
    rows_grown = grown(asked.told) if asked.told else {}
    if asked.write:
        kept = {"about": about(asked.rounds), "spaces": rows, "growth": rows_grown}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
        PAGE.write_text(page(PAGE.read_text("utf-8"), kept), "utf-8")


if __name__ == "__main__":
    main()
