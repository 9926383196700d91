"""Both ends of a certificate against problems solved exactly; bad input; decisions that are certain."""

from dataclasses import replace

import numpy as np
import pytest
from tests.value.cases import ALL_TERMS, RECALL, TERMS_IDS, grid, prior_for, prior_state
from tests.value.exact_problems import few_controls, one_weight, pandora

from autobct.belief.basis import Model, cubic
from autobct.belief.gaussian import Gaussian, Truth
from autobct.value.acquisition import Assessment, by_gittins_index
from autobct.value.bounds import certificate
from autobct.value.bounds.certificate import Certificate, certified_decision, certify
from autobct.value.bounds.simple_bounds import CAP, Estimate, difference, mean_with_controls, play, stage_of
from autobct.value.lookahead.on_the_fly import on_the_fly
from autobct.value.lookahead.one_step import one_run_value
from autobct.value.simulate import common_random_numbers
from autobct.value.state import State, Terms, keep, view


def depth(runs: int):
    return lambda state, terms, made: Assessment.by_value(on_the_fly(state, terms, depth=runs))


def index(state, terms, made):
    return by_gittins_index(state, terms, made)


def never_stops(state, terms, made):
    return Assessment.by_value(np.full(state.score.mean.shape, 1e9))


def worth(policy, start: State, terms: Terms, draws: int, seed: int = 0) -> Estimate:
    stage = stage_of(policy, start, terms, rng=np.random.default_rng(seed))
    return play(policy, stage, common_random_numbers(start, draws, CAP, rng=np.random.default_rng(seed + 1))).estimate()


def test_weitzmans_rule_is_worth_what_it_should_be() -> None:
    solved = pandora()
    found = worth(index, solved.start, solved.terms, 3000)
    assert solved.low - 4 * found.error < found.mean < solved.high + 4 * found.error
    assert found.error < 0.01


@pytest.mark.parametrize(
    ("solve", "policy"),
    [
        (lambda: few_controls(2, recall=True), depth(2)),
        (lambda: few_controls(2, recall=False), depth(3)),
        (one_weight, depth(2)),
    ],
    ids=["two controls, recall", "two controls, last", "one weight"],
)
def test_a_policy_is_worth_no_more_than_the_optimum(solve, policy) -> None:
    solved = solve()
    found = worth(policy, solved.start, solved.terms, 1500)
    assert found.mean < solved.high + 4 * found.error
    assert found.mean > 0.9 * solved.low - 4 * found.error


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
def test_control_variates_change_the_error_and_not_the_mean(terms: Terms) -> None:
    prior = prior_for(terms)
    start = view(prior.belief, prior.model, grid(9))
    stage = stage_of(depth(1), start, terms, rng=np.random.default_rng(0))
    played = play(depth(1), stage, common_random_numbers(start, 1200, CAP, rng=np.random.default_rng(1)))
    found, plain = played.estimate(), played.net.std() / np.sqrt(1200)
    assert found.error < 0.6 * plain
    assert abs(found.mean - played.net.mean()) < 4 * plain
    assert np.all(np.abs(played.controls.mean(axis=0)) < 5 * played.controls.std(axis=0) / np.sqrt(1200) + 1e-9)


def test_regression_on_controls_by_hand() -> None:
    rng = np.random.default_rng(0)
    control = rng.standard_normal((500, 1))
    values = 3.0 + 2.0 * control[:, 0] + 0.1 * rng.standard_normal(500)
    found = mean_with_controls(values, control)
    assert abs(found.mean - 3.0) < 5 * found.error
    assert found.error == pytest.approx(0.1 / np.sqrt(500), rel=0.15)
    assert mean_with_controls(values[:20], control[:20]).mean == pytest.approx(values[:20].mean())


def test_variates_that_are_the_same_but_for_rounding_do_no_harm() -> None:
    """A hundredth part in a thousand million between two columns would otherwise get a weight of 1e8."""
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((2000, 3))
    values = truth @ [1.0, 0.5, 0.0] + 0.1 * rng.standard_normal(2000)
    rounding = 1e-11 * np.abs(rng.standard_normal(2000)) + 1e-11 * values  # not of mean zero, and tells of the values
    doubled = np.column_stack([truth, truth[:, 0] + rounding])
    found, plain = mean_with_controls(values, doubled), mean_with_controls(values, truth)
    assert found.mean == pytest.approx(plain.mean, abs=1e-6)
    assert found.error == pytest.approx(plain.error, rel=1e-3)


def test_depth_two_beats_depth_one_on_common_random_numbers() -> None:
    start = prior_state(count=9)
    stage = stage_of(depth(2), start, RECALL, rng=np.random.default_rng(0))
    common = common_random_numbers(start, 800, CAP, rng=np.random.default_rng(1))
    found = difference(play(depth(2), stage, common), play(depth(1), stage, common))
    assert found.mean > 2 * found.error > 0


def test_a_certificate_brackets_and_says_so() -> None:
    solved, shares = few_controls(2, recall=True), []
    found = certify(
        solved.start, solved.terms, {"depth 2": depth(2)}, seconds=1.5, seed=3,
        progress=lambda share, text: shares.append((share, text)),
    )  # fmt: skip
    assert found.at_least < solved.high
    assert found.at_most > solved.low
    assert found.at_least < found.lower.mean
    assert found.upper.mean < found.at_most
    assert 0.5 < found.ratio < 1.1
    assert all(0 <= share <= 1 for share, _ in shares)
    assert {text.split(":")[0] for _, text in shares} == {"upper bound", "lower bound"}
    for words in ("is worth at least", "no policy is worth more than", "2 candidates", "seed 3", "95 %"):
        assert words in str(found)


@pytest.mark.slow
def test_two_seeds_give_intervals_that_overlap() -> None:
    start = prior_state(count=7)
    one, two = (certify(start, RECALL, {"depth 1": depth(1)}, seconds=1.0, seed=seed) for seed in (1, 2))
    assert one.at_least < two.at_most
    assert two.at_least < one.at_most


@pytest.mark.slow
def test_the_better_policy_is_chosen_on_other_draws() -> None:
    start = prior_state(count=7)
    found = certify(start, RECALL, {"poor": never_stops, "good": depth(2)}, seconds=0.5, seed=0)
    assert found.policy == "good"


@pytest.mark.parametrize("cov", [np.zeros((4, 4)), np.diag([0.0, 1.0, 0.0, 0.0])], ids=["truth", "singular"])
@pytest.mark.slow
def test_a_truth_has_an_interval_of_length_zero_and_a_singular_prior_one_that_brackets(cov) -> None:
    truth = Truth(np.array([0.4, 0.5, -1.0, 0.2]), np.array([1.0, 0.3, 0.0, 0.0])).belief()
    belief = replace(truth, score=Gaussian(truth.score.mean, cov))
    start = view(belief, Model(cubic(), cubic(), 0.1, 0.1), grid(9))
    found = certify(start, RECALL, {"depth 2": depth(2)}, seconds=0.5, seed=0)
    if cov.any():
        assert found.at_least < found.at_most
    else:
        assert found.at_most - found.at_least < 1e-6
        assert found.lower.mean == pytest.approx(float(one_run_value(start, RECALL)), abs=1e-9)


@pytest.mark.slow
def test_a_policy_that_never_stops_is_reported_and_not_waited_for() -> None:
    start = prior_state(count=5)
    found = certify(start, RECALL, {"spree": never_stops}, seconds=1.0, seed=0)
    assert found.capped == 1.0
    assert found.lower.draws <= 400
    assert "100.0 % of its simulated tunings had not stopped after 40 runs" in str(found)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seconds": 0}, "seconds"),
        ({"seconds": float("nan")}, "seconds"),
        ({"seed": -1}, "seed"),
        ({"policies": {}}, "policies"),
    ],
)
def test_bad_arguments_are_named(change, named) -> None:
    told = {"seconds": 1.0, "seed": 0, "policies": {"depth 1": depth(1)}, **change}
    policies = told.pop("policies")
    with pytest.raises(ValueError, match=named):
        certify(prior_state(count=5), RECALL, policies, **told)


def test_a_price_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="tuning would never stop"):
        Terms(0.0)


def test_limits_are_wider_for_more_confidence_and_fewer_draws() -> None:
    def certificate(confidence: float, draws: int) -> Certificate:
        end = Estimate(0.3, 0.01, draws)
        return Certificate(end, end, "any", 0.0, 5, 1e-3, confidence, 0, 1.0)

    assert certificate(0.95, 10_000).at_most == pytest.approx(0.3 + 1.96 * 0.01, abs=1e-5)
    assert certificate(0.99, 10_000).at_most > certificate(0.95, 10_000).at_most
    assert certificate(0.95, 5).at_least < certificate(0.95, 50).at_least


@pytest.mark.slow
def test_certain_decisions() -> None:
    """With a known good incumbent and expensive runs it is certain to stop; with cheap runs, to train."""
    start = prior_state(count=7)
    far = keep(
        replace(start, score=Gaussian(start.score.mean + 3 * np.eye(7)[2], start.score.cov * 1e-4)), np.array([2])
    )
    assert certified_decision(far, RECALL) == "stop"
    kept = keep(start, np.array([0]))
    assert certified_decision(kept, Terms(1e-3, recall=True)) == "train"


@pytest.mark.slow
def test_from_training_over_not_knowing_to_stopping() -> None:
    """The better the known incumbent, the less is to be gained by going on; between the bounds neither is sure."""
    start = prior_state(count=7)
    cov = start.score.cov.copy()
    cov[3] = cov[:, 3] = 0.0
    found = []
    for level in np.arange(0.4, 4.0, 0.2):
        score = start.score.mean.copy()
        score[3] = level
        state = keep(replace(start, score=Gaussian(score, cov)), np.array([3]))
        found.append(certified_decision(state, RECALL, effort=1.0))
    assert found[0] == "train"
    assert found[-1] == "stop"
    assert None in found
    order = {"train": 0, None: 1, "stop": 2}
    ranks = [order[one] for one in found]
    assert ranks == sorted(ranks)


class Pretend:
    """A clock that only work moves: so many seconds for each truth, search and simulated tuning."""

    def __init__(self, monkeypatch, truth: float, search: float, tuning: float) -> None:
        self.now = 0.0
        monkeypatch.setattr(certificate, "time", self)
        monkeypatch.setattr(certificate, "_QUICK", 0)  # as with very many candidates
        monkeypatch.setattr(certificate, "above_clairvoyant", lambda *args, rngs, **told: np.zeros(len(rngs)))
        for name, price in (
            ("clairvoyant_mean", lambda args, told: truth * args[2]),
            ("above_clairvoyant", lambda args, told: search * len(told["rngs"])),
            ("stage_of", lambda args, told: 2 * truth * told["truths"]),
            ("play", lambda args, told: tuning * len(args[2].score_noise)),
        ):
            monkeypatch.setattr(certificate, name, self._priced(getattr(certificate, name), price))

    def perf_counter(self) -> float:
        return self.now

    def _priced(self, work, price):
        def paid(*args, **told):
            self.now += price(args, told)
            return work(*args, **told)

        return paid


@pytest.mark.parametrize("truth", [1e-5, 4e-5])
@pytest.mark.parametrize("search", [0.01, 0.2])
@pytest.mark.parametrize("tuning", [5e-3, 3e-2])
def test_a_certificate_keeps_to_its_time(monkeypatch, truth: float, search: float, tuning: float) -> None:
    """With work as slow as that of six parameters, 33 us a truth and 30 ms a simulated tuning, and quicker."""
    clock = Pretend(monkeypatch, truth, search, tuning)
    found = certify(prior_state(count=5), RECALL, {"index": index}, seconds=10.0, seed=0)
    assert clock.now <= 12.0
    assert found.seconds == pytest.approx(clock.now)
    assert found.lower.draws >= 40
    assert found.upper.draws >= 8
