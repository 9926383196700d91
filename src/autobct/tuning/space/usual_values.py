"""Usual values of well-known hyperparameters, by name: the defaults of common libraries.

A name alone says little (`alpha` and `gamma` mean many things), so the names together first tell the kind of model.
Sizes that mostly make runs expensive (trees, rounds, units) are left to the surrogate, which weighs their cost.
docs/decisions/usual-values.md says what this is worth.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from autobct.tuning.space.parameter import Categorical, Float, Int, Parameter, tuned, tuned_names
from autobct.tuning.space.space import Space


@dataclass(frozen=True, slots=True)
class AtMost:
    """The centre of the range, which suits the scale of the user's data, but no more than a limit."""

    limit: float


Usual = float | str | tuple[str, ...] | AtMost
"""A number; 0 and inf for none and unlimited; a choice, by one of its names; or a limit."""

_RATES = frozenset({"learning_rate", "learning_rate_init", "lr", "eta", "eta0", "shrinkage", "step_size"})
_TREES = frozenset(
    {
        *("max_depth", "max_leaf_nodes", "num_leaves", "min_child_weight", "min_samples_leaf", "min_data_in_leaf"),
        *("min_child_samples", "min_node_size", "colsample_bytree", "colsample_bylevel", "feature_fraction"),
        *("l2_leaf_reg", "random_strength", "bagging_temperature"),
    }
)
_RPART = frozenset({"cp", "maxdepth", "minbucket", "minsplit"})
_FORESTS = frozenset({"n_estimators", "num_trees", "ntree", "max_features", "mtry", "sample_fraction", "max_samples"})
_NETWORKS = frozenset(
    {
        *("units", "n_units", "max_units", "hidden_size", "hidden_units", "hidden_dim", "width", "momentum"),
        *("layers", "n_layers", "num_layers", "dropout", "dropout_rate", "max_dropout", "batch_size", "weight_decay"),
    }
)
_DESCENT = frozenset({"l1_ratio", "eta0", "power_t"})
_MARGINS = frozenset({"c", "cost"})
_NUMBER = re.compile(r"_?\d+$")  # n_units_1

_INNER = 0.1  # how far from the end of its range a value is put that lies beyond it

_BOOSTED: Mapping[str, Usual] = {
    **dict.fromkeys(_RATES, 0.1),
    **dict.fromkeys(("max_depth", "depth"), 6),
    "random_strength": 1,
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
    **dict.fromkeys(("activation", "activation_fn"), "relu"),
    "optimizer": "adam",
}
_WITH_MOMENTUM: Mapping[str, Usual] = {**_NETWORK, **dict.fromkeys(_RATES, 1e-2)}
_TREE: Mapping[str, Usual] = {"cp": 0.01, "maxdepth": 30, "minbucket": 7, "minsplit": 20}
_VECTORS: Mapping[str, Usual] = {**dict.fromkeys(_MARGINS, 1.0), "gamma": AtMost(0.05), "kernel": ("rbf", "radial")}
_LINEAR: Mapping[str, Usual] = {"alpha": 1e-4, "l1_ratio": 0.15, "power_t": 0.5, **dict.fromkeys(_RATES, 1e-2)}


def usual_places(space: Space) -> tuple[tuple[int, float], ...]:
    """(parameter, place) of those with a usual value: the parameter's position among those tuned, and its coordinate
    in [0, 1] or the position of its choice."""
    pairs = zip(tuned_names(space.names, space.parameters), tuned(space.parameters), strict=True)
    known = _values_for({plain for name in space.names for plain in _plain(name)})
    found = ((which, _place(p, _plain(name), known)) for which, (name, p) in enumerate(pairs))
    return tuple((which, place) for which, place in found if place is not None)


def _plain(name: str) -> tuple[str, str]:
    """`clf__learning-rate` -> `learning_rate`, with and without a number at its end."""
    plain = name.rsplit("__", 1)[-1].lower().replace("-", "_").replace(".", "_")
    return plain, _NUMBER.sub("", plain)


def _values_for(names: Collection[str]) -> Mapping[str, Usual]:
    """The usual values of the kind of model that has these parameters; none if it is not known."""
    there = set(names)
    if there & _NETWORKS:
        return _WITH_MOMENTUM if "momentum" in there else _NETWORK
    if there & _TREES and there & _RATES:
        return _BOOSTED
    if there & _TREES and there & _FORESTS:
        return _FOREST
    if len(there & _RPART) > 1:
        return _TREE
    if there & _MARGINS and "gamma" in there:
        return _VECTORS
    return _LINEAR if "alpha" in there and there & _DESCENT else {}


def _place(parameter: Parameter, names: tuple[str, str], known: Mapping[str, Usual]) -> float | None:
    """Where the usual value lies in a parameter's range; None if it has none, or does not lie there.

    A rate beyond its range is of another kind of training; of other values what is nearest is still a good place.
    """
    name = next((name for name in names if name in known), "")
    if not name:
        return None
    usual = known[name]
    if isinstance(parameter, Categorical):
        return None if isinstance(usual, AtMost) else _choice(parameter, usual)
    if isinstance(usual, AtMost):
        limit = _in_range(parameter, name, usual.limit)
        return limit if limit is not None and limit < 0.5 else None
    if isinstance(usual, str | tuple):
        return None
    return _in_range(parameter, name, usual)


def _in_range(parameter: Float | Int, name: str, value: float) -> float | None:
    """The coordinate of a value, near the end of the range that it is beyond."""
    if parameter.low <= value <= parameter.high:
        return _coordinate(parameter, value)
    if name in _RATES:
        return None
    if math.isinf(value):
        return 1.0
    return _INNER if value < parameter.low else 1.0 - _INNER


def _choice(parameter: Categorical, usual: float | str | tuple[str, ...]) -> float | None:
    """The position of the choice that has this name, or is this number."""
    wanted = usual if isinstance(usual, tuple) else (usual,)
    for position, choice in enumerate(parameter.choices):
        plain = isinstance(choice, str | int | float) and not isinstance(choice, bool)
        if plain and (choice.lower() if isinstance(choice, str) else choice) in wanted:
            return float(position)
    return None


def _coordinate(parameter: Float | Int, value: float) -> float:
    """Of the nearest value that the parameter can have."""
    if parameter.step is not None and parameter.count is not None:
        value = parameter.value(min(round((value - parameter.low) / parameter.step), parameter.count - 1))
    return parameter.to_unit(value)  # type: ignore[arg-type]  # a whole number where it has to be one
