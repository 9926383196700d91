"""Four trainings at a time: a third of the wall clock, at two meanings of the price."""

import time

import autobct


def train(params):
    """A score between 0 and 0.9; larger models take longer."""
    time.sleep(0.1 + 0.1 * params["size"])  # in practice, a training
    return 0.9 - (params["rate"] - 0.3) ** 2 - 0.2 * (params["size"] - 0.7) ** 2


space = {"rate": autobct.Float(0, 1), "size": autobct.Float(0, 1)}

if __name__ == "__main__":
    for price_of in ("compute", "waiting"):
        result = autobct.tune(
            train, space, price="0.01 per 1s", n_jobs=4, backend="threads", price_of=price_of, verbose="bar"
        )
        print(f"{price_of}: {len(result.history)} runs, {result.cost:.1f} s of computing in {result.elapsed:.1f} s")
        print(f"best: {result.params}, score {result.score:.3f}")
