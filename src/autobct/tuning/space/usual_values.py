"""Usual values of well-known hyperparameters, by name: the defaults of common libraries.

A name alone says little (`alpha` and `gamma` mean many things), so the names together first tell the kind of model.
Sizes that mostly make runs expensive (trees, rounds, units) are left to the surrogate, which weighs their cost, and so
are models whose usual values depend on the scale of the data, as support vector machines.
docs/decisions/usual-values.md says what this is worth.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from autobct.tuning.space.parameter import Categorical, Float, Int, Parameter, tuned, tuned_names
from autobct.tuning.space.space import Space

Usual = float | str
"""A number; 0 and inf for none and unlimited; or a choice."""

_RATES = frozenset({"learning_rate", "learning_rate_init", "lr", "eta", "eta0", "shrinkage", "step_size"})
_TREES = frozenset(
    {
        *("max_depth", "max_leaf_nodes", "num_leaves", "min_child_weight", "min_samples_leaf", "min_data_in_leaf"),
        *("min_child_samples", "min_node_size", "colsample_bytree", "colsample_bylevel", "feature_fraction"),
    }
)
_FORESTS = frozenset({"n_estimators", "num_trees", "ntree", "max_features", "mtry", "sample_fraction", "max_samples"})
_NETWORKS = frozenset(
    {
        *("units", "n_units", "max_units", "hidden_size", "hidden_units", "hidden_dim", "width", "momentum"),
        *("layers", "n_layers", "num_layers", "dropout", "dropout_rate", "max_dropout", "batch_size", "weight_decay"),
    }
)
_DESCENT = frozenset({"l1_ratio", "eta0", "power_t"})

_INNER = 0.1  # how far from the end of its range a value is put that lies beyond it

_BOOSTED: Mapping[str, Usual] = {
    **dict.fromkeys(_RATES, 0.1),
    "max_depth": 6,
    **dict.fromkeys(("max_leaf_nodes", "num_leaves"), 31),
    "min_child_weight": 1,
    **dict.fromkeys(("min_samples_leaf", "min_data_in_leaf", "min_child_samples"), 20),
    **dict.fromkeys(
        ("subsample", "bagging_fraction", "colsample_bytree", "colsample_bylevel", "feature_fraction"), 0.8
    ),
    **dict.fromkeys(("gamma", "min_split_loss", "min_gain_to_split", "alpha", "reg_alpha", "lambda_l1"), 0.0),
    **dict.fromkeys(("l2_regularization", "lambda_l2"), 0.0),
    **dict.fromkeys(("lambda", "reg_lambda", "l2_leaf_reg"), 1.0),
    "booster": "gbtree",
}
_FOREST: Mapping[str, Usual] = {
    "max_depth": math.inf,
    "max_features": 0.3,
    **dict.fromkeys(("min_samples_leaf", "min_node_size"), 1),
    "min_samples_split": 2,
}
_NETWORK: Mapping[str, Usual] = {
    **dict.fromkeys(_RATES, 1e-3),
    "batch_size": 64,
    **dict.fromkeys(("weight_decay", "alpha"), 1e-4),
    **dict.fromkeys(("dropout", "dropout_rate", "max_dropout"), 0.2),
    "momentum": 0.9,
    "activation": "relu",
    "optimizer": "adam",
}
_WITH_MOMENTUM: Mapping[str, Usual] = {**_NETWORK, **dict.fromkeys(_RATES, 1e-2)}
_LINEAR: Mapping[str, Usual] = {"alpha": 1e-4, "l1_ratio": 0.15, "power_t": 0.5, **dict.fromkeys(_RATES, 1e-2)}


def usual_places(space: Space) -> tuple[tuple[int, float], ...]:
    """(parameter, place) of those with a usual value: the parameter's position among those tuned, and its coordinate
    in [0, 1] or the position of its choice."""
    pairs = zip(tuned_names(space.names, space.parameters), tuned(space.parameters), strict=True)
    known = _values_for({_plain(name) for name in space.names})
    found = ((which, _place(p, _plain(name), known.get(_plain(name)))) for which, (name, p) in enumerate(pairs))
    return tuple((which, place) for which, place in found if place is not None)


def _plain(name: str) -> str:
    """`clf__learning-rate` -> `learning_rate`."""
    return name.rsplit("__", 1)[-1].lower().replace("-", "_").replace(".", "_")


def _values_for(names: Collection[str]) -> Mapping[str, Usual]:
    """The usual values of the kind of model that has these parameters; none if it is not known."""
    there = set(names)
    if there & _NETWORKS:
        return _WITH_MOMENTUM if "momentum" in there else _NETWORK
    if there & _TREES and there & _RATES:
        return _BOOSTED
    if there & _TREES and there & _FORESTS:
        return _FOREST
    return _LINEAR if "alpha" in there and there & _DESCENT else {}


def _place(parameter: Parameter, name: str, usual: Usual | None) -> float | None:
    """Where the usual value lies in a parameter's range; None if it has none, or does not lie there.

    A rate beyond its range is of another kind of training; of other values what is nearest is still a good place.
    """
    if usual is None:
        return None
    if isinstance(parameter, Categorical):
        return _choice(parameter, usual)
    if isinstance(usual, str):
        return None
    if parameter.low <= usual <= parameter.high:
        return _coordinate(parameter, usual)
    if name in _RATES:
        return None
    if math.isinf(usual):
        return 1.0
    return _INNER if usual < parameter.low else 1.0 - _INNER


def _choice(parameter: Categorical, usual: Usual) -> float | None:
    """The position of the choice that has this name, or is this number."""
    for position, choice in enumerate(parameter.choices):
        plain = isinstance(choice, str | int | float) and not isinstance(choice, bool)
        if plain and (choice.lower() if isinstance(choice, str) else choice) == usual:
            return float(position)
    return None


def _coordinate(parameter: Float | Int, value: float) -> float:
    """Of the nearest value that the parameter can have."""
    if parameter.step is not None and parameter.count is not None:
        value = parameter.value(min(round((value - parameter.low) / parameter.step), parameter.count - 1))
    return parameter.to_unit(value)  # type: ignore[arg-type]  # a whole number where it has to be one
