"""Predict noisy points of a curve by their nearest neighbours; params come as JSON, score and cost go as JSON."""

import json
import math
import random
import sys

params = json.loads(sys.argv[1])
rng = random.Random(0)


def points(count: int) -> list[tuple[float, float]]:
    """Places and what was measured there."""
    places = [rng.uniform(0, 10) for _ in range(count)]
    return [(x, math.sin(x) + rng.gauss(0, 0.3)) for x in places]


test, train = points(300), points(params["points"])


def predicted(x: float) -> float:
    """The mean of the nearest measurements."""
    nearest = sorted(train, key=lambda point: abs(point[0] - x))[: params["neighbours"]]
    return sum(y for _, y in nearest) / len(nearest)


mean = sum(y for _, y in test) / len(test)
missed = sum((y - predicted(x)) ** 2 for x, y in test)
score = 1 - missed / sum((y - mean) ** 2 for _, y in test)
print(json.dumps({"score": score, "cost": params["points"]}))
