"""What is to be had on a task: statistics of many random configurations, for reporting only.

c50 is the median cost of a random configuration; the range of scores is from the 10th percentile of random
configurations to the best known; at level p a median training costs p of the range.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
from cube import Array

LEVELS = (0.003, 0.01, 0.03, 0.1)
_VERSION, _SAMPLE = 2, 2**17


@dataclass(frozen=True, slots=True)
class Yardstick:
    """low: 10th percentile of random scores;  best: best known score;  mean_score, mean_cost: of random ones;
    star: for each level, score minus price x cost of the best trade-off   (U_star)
    """

    c50: float
    low: float
    best: float
    mean_score: float
    mean_cost: float
    star: tuple[tuple[float, float], ...]

    @property
    def range(self) -> float:
        """Best known score minus the 10th percentile of random ones."""
        return self.best - self.low

    def price(self, level: float) -> float:
        """Score per second."""
        return level * self.range / self.c50

    def reference(self, level: float) -> float:
        """U_ref: the mean of training one random configuration."""
        return self.mean_score - self.price(level) * self.mean_cost

    def captured(self, utility: float, level: float) -> float:
        """0 is one random training, 1 the clairvoyant."""
        star, reference = dict(self.star)[level], self.reference(level)
        return (utility - reference) / (star - reference)


Surface = Callable[[Array], tuple[Array, Array]]


def yardstick_of(name: str, true: Surface, points: Callable[[Array], Array], dim: int) -> Yardstick:
    """Of a surface, kept in the temporary folder: under its name and what it says at a few points."""
    probe = true(points(np.random.default_rng(1).random((64, dim))))
    file = kept_folder() / f"{name}-{_VERSION}-{zlib.crc32(np.round(probe, 9).tobytes()):08x}.json"
    found = _read(file)
    if found is None:
        found = sampled(true, points, dim)
        partial = file.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(asdict(found)))
        partial.replace(file)
    return found


@cache
def kept_folder() -> Path:
    """Where what takes long to find is kept."""
    path = Path(tempfile.gettempdir()) / f"autobct-yardsticks-{os.getuid() if hasattr(os, 'getuid') else 'all'}"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def _read(file: Path) -> Yardstick | None:
    try:
        stored = json.loads(file.read_text())
        star = tuple((float(level), float(value)) for level, value in stored.pop("star"))
        found = Yardstick(**{name: float(value) for name, value in stored.items()}, star=star)
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return None  # found anew
    sane = all(math.isfinite(v) for v in (found.c50, found.low, found.best, found.mean_score, found.mean_cost))
    return found if sane and [level for level, _ in star] == list(LEVELS) else None


def measured(scores: Array, costs: Array) -> Yardstick:
    """Of configurations, (n,) each: a random sample of them, or all there are."""
    c50, low, best = float(np.median(costs)), float(np.quantile(scores, 0.1)), float(scores.max())
    price = (best - low) / c50
    star = tuple((level, float(np.max(scores - level * price * costs))) for level in LEVELS)
    return Yardstick(c50, low, best, float(scores.mean()), float(costs.mean()), star)


def sampled(true: Surface, points: Callable[[Array], Array], dim: int) -> Yardstick:
    """Of a large random sample: the best known is the best of it."""
    rng = np.random.default_rng(0)
    found = [true(points(rng.random((_SAMPLE // 16, dim)))) for _ in range(16)]
    return measured(*(np.concatenate(part) for part in zip(*found, strict=True)))
