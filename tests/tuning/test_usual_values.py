"""Parameters of well-known names begin where they are usually set; all others are as if nothing was known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autobct import Categorical, Float, Int, Train, Tuner
from autobct.tuning.problem import problem_of
from autobct.tuning.space.space import Space
from autobct.tuning.space.usual_values import usual_places

BOOSTED: dict[str, Any] = {
    "learning_rate": Float(1e-3, 1, log=True),
    "max_depth": Int(2, 12),
    "n_estimators": Int(10, 1000, log=True),
    "subsample": Float(0.5, 1.0),
}


def usual(space: dict[str, Any]) -> dict[str, Any]:
    """Name -> the usual value as the parameter has it."""
    names = [name for name, p in space.items() if p.count != 1]
    found = {names[which]: place for which, place in usual_places(Space.of(space))}
    return {
        name: space[name].choices[int(place)] if isinstance(space[name], Categorical) else space[name].from_unit(place)
        for name, place in found.items()
    }


def test_boosted_trees() -> None:
    """A hundred trees, the middle of the range, learn faster than many."""
    expected = {"learning_rate": 0.1 * math.sqrt(3.0), "max_depth": 6, "subsample": 0.8}
    assert usual(BOOSTED) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("rounds", "rate"),
    [
        (Int(10, 1000, log=True), 0.1 * math.sqrt(3.0)),
        (Int(100, 500), 0.1),
        (Int(1000, 10_000, log=True), 0.1 * math.sqrt(0.3 / math.sqrt(10.0))),
        (Int(50_000, 90_000), 0.025),
        (Int(5, 20), 0.2),
        (Int(1200, 1200), 0.05),
        (Int(0, 0), 0.1),
        (Int(-1, -1), 0.1),  # no limit
    ],
)
def test_the_more_rounds_the_smaller_the_rate(rounds: Int, rate: float) -> None:
    space = {"eta": Float(1e-3, 1, log=True), "max_depth": Int(2, 9), "booster__n_estimators": rounds}
    assert usual(space)["eta"] == pytest.approx(rate)


def test_the_more_epochs_the_smaller_the_rate() -> None:
    rate = Float(1e-5, 1, log=True)
    assert usual({"lr": rate, "batch_size": Int(8, 64), "epochs": Int(100, 100)})["lr"] == pytest.approx(1e-3)
    assert usual({"lr": rate, "batch_size": Int(8, 64), "epochs": Int(5, 15)})["lr"] == pytest.approx(2e-3)
    assert usual({"lr": rate, "momentum": Float(0, 1), "epochs": Int(300, 500)})["lr"] == pytest.approx(0.015)
    fine = Float(1e-6, 1e-4, log=True)  # fine-tuning takes few epochs anyway
    assert usual({"lr": fine, "batch_size": Int(8, 64), "epochs": Int(2, 4)})["lr"] == pytest.approx(5e-5)


def test_a_choice_that_comes_close_to_a_usual_number() -> None:
    rates, depths = Categorical([0.01, 0.05, 0.2]), Categorical([3, 5, 7])
    assert usual({"eta": rates, "max_depth": depths, "n_rounds": Int(10, 1000, log=True)}) == {
        "eta": 0.2,
        "max_depth": 7,
    }
    assert usual({"eta": rates, "max_depth": Categorical([1, 2, 20])}) == {"eta": 0.05}
    assert usual({"eta": rates, "max_depth": Int(2, 9), "reg_alpha": Categorical([0.1, 1.0])}).keys() == {
        "eta",
        "max_depth",
    }  # none is near 0
    assert usual({"eta": rates, "max_depth": Categorical([6, True, "deep"])})["max_depth"] == 6
    assert usual({"eta": rates, "max_depth": Categorical([math.nan, 10**400, 6, math.inf])})["max_depth"] == 6


def test_the_same_name_means_another_thing_in_another_model() -> None:
    rate = Float(1e-5, 1, log=True)
    assert usual({"learning_rate": rate, "units": Int(8, 256)})["learning_rate"] == pytest.approx(1e-3)
    assert usual({"lr": rate, "momentum": Float(0, 0.99)}) == pytest.approx({"lr": 0.03, "momentum": 0.9})
    gamma = Float(1e-4, 10, log=True)
    none = usual({"eta": Float(0.01, 1, log=True), "max_depth": Int(1, 10), "gamma": gamma})["gamma"]
    assert math.log(none / 1e-4) == pytest.approx(0.1 * math.log(1e5))  # zero is not in a logarithmic range


@pytest.mark.parametrize(
    "space",
    [
        {"x": Float(0, 1), "y": Int(1, 9)},
        {"learning_rate": Float(1e-4, 1, log=True)},  # of what?
        {"alpha": Float(0, 1), "gamma": Float(0, 1)},
        {"max_depth": Int(1, 20)},
        {"C": Float(0.01, 100, log=True)},  # a linear model: of data of which scale?
        {"depth": Int(1, 12), "learning_rate": Float(1e-3, 1, log=True)},
        {"cp": Float(1e-4, 0.1, log=True)},
        {"k": Int(1, 50)},
        {"n_estimators": Int(10, 500)},
        {"nu": Float(0, 1), "gamma": Float(0, 1), "tau": Float(0, 1)},  # Greek letters
        {"buffer_size": Int(1, 99), "threads": Int(1, 9)},
        {"n_neighbors": Int(1, 50), "p": Int(1, 3), "weights": Categorical(["uniform", "distance"])},
        {"k": Int(1, 50), "distance": Categorical(["ip", "l2"]), "M": Int(18, 50), "ef": Int(8, 256, log=True)},
        {"n_clusters": Int(2, 20), "max_iter": Int(10, 500)},
        {"alpha": Float(1e-6, 1, log=True), "l1_ratio": Float(0, 1)},  # a Lasso's depends on the scale of what it fits
        {"alpha": Float(1e-6, 1, log=True), "eta0": Float(1e-4, 1, log=True), "penalty": Categorical(["l1", "l2"])},
        {"width": Float(1, 9), "height": Float(1, 9), "alpha": Float(0, 1)},  # of a building
        {"layers": Int(1, 9), "temperature": Float(20, 200)},
        {"x1": Float(0, 1), "k2": Float(0, 1), "c3": Float(0, 1), "tau": Float(0, 1), "beta": Float(0, 1)},
    ],
)
def test_nothing_is_known_of_other_names(space: dict[str, Any]) -> None:
    assert usual_places(Space.of(space)) == ()


def test_support_vector_machines() -> None:
    """A kernel is as wide as the centre of the user's range has it, who knows the scale of the data, or wider."""
    cost, wide = Float(1e-3, 1e3, log=True), Float(1e-3, 1e3, log=True)
    kernels = Categorical(["linear", "radial"])
    found = usual({"cost": cost, "gamma": wide, "kernel": kernels})
    assert found == {"cost": pytest.approx(1.0), "gamma": pytest.approx(0.05), "kernel": "radial"}
    narrow = usual({"svc__C": cost, "svc__gamma": Float(1e-6, 1e-1, log=True)})
    assert narrow == {"svc__C": pytest.approx(1.0)}
    assert usual({"C": cost, "gamma": Float(1.0, 10.0)})["gamma"] == pytest.approx(1.9)
    assert usual({"C": cost, "gamma": Categorical(["scale", "auto"])}) == {"C": pytest.approx(1.0)}


def test_single_trees_and_numbered_names() -> None:
    tree = {"cp": Float(1e-4, 1, log=True), "minbucket": Int(1, 100), "minsplit": Int(2, 100), "maxdepth": Int(1, 30)}
    assert usual(tree) == pytest.approx({"cp": 0.01, "minbucket": 7, "minsplit": 20, "maxdepth": 30})
    layers = {"n_units_1": Int(8, 256), "n_units_2": Int(8, 256), "dropout_1": Float(0, 0.6)}
    assert usual(layers) == pytest.approx({"dropout_1": 0.2})
    catboost = {"depth": Int(2, 10), "learning_rate": Float(1e-3, 1, log=True), "l2_leaf_reg": Float(0.1, 30, log=True)}
    assert usual(catboost) == pytest.approx({"depth": 6, "learning_rate": 0.1, "l2_leaf_reg": 3.0})


def test_names_as_libraries_write_them() -> None:
    rate, leaves = Float(1e-3, 1, log=True), Int(4, 200, log=True)
    assert usual({"clf__learning_rate": rate, "clf__max_leaf_nodes": leaves})["clf__max_leaf_nodes"] == 31
    assert usual({"eta": rate, "min.child.weight": Float(0.1, 100, log=True)})["min.child.weight"] == pytest.approx(1)
    assert usual({"Learning-Rate": rate, "num_leaves": leaves})["Learning-Rate"] == pytest.approx(0.1)


def log(low: float, high: float) -> Float:
    return Float(low, high, log=True)


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (
            {"C": log(1e-3, 1e3), "penalty": Categorical(["l1", "l2"]), "tol": log(1e-6, 1e-1)},
            {"C": 1, "penalty": "l2"},
        ),
        ({"model__C": log(1e-3, 1e3), "model__l1_ratio": Float(0, 1)}, {"model__C": 1}),
        ({"svr__C": log(1e-3, 1e3), "svr__epsilon": log(1e-3, 1)}, {"svr__C": 1, "svr__epsilon": 0.1}),
        (
            {"C": log(1e-3, 1e3), "kernel": Categorical(["poly", "rbf"]), "degree": Int(2, 5), "coef0": Float(0, 1)},
            {"C": 1, "kernel": "rbf", "degree": 3, "coef0": 0},
        ),
        (
            {"classif.svm.cost": log(1e-3, 1e3), "classif.svm.gamma": log(1e-3, 1e3), "shrinking": Categorical([True])},
            {"classif.svm.cost": 1, "classif.svm.gamma": 0.05},
        ),
        ({"nu": Float(0.1, 0.9), "kernel": Categorical(["poly", "rbf"])}, {"nu": 0.5, "kernel": "rbf"}),
        ({"alpha": Float(0, 1), "s": log(1e-4, 1e3)}, {"alpha": 1, "s": 0.01}),
        ({"penalty": log(1e-10, 1), "mixture": Float(0, 1)}, {"penalty": 0.01, "mixture": 1}),
        ({"alpha": log(1e-3, 1e3), "fit_prior": Categorical([False, True])}, {"alpha": 1, "fit_prior": True}),
        (
            {"alpha": log(1e-6, 1e3), "gamma": log(1e-5, 1e-2), "kernel": Categorical(["laplacian", "rbf"])},
            {"alpha": 1, "kernel": "rbf"},
        ),
        ({"length_scale": log(0.01, 100), "nu": Categorical([0.5, 1.5, 2.5])}, {"length_scale": 1, "nu": 2.5}),
        (
            {
                "num_leaves": Int(4, 256),
                "bagging_freq": Int(0, 7),
                "feature_fraction": Float(0.1, 1),
                "lambda": log(1e-3, 1),
            },
            {"num_leaves": 31, "bagging_freq": 1, "feature_fraction": 0.8, "lambda": pytest.approx(1e-3**0.9)},
        ),
        (
            {"nrounds": Int(1, 2000), "eta": log(1e-3, 1), "min.child.weight": log(0.1, 100), "gamma": Float(0, 5)},
            {"eta": 0.1 * math.sqrt(300 / 1000.5), "min.child.weight": 1, "gamma": 0},
        ),
        (
            {"eta": log(1e-3, 1), "booster": Categorical(["dart", "gbtree"]), "skip_drop": Float(0, 1)},
            {"eta": 0.1, "booster": "gbtree", "skip_drop": 0.5},
        ),
        (
            {"iterations": Int(10, 999), "depth": Int(2, 10), "learning_rate": log(1e-3, 1)},
            {"depth": 6, "learning_rate": 0.1 * math.sqrt(300 / 504.5)},
        ),
        (
            {"ntrees": Int(10, 999), "maxDepth": Int(2, 10), "learnRate": log(1e-3, 1)},
            {"maxDepth": 6, "learnRate": 0.1 * math.sqrt(300 / 504.5)},
        ),
        (
            {"learning_rate": log(1e-4, 3e-2), "dropout_prob": Float(0, 0.4), "beta1": Float(0.5, 0.99)},
            {"learning_rate": 1e-3, "dropout_prob": 0.2, "beta1": 0.9},
        ),
        (
            {"learning_rate": log(1e-6, 1e-4), "hidden_dropout_prob": Float(0, 0.5), "dropout_prob": Float(0, 0.5)},
            {"learning_rate": 5e-5, "hidden_dropout_prob": 0.1, "dropout_prob": 0.1},
        ),
        ({"learning_rate": log(1e-6, 1.0), "beta1": Float(0.5, 0.999)}, {"learning_rate": 1e-3, "beta1": 0.9}),
        (
            {"num.trees": Int(1, 2000), "mtry.power": Float(0, 1), "replace": Categorical(["FALSE", "TRUE"])},
            {"mtry.power": 0.5, "replace": "TRUE"},
        ),
        ({"ntree": Int(1, 999), "mtry": Int(1, 20), "nodesize": Int(1, 50)}, {"mtry": 6, "nodesize": 1}),
        (
            {"max_features": Categorical(["log2", "sqrt"]), "bootstrap": Categorical([True, False])},
            {"max_features": "sqrt", "bootstrap": True},
        ),
        (
            {"min_samples_leaf": Int(1, 50), "min_samples_split": Int(2, 50)},
            {"min_samples_leaf": 7, "min_samples_split": 20},
        ),
        (
            {"alpha": log(1e-8, 1), "batch_size": Int(4, 256), "depth": Int(1, 3), "learning_rate_init": log(1e-5, 1)},
            {"alpha": 1e-4, "batch_size": 64, "learning_rate_init": 1e-3},
        ),
        (
            {
                "lr_initial": log(1e-4, 1),
                "one_minus_momentum": log(1e-3, 1),
                "schedule": Categorical(["step", "cosine"]),
            },
            {"lr_initial": 0.03, "one_minus_momentum": 0.1, "schedule": "cosine"},
        ),
        (
            {"optim.lr": log(1e-5, 1e-1), "model.hidden_size": Int(8, 512), "beta2": Float(0.9, 0.9999)},
            {"optim.lr": 1e-3, "beta2": 0.999},
        ),
        (
            {"learning_rate": log(1e-6, 1e-4), "weight_decay": Float(0, 0.3), "warmup_ratio": Float(0, 0.2)},
            {"learning_rate": 5e-5, "weight_decay": 0.01, "warmup_ratio": 0.1},
        ),
        (
            {"lr": log(1e-5, 1e-2), "gamma": Float(0.9, 0.9999), "gae_lambda": Float(0.8, 1)},
            {"lr": 3e-4, "gamma": 0.99, "gae_lambda": 0.95},
        ),
        ({"changepoint_prior_scale": log(1e-3, 0.5)}, {"changepoint_prior_scale": 0.05}),
    ],
)
def test_models_as_users_write_them(space: dict[str, Any], expected: dict[str, Any]) -> None:
    found = usual(space)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == (pytest.approx(value) if isinstance(value, int | float) else value)


def test_choices_are_found_by_name() -> None:
    units = Int(8, 64)
    assert usual({"units": units, "optimizer": Categorical(["sgd", "Adam"])})["optimizer"] == "Adam"
    assert "optimizer" not in usual({"units": units, "optimizer": Categorical(["sgd", "adagrad"])})
    flags = {"units": Int(1, 9), "dropout": Categorical([True, False]), "batch_size": Categorical([16, 64, 256])}
    assert usual(flags) == {"batch_size": 64}
    odd = {"units": Int(1, 9), "activation": Categorical([(1, 2), None, frozenset({3})])}
    assert usual(odd) == {}


def test_a_value_beyond_its_range() -> None:
    trees = {"max_depth": Int(1, 10), "n_estimators": Int(1, 9), "min_samples_leaf": Int(5, 105)}
    assert usual(trees) == {"max_depth": 10, "min_samples_leaf": 15}
    assert "min_samples_leaf" not in usual({**trees, "min_samples_leaf": Float(0.01, 1.0)})  # a share, not a count
    assert usual({"eta": Float(0.2, 1.0), "max_depth": Int(1, 9)}) == {"max_depth": 6}


def test_a_rate_says_by_its_range_of_which_training_it_is() -> None:
    """Near the low end of its range no rate is usual: who begins there has another training in mind."""
    batches = Int(8, 64, log=True)

    def rate(parameter: Any) -> Any:
        return usual({"lr": parameter, "batch_size": batches}).get("lr")

    assert rate(Float(1e-5, 1e-1, log=True)) == pytest.approx(1e-3)
    assert rate(Float(1e-6, 1e-4, log=True)) == pytest.approx(5e-5)  # fine-tuning
    assert rate(Float(1e-5, 1e-3, log=True)) == pytest.approx(5e-5)
    assert rate(Categorical([1e-5, 3e-5, 5e-5])) == 5e-5
    assert rate(Categorical([1e-4, 1e-3, 1e-2])) == 1e-3
    assert rate(Categorical(["slow", "fast"])) is None
    assert rate(Float(5e-4, 1e-1, log=True)) is None
    assert rate(Float(1e-4, 1e-3, log=True)) is None
    assert rate(Float(0.0, 1.0)) == pytest.approx(1e-3)


def test_constants_and_steps() -> None:
    space = {"learning_rate": Float(0.1, 0.1), "max_depth": Int(1, 9, step=2), "subsample": Float(0, 1, step=0.25)}
    assert usual(space) == {"max_depth": 5, "subsample": 0.75}
    assert usual_places(Space.of(space)) == ((0, 0.5), (1, 0.75))  # counted among those that are tuned


def test_the_first_run_is_there() -> None:
    first = Tuner(BOOSTED, price=0.001, score_range=(0, 1)).ask()
    assert first.params["learning_rate"] == pytest.approx(0.1 * math.sqrt(3.0))
    assert (first.params["max_depth"], first.params["subsample"]) == (6, pytest.approx(0.8))


def test_it_is_said_once() -> None:
    tuner = Tuner(BOOSTED, price=0.001, guess={"subsample": 0.9}, score_range=(0, 1), cost_range=(1, 50))
    first = tuner.ask()
    assert first.note == (
        "The first run starts from usual values of learning_rate and max_depth; "
        "expect_usual=False starts from the centre."
    )
    assert first.why.endswith(first.note)
    assert not tuner.ask().note
    assert not Tuner({"x": Float(0, 1)}, price=0.001, score_range=(0, 1), cost_range=(1, 50)).ask().note


def test_a_guess_is_worth_more_than_what_is_usual() -> None:
    hints = problem_of(BOOSTED, 0.001, guess={"learning_rate": 0.01}).stated.hints
    rate = BOOSTED["learning_rate"].to_unit(0.01)
    assert hints.guess == ((0, pytest.approx(rate)),)
    assert dict(hints.by_name) == pytest.approx({1: 0.4, 3: 0.6})
    first = Tuner(BOOSTED, price=0.001, guess={"learning_rate": 0.01}, score_range=(0, 1)).ask()
    assert (first.params["learning_rate"], first.params["max_depth"]) == (pytest.approx(0.01), 6)


def test_nothing_is_usual_where_that_is_said_or_a_prior_is_given() -> None:
    first = Tuner(BOOSTED, price=0.001, expect_usual=False).ask()
    other = Tuner({f"x{i}": p for i, p in enumerate(BOOSTED.values())}, price=0.001, expect_usual=False).ask()
    assert list(first.params.values()) == list(other.params.values())
    assert problem_of(BOOSTED, 0.001, expect_usual=False).stated.hints.by_name == ()
    assert problem_of(BOOSTED, 0.001, prior="paper").stated.hints.by_name == ()


def test_it_is_unlearned() -> None:
    """Where the opposite of what is usual is good, the runs go there."""
    space = {"learning_rate": Float(1e-4, 1, log=True), "momentum": Float(0.1, 0.99)}
    tuner = Tuner(space, price=0.002, score_range=(0, 1), max_runs=25)
    while isinstance(train := tuner.ask(), Train):
        far = np.array([np.log10(train.params["learning_rate"]) + 3.5, 2 * (train.params["momentum"] - 0.2)])
        tuner.tell(train, score=float(0.9 - 0.1 * far @ far), cost=1.0)
    assert tuner.best.params["learning_rate"] < 1.5e-3
    assert tuner.best.params["momentum"] < 0.5
