"""The certificate: a lower bound on a policy's value, an upper bound on every policy's, and their confidence.

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
from autobct.value.acquisition import Assess
from autobct.value.bounds.dual import above_clairvoyant, clairvoyant_mean
from autobct.value.bounds.simple_bounds import CAP, STAGE_TRUTHS, Estimate, PlayedPolicy, joined, play, stage_of
from autobct.value.lookahead.nodes import product, stratified
from autobct.value.lookahead.on_the_fly import Level, on_the_fly
from autobct.value.lookahead.one_step import one_run_value
from autobct.value.simulate import common_random_numbers
from autobct.value.state import State, Terms, stop_value

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
_LEAST_BATCH, _LEAST_DRAWS = 10, 40  # where a draw takes long
_QUICK = 3_200_000  # draws times candidates squared that are made whatever the time
_SAMPLE, _LEAST_TRUTHS = 2048, 1024  # truths whose time tells how many are affordable, and the fewest
_SHARE = 0.25  # of the time for the upper bound goes to W_0, and of the rest to the means of control variates
_RESERVED = 0.97  # of the time, until which the last batch has to be done
_PART = 0.1  # of the time that is left: a batch that takes less may be larger
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
    """Lower and upper bound from a first belief (an unbatched state with no model yet) in about this time.

    policies: by name; the one that does best on a few draws is played on others
    """
    if finite_number(seconds, "seconds") <= 0:
        raise ValueError(f"seconds must be positive, got {seconds!r}; write e.g. 60")
    if not policies:
        raise ValueError("policies must have at least one policy to certify")
    whole_number(seed, "seed", example=0, least=0)
    whole = began, _ = (time.perf_counter(), seconds)
    upper, effort = _upper(start, terms, seed, _Clock(began + 0.6 * seconds, progress, whole))
    name, played = _lower(start, terms, policies, seed, _Clock(began + _RESERVED * seconds, progress, whole))
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
    truths: int | None = None,
) -> list[float]:
    """Some repetitions, side by side.

    numbers: which, below 0 for such as are thrown away;  until: when they have to come to an end
    truths:  for W_0 in each of them, as many as are of use if not given
    """
    rngs = [np.random.default_rng((seed, 1, n) if n >= 0 else (seed, 0, -n)) for n in numbers]
    most = _most_truths(start) if truths is None else truths
    clairvoyant = np.array([clairvoyant_mean(start, terms, most, rng=rng) for rng in rngs])
    above = above_clairvoyant(
        start, terms, effort, rngs=rngs, may_stop=may_stop, out_of_time=lambda: time.perf_counter() > until
    )
    return [float(value) for value in clairvoyant + above]


def _most_truths(start: State) -> int:
    """More truths than this make W_0 of the first belief no better."""
    return min(max(_TRUTHS // start.size, _LEAST_TRUTHS), _MOST_TRUTHS)


def _truths_in(seconds: float, start: State, terms: Terms, seed: int, most: int) -> int:
    """How many truths can be drawn and looked at in this time, by the time that some take."""
    began = time.perf_counter()
    clairvoyant_mean(start, terms, _SAMPLE, rng=np.random.default_rng((seed, 5)))
    each = (time.perf_counter() - began) / _SAMPLE
    return min(max(int(seconds / each), _LEAST_TRUTHS), most)


def _upper(start: State, terms: Terms, seed: int, clock: _Clock) -> tuple[Estimate, float]:
    truths = _truths_in(_SHARE * clock.left / (_REPETITIONS + _PILOTS), start, terms, seed, _most_truths(start))
    effort = _effort_in_time(start, terms, seed, clock, truths)
    values: list[float] = []
    longest = 0.0
    while not values or (clock.left > longest and len(values) < _MOST_REPETITIONS):
        began = time.perf_counter()
        numbers = range(len(values), len(values) + _REPETITIONS)
        values += _uppers(start, terms, effort, seed, numbers, until=clock.until, truths=truths)
        longest = max(longest, time.perf_counter() - began)
        clock.tell(f"upper bound: {len(values)} searches at effort {effort:.1e}")
    return Estimate.of(values), effort


def _effort_in_time(start: State, terms: Terms, seed: int, clock: _Clock, truths: int) -> float:
    """The finest effort at which the repetitions fit into the time, found by trying; the trials are not used."""
    effort = _FIRST_EFFORT
    while True:
        began, left = time.perf_counter(), clock.left
        _uppers(start, terms, effort, seed, range(-_PILOTS, 0), until=began + _TRIAL * left, truths=truths)
        took = time.perf_counter() - began
        clock.tell(f"upper bound: a search at effort {effort:.1e} takes {took / _PILOTS:.1f} s")
        if _SPARE * took * _REPETITIONS / _PILOTS > (1.0 - _TRIAL) * left or effort < 1e-7:
            return effort * _FINER if effort < _FIRST_EFFORT else effort
        effort /= _FINER


def _lower(
    start: State, terms: Terms, policies: Mapping[str, Assess], seed: int, clock: _Clock
) -> tuple[str, PlayedPolicy]:
    name = _best_of(start, terms, policies, seed, clock) if len(policies) > 1 else next(iter(policies))
    policy = policies[name]
    truths = _truths_in(_SHARE / 2 * clock.left, start, terms, seed, STAGE_TRUTHS)  # each costs about twice as much
    stage = stage_of(policy, start, terms, rng=np.random.default_rng((seed, 2)), truths=truths)
    quick = _QUICK // start.size**2
    size, least = min(max(quick // 2, _LEAST_BATCH), _BATCH), min(max(quick, _LEAST_DRAWS), 2 * _BATCH)
    rng, parts, done, longest = np.random.default_rng((seed, 3)), [], 0, 0.0
    while done < least or (clock.left > longest and done < _MOST_DRAWS):
        began = time.perf_counter()
        parts.append(play(policy, stage, common_random_numbers(start, size, CAP, rng=rng)))
        took, done = time.perf_counter() - began, done + size
        clock.tell(f"lower bound: {done} tunings simulated with {name}")
        if done >= 2 * _BATCH and joined(parts).capped > 0.5:  # it does not stop: more of it teaches nothing
            break
        size = min(2 * size, _BATCH) if took < _PART * clock.left else max(size // 2, _LEAST_BATCH)
        longest = took / len(parts[-1].runs) * size
    return name, joined(parts)


def _best_of(start: State, terms: Terms, policies: Mapping[str, Assess], seed: int, clock: _Clock) -> str:
    """Which does best on draws that are used for nothing else."""
    common = common_random_numbers(start, _PILOT, CAP, rng=np.random.default_rng((seed, 4)))
    found = {}
    for name, policy in policies.items():
        stage = stage_of(policy, start, terms, rng=np.random.default_rng((seed, 2)))
        found[name] = float(play(policy, stage, common).net.mean())
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
