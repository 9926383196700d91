"""The certificate: a policy's worth from below, the value of every policy from above, and how sure that is.

Both ends are for one first belief, one price and *the given candidates*: a policy that may train elsewhere is not
bounded by it.  Each end is a mean with an error; the limits hold together with the stated confidence (half of the doubt
for each, Bonferroni).  Effort and number of repetitions are chosen by the time they take and never by what they
give, and repetitions that set the effort are thrown away, so that choosing does not bias the bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from autobct.belief.arrays import finite_number, whole_number
from autobct.value.assessment import Assess
from autobct.value.dual import above_clairvoyant, clairvoyant_mean
from autobct.value.lookahead import one_run_value
from autobct.value.on_the_fly import Level, on_the_fly
from autobct.value.rules import product, stratified
from autobct.value.simulate import draw_luck
from autobct.value.state import State, Terms, stop_value
from autobct.value.worth import CAP, Estimate, Played, joined, play, stage_of

Progress = Callable[[float, str], None]
"""Told the share of the time that has gone (0 to 1) and what is being done."""

CONFIDENCE = 0.95

_TRUTHS = 8_000_000  # for W_0 of the first belief, in every repetition: truths times candidates
_MOST_TRUTHS = 131_072
_REPETITIONS = 8  # of the upper bound, side by side
_MOST_REPETITIONS = 64
_FIRST_EFFORT, _FINER = 3e-3, 2.0
_TRIAL = 0.25  # of the time that is left goes to a trial of the next finer effort, at most
_PILOTS, _SPARE = 2, 1.2  # searches that find out how long one takes, and by how much others may take longer
_BATCH, _PILOT = 100, 200  # draws
_MOST_DRAWS = 200_000


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a policy is worth at least, and no policy more than.

    lower, upper:  estimates of the two ends, in the units of the score that was given
    policy:        name of the policy played
    capped:        share of its simulated tunings that it had not stopped after CAP runs
    candidates:    how many candidates there were to choose from;  effort: of the search, see `above_clairvoyant`
    minimized:     lower scores are better: the ends are scores plus the price of all runs, the policy's the higher one
    """

    lower: Estimate
    upper: Estimate
    policy: str
    capped: float
    candidates: int
    effort: float
    confidence: float
    seed: int
    seconds: float
    minimized: bool = False

    @property
    def at_least(self) -> float:
        """The policy is worth this much or more (or comes down to this or less, if scores are minimized)."""
        return self.lower.mean - self._sign * _quantile(self.confidence, self.lower.draws) * self.lower.error

    @property
    def at_most(self) -> float:
        """No policy is worth more than this (or comes down below it, if scores are minimized)."""
        return self.upper.mean + self._sign * _quantile(self.confidence, self.upper.draws) * self.upper.error

    @property
    def ratio(self) -> float:
        """The policy's worth as a share of what is possible, by the two estimates; the other way if minimized."""
        worse, better = self.lower.mean, self.upper.mean
        return better / worse if self.minimized else worse / better

    @property
    def _sign(self) -> float:
        return -1.0 if self.minimized else 1.0

    def __str__(self) -> str:
        """One sentence, and how it was found."""
        note = ""
        if self.capped > 0:
            note = f"  {100 * self.capped:.1f} % of its simulated tunings had not stopped after {CAP} runs."
        sure = f"{100 * self.confidence:g} % confidence"
        mine, best = (
            ("comes down to at most", "no policy comes below")
            if self.minimized
            else ("is worth at least", "no policy is worth more than")
        )
        return (
            f"This policy ({self.policy}) {mine} {self.at_least:.4f} and {best} "
            f"{self.at_most:.4f}, choosing among {self.candidates} candidates ({sure}).{note}\n"
            f"estimates {self.lower.mean:.4f} ± {self.lower.error:.4f} and {self.upper.mean:.4f} ± "
            f"{self.upper.error:.4f}, ratio {self.ratio:.3f}; {self.lower.draws} tunings, "
            f"{self.upper.draws} searches at effort {self.effort:.1e}; seed {self.seed}, {self.seconds:.0f} s"
        )


@dataclass(frozen=True, slots=True)
class _Clock:
    """A share of the time, for one part of the work."""

    until: float
    progress: Progress
    whole: tuple[float, float]

    def tell(self, text: str) -> None:
        began, seconds = self.whole
        self.progress(min((time.perf_counter() - began) / seconds, 1.0), text)

    @property
    def left(self) -> float:
        return self.until - time.perf_counter()


def certify(
    start: State,
    terms: Terms,
    policies: Mapping[str, Assess],
    *,
    seconds: float,
    seed: int,
    confidence: float = CONFIDENCE,
    progress: Progress = lambda share, text: None,
) -> Certificate:
    """Lower and upper bound from a first belief (an unbatched state with nothing in hand) in about this time.

    policies: by name; the one that does best on a few draws is played on others
    """
    if finite_number(seconds, "seconds") <= 0:
        raise ValueError(f"seconds must be positive, got {seconds!r}; write e.g. 60")
    if not policies:
        raise ValueError("policies must have at least one policy to certify")
    whole_number(seed, "seed", example=0, least=0)
    began = time.perf_counter()
    whole = (began, seconds)
    upper, effort = _upper(start, terms, seed, _Clock(began + 0.6 * seconds, progress, whole))
    name, played = _lower(start, terms, policies, seed, _Clock(began + seconds, progress, whole))
    return Certificate(
        lower=played.estimate(),
        upper=upper,
        policy=name,
        capped=played.capped,
        candidates=start.size,
        effort=effort,
        confidence=confidence,
        seed=seed,
        seconds=time.perf_counter() - began,
    )


def upper_in_time(
    start: State, terms: Terms, *, seconds: float, seed: int, progress: Progress = lambda share, text: None
) -> tuple[Estimate, float]:
    """The upper bound alone in about this time, and with what effort it was found."""
    began = time.perf_counter()
    return _upper(start, terms, seed, _Clock(began + seconds, progress, (began, seconds)))


def upper_estimate(
    start: State, terms: Terms, *, effort: float, repetitions: int, seed: int, may_stop: bool = True
) -> Estimate:
    """The upper bound with a given effort: the same numbers for the same seed, however long it takes."""
    return Estimate.of(_uppers(start, terms, effort, seed, range(repetitions), may_stop=may_stop))


def _uppers(
    start: State,
    terms: Terms,
    effort: float,
    seed: int,
    numbers: Sequence[int],
    *,
    may_stop: bool = True,
    until: float = np.inf,
) -> list[float]:
    """Some repetitions, side by side.

    numbers: which, below 0 for such as are thrown away;  until: when they have to come to an end
    """
    rngs = [np.random.default_rng((seed, 1, n) if n >= 0 else (seed, 0, -n)) for n in numbers]
    truths = min(max(_TRUTHS // start.size, 1024), _MOST_TRUTHS)
    clairvoyant = np.array([clairvoyant_mean(start, terms, truths, rng=rng) for rng in rngs])
    above = above_clairvoyant(
        start, terms, effort, rngs=rngs, may_stop=may_stop, out_of_time=lambda: time.perf_counter() > until
    )
    return [float(value) for value in clairvoyant + above]


def _upper(start: State, terms: Terms, seed: int, clock: _Clock) -> tuple[Estimate, float]:
    effort = _effort_in_time(start, terms, seed, clock)
    values: list[float] = []
    longest = 0.0
    while not values or (clock.left > longest and len(values) < _MOST_REPETITIONS):
        began = time.perf_counter()
        numbers = range(len(values), len(values) + _REPETITIONS)
        values += _uppers(start, terms, effort, seed, numbers, until=began + max(clock.left, 0.0))
        longest = max(longest, time.perf_counter() - began)
        clock.tell(f"upper bound: {len(values)} searches at effort {effort:.1e}")
    return Estimate.of(values), effort


def _effort_in_time(start: State, terms: Terms, seed: int, clock: _Clock) -> float:
    """The finest effort at which the repetitions fit into the time, found by trying; the trials are not used."""
    effort = _FIRST_EFFORT
    while True:
        began, left = time.perf_counter(), clock.left
        _uppers(start, terms, effort, seed, range(-_PILOTS, 0), until=began + _TRIAL * left)
        took = time.perf_counter() - began
        clock.tell(f"upper bound: a search at effort {effort:.1e} takes {took / _PILOTS:.1f} s")
        if _SPARE * took * _REPETITIONS / _PILOTS > (1.0 - _TRIAL) * left or effort < 1e-7:
            return effort * _FINER if effort < _FIRST_EFFORT else effort
        effort /= _FINER


def _lower(start: State, terms: Terms, policies: Mapping[str, Assess], seed: int, clock: _Clock) -> tuple[str, Played]:
    name = _best_of(start, terms, policies, seed, clock) if len(policies) > 1 else next(iter(policies))
    policy = policies[name]
    stage = stage_of(policy, start, terms, rng=np.random.default_rng((seed, 2)))
    rng, parts, done = np.random.default_rng((seed, 3)), [], 0
    while done < 2 * _BATCH or (clock.left > 0 and done < _MOST_DRAWS):
        parts.append(play(policy, stage, draw_luck(start, _BATCH, CAP, rng=rng)))
        done += _BATCH
        clock.tell(f"lower bound: {done} tunings simulated with {name}")
        if done >= 2 * _BATCH and joined(parts).capped > 0.5:  # it does not stop: more of it teaches nothing
            break
    return name, joined(parts)


def _best_of(start: State, terms: Terms, policies: Mapping[str, Assess], seed: int, clock: _Clock) -> str:
    """Which does best on draws that are used for nothing else."""
    luck = draw_luck(start, _PILOT, CAP, rng=np.random.default_rng((seed, 4)))
    found = {}
    for name, policy in policies.items():
        stage = stage_of(policy, start, terms, rng=np.random.default_rng((seed, 2)))
        found[name] = float(play(policy, stage, luck).net.mean())
        clock.tell(f"lower bound: {name} tried on {_PILOT} tunings")
    return max(found, key=lambda name: found[name])


def certified_decision(state: State, terms: Terms, *, effort: float = 1e-3, seed: int = 0) -> str | None:
    """What is optimal in a state (unbatched) whatever comes after: "stop", "train", or None where bounds do not tell.

    Training is optimal if stopping is worth less than V_1 or V_2, stopping if going on is worth no more by the upper
    bound.  V_2 has its cost integrated by nodes; the difference between 4 and 8 of them is taken off.
    """
    stop = float(stop_value(state))
    if stop < max(float(one_run_value(state, terms)), _two_run_value(state, terms)):
        return "train"
    going = upper_estimate(state, terms, effort=effort, repetitions=_REPETITIONS, seed=seed, may_stop=False)
    most = going.mean + _quantile(CONFIDENCE, going.draws) * going.error
    return "stop" if stop >= most else None


def _two_run_value(state: State, terms: Terms) -> float:
    coarse, fine = (
        float(on_the_fly(state, terms, depth=2, levels=[Level(product(stratified(12), stratified(cells)))]).max())
        for cells in (4, 8)
    )
    return fine - abs(fine - coarse)


def _quantile(confidence: float, draws: int) -> float:
    """Of Student's t, one-sided, with half of the doubt."""
    return float(stdtrit(max(draws - 1, 1), 1.0 - (1.0 - confidence) / 2))
