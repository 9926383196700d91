"""How much each parameter matters, against what is known of the surface."""

import itertools

import numpy as np
import pytest

import autobct
from autobct.tuning.history import Run
from autobct.tuning.model.estimate import importance, score_quantiles
from autobct.tuning.model.posterior import learned

SPACE = {"weak": autobct.Float(0, 1), "strong": autobct.Float(0, 1), "none": autobct.Float(0, 1)}


def additive(params):
    return 0.5 + 0.30 * params["strong"] + 0.12 * params["weak"], 1.0


def tuned(train=additive, space=SPACE, **options):
    return autobct.tune(train, space, **{"price": 1e-5, "max_runs": 25, **options})


def test_shares_are_those_of_the_variance_of_an_additive_score() -> None:
    """Var = slope^2 / 12 for each: 0.09 / (0.09 + 0.0144) = 0.86 for the strong one."""
    problem = autobct.Tuner(SPACE, price=1e-5).problem
    params = [problem.space.params(control) for control in problem.controls[:40]]
    runs = [
        Run(number, one, problem.space.control(one), *additive(one), None, np.nan) for number, one in enumerate(params)
    ]
    shares = importance(learned(problem, runs))
    assert list(shares) == ["strong", "weak", "none"]
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["strong"] == pytest.approx(0.86, abs=0.05)
    assert shares["none"] < 0.02


def test_what_a_tuning_found_out_comes_first() -> None:
    shares = tuned().importance()
    assert next(iter(shares)) == "strong"
    assert sum(shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("price", [1e-4, 1e-6])
@pytest.mark.parametrize("middle", [0.5, 0.3, 0.22])
def test_it_is_the_total_effect_of_brute_force(price: float, middle: float) -> None:
    """Two choices of three and two values: every pair of params, without any sampling."""
    space = {"a": autobct.Categorical(["x", "y", "z"]), "b": autobct.Categorical(["p", "q"])}
    scores = {"x": 0.2, "y": middle, "z": 0.55}
    result = tuned(lambda params: (scores[params["a"]] + 0.1 * (params["b"] == "q"), 1.0), space, price=price)
    known = learned(result.problem, result.history)
    a, b = np.eye(3), np.eye(2)
    pairs = np.array([np.concatenate([one, two]) for one in a for two in b])
    f = score_quantiles(known, pairs, (0.5,), noise=False)[0].reshape(3, 2)
    total_a = np.mean([(f[i, k] - f[j, k]) ** 2 for i, j, k in itertools.product(range(3), range(3), range(2))])
    total_b = np.mean([(f[i, k] - f[i, m]) ** 2 for i, k, m in itertools.product(range(3), range(2), range(2))])
    shares = result.importance()
    assert shares["a"] == pytest.approx(total_a / (total_a + total_b), abs=0.01)


def test_the_same_runs_have_the_same_importance_and_constants_have_none() -> None:
    space = {**SPACE, "fixed": autobct.Categorical(["only"])}
    result = tuned(space=space, max_runs=6)
    shares = result.importance()
    assert shares == result.importance()
    assert shares["fixed"] == 0.0
    assert set(shares) == set(space)


def test_parameters_that_may_not_exist_have_a_share_too() -> None:
    space = {
        "kind": autobct.Categorical(["a", "b"]),
        "rate": autobct.Float(0, 1, when={"kind": "a"}),
        "x": autobct.Float(0, 1),
    }
    shares = tuned(lambda p: (0.5 + 0.3 * p.get("rate", 0.0) + 0.1 * p["x"], 1.0), space).importance()
    assert sum(shares.values()) == pytest.approx(1.0)
    assert all(share >= 0.0 for share in shares.values())
    assert shares["rate"] > 0.0


def test_a_table_has_shares_too() -> None:
    rows = [{"n": n, "m": m} for n in (1, 2, 3) for m in (1, 2, 3)]
    shares = tuned(lambda p: (0.2 * p["n"] + 0.01 * p["m"], 1.0), autobct.Table(rows)).importance()
    assert list(shares) == ["n", "m"]
