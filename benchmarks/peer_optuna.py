"""Optuna's samplers as a peer: settings {"sampler": name, ...options of it}; trained to the cap."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import optuna
from peer_pipe import serve


def distribution(parameter: Mapping[str, Any]) -> optuna.distributions.BaseDistribution:
    if parameter["kind"] == "choice":
        return optuna.distributions.CategoricalDistribution(parameter["choices"])
    kind = (
        optuna.distributions.IntDistribution if parameter["kind"] == "int" else optuna.distributions.FloatDistribution
    )
    return kind(parameter["low"], parameter["high"], log=parameter["log"])


def play(question: dict[str, Any], train: Callable[[Mapping[str, Any]], tuple[float, float]]) -> int:
    settings = dict(question["settings"])
    sampler = getattr(optuna.samplers, settings.pop("sampler"))(seed=question["seed"], **settings)
    study = optuna.create_study(sampler=sampler, direction="maximize")
    space = {parameter["name"]: distribution(parameter) for parameter in question["space"]}
    for _ in range(question["cap"]):
        trial = study.ask(space)
        score, _ = train(trial.params)
        study.tell(trial, score)
    return study.best_trial.number


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    serve(play)
