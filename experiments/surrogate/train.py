"""Train the learned surrogate on simulated tasks.

    python experiments/surrogate/train.py --out FOLDER --seconds 566

With --tables (files of tables.py and live.py) and --folds fold-0,fold-1,fold-2,fold-3,all, networks learn from real
tasks as well, that of a fold without the families of the fold.

On a GPU every training step is one CUDA graph, and the networks train side by side.  --resume FOLDER goes on from the
checkpoints there, --start FILE from the weights of a file, as for the shipped one (docs/decisions/surrogate.md); --span
is the whole length of the schedule and --begun what was trained of it before.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from benchmark_tasks import FOLDS
from checkpoints import begin, load, save, ship
from episodes import lesson
from model import Network
from pool import RUNS, Pool, bent, joined
from real_pool import chances, real_tasks
from simulate import simulated
from tables import FAMILIES
from torch import Tensor
from torch.nn import functional as F

from autobct.belief.surrogate.network_inputs import BEFORE, COST_BINS, SCORE_BINS

SIMULATED = "simulated"
"""The network that has seen no real task, which is shipped."""
_RATE, _WARM, _DECAY = 1e-3, 500, 0.999
_CHUNK = 8192
_ENOUGH = 300  # real tasks of a size; the share of fewer is smaller
_KEEP = 120.0  # seconds between checkpoints


def losses(logits: Tensor, task: object) -> Tensor:
    """Negative log densities, means over what can be predicted: score, log cost, failing, and both before any run."""
    score, cost, fails, before = logits.float().split([SCORE_BINS, COST_BINS, 1, BEFORE], dim=-1)
    spread = before[..., 2:].clamp_min(-2.5)
    begun = task.begun[:, None].float()
    finishes = 1.0 - task.fails
    known = begun * finishes

    def mean(values: Tensor, weights: Tensor) -> Tensor:
        return (values * weights).sum() / weights.sum().clamp_min(1.0)

    first = 0.5 * (((task.before - before[..., :2]) / torch.exp(spread)).square().clamp_max(100.0)) + spread
    return torch.stack(
        [
            mean(F.cross_entropy(score.flatten(0, 1), task.score.flatten(), reduction="none").view_as(known), known),
            mean(F.cross_entropy(cost.flatten(0, 1), task.cost.flatten(), reduction="none").view_as(known), known),
            mean(
                F.binary_cross_entropy_with_logits(fails[..., 0], task.fails, reduction="none"), torch.ones_like(known)
            ),
            mean(first.sum(dim=-1), (1.0 - begun) * finishes),
        ]
    )


EAGER = bool(os.environ.get("AUTOBCT_EAGER"))
"""Without compiling the network."""
WEIGHTS = (1.0, 0.5, 0.5, 1.0)
_TEMPLATES: list[Network] = []


def _forward(parameters: dict[str, Tensor], *rows: Tensor) -> Tensor:
    return torch.func.functional_call(_TEMPLATES[0], parameters, rows)


forward = torch.compile(_forward, dynamic=False) if torch.cuda.is_available() and not EAGER else _forward
"""The network with these parameters, compiled once for all of a training."""


@dataclass(frozen=True, slots=True)
class Size:
    """Lessons that are alike in size: so many, of tasks with more than `above` coordinates and at most `features`."""

    lessons: int
    above: int
    features: int
    after: tuple[int, int]
    real: float


SIZES = (Size(448, 0, 8, (0, 10), 0.5), Size(288, 0, 8, (10, RUNS), 0.5), Size(224, 8, 16, (0, RUNS), 0.3))
"""What is small is not computed as if it were large.  real: share of real tasks, where there are any."""


class Source:
    """Simulated tasks, and real ones of which families weigh alike."""

    def __init__(self, made: Pool, real: Pool | None, weights: Tensor | None) -> None:
        self.made, self.real = made, real
        self.of_made = [_within(made, size) for size in SIZES]
        self.of_real: list[tuple[Tensor, Tensor]] = []
        for size in SIZES if real is not None and weights is not None else ():
            which = _within(real, size)
            which = which[weights[which] > 0.0]
            cumulative = weights[which].cumsum(dim=0)
            self.of_real.append((which, cumulative / cumulative[-1:]))

    def draw(self, number: int) -> Pool:
        """The tasks of a batch that have a size, by its number."""
        size, device = SIZES[number], self.made.score.device
        real, cumulative = self.of_real[number] if self.of_real else (None, None)
        share = 0.0 if real is None else size.real * min(1.0, len(real) / _ENOUGH)
        count, which = int(share * size.lessons), self.of_made[number]
        picks = self.made[which[torch.randint(len(which), (size.lessons - count,), device=device)]]
        if not count or self.real is None or real is None:
            return picks
        at = torch.searchsorted(cumulative, torch.rand(count, device=device)).clamp_max(len(real) - 1)
        return joined([picks, bent(self.real[real[at]])])


def _within(pool: Pool, size: Size) -> Tensor:
    """Which tasks have such a size."""
    coordinates = _coordinates(pool)
    return torch.nonzero((coordinates > size.above) & (coordinates <= size.features)).flatten()


def _coordinates(pool: Pool) -> Tensor:
    """How many each task has.  (T,)."""
    return pool.facts[:, :, 0].float().sum(dim=1)


class Pupil:
    """A network, its optimiser and its averaged weights; one step is a CUDA graph on a stream of its own."""

    def __init__(self, name: str, source: Source, device: torch.device, settings: dict[str, int]) -> None:
        torch.manual_seed(0)
        self.name, self.source, self.device = name, source, device
        self.network = Network(**settings).to(device)
        self.parameters = dict(self.network.named_parameters())
        self.rate = torch.tensor(1e-6, device=device)
        cuda = device.type == "cuda"
        self.optimiser = torch.optim.AdamW(
            self.network.parameters(), lr=self.rate, weight_decay=0.01, betas=(0.9, 0.99), capturable=cuda
        )
        self.average = [p.detach().clone() for p in self.network.parameters()]
        self.running = torch.zeros(4, device=device)
        self.stream = torch.cuda.Stream() if cuda else None
        self.graph: torch.cuda.CUDAGraph | None = None

    def step(self) -> None:
        """One batch."""
        if self.graph is not None and self.stream is not None:
            with torch.cuda.stream(self.stream):
                self.graph.replay()
            return
        self._learn()

    def _learn(self) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        every = torch.zeros(4, device=self.device)
        for number, size in enumerate(SIZES):
            task = lesson(self.source.draw(number), size.features, size.after)
            with self._half():
                logits = forward(self.parameters, *task.rows)
            parts = losses(logits, task) * (size.lessons / sum(each.lessons for each in SIZES))
            sum(weight * part for weight, part in zip(WEIGHTS, parts, strict=True)).backward()
            every += parts.detach()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 0.5, foreach=True)
        self.optimiser.step()
        torch._foreach_lerp_(self.average, list(self.network.parameters()), 1.0 - _DECAY)
        self.running.lerp_(every, 0.01)

    def _half(self) -> torch.autocast:
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda")

    def capture(self) -> None:
        """The step as a graph."""
        if self.stream is None:
            return
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                self._learn()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            self._learn()
        self.graph = graph

    def averaged(self) -> Network:
        """The network with averaged weights."""
        with torch.no_grad():
            for parameter, average in zip(self.network.parameters(), self.average, strict=True):
                parameter.data, average.data = average.data.clone(), parameter.data.clone()
        return self.network


@torch.no_grad()
def judged(network: Network, tasks: Pool, batches: int = 8) -> np.ndarray:
    """Losses, and how often central intervals of 50 and 90 % hold score and log cost, of tasks of a size it knows."""
    found, tasks = [], tasks[_coordinates(tasks) <= SIZES[-1].features]
    for _ in range(batches):
        at = torch.randint(len(tasks), (512,), device=tasks.score.device)
        task = lesson(tasks[at], SIZES[-1].features, trends=0.0)
        logits = network(*task.rows).float()
        known = (task.begun[:, None] * (1.0 - task.fails)).bool()
        row = list(losses(logits, task).tolist())
        for part, truth in (
            (logits[..., :SCORE_BINS], task.score),
            (logits[..., SCORE_BINS : SCORE_BINS + COST_BINS], task.cost),
        ):
            shares = part.softmax(dim=-1)
            upper = shares.cumsum(dim=-1).gather(-1, truth[..., None])[..., 0]
            own = shares.gather(-1, truth[..., None])[..., 0]
            level = upper - torch.rand_like(own) * own  # anywhere in its bin, which may hold most of the distribution
            row += [((level - 0.5).abs() < half)[known].float().mean().item() for half in (0.25, 0.45)]
        found.append(row)
    return np.mean(found, axis=0)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=Path, nargs="*", default=[], help="files of tables.py and live.py")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--start", type=Path, help="a surrogate file to begin from, without its optimiser")
    parser.add_argument("--seconds", type=float, default=500.0)
    parser.add_argument("--span", type=float, help="length of the whole schedule; --seconds if not given")
    parser.add_argument("--begun", type=float, default=0.0)
    parser.add_argument("--rate", type=float, default=_RATE, help="highest learning rate")
    parser.add_argument("--folds", default=SIMULATED, help=f"networks: {SIMULATED}, {', '.join(FOLDS)}, all")
    parser.add_argument("--tasks", type=int, default=1 << 20)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--narrow", type=int, default=48)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.folds != SIMULATED and not asked.tables:
        parser.error("--folds are of real tasks; say --tables as well")
    return asked


def _pupils(asked: argparse.Namespace, made: Pool, real: Pool | None, device: torch.device) -> list[Pupil]:
    """The networks to train, from nothing or from where another training left them."""
    settings = _settings(asked)
    _TEMPLATES.append(Network(**settings).to(device))
    pupils = []
    for name in asked.folds.split(","):
        weights = None if real is None or name == SIMULATED else chances(real, FOLDS.get(name, ()))
        pupil = Pupil(name, Source(made, real, weights), device, settings)
        if asked.resume is not None:
            load(asked.resume / f"{name}.checkpoint", pupil)
        if asked.start is not None:
            begin(asked.start, pupil)
        pupil.capture()
        pupils.append(pupil)
    return pupils


def _settings(asked: argparse.Namespace) -> dict[str, int]:
    return {"width": asked.width, "narrow": asked.narrow, "layers": asked.layers}


def _train(asked: argparse.Namespace, pupils: list[Pupil], start: float) -> int:
    """Until the time is over; how many steps that were.  start: when it began, on the monotonic clock."""
    span, steps, printed, kept = asked.span or asked.seconds, 0, 0.0, 0.0
    while (spent := time.monotonic() - start) < asked.seconds:
        share = (asked.begun + spent) / span
        rate = asked.rate * min(1.0, (steps + 1) / _WARM) * 0.5 * (1.0 + math.cos(math.pi * min(share, 1.0)))
        for pupil in pupils:
            pupil.rate.fill_(max(rate, 1e-6))
            pupil.step()
        steps += 1
        if steps % 10 == 0 and torch.cuda.is_available():
            torch.cuda.synchronize()  # so that the clock above means something
        if spent - printed > 30.0:
            printed = spent
            parts = " ".join(f"{p.name} {p.running[0].item():.3f}/{p.running[1].item():.3f}" for p in pupils)
            print(f"{spent:5.0f} s  step {steps}  {parts}", flush=True)
        if spent - kept > _KEEP:
            kept = spent
            for pupil in pupils:
                save(asked.out / f"{pupil.name}.checkpoint", pupil)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return steps


def _finish(asked: argparse.Namespace, pupil: Pupil, steps: int, made: Pool, real: Pool | None) -> None:
    """Its checkpoint, its file, and how well it predicts what it has not learned from."""
    save(asked.out / f"{pupil.name}.checkpoint", pupil)
    network = pupil.averaged()
    note = {
        "fold": pupil.name,
        "held out": " ".join(FOLDS.get(pupil.name, ())),
        "steps": str(steps),
        "seconds": f"{asked.begun + asked.seconds:.0f}",
        "seed": str(asked.seed),
        "rate": str(asked.rate),
        "begun from": "" if asked.start is None else hashlib.sha256(asked.start.read_bytes()).hexdigest(),
        **{key: str(value) for key, value in _settings(asked).items()},
    }
    ship(asked.out / f"{pupil.name}.surrogate", network, note)
    rows = {"simulated": judged(network, made)}
    if real is not None:
        for name in FAMILIES if pupil.name == SIMULATED else FOLDS.get(pupil.name, ()):
            here = real.family == FAMILIES.index(name)
            if here.any():
                rows[name] = judged(network, real[here])
    for name, row in rows.items():
        print(f"{pupil.name:7s} {name:14s} " + " ".join(f"{value:7.3f}" for value in row), flush=True)


def main() -> None:
    asked, start = _asked(), time.monotonic()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    rng = torch.Generator(device=device).manual_seed(asked.seed + int(asked.begun))
    made = joined([simulated(min(_CHUNK, asked.tasks), device, rng) for _ in range(max(1, asked.tasks // _CHUNK))])
    real = real_tasks(asked.tables, device) if asked.tables else None
    counts = f"{len(made)} simulated, {0 if real is None else len(real)} real tasks"
    print(f"{counts}, {time.monotonic() - start:.0f} s", flush=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    pupils = _pupils(asked, made, real, device)
    steps = _train(asked, pupils, start)
    for pupil in pupils:
        _finish(asked, pupil, steps, made, real)


if __name__ == "__main__":
    main()
