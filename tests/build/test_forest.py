"""A forest in NumPy against scikit-learn's, and arrays that are no forest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autobct.build.forests.forest import MAX_DEPTH, Forest


def small() -> dict[str, np.ndarray]:
    """Two trees: one split on feature 0 at 0.5, then on feature 1; and a single leaf."""
    return {
        "f.feature": np.array([0, -1, 1, -1, -1, -1], np.int32),
        "f.threshold": np.array([0.5, 0, 0.25, 0, 0, 0], np.float32),
        "f.left": np.array([1, -1, 3, -1, -1, -1], np.int32),
        "f.right": np.array([2, -1, 4, -1, -1, -1], np.int32),
        "f.value": np.array([0, 1, 0, 2, 4, 10], np.float32),
        "f.roots": np.array([0, 5], np.int32),
        "f.inputs": np.array(2, np.int32),
    }


def fitted(**settings: Any) -> Any:
    ensemble = pytest.importorskip("sklearn.ensemble")
    rng = np.random.default_rng(0)
    features = rng.standard_normal((400, 6))
    values = features[:, 0] * features[:, 1] + np.sin(features[:, 2])
    return ensemble.RandomForestRegressor(20, random_state=0, **settings).fit(features, values)


def forest_of(estimator: Any) -> Forest:
    return Forest.of([tree.tree_ for tree in estimator.estimators_], inputs=estimator.n_features_in_)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_depth": 3},
        {"max_leaf_nodes": 12},
        {"min_samples_leaf": 10},
        {"max_depth": 1},
        {"min_samples_leaf": 400},
    ],
    ids=str,
)
def test_it_predicts_what_scikit_learn_predicts(settings: dict[str, Any]) -> None:
    estimator = fitted(**settings)
    features = np.random.default_rng(1).standard_normal((3000, 6))
    np.testing.assert_allclose(forest_of(estimator)(features), estimator.predict(features), atol=1e-6)


def test_features_on_a_threshold_go_the_same_way_as_in_scikit_learn() -> None:
    """Rounded down, a float32 threshold parts float32 features exactly as the float64 one does."""
    estimator = fitted()
    thresholds = np.concatenate([tree.tree_.threshold[tree.tree_.feature >= 0] for tree in estimator.estimators_])
    near = thresholds.astype(np.float32)
    around = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    features = np.repeat(np.concatenate(around)[:, None], 6, axis=1)
    np.testing.assert_allclose(forest_of(estimator)(features), estimator.predict(features), atol=1e-6)


def test_a_small_forest_by_hand() -> None:
    forest = Forest.from_tensors(small(), "f")
    features = np.array([[0.5, 0.0], [0.6, 0.25], [0.6, 0.3]])
    np.testing.assert_array_equal(forest(features), [(1 + 10) / 2, (2 + 10) / 2, (4 + 10) / 2])


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0,), (2, 0, 3)])
def test_batch_axes_stay(shape: tuple[int, ...]) -> None:
    values = Forest.from_tensors(small(), "f")(np.zeros((*shape, 2)))
    assert values.shape == shape
    assert values.dtype == np.float64


def test_many_rows_are_the_same_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = forest_of(fitted())
    features = np.random.default_rng(2).standard_normal((50, 6))
    whole = forest(features)
    monkeypatch.setattr("autobct.build.forests.forest._PAIRS", 1)
    np.testing.assert_array_equal(forest(features), whole)


def test_a_file_gives_the_same_forest() -> None:
    forest = forest_of(fitted(max_depth=4))
    tensors = forest.to_tensors("v1") | Forest.from_tensors(small(), "f").to_tensors("v10")
    again = Forest.from_tensors(tensors, "v1")
    features = np.random.default_rng(3).standard_normal((50, 6))
    np.testing.assert_array_equal(again(features), forest(features))
    assert again.inputs == 6


def put(name: str, index: int, number: float) -> Callable[[dict[str, np.ndarray]], None]:
    def change(tensors: dict[str, np.ndarray]) -> None:
        tensors[f"f.{name}"][index] = number

    return change


def replaced(name: str, array: np.ndarray) -> Callable[[dict[str, np.ndarray]], None]:
    return lambda tensors: tensors.update({f"f.{name}": array})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.pop("f.left"), "needs tensors"),
        (lambda t: t.update({"f.more": t["f.left"]}), "needs tensors"),
        (put("left", 0, 0), "after its parent"),  # a loop of one
        (put("right", 2, 0), "after its parent"),  # a loop of two
        (put("right", 2, 6), "before 6"),
        (put("left", 2, -1), "after its parent"),
        (put("right", 1, 3), "a leaf"),
        (put("left", 1, -2), "a leaf"),
        (put("right", 0, 3), "only one"),  # two parents for 3, none for 2
        (put("roots", 1, 0), "only one"),
        (put("roots", 1, 6), "roots"),
        (put("roots", 0, -1), "roots"),
        (put("feature", 0, 2), "0 to 1"),
        (put("feature", 0, -2), "-1 at a leaf"),
        (put("threshold", 0, np.nan), "finite"),
        (put("value", 5, np.inf), "finite"),
        (replaced("roots", np.array([], np.int32)), "roots"),
        (replaced("value", np.zeros(5, np.float32)), "value"),
        (replaced("value", np.zeros((6, 1), np.float32)), "value"),
        (replaced("value", np.zeros(6)), "float32"),
        (replaced("left", np.zeros(6, np.int64)), "int32"),
        (replaced("inputs", np.array([2], np.int32)), "one int32"),
        (replaced("inputs", np.array(2.0, np.float32)), "one int32"),
        (replaced("inputs", np.array(0, np.int32)), "feature"),
        (replaced("inputs", np.array(1, np.int32)), "feature"),
    ],
)
def test_arrays_that_are_no_forest_are_refused(change: Callable[[dict[str, np.ndarray]], None], says: str) -> None:
    tensors = small()
    change(tensors)
    with pytest.raises(ValueError, match=says):
        Forest.from_tensors(tensors, "f")


def chain(depth: int) -> dict[str, np.ndarray]:
    """One tree: at each of `depth` levels a leaf to the left and the rest to the right."""
    nodes = 2 * depth + 1
    split = np.arange(nodes) % 2 == 0
    split[-1] = False
    own = np.arange(nodes)
    return {
        "f.feature": np.where(split, 0, -1).astype(np.int32),
        "f.threshold": np.zeros(nodes, np.float32),
        "f.left": np.where(split, own + 1, -1).astype(np.int32),
        "f.right": np.where(split, own + 2, -1).astype(np.int32),
        "f.value": own.astype(np.float32),
        "f.roots": np.array([0], np.int32),
        "f.inputs": np.array(1, np.int32),
    }


def test_a_very_deep_tree_is_refused_before_anyone_walks_it() -> None:
    deepest = Forest.from_tensors(chain(MAX_DEPTH), "f")
    np.testing.assert_array_equal(deepest([[-1.0], [1.0]]), [1, 2 * MAX_DEPTH])
    with pytest.raises(ValueError, match="levels deep"):
        Forest.from_tensors(chain(MAX_DEPTH + 1), "f")


def test_a_forest_without_trees_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one tree"):
        Forest.of([], inputs=2)


def test_features_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="features must have 2"):
        Forest.from_tensors(small(), "f")(np.zeros((3, 1)))
