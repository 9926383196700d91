"""autobct in Optuna: a sampler that stops the study by itself, and a callback that stops a study with any sampler."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

try:
    import optuna
except ImportError:
    raise ImportError("AutoBCTSampler needs Optuna: pip install 'autobct[optuna]'") from None

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import FrozenTrial, TrialState

from autobct.integrations._optuna_study import StudyTuner
from autobct.integrations._optuna_trials import (
    STOPPED,
    all_trials,
    costs_of,
    distribution_of,
    distributions_of,
    finished_trial,
    refuse_many_objectives,
    space_of,
    stop_loop,
    tell_trial,
)
from autobct.tuning.history import Decision, Stop, run_if_continued
from autobct.tuning.keywords import TunerKeywords, spelled_out
from autobct.tuning.space.parameter_checks import when_text
from autobct.tuning.space.space import Space

__all__ = ["AutoBCTSampler", "AutoBCTTerminator"]

_CONTINUE = (
    f"to continue all the same, use a lower price, or clear the record with study.set_user_attr({STOPPED!r}, None)"
)


class AutoBCTSampler(BaseSampler):
    """A sampler for Optuna that suggests the trial worth most for its price, and stops when none is worth it.

    >>> sampler = AutoBCTSampler(price="0.01 per 10min")
    >>> study = optuna.create_study(direction="maximize", sampler=sampler)
    >>> study.optimize(objective)  # no n_trials: it stops by itself

    space: what is tuned, as parameters of autobct or Optuna's distributions; if not given, inferred from the finished
           trials, as Optuna does.  Parameters outside it are sampled at random
    stop:  False to keep suggesting

    The other keywords are those of `tune`; the direction is the study's.  The cost of a trial is its user attribute
    "cost" or its duration in seconds.  A suggestion depends on the finished and running trials and on `seed` alone, so
    workers that share a storage need nothing else in common.
    """

    @spelled_out
    def __init__(
        self, space: Space | Mapping[str, Any] | None = None, *, stop: bool = True, **keywords: Unpack[TunerKeywords]
    ) -> None:
        self._tuner = StudyTuner(space, keywords, "AutoBCTSampler()")
        self._stop = stop
        self._seed = keywords.get("seed") or 0

    @classmethod
    def from_study(
        cls,
        study: optuna.Study,
        space: Space | Mapping[str, Any] | None = None,
        *,
        stop: bool = True,
        **keywords: Unpack[TunerKeywords],
    ) -> AutoBCTSampler:
        """A sampler that continues a study made with any other; ValueError if the cost of its trials is unknown.

        >>> study.sampler = AutoBCTSampler.from_study(study, price="0.01 per 10min")
        """
        refuse_many_objectives(study, cls.__name__)
        costs_of([trial for trial in all_trials(study) if trial.state.is_finished()])
        return cls(space, stop=stop, **keywords)

    def reseed_rng(self) -> None:
        """Nothing to do: random numbers depend on the seed and the number of the trial, so no two workers share any."""

    def should_stop(self, study: optuna.Study) -> bool:
        """Whether no further trial is worth its price; for ask-and-tell, before `study.ask()`."""
        return _should_stop(self._tuner, study, type(self).__name__)

    def stop_when_done(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """The same as a callback of `study.optimize`, where another sampler wraps this one or stop=False."""
        if self.should_stop(study):
            stop_loop(study)

    def decision(self, study: optuna.Study) -> Decision | None:
        """What it would do next, and why: `Train` or `Stop`; None while the search space is unknown."""
        refuse_many_objectives(study, type(self).__name__)
        return self._tuner.decision(study)

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The space that was given, or what all finished trials have in common."""
        refuse_many_objectives(study, type(self).__name__)
        space = self._tuner.space or self._tuner.inferred(all_trials(study))
        return {} if space is None else distributions_of(space)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The parameters of the trial that is worth most for its price."""
        refuse_many_objectives(study, type(self).__name__)
        self._refuse_if_stopped(study)
        if not search_space:
            return {}
        space = self._tuner.space or space_of(search_space)
        with self._tuner.lock:  # until the suggestion is stored, where other threads find it
            decision = self._tuner.decision(study, space=space, current=trial)
            if self._stop and isinstance(decision, Stop) and decision.value is not None:
                self._tuner.tell_study(study, decision)
                self._refuse_if_stopped(study)
            train = run_if_continued(decision)
            params = self._drawn(study, trial, search_space) if train is None else train.params
            suggested = {name: params[name] for name in search_space if name in params}
            tell_trial(study, trial, decision, {n: search_space[n].to_internal_repr(v) for n, v in suggested.items()})
        return suggested

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A random value of a parameter that is not in the search space, or not yet; a guess is tried first."""
        refuse_many_objectives(study, type(self).__name__)
        self._refuse_if_stopped(study)
        self._check_asked(trial, param_name, param_distribution)
        return self._draw(study, trial, param_name, param_distribution)

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Store the cost of the trial and what to do next; stop the study if that is to stop."""
        refuse_many_objectives(study, type(self).__name__)
        finished = finished_trial(study, trial, state, values)
        if not self._stop:
            return
        if self._tuner.stopped(study) is None:
            decision = self._tuner.decision(study, current=finished)
            if decision is not None:
                self._tuner.tell_study(study, decision)
            if not isinstance(decision, Stop):
                return
        stop_loop(study)

    def _refuse_if_stopped(self, study: optuna.Study) -> None:
        """In a loop of a study that has stopped, end the loop and the trial; under ask-and-tell the caller decides."""
        why = self._tuner.stopped(study) if self._stop else None
        if why is not None and stop_loop(study):
            raise optuna.TrialPruned(f"The study has stopped: {why} ({_CONTINUE})")

    def _check_asked(self, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> None:
        """ValueError where the objective and the given space disagree."""
        space = self._tuner.space
        if space is None or name not in space.names:
            return
        parameter = space.parameters[space.names.index(name)]
        if (stated := distribution_of(parameter)) != distribution:
            raise ValueError(
                f"The objective suggests {name!r} from {distribution}, but space has {stated}; write the same in both."
            )
        needed = (parameter.when or {}).items()
        if any(trial.params[other] not in values for other, values in needed if other in trial.params):
            raise ValueError(
                f"The objective asks for {name!r}, which exists only when {when_text(parameter.when or {})}; "
                "change `when`, or ask for it only then."
            )

    def _drawn(self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]) -> Any:
        return {name: self._draw(study, trial, name, kind) for name, kind in search_space.items()}

    def _draw(self, study: optuna.Study, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
        guess = self._tuner.keywords.get("guess") or {}
        if trial.number == 0 and name in guess and distribution._contains(distribution.to_internal_repr(guess[name])):
            return guess[name]
        entropy = np.random.SeedSequence([self._seed, trial.number, zlib.crc32(name.encode())])
        sampler = RandomSampler(seed=int(entropy.generate_state(1)[0]))
        return sampler.sample_independent(study, trial, name, distribution)


class AutoBCTTerminator:
    """A callback that stops any study when no further trial is worth its price, whoever suggests the trials.

    >>> study = optuna.create_study(sampler=optuna.samplers.TPESampler())
    >>> study.optimize(objective, callbacks=[AutoBCTTerminator(price="0.01 per 10min")])

    It stops when no trial at all is worth its price, or when the last three suggestions were not, by what was known
    when they were made.  The keywords are those of `AutoBCTSampler`.
    """

    @spelled_out
    def __init__(self, space: Space | Mapping[str, Any] | None = None, **keywords: Unpack[TunerKeywords]) -> None:
        self._tuner = StudyTuner(space, keywords, "AutoBCTTerminator()", others=True)

    def __call__(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """After each trial: stop the study if the next one is not worth its price."""
        if self.should_stop(study):
            stop_loop(study)

    def should_stop(self, study: optuna.Study) -> bool:
        """Whether no further trial is worth its price; for ask-and-tell, before `study.ask()`."""
        return _should_stop(self._tuner, study, type(self).__name__)


def _should_stop(tuner: StudyTuner, study: optuna.Study, name: str) -> bool:
    refuse_many_objectives(study, name)
    if tuner.stopped(study) is not None:
        return True
    decision = tuner.decision(study)
    if decision is not None:
        tuner.tell_study(study, decision)
    return isinstance(decision, Stop)
