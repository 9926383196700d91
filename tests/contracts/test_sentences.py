"""Every number in a sentence is one that the decision was made with: over random histories, with regions that fail."""

import re
from typing import Any

import numpy as np
import pytest

from autobct import Categorical, Explanation, Float, Int, Stop, Train, Tuner, ei_per_cost, frugal, gittins, relaxed
from autobct.tuning.decide.policy import Policy

SPACES: dict[str, Any] = {
    "line": {"x": Float(0, 1)},
    "square": {"x": Float(0, 1), "y": Float(0, 1)},
    "mixed": {"x": Float(0, 1), "n": Int(1, 64, log=True), "kind": Categorical(["a", "b", "c"])},
}
POLICIES: dict[str, Policy | None] = {
    "default": None,
    "ei-per-cost": ei_per_cost(),
    "frugal": frugal(),
    "gittins": gittins(),
    "depth 1": relaxed(1),
}
CASES = [(space, policy, recall) for space in SPACES for policy in POLICIES for recall in (True, False)]
DIGITS = r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
TRAIN = re.compile(rf": it is expected to gain {DIGITS} for a cost worth {DIGITS}\.")
STOP = re.compile(rf"the best next run would (gain|lose) (nothing|{DIGITS}) and cost {DIGITS}")


def surface(rng: np.random.Generator, dim: int) -> Any:
    """A random surface of score and cost, and a region near its top in which runs fail, mostly or always."""
    top, heights, growth = rng.random(dim), rng.uniform(0.1, 1.0, dim), rng.uniform(0.0, 2.0)
    centre, reach, broken = top + rng.normal(0.0, 0.2, dim), rng.uniform(0.2, 0.6), rng.uniform(0.6, 1.2)

    def train(control: np.ndarray) -> dict[str, Any]:
        cost = 0.2 + float(np.exp(growth * control[:dim].mean()) - 1) + rng.uniform(0, 0.05)
        if np.all(np.abs(control[:dim] - centre) < reach) and rng.random() < broken:
            return {"error": "out of memory", "cost": 0.3 * cost}
        score = 0.9 - float((heights * np.square(control[:dim] - top)).sum()) + rng.normal(0, 0.01)
        return {"score": score, "cost": cost}

    return train


def made(space: str, policy: str, recall: bool, seed: int) -> tuple[list[Train], Stop, Tuner]:
    rng = np.random.default_rng((seed, list(SPACES).index(space)))
    direction = "minimize" if seed % 2 else "maximize"
    price = float(np.exp(rng.uniform(np.log(1e-3), np.log(0.1))))
    told = {"price": price, "recall": recall, "direction": direction, "max_runs": 14}
    candidates = 11 if space == "line" else 36 if space == "square" else 30
    tuner = Tuner(SPACES[space], policy=POLICIES[policy], candidates=candidates, **told)
    train, trained = surface(rng, tuner.problem.space.dim), []
    while isinstance(decision := tuner.ask(), Train):
        trained.append(decision)
        outcome = train(decision.control)
        if "score" in outcome and direction == "minimize":
            outcome["score"] = 1.0 - outcome["score"]
        tuner.tell(decision, **outcome)
    return trained, decision, tuner


def check_numbers(run: Train, tuner: Tuner) -> None:
    """V = incumbent + gain - price, in the user's units and direction; a failed run leaves the incumbent."""
    sign = -1.0 if tuner.problem.direction == "minimize" else 1.0
    if run.stop_value is not None:
        net = run.stop_value + sign * (run.expected_gain - run.price_of_run)
        assert run.value == pytest.approx(net, abs=1e-9)


@pytest.mark.parametrize(("space", "policy", "recall"), CASES)
@pytest.mark.parametrize("seed", range(4))
def test_sentences_agree_with_the_decision(space: str, policy: str, recall: bool, seed: int) -> None:
    trained, stop, tuner = made(space, policy, recall, seed)
    assert trained[0].stop_value is None
    for run in trained[1:]:
        assert run.expected_gain > run.price_of_run
        check_numbers(run, tuner)
        if (said := TRAIN.search(run.why)) is not None:
            gain, cost = map(float, said.groups())
            assert gain >= cost
            assert gain == pytest.approx(run.expected_gain, rel=5e-3)
            assert cost == pytest.approx(run.price_of_run, rel=5e-3)
        else:
            assert run.stop_value is None  # no run has finished: there is nothing to gain on
    if stop.reason != "not worth it":
        return
    best = stop.best_alternative
    assert best is not None
    check_numbers(best, tuner)
    assert best.expected_gain <= best.price_of_run
    said = STOP.search(stop.why)
    assert said is not None, stop.why
    word, amount, _, cost = said.groups()
    gain = 0.0 if amount == "nothing" else float(amount) * (1.0 if word == "gain" else -1.0)
    assert gain <= float(cost)
    assert gain == pytest.approx(best.expected_gain, rel=5e-3, abs=1e-4 * best.price_of_run)
    assert float(cost) == pytest.approx(best.price_of_run, rel=5e-3)


def test_the_histories_fail_and_stop_often_enough_to_tell() -> None:
    """The property would hold of nothing if no run failed, or if every tuning ended by its limit."""
    found = [made(space, "default", True, seed) for space in SPACES for seed in range(4)]
    failed = [any(run.error for run in tuner.history) for _, _, tuner in found]
    weighed = [stop.reason == "not worth it" for _, stop, _ in found]
    assert sum(failed) >= 4
    assert sum(weighed) >= 6
    assert sum(a and b for a, b in zip(failed, weighed, strict=True)) >= 3


@pytest.mark.parametrize("policy", ["default", "gittins", "depth 1"])
def test_a_stop_means_that_no_run_is_worth_it_and_a_run_has_the_highest_priority(policy: str) -> None:
    for seed in range(4):
        *_, tuner = made("square", policy, True, seed)
        told, sign = tuner.explain(), -1.0 if tuner.problem.direction == "minimize" else 1.0
        if told.stop_value is None or told.best is None:  # all runs failed
            continue
        values = np.where(told.values > -np.inf, sign * told.values, -np.inf)
        if isinstance(told.decision, Stop) and told.decision.reason == "not worth it":
            assert told.priorities[_at(told)] == told.priorities.max()
            assert values.max() <= sign * told.stop_value + 1e-12
        worth = values > sign * told.stop_value
        if worth.any():
            assert told.priorities[_at(told)] == told.priorities[worth].max()


def _at(told: Explanation) -> int:
    """The candidate that an explanation is about."""
    assert told.best is not None
    return int(np.flatnonzero(np.all(told.controls == told.best.control, axis=1))[0])
