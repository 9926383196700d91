"""Usual values of well-known hyperparameters, by name: the defaults of common libraries.

A name alone says little (`alpha` and `gamma` mean many things), so the names together first tell the kind of model.
Sizes that mostly make runs expensive (trees, rounds, units) are left to the surrogate, which weighs their cost.
docs/decisions/usual-values.md says what this is worth.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass

from autobct.tuning.space.parameter import Categorical, Float, Int, Parameter, tuned, tuned_names
from autobct.tuning.space.space import Space


@dataclass(frozen=True, slots=True)
class AtMost:
    """The centre of the range, which suits the scale of the user's data, but no more than a limit."""

    limit: float


Usual = float | str | tuple[float, str] | AtMost
"""A number (a whole one is a count), inf for unlimited; choices, the best first; a number or choices; or a limit."""

_PATH = re.compile(r"__|[./]")
_NUMBER = re.compile(r"_?\d+$")  # n_units_1

_INNER = 0.1  # how far from the end of its range a value is put that lies beyond it
_LOWEST = 0.2  # of a logarithmic range of rates: below it, a rate is of another kind of training
_FINE = 1e-3  # no rate above it: a trained network is trained further
_ALIKE = 2.0  # among choices a number counts as the usual one up to this ratio
_LONGER, _SHORTER = 0.25, 2.0  # bounds of what many or few rounds or epochs change in a usual rate


def _names(text: str) -> frozenset[str]:
    return frozenset(text.replace("_", "").lower().split())


def _table(rows: Mapping[str, Usual]) -> Mapping[str, Usual]:
    """All spellings of a parameter in one row."""
    return {name: usual for spellings, usual in rows.items() for name in _names(spellings)}


_RATE = """learning_rate learning_rate_init lr eta eta0 shrinkage step_size learn_rate init_lr lr_init initial_lr
    lr_initial base_lr lr0 initial_learning_rate init_learning_rate base_learning_rate"""
_RATES = _names(_RATE)
_ROUNDS = _names("nrounds n_rounds num_round num_boost_round num_iterations iterations n_estimators n_trees ntrees")
_LENGTHS = _ROUNDS | _names("max_iter epochs n_epochs num_epochs max_epochs")
_TREES = _names(
    """max_depth tree_depth interaction_depth max_leaf_nodes num_leaves max_leaves min_samples_leaf min_samples_split
    min_node_size nodesize n_minobsinnode min_rows"""
)
_LIGHT = _names("num_leaves min_child_samples min_data_in_leaf bagging_freq subsample_freq lambda_l1 lambda_l2")
_BOOSTING = _LIGHT | _names(
    """min_child_weight colsample_bytree colsample_bylevel colsample_bynode feature_fraction bagging_fraction
    l2_leaf_reg random_strength bagging_temperature min_split_gain min_gain_to_split min_sum_hessian_in_leaf
    reg_lambda reg_alpha l2_regularization booster"""
)
_FORESTS = _names(
    "n_estimators num_trees ntree ntrees max_features mtry mtry_power mtry_ratio sample_fraction max_samples bootstrap"
)
_FEATURES = _names("max_features mtry mtry_ratio")
_NETWORKS = _names(
    """n_units max_units hidden_size hidden_units hidden_dim hidden_layer_sizes n_layers num_layers n_blocks d_model
    n_heads num_heads d_embedding embedding_dim dropout dropout_rate max_dropout attention_dropout hidden_dropout
    batch_size train_batch_size per_device_train_batch_size weight_decay momentum opt_momentum one_minus_momentum
    adam_beta1 adam_epsilon warmup_ratio warmup_steps label_smoothing num_train_epochs lora_r lora_alpha
    learning_rate_init"""
)
_LAYERS = _names("units layers width bs wd epochs n_epochs num_epochs")  # of a network if it is trained like one
_TRAINED = _RATES | _names("optimizer activation activation_fn")
_MOMENTUM = _names("momentum opt_momentum one_minus_momentum")
_POLICIES = _names("gae_lambda clip_range ent_coef vf_coef buffer_size target_update_interval exploration_fraction")
_KERNELS = _names("gamma kernel degree coef0 shrinking epsilon")
_SOLVERS = _names("penalty solver l1_ratio class_weight max_iter tol loss dual fit_intercept intercept_scaling")

_BOOSTED = _table(
    {
        _RATE: 0.1,
        "max_depth depth tree_depth": 6,
        "max_leaf_nodes num_leaves max_leaves": 31,
        "min_samples_leaf min_data_in_leaf min_child_samples": 20,
        "min_rows n_minobsinnode": 10,
        "min_child_weight scale_pos_weight lambda reg_lambda random_strength bagging_temperature": 1.0,
        "l2_leaf_reg": 3.0,
        "bagging_freq subsample_freq": 1,
        "subsample bagging_fraction sample_rate colsample_bytree colsample_bylevel colsample_bynode rsm": 0.8,
        "feature_fraction feature_fraction_bynode col_sample_rate": 0.8,
        "gamma min_split_loss min_gain_to_split min_split_gain loss_reduction alpha reg_alpha lambda_l1": 0.0,
        "l2_regularization lambda_l2 max_delta_step rate_drop": 0.0,
        "skip_drop": 0.5,
        "max_bin border_count": 255,
        "booster boosting_type boosting": "gbtree gbdt",
        "grow_policy": "depthwise symmetrictree",
    }
)
_LIGHTGBM = {**_BOOSTED, **_table({"reg_lambda lambda": 0.0, "min_child_weight min_sum_hessian_in_leaf": 1e-3})}
_FOREST = _table(
    {
        "max_depth max_leaf_nodes": math.inf,
        "max_features mtry mtry_ratio": (0.3, "sqrt"),
        "mtry_power": 0.5,
        "min_samples_leaf min_node_size nodesize": 1,
        "min_samples_split": 2,
        "splitrule criterion": "gini variance squared_error",
        "bootstrap replace": "true",
        "respect_unordered_factors": "ignore",
    }
)
_TREE = _table(
    {
        "cp cost_complexity": 0.01,
        "max_depth tree_depth": 30,
        "minbucket min_samples_leaf": 7,
        "minsplit min_samples_split": 20,
        "criterion": "gini squared_error",
    }
)
_NETWORK = _table(
    {
        _RATE: 1e-3,
        "batch_size bs train_batch_size per_device_train_batch_size": 64,
        "weight_decay wd l2 alpha": 1e-4,
        "dropout dropout_rate max_dropout attention_dropout ffn_dropout hidden_dropout": 0.2,
        "momentum opt_momentum beta1 beta_1 adam_beta1": 0.9,
        "one_minus_momentum warmup_ratio": 0.1,
        "beta2 beta_2 adam_beta2": 0.999,
        "adam_epsilon adam_eps": 1e-8,
        "max_grad_norm grad_clip gradient_clip_val clipnorm": 1.0,
        "scheduler schedule lr_schedule lr_scheduler lr_scheduler_type": "cosine cosine_annealing cosineannealinglr",
        "activation activation_fn": "relu gelu",
        "optimizer opt solver": "adamw adam",
    }
)
_WITH_MOMENTUM = {**_NETWORK, **_table({_RATE: 0.03})}
_FINE_TUNED = {
    **_NETWORK,
    **_table({_RATE: 5e-5, "weight_decay wd": 0.01, "dropout attention_dropout hidden_dropout": 0.1}),
}
_POLICY = _table(
    {
        _RATE: 3e-4,
        "gamma": 0.99,
        "gae_lambda": 0.95,
        "clip_range": 0.2,
        "tau": 0.005,
        "vf_coef max_grad_norm": 0.5,
        "batch_size": 64,
    }
)
_VECTORS = _table(
    {
        "c cost": 1.0,
        "gamma": AtMost(0.05),
        "kernel": "rbf radial",
        "degree": 3,
        "coef0": 0.0,
        "tol tolerance": 1e-3,
        "epsilon": 0.1,
        "nu": 0.5,
        "shrinking": "true",
    }
)
_LOGISTIC = _table({"c": 1.0, "penalty": "l2", "fit_intercept": "true"})
_PROCESS = _table({"length_scale lengthscale constant_value outputscale": 1.0, "nu": 2.5})
_KERNEL_RIDGE = _table({"alpha": 1.0, "gamma": AtMost(0.05), "kernel": "rbf", "degree": 3, "coef0": 1.0})
_SMOOTHED = _table({"alpha": 1.0, "fit_prior fit_intercept": "true"})
_PENALISED = _table({"alpha mixture": 1.0, "s lambda penalty": 0.01})
_SEASONS = _table(
    {
        "changepoint_prior_scale": 0.05,
        "seasonality_prior_scale holidays_prior_scale": 10.0,
        "changepoint_range": 0.8,
        "seasonality_mode": "additive",
    }
)

_KINDS: tuple[tuple[tuple[Set[str], ...], Mapping[str, Usual]], ...] = (
    ((_POLICIES, _RATES | _names("gamma")), _POLICY),
    ((_NETWORKS, _MOMENTUM), _WITH_MOMENTUM),
    ((_NETWORKS,), _NETWORK),
    ((_LAYERS, _TRAINED), _NETWORK),
    ((_LIGHT, _RATES | _BOOSTING - _LIGHT), _LIGHTGBM),
    ((_TREES | _BOOSTING | _ROUNDS, _RATES), _BOOSTED),
    ((_BOOSTING, _TREES | _ROUNDS | _names("subsample")), _BOOSTED),
    ((_ROUNDS, _names("lambda"), _names("alpha gamma subsample")), _BOOSTED),
    ((_TREES, _FORESTS), _FOREST),
    ((_FEATURES | _names("mtry_power"), _FORESTS - _FEATURES - _names("mtry_power")), _FOREST),
    ((_names("cp cost_complexity"), _names("max_depth tree_depth minbucket minsplit")), _TREE),
    ((_names("minbucket min_samples_leaf"), _names("minsplit min_samples_split")), _TREE),
    ((_names("length_scale lengthscale"), _names("nu noise noise_level alpha constant_value outputscale")), _PROCESS),
    ((_names("c cost"), _KERNELS), _VECTORS),
    ((_names("nu"), _names("kernel")), _VECTORS),
    ((_names("c"), _SOLVERS), _LOGISTIC),
    ((_names("alpha"), _names("kernel")), _KERNEL_RIDGE),
    ((_names("alpha"), _names("s lambda")), _PENALISED),
    ((_names("penalty"), _names("mixture")), _PENALISED),
    ((_names("alpha"), _names("fit_prior solver")), _SMOOTHED),
    ((_names("changepoint_prior_scale"),), _SEASONS),
)
"""Kinds of models: of each of these sets of names one is there.  The first that fits counts."""

_IN_STEPS = ((_BOOSTED, 300), (_LIGHTGBM, 300), (_NETWORK, 100), (_WITH_MOMENTUM, 100))
"""Kinds trained in rounds or epochs, and for how many of these their usual rate is."""


def usual_places(space: Space) -> tuple[tuple[int, float], ...]:
    """(parameter, place) of those with a usual value: the parameter's position among those tuned, and its coordinate
    in [0, 1] or the position of its choice."""
    all_names = {plain for name in space.names for plain in _plain(name)}
    pairs = list(zip(tuned_names(space.names, space.parameters), tuned(space.parameters), strict=True))
    known = _values_for(all_names)
    if known is _NETWORK and any(_fine_tuned(p, _plain(name)) for name, p in pairs):
        known = _FINE_TUNED
    steps = next((steps for kind, steps in _IN_STEPS if known is kind), None)
    if steps is not None and (length := _length(space)) is not None:
        known = _slowed(known, length / steps)
    found = ((which, _place(p, _plain(name), known)) for which, (name, p) in enumerate(pairs))
    return tuple((which, place) for which, place in found if place is not None)


def _slowed(known: Mapping[str, Usual], longer: float) -> Mapping[str, Usual]:
    """With a rate for a training so many times as long: the smaller, as a square root."""
    change = min(max(1.0 / math.sqrt(longer), _LONGER), _SHORTER)
    return {name: usual * change if name in _RATES else usual for name, usual in known.items()}  # type: ignore[operator]


def _length(space: Space) -> float | None:
    """The middle of the range of rounds or epochs; None where they are no parameter."""
    for name, parameter in zip(space.names, space.parameters, strict=True):
        if isinstance(parameter, Int) and not _LENGTHS.isdisjoint(_plain(name)):
            return math.sqrt(parameter.low * parameter.high) if parameter.log else (parameter.low + parameter.high) / 2
    return None


def _plain(name: str) -> tuple[str, ...]:
    """`clf__Learning-Rate` -> `clflearningrate`, `learningrate`: without what it belongs to, without a number."""
    parts = [part for part in _PATH.split(name.lower().replace("-", "_")) if part]
    whole = ["_".join(parts[start:]) for start in range(len(parts))]
    return tuple(plain.replace("_", "") for text in whole for plain in (text, _NUMBER.sub("", text)))


def _fine_tuned(parameter: Parameter, names: tuple[str, ...]) -> bool:
    """Whether it is a rate that is always as small as for a network that was trained before."""
    if _RATES.isdisjoint(names):
        return False
    if not isinstance(parameter, Categorical):
        return parameter.high <= _FINE
    return all(isinstance(choice, float) and choice <= _FINE for choice in parameter.choices)


def _values_for(names: Set[str]) -> Mapping[str, Usual]:
    """The usual values of the kind of model that has these parameters; none if it is not known."""
    kinds = (values for signs, values in _KINDS if all(names & sign for sign in signs))
    return next(kinds, {})


def _place(parameter: Parameter, names: tuple[str, ...], known: Mapping[str, Usual]) -> float | None:
    """Where the usual value lies in a parameter's range; None if it has none, or does not lie there.

    A rate beyond its range is of another kind of training, a count of a fraction is in other units; of other values
    what is nearest is still a good place.
    """
    name = next((name for name in names if name in known), "")
    usual = known.get(name)
    number, choices = usual if isinstance(usual, tuple) else (usual, usual)
    if isinstance(parameter, Categorical):
        return _choice(parameter, choices)
    if isinstance(number, AtMost):
        limit = _in_range(parameter, name, number.limit)
        return limit if limit is not None and limit < 0.5 else None
    if number is None or isinstance(number, str):
        return None
    share = isinstance(parameter, Int) and name in _FEATURES
    return _in_range(parameter, name, number * parameter.high if share else number)


def _in_range(parameter: Float | Int, name: str, value: float) -> float | None:
    """The coordinate of a value, near the end of the range that it is beyond."""
    if isinstance(value, int) and isinstance(parameter, Float) and parameter.high <= 1.0:
        return None
    if name in _RATES and not _fits(parameter, value):
        return None
    if parameter.low <= value <= parameter.high:
        return _coordinate(parameter, value)
    if math.isinf(value):
        return 1.0
    return _INNER if value < parameter.low else 1.0 - _INNER


def _fits(parameter: Float | Int, rate: float) -> bool:
    """Neither beyond the range nor, where that is logarithmic, close to its low end."""
    if not parameter.low <= rate <= parameter.high:
        return False
    return not parameter.log or parameter.to_unit(rate) >= _LOWEST  # type: ignore[arg-type]


def _choice(parameter: Categorical, usual: Usual | None) -> float | None:
    """The position of the choice that has one of these names, the first first, or comes close to this number."""
    if isinstance(usual, str):
        named = [str(choice) if isinstance(choice, str | bool) else "" for choice in parameter.choices]
        plain = [text.lower().replace("_", "") for text in named]
        return next((float(plain.index(name)) for name in usual.replace("_", "").split() if name in plain), None)
    if not isinstance(usual, int | float):
        return None
    away = [_ratio(choice, usual) for choice in parameter.choices]
    nearest = min(range(len(away)), key=away.__getitem__)
    return float(nearest) if away[nearest] <= _ALIKE else None


def _ratio(choice: object, usual: float) -> float:
    """How many times as large as the other the larger one is; inf where that says nothing."""
    if isinstance(choice, bool) or not isinstance(choice, int | float):
        return math.inf
    if choice == usual:
        return 1.0
    return max(choice / usual, usual / choice) if min(choice, usual) > 0 else math.inf


def _coordinate(parameter: Float | Int, value: float) -> float:
    """Of the nearest value that the parameter can have."""
    if parameter.step is not None and parameter.count is not None:
        value = parameter.value(min(round((value - parameter.low) / parameter.step), parameter.count - 1))
    return parameter.to_unit(value)  # type: ignore[arg-type]  # a whole number where it has to be one
