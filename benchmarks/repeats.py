"""How far the mean and the median of repeated trainings are from the score that a training usually has.

    python benchmarks/repeats.py

Scores are normal with a standard deviation of 1; some trainings end badly, 20 standard deviations below.
"""

from __future__ import annotations

import numpy as np

DRAWS = 200_000
DIVERGED = 20.0


def error(score: np.ndarray) -> float:
    """Root mean squared error of an estimate of zero."""
    return float(np.sqrt(np.mean(np.square(score))))


def main() -> None:
    rng = np.random.default_rng(0)
    print("| trainings that end badly | repeats | one training | mean | median |\n|---|---|---|---|---|")
    for share in (0.0, 0.01, 0.05):
        for repeats in (3, 5):
            scores = rng.standard_normal((DRAWS, repeats)) - DIVERGED * (rng.random((DRAWS, repeats)) < share)
            errors = (error(scores[:, 0]), error(scores.mean(axis=1)), error(np.median(scores, axis=1)))
            print(f"| {share:.0%} | {repeats} | " + " | ".join(f"{each:.2f}" for each in errors) + " |")


if __name__ == "__main__":
    main()
