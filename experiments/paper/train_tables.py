"""Train the paper's models over their controls, for real, and record score and seconds of every training.

    python -m experiments.paper.train_tables --data DIR --out DIR --only cnn-batch cnn-r --device cuda --seconds 280
    python -m experiments.paper.train_tables --data DIR --out DIR --only synthetic higgs
    python -m experiments.paper.train_tables --list

A repeat is one training per control (of the scenes: one training, scored after each of its 35 epochs).  The table that
is furthest from its number of repeats goes next, and each is written when a repeat is complete; repeats already there
are kept.  No repeat is begun that would end after --seconds.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import datetime
import importlib.metadata
import platform
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from experiments.paper import controls
from experiments.paper.data.files import data_folder

from autobct.paper.experiment import TrainingOutcome
from autobct.paper.recorded_table import RecordedRow, RecordedTable, read_table, table_of, write_table

BATCH, RATE, CODE = 66, 0.0007, 2  # what stays fixed where the other parameter is the control
ONE_CORE = {"seconds": "processor time of one core: the machine had others to serve"}

Control = tuple[float, ...]
Repeat = Callable[[int], Iterator[tuple[Control, TrainingOutcome]]]
"""Seed -> every control and what came of it."""


@dataclass(frozen=True)
class Setting:
    """What was said on the command line: folder of the data, device of torch, weights of ResNet50."""

    data: str | None
    device: str
    weights: Path | None


@dataclass(frozen=True)
class TableTask:
    """A table that is ready to be trained.  words: the data used,  device: in words."""

    controls: list[Control]
    repeat: Repeat
    words: str
    device: str
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TablePlan:
    """How many repeats a table should have, and how it is opened."""

    repeats: int
    open: Callable[[Setting], TableTask]


def train_on(
    train: Callable[..., TrainingOutcome], data: Any, device: Any, params: dict[str, Any], seed: int
) -> TrainingOutcome:
    return train(params, seed, data, device)


def grid_of(points: int, dims: int = 1) -> list[Control]:
    return [tuple(control) for control in controls.grid(points, dims).tolist()]


def one_by_one(
    grid: list[Control], params: Callable[..., dict[str, Any]], train: Callable[..., TrainingOutcome]
) -> Repeat:
    """Train every control of the grid once; params: of u_1 .. u_p."""

    def repeat(seed: int) -> Iterator[tuple[Control, TrainingOutcome]]:
        for index, control in enumerate(grid):
            yield control, train(params(*control), int(np.random.SeedSequence((seed, index)).generate_state(1)[0]))

    return repeat


@cache
def patches(data: str | None, device: str) -> tuple[Any, Any, str]:
    from experiments.paper import cnn
    from experiments.paper.data.patches import load_patches
    from experiments.paper.device import device_named

    found = load_patches(data_folder(data))
    return cnn.load(found, device_named(device)), device_named(device), found.words


def cnn_table(points: int, dims: int, params: Callable[..., dict[str, Any]]) -> Callable[[Setting], TableTask]:
    def opened(setting: Setting) -> TableTask:
        from experiments.paper import cnn
        from experiments.paper.device import device_words

        loaded, device, words = patches(setting.data, setting.device)
        grid = grid_of(points, dims)
        for batch in sorted({params(*control)["batch"] for control in grid}):
            cnn.train({"batch": batch, "r": RATE}, 0, loaded, device)  # the first of each shape pays for its set-up
        train = partial(train_on, cnn.train, loaded, device)
        return TableTask(grid, one_by_one(grid, params, train), words, device_words(device))

    return opened


@cache
def transactions(data: str | None, device: str) -> tuple[Any, Any, str]:
    from experiments.paper import autoencoder
    from experiments.paper.data.fraud import load_transactions
    from experiments.paper.device import device_named

    found = load_transactions(data_folder(data))
    return autoencoder.load(found, device_named(device)), device_named(device), found.words


def fraud_table(points: int, dims: int, params: Callable[..., dict[str, Any]]) -> Callable[[Setting], TableTask]:
    def opened(setting: Setting) -> TableTask:
        from experiments.paper import autoencoder
        from experiments.paper.device import device_words

        loaded, device, words = transactions(setting.data, setting.device)
        for scale in (1.0, 10.0):
            autoencoder.train({"scale": scale, "code": CODE}, 0, loaded, device)  # warm-up
        grid = grid_of(points, dims)
        train = partial(train_on, autoencoder.train, loaded, device)
        return TableTask(grid, one_by_one(grid, params, train), words, device_words(device))

    return opened


def scenes_table(network: str) -> Callable[[Setting], TableTask]:
    def opened(setting: Setting) -> TableTask:
        from experiments.paper import scenes
        from experiments.paper.data.scenes import load_scenes
        from experiments.paper.device import device_named, device_words

        found, device = load_scenes(data_folder(setting.data)), device_named(setting.device)
        loaded = scenes.load(found, device)
        weights = setting.weights if network == "resnet50" else None
        scenes.train_curve(network, weights, 0, loaded, device, epochs=1)  # warm-up

        grid = grid_of(scenes.MAX_EPOCHS)  # u = k / 34 is k + 1 epochs

        def repeat(seed: int) -> Iterator[tuple[Control, TrainingOutcome]]:
            yield from zip(grid, scenes.train_curve(network, weights, seed, loaded, device), strict=True)

        notes = {"rows of one repeat": "one training of 35 epochs, scored after each: they depend on each other"}
        if network == "resnet50":
            notes["weights"] = "ImageNet, body fixed" if weights else "none: trained from scratch"
        return TableTask(grid, repeat, found.words, device_words(device), notes)

    return opened


def synthetic_table(setting: Setting) -> TableTask:
    from autobct.paper import synthetic_forest as synthetic

    data = synthetic.draw_data(0)

    def train(params: dict[str, Any], seed: int) -> TrainingOutcome:
        return TrainingOutcome(
            *synthetic.forest_trainer(data, seed=seed, clock=time.process_time)({"n_estimators": params["trees"]}, 0)
        )

    train({"trees": 10}, 0)  # warm-up
    grid = grid_of(21)
    repeat = one_by_one(grid, lambda u: {"trees": controls.trees(u)}, train)
    return TableTask(
        grid, repeat, "checkerboard, 30000 points to train on and 20000 to validate on, seed 0", cpu_words(), ONE_CORE
    )


def higgs_table(setting: Setting) -> TableTask:
    from experiments.paper import higgs
    from experiments.paper.data.higgs import load_collisions

    data = load_collisions(data_folder(setting.data))
    higgs.train({"share": 0.02}, 0, data)  # warm-up
    grid = grid_of(21)
    repeat = one_by_one(
        grid,
        lambda u: {"share": controls.sample_share(u)},
        partial(train_on, partial(higgs.train, clock=time.process_time), data, None),
    )
    return TableTask(grid, repeat, data.words, cpu_words(), ONE_CORE)


PLANS: dict[str, TablePlan] = {
    "cnn-batch": TablePlan(15, cnn_table(21, 1, lambda u: {"batch": controls.batch_size(u), "r": RATE})),
    "cnn-r": TablePlan(10, cnn_table(21, 1, lambda u: {"batch": BATCH, "r": controls.learning_rate(u)})),
    "cnn-2d": TablePlan(
        4, cnn_table(11, 2, lambda r, batch: {"batch": controls.batch_size(batch), "r": controls.learning_rate(r)})
    ),
    "fraud": TablePlan(5, fraud_table(21, 1, lambda u: {"scale": controls.scale(u), "code": CODE})),
    "fraud-2d": TablePlan(
        3, fraud_table(11, 2, lambda scale, code: {"scale": controls.scale(scale), "code": controls.code(code)})
    ),
    "intel-plain": TablePlan(4, scenes_table("plain")),
    "intel-resnet50": TablePlan(3, scenes_table("resnet50")),
    "synthetic": TablePlan(10, synthetic_table),
    "higgs": TablePlan(10, higgs_table),
}


def cpu_words() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for package in ("numpy", "torch", "scikit-learn"):
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def command() -> str:
    """As it was called, less the paths of this machine."""
    words = sys.argv[1:]
    places = {"--data": "DIR", "--out": "DIR", "--weights": "FILE"}
    shown = [places.get(before, word) for before, word in zip(["", *words], words, strict=False)]
    return shlex.join(["python", "-m", "experiments.paper.train_tables", *shown])


@dataclass
class Recording:
    """A table that grows by whole repeats."""

    name: str
    path: Path
    opened: TableTask
    repeats: int
    rows: list[RecordedRow]
    wall: float
    last: float = 0.0

    @property
    def done(self) -> int:
        return 1 + max((row.repeat for row in self.rows), default=-1)

    @property
    def progress(self) -> float:
        return self.done / self.repeats

    def record(self, started: float) -> None:
        began, number = time.perf_counter(), self.done
        new = [
            RecordedRow(u, number, round(outcome.score, 6), round(outcome.seconds, 6), rounded(outcome.extra))
            for u, outcome in self.opened.repeat(number)
        ]
        self.rows += new
        self.last = time.perf_counter() - began
        self.wall += self.last
        write_table(self.path, self.table())
        scores, times = [row.score for row in new], [row.seconds for row in new]
        print(
            f"{time.perf_counter() - started:7.1f} s  {self.name:15s} repeat {number + 1} of {self.repeats}: "
            f"{len(new)} rows in {self.last:.1f} s, score {min(scores):.3f} .. {max(scores):.3f}, "
            f"{min(times):.3f} .. {max(times):.3f} s each",
            flush=True,
        )

    def table(self) -> RecordedTable:
        header = {
            "command": command(),
            "device": self.opened.device,
            "versions": versions(),
            "wall seconds": f"{self.wall:.1f}",
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "data": self.opened.words,
            **self.opened.notes,
        }
        return table_of(self.name, self.rows, header)


def rounded(extra: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 6) for name, value in extra.items()}


def begin(name: str, out: Path, setting: Setting, repeats: int | None) -> Recording:
    plan, path = PLANS[name], out / f"{name}.csv"
    kept = read_table(path) if path.exists() else None
    opened = plan.open(setting)
    if kept and {row.u for row in kept.rows} != set(opened.controls):
        raise ValueError(f"the controls in {str(path)!r} are not those of {name!r}; move the file away to start anew")
    rows, wall = (kept.rows, float(kept.header.get("wall seconds", 0))) if kept else ([], 0.0)
    return Recording(name, path, opened, repeats or plan.repeats, rows, wall)


def run(names: Sequence[str], out: Path, setting: Setting, seconds: float, repeats: int | None) -> None:
    started = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    recordings = [begin(name, out, setting, repeats) for name in names]
    print(f"{time.perf_counter() - started:7.1f} s  data loaded, devices warm", flush=True)
    while True:
        left = seconds - (time.perf_counter() - started)
        open_ones = [each for each in recordings if each.done < each.repeats and 1.05 * each.last < left]
        if not open_ones or left <= 0:
            break
        min(open_ones, key=lambda each: each.progress).record(started)
    for each in recordings:
        print(f"{each.name}: {each.done} of {each.repeats} repeats, {len(each.rows)} rows in {each.path}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of the paper's data; default: AUTOBCT_DATA")
    parser.add_argument("--out", type=Path, default=Path("src/autobct/paper/tables"))
    parser.add_argument("--only", nargs="+", choices=list(PLANS), default=list(PLANS), metavar="NAME")
    parser.add_argument("--device", default="cpu", help="of the networks: cpu or cuda")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no repeat that would end later")
    parser.add_argument("--repeats", type=int, help="instead of each table's own number")
    parser.add_argument("--weights", type=Path, help="ImageNet weights of ResNet50, as stored for torch")
    parser.add_argument("--list", action="store_true", help="print the tables and their repeats")
    told = parser.parse_args()
    if told.list:
        print("\n".join(f"{name:15s} {plan.repeats} repeats" for name, plan in PLANS.items()))
        return
    try:
        run(told.only, told.out, Setting(told.data, told.device, told.weights), told.seconds, told.repeats)
    except (ValueError, FileNotFoundError, ImportError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
