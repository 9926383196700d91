"""Kinds of models, which the names of their parameters tell, and the usual values of these: those of common libraries.

A name alone says little (`alpha` and `gamma` mean many things), so the names together first tell the kind of model.
Sizes that mostly make runs expensive (trees, rounds, units) are left to the surrogate, which weighs their cost.
docs/decisions/usual-values.md says what this is worth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AtMost:
    """The centre of the range, which suits the scale of the user's data, but no more than a limit."""

    limit: float


Usual = float | str | tuple[float, str] | AtMost
"""A number (a whole one is a count), inf for unlimited; choices, the best first; a number or choices; or a limit."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of models.

    signs:  sets of names, of each of which one is among a model's parameters
    values: usual values by name;  steps: for so many rounds or epochs, if it is trained in those
    fine_tuned: values where the rate says that the model was trained before
    """

    signs: tuple[Set[str], ...]
    values: Mapping[str, Usual]
    steps: int | None = None
    fine_tuned: Mapping[str, Usual] | None = None


def _names(text: str) -> frozenset[str]:
    return frozenset(text.replace("_", "").lower().split())


def _table(rows: Mapping[str, Usual]) -> Mapping[str, Usual]:
    """All spellings of a parameter in one row."""
    return {name: usual for spellings, usual in rows.items() for name in _names(spellings)}


_RATE = """learning_rate learning_rate_init lr eta eta0 shrinkage step_size learn_rate init_lr lr_init initial_lr
    lr_initial base_lr lr0 initial_learning_rate init_learning_rate base_learning_rate"""
RATES = _names(_RATE)
_ROUNDS = _names("nrounds n_rounds num_round num_boost_round num_iterations iterations n_estimators n_trees ntrees")
LENGTHS = _ROUNDS | _names("max_iter epochs n_epochs num_epochs max_epochs")
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
FEATURES = _names("max_features mtry mtry_ratio")
_INNER_DROPOUT = "attention_dropout attention_probs_dropout_prob ffn_dropout hidden_dropout hidden_dropout_prob"
_NETWORKS = _names(
    """n_units max_units hidden_size hidden_units hidden_dim hidden_layer_sizes n_layers num_layers n_blocks d_model
    n_heads num_heads d_embedding embedding_dim dropout dropout_rate dropout_prob max_dropout batch_size
    train_batch_size per_device_train_batch_size weight_decay momentum opt_momentum one_minus_momentum beta1 beta_1
    adam_beta1 adam_epsilon warmup_ratio warmup_steps label_smoothing num_train_epochs lora_r lora_alpha
    learning_rate_init """
    + _INNER_DROPOUT
)
_LAYERS = _names("units layers width bs wd epochs n_epochs num_epochs")  # of a network if it is trained like one
_TRAINED = RATES | _names("optimizer activation activation_fn")
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
        "dropout dropout_rate dropout_prob max_dropout": 0.2,
        _INNER_DROPOUT: 0.2,
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
    **_table({_RATE: 5e-5, "weight_decay wd": 0.01, "dropout dropout_rate dropout_prob": 0.1, _INNER_DROPOUT: 0.1}),
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

KINDS: tuple[Kind, ...] = (
    Kind((_POLICIES, RATES | _names("gamma")), _POLICY),
    Kind((_NETWORKS, _MOMENTUM), _WITH_MOMENTUM, steps=100),
    Kind((_NETWORKS,), _NETWORK, steps=100, fine_tuned=_FINE_TUNED),
    Kind((_LAYERS, _TRAINED), _NETWORK, steps=100, fine_tuned=_FINE_TUNED),
    Kind((_LIGHT, RATES | _BOOSTING - _LIGHT), _LIGHTGBM, steps=300),
    Kind((_TREES | _BOOSTING | _ROUNDS, RATES), _BOOSTED, steps=300),
    Kind((_BOOSTING, _TREES | _ROUNDS | _names("subsample")), _BOOSTED, steps=300),
    Kind((_ROUNDS, _names("lambda"), _names("alpha gamma subsample")), _BOOSTED, steps=300),
    Kind((_TREES, _FORESTS), _FOREST),
    Kind((FEATURES | _names("mtry_power"), _FORESTS - FEATURES - _names("mtry_power")), _FOREST),
    Kind((_names("cp cost_complexity"), _names("max_depth tree_depth minbucket minsplit")), _TREE),
    Kind((_names("minbucket min_samples_leaf"), _names("minsplit min_samples_split")), _TREE),
    Kind(
        (_names("length_scale lengthscale"), _names("nu noise noise_level alpha constant_value outputscale")), _PROCESS
    ),
    Kind((_names("c cost"), _KERNELS), _VECTORS),
    Kind((_names("nu"), _names("kernel")), _VECTORS),
    Kind((_names("c"), _SOLVERS), _LOGISTIC),
    Kind((_names("alpha"), _names("kernel")), _KERNEL_RIDGE),
    Kind((_names("alpha"), _names("s lambda")), _PENALISED),
    Kind((_names("penalty"), _names("mixture")), _PENALISED),
    Kind((_names("alpha"), _names("fit_prior solver")), _SMOOTHED),
    Kind((_names("changepoint_prior_scale"),), _SEASONS),
)
"""Of those whose signs are there, the first counts."""


def kind_of(names: Set[str]) -> Kind:
    """The kind of model that has these parameters; one without usual values if it is not known."""
    return next((kind for kind in KINDS if all(names & sign for sign in kind.signs)), Kind((), {}))
