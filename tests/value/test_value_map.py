"""A value map in NumPy: the torch network's values, the laws of the problem, and what it is for."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.value.map_cases import (
    GAME_IDS,
    GAMES,
    OVERHEAD,
    Game,
    lattice,
    random_belief,
    random_map,
    random_map_state,
    spec_of,
)

from autobct.belief.basis import Basis, cubic
from autobct.belief.cost import COST_MODELS, LINEAR, LOG_LINEAR
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.prior import Prior, default_prior, paper_prior
from autobct.build.forests.iteration import references_first
from autobct.value.lookahead.nodes import product
from autobct.value.lookahead.on_the_fly import Level, on_the_fly
from autobct.value.lookahead.one_step import control_values, never, one_run_value, one_run_values
from autobct.value.maps.foresight import COST_RULE, SCORE_RULE, Foresight, foresight, steps_on_top
from autobct.value.maps.map_inputs import outlook
from autobct.value.maps.map_spec import MapSpec, in_units_of_lambda
from autobct.value.maps.sieve import Sieve, sieve
from autobct.value.maps.value_map import CAUTION, MapMismatch, ValueMap, mismatches, network_of
from autobct.value.simulate import rows
from autobct.value.state import State, Terms, keep, stop_value, view

NODES = product(SCORE_RULE, COST_RULE)
every_game = pytest.mark.parametrize("game", GAMES, ids=GAME_IDS)


def candidates(game: Game) -> np.ndarray:
    """The references first, then others."""
    return references_first(spec_of(game).references, lattice(11 if game[0] == 1 else 4, game[0]))


def all_at_once(value_map: ValueMap, controls: np.ndarray) -> Foresight:
    """Without a sieve."""
    return replace(foresight(value_map, controls), sieve=Sieve(len(controls), (), controls))


def lambda_of(state: State, value_map: ValueMap) -> float:
    spec = value_map.spec
    terms = Terms(1.0, COST_MODELS[spec.cost_model], spec.recall)
    return float(outlook(state, terms, len(spec.references), spec.neighbours).scale)


@every_game
@pytest.mark.heavy
def test_it_gives_the_values_of_the_torch_network(game: Game) -> None:
    torch = pytest.importorskip("torch")
    from autobct.build.networks.game import Beliefs, make_game, q_values
    from autobct.build.networks.network_value import NetworkValue, as_value

    dim, cost, recall = game
    spec, controls, rng = spec_of(game), candidates(game), np.random.default_rng(3)
    count = len(spec.references)
    torch.manual_seed(dim)
    network = NetworkValue(count, spec.neighbours.shape[1], 16, recall=recall)
    torch.nn.init.normal_(network.out.weight, std=0.2)
    torch.nn.init.constant_(network.out.bias, 0.1)
    value_map = ValueMap(spec, (network_of({k: v.numpy() for k, v in network.state_dict().items()}),))
    played = make_game(
        cubic() if dim == 1 else paper_prior("cnn-2d").model.score_basis,
        controls,
        np.arange(count),
        spec.neighbours,
        log_cost=cost == "log-linear",
        recall=recall,
        overhead=OVERHEAD,
    )

    def tensor(*values: Any) -> Any:
        return torch.tensor(np.array(values), dtype=torch.float32)

    for _ in range(10):
        belief, model, terms = random_belief(game, rng)
        kept = rng.integers(-1, len(controls), 3)
        beliefs = Beliefs(
            tensor(belief.score.mean),
            tensor(belief.score.cov),
            tensor(belief.cost.mean),
            tensor(belief.cost.cov),
            tensor(terms.price),
            tensor(model.score_noise),
            tensor(model.cost_noise),
            torch.tensor(kept[None]),
        )
        with torch.no_grad():
            expected = q_values(played, beliefs, as_value(network, caution=CAUTION)).numpy()[0]
        state = keep(view(belief, model, controls), kept)
        close = 1e-4 * lambda_of(state, value_map)
        found = control_values(state, terms, NODES, value_map, inner=np.arange(count))
        np.testing.assert_allclose(found, expected, rtol=0, atol=close)
        lean = all_at_once(value_map, controls).control_values(state, terms, 2)
        np.testing.assert_allclose(lean, expected, rtol=0, atol=close)


@every_game
def test_candidates_without_the_references_see_the_same(game: Game) -> None:
    value_map, rng = random_map(game), np.random.default_rng(0)
    others = lattice(7 if game[0] == 1 else 6, game[0])
    both = references_first(value_map.spec.references, others)
    belief, model, terms = random_belief(game, rng)
    some, more = view(belief, model, others), view(belief, model, both)
    found = all_at_once(value_map, others).control_values(some, terms, 3)
    expected = all_at_once(value_map, both).control_values(more, terms, 3)
    where = [int(np.abs(both - control).max(axis=1).argmin()) for control in others]
    np.testing.assert_allclose(found, expected[where], atol=1e-5)


@every_game
def test_coarse_to_fine_finds_the_best(game: Game) -> None:
    value_map, rng = random_map(game), np.random.default_rng(1)
    controls = lattice(101, 1) if game[0] == 1 else lattice(21, 2)
    quick, slow = foresight(value_map, controls), all_at_once(value_map, controls)
    gaps = []
    for _ in range(60 if game[0] == 1 else 15):
        state, terms = random_map_state(game, controls, rng)
        found, full = quick.control_values(state, terms, 4), slow.control_values(state, terms, 4)
        best = int(found.argmax())
        assert np.isfinite(found).all()
        assert found[best] == pytest.approx(full[best], abs=1e-6)
        gaps.append(full.max() - full[best])
    assert np.mean(np.array(gaps) > 1e-3) <= 0.05
    assert max(gaps) < 0.02


@every_game
def test_shift(game: Game) -> None:
    value_map, controls = random_map(game), candidates(game)
    state, terms = random_map_state(game, controls, np.random.default_rng(2))
    moved = replace(state, score=Gaussian(state.score.mean + 7.0, state.score.cov))
    for left in range(1, 5):
        value = value_map.continuation(left)
        assert value(moved, terms) == pytest.approx(value(state, terms) + 7.0, abs=1e-6)


@every_game
def test_units(game: Game) -> None:
    """Scores times a, costs times b, price times a / b, overhead times a: V times a."""
    a, b = 3.0, 50.0
    value_map, controls = random_map(game), candidates(game)
    state, terms = random_map_state(game, controls, np.random.default_rng(4))
    if game[1] == "linear":
        cost, cost_noise = Gaussian(b * state.cost.mean, b**2 * state.cost.cov), b * state.cost_noise
    else:
        cost, cost_noise = Gaussian(state.cost.mean + np.log(b), state.cost.cov), state.cost_noise
    score = Gaussian(a * state.score.mean, a**2 * state.score.cov)
    other = State(score, cost, a * state.score_noise, cost_noise, state.kept)
    told = replace(terms, price=terms.price * a / b, overhead=terms.overhead * a)
    for left in range(1, 5):
        value = value_map.continuation(left)
        assert value(other, told) == pytest.approx(a * value(state, terms), abs=1e-5)


@every_game
def test_at_a_truth_it_is_the_value_of_one_run(game: Game) -> None:
    value_map, controls = random_map(game), lattice(6 if game[0] == 1 else 5, game[0])
    state, terms = random_map_state(game, controls, np.random.default_rng(5))
    certain = replace(
        state,
        score=Gaussian(state.score.mean, np.zeros_like(state.score.cov)),
        cost=Gaussian(state.cost.mean, np.zeros_like(state.cost.cov)),
    )
    ahead = all_at_once(value_map, controls)
    last = one_run_values(certain, terms)
    for left in (2, 3, 4):
        assert value_map.continuation(left)(certain, terms) == pytest.approx(last.max(), abs=1e-6)
        best = ahead.control_values(certain, terms, left).max()
        assert best == pytest.approx(last.max(), abs=1e-6)


@every_game
def test_one_run_left_is_exact_and_beyond_the_deepest_is_the_deepest(game: Game) -> None:
    value_map, controls = random_map(game), candidates(game)
    state, terms = random_map_state(game, controls, np.random.default_rng(6))
    assert value_map.continuation(1) is one_run_value
    assert value_map.continuation(0) is never
    assert value_map.continuation(9)(state, terms) == value_map(state, terms)
    assert value_map(state, terms) == value_map.continuation(4)(state, terms)
    assert value_map(state, terms) != value_map.continuation(3)(state, terms)


@every_game
def test_it_is_not_below_the_best_run_at_a_reference(game: Game) -> None:
    value_map, controls = random_map(game), spec_of(game).references
    for seed in range(5):
        state, terms = random_map_state(game, controls, np.random.default_rng(seed))
        lower = one_run_values(state, replace(terms, recall=False)).max()
        assert value_map(state, terms) >= lower - 1e-6


@every_game
def test_batches_are_evaluated_as_one_by_one(game: Game) -> None:
    value_map, controls, rng = random_map(game), candidates(game), np.random.default_rng(7)
    states = [random_map_state(game, controls, rng)[0] for _ in range(4)]
    terms = random_map_state(game, controls, rng)[1]
    noise = states[0].score_noise, states[0].cost_noise
    batch = State(
        Gaussian(np.stack([s.score.mean for s in states]), np.stack([s.score.cov for s in states])),
        Gaussian(np.stack([s.cost.mean for s in states]), np.stack([s.cost.cov for s in states])),
        *noise,
        np.stack([s.kept for s in states]),
    )
    values, seen = value_map(batch, terms), foresight(value_map, controls)
    controls_values = seen.control_values(batch, terms, 3)
    assert values.shape == (4,)
    assert controls_values.shape == (4, len(controls))
    for k in range(4):
        one = rows(batch, np.asarray(k))
        assert value_map(one, terms) == pytest.approx(values[k], abs=1e-6)
        np.testing.assert_allclose(seen.control_values(one, terms, 3), controls_values[k], atol=1e-6)


@pytest.mark.parametrize("game", GAMES[:4], ids=GAME_IDS[:4])
def test_steps_on_top_of_a_map(game: Game) -> None:
    """Depth one is the map's own lookahead; depth two is Lambda of the best Lambda, by brute force."""
    value_map, controls = random_map(game), candidates(game)
    state, terms = random_map_state(game, controls, np.random.default_rng(8))
    ahead = foresight(value_map, controls)
    np.testing.assert_array_equal(ahead.on_top(state, terms, 4, depth=1), ahead.control_values(state, terms, 4))
    inner = np.arange(len(value_map.spec.references))

    levels = [Level(nodes, inner) for nodes in steps_on_top(value_map.spec)[1]]
    expected = on_the_fly(state, terms, depth=2, terminal=value_map, levels=levels)
    np.testing.assert_allclose(ahead.on_top(state, terms, 4, depth=2), expected, atol=1e-6)


def test_damping_marks_the_value_of_going_on_down() -> None:
    game: Game = (1, "linear", False)
    value_map, controls = random_map(game), candidates(game)
    state, terms = random_map_state(game, controls, np.random.default_rng(9))
    ahead = all_at_once(value_map, controls)
    from autobct.value.lookahead.one_step import damped

    inner = np.arange(len(value_map.spec.references))
    expected = control_values(state, terms, NODES, damped(value_map, 0.1), inner=inner)
    np.testing.assert_allclose(ahead.control_values(state, terms, 4, damping=0.1), expected, atol=1e-6)


def test_no_model_is_worth_nothing() -> None:
    game: Game = (1, "linear", True)
    value_map = random_map(game)
    belief, model, terms = random_belief(game, np.random.default_rng(10))
    state = view(belief, model, value_map.spec.references)
    assert stop_value(state) == -np.inf
    assert np.isfinite(value_map(state, terms))
    assert np.isfinite(value_map(keep(state, np.array([-1])), terms))


# What a map is for


def told(prior: Prior, **changed: Any) -> tuple[Prior, Terms]:
    return prior, Terms(**{"price": 0.16, "cost_model": prior.model.cost_model, "overhead": OVERHEAD, **changed})


def test_a_problem_that_fits_has_no_mismatches() -> None:
    assert mismatches(spec_of((1, "linear", False)), *told(paper_prior("synthetic"))) == []
    assert mismatches(spec_of((2, "linear", True)), *told(paper_prior("cnn-2d"), recall=True)) == []
    assert mismatches(spec_of((1, "log-linear", True)), *told(default_prior(cubic()), recall=True)) == []


@pytest.mark.parametrize(
    ("problem", "ours", "theirs"),
    [
        (told(paper_prior("synthetic"), recall=True), "recall=False", "recall=True"),
        (told(paper_prior("synthetic"), overhead=0.1), "overhead 0.002 a run", "overhead 0.1 a run"),
        (told(default_prior(cubic())), "linear cost", "log-linear cost"),
        (told(paper_prior("synthetic"), price=100.0), "price of a run 0.05 to 2", "price of a run "),
        (told(paper_prior("synthetic"), price=1e-4), "price of a run 0.05 to 2", "price of a run "),
    ],
)
def test_every_difference_is_two_lines(problem: tuple[Prior, Terms], ours: str, theirs: str) -> None:
    spec = replace(spec_of((1, "linear", False)), prices=(0.05, 2.0))
    found = [text for text in mismatches(spec, *problem) if "price" not in text or "price" in ours]
    assert len(found) == 1
    first, second = found[0].split("\n")
    assert first.startswith(f"map: {ours}")
    assert second.startswith(f"problem: {theirs}")


def test_another_basis_is_told_once_for_score_and_once_for_cost() -> None:
    found = mismatches(spec_of((1, "linear", False)), *told(paper_prior("cnn-2d")))
    assert [text.split("\n")[1] for text in found] == [
        f"problem: {name} basis additive-quartic in 2-D" for name in ("score", "cost")
    ]


def test_a_basis_that_only_borrows_the_name_is_found_out() -> None:
    prior = paper_prior("synthetic")
    false = Basis("cubic", 1, 4, lambda u: np.exp(u * np.arange(4)))
    model = replace(prior.model, score_basis=false)
    found = mismatches(spec_of((1, "linear", False)), *told(replace(prior, model=model)))
    assert found == ["map: basis cubic\nproblem: another score basis of that name"]


def test_noise_that_depends_on_the_control_does_not_fit() -> None:
    prior = paper_prior("synthetic")
    model = replace(prior.model, score_noise=lambda u: 0.1 + 0.1 * u[..., 0])
    found = mismatches(spec_of((1, "linear", False)), *told(replace(prior, model=model)))
    assert found == ["map: constant score noise\nproblem: score noise that depends on the control"]


def test_noise_out_of_range_does_not_fit() -> None:
    spec = replace(spec_of((1, "linear", False)), noises=(0.2, 0.5))
    found = mismatches(spec, *told(paper_prior("synthetic")))
    assert len(found) == 1
    assert "score noise 0.2 to 0.5" in found[0]


def test_units_do_not_change_what_fits() -> None:
    spec, prior = spec_of((1, "linear", False)), paper_prior("synthetic")
    a = 10.0
    score = Gaussian(a * prior.belief.score.mean, a**2 * prior.belief.score.cov)
    scaled = Prior(
        replace(prior.model, score_noise=a * float(prior.model.score_noise)),  # type: ignore[arg-type]
        Belief(score, prior.belief.cost),
    )
    mine = in_units_of_lambda(spec, *told(prior))
    theirs = in_units_of_lambda(spec, *told(scaled, price=1.6, overhead=a * OVERHEAD))
    assert theirs == pytest.approx(mine)


def test_candidates_must_tell_the_weights_apart() -> None:
    value_map = random_map((1, "linear", False))
    with pytest.raises(MapMismatch, match=r"map: 4 weights.*\nproblem: 3 candidates identify 3"):
        foresight(value_map, np.array([[0.15], [0.3], [0.7]]))
    with pytest.raises(MapMismatch, match="map: controls in 1-D\nproblem: controls in 2-D"):
        foresight(value_map, lattice(3, 2))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"basis": "quintic"}, "basis 'quintic' in 1 dimensions"),
        ({"dim": 2}, "basis 'cubic' in 2 dimensions"),
        ({"cost_model": "free"}, "cost model 'free'"),
        ({"references": np.zeros((0, 1))}, "references"),
        ({"references": np.full((6, 1), 2.0)}, "unit cube"),
        ({"references": np.full((6, 1), np.nan)}, "unit cube"),
        ({"neighbours": np.array([[0], [6]])}, "neighbours"),
        ({"neighbours": np.array([0, 1])}, "neighbours"),
        ({"overhead": -1.0}, "overhead"),
        ({"prices": (2.0, 1.0)}, "prices"),
        ({"noises": (0.0, np.inf)}, "noises"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(spec_of((1, "linear", False)), **changed)


def test_networks_must_take_the_inputs_of_the_game() -> None:
    value_map = random_map((1, "linear", False))
    other: MapSpec = spec_of((1, "linear", False), side=9)
    with pytest.raises(ValueError, match="must take"):
        ValueMap(other, value_map.networks)
    with pytest.raises(ValueError, match="at least one network"):
        ValueMap(value_map.spec, ())


# The sieve


def test_few_candidates_are_all_evaluated() -> None:
    told_all = sieve(lattice(20, 1))
    assert told_all.stages == ()
    np.testing.assert_array_equal(told_all.values(lambda chosen: chosen.astype(float)), np.arange(20.0))


@pytest.mark.parametrize("controls", [lattice(101, 1), lattice(21, 2), np.random.default_rng(0).random((300, 2))])
def test_a_sieve_finds_the_top_of_a_hill_with_few_evaluations(controls: np.ndarray) -> None:
    made = sieve(controls)
    for seed in range(20):
        top = np.random.default_rng(seed).random(controls.shape[1])
        heights = -np.square(controls - top).sum(axis=1)
        seen: list[int] = []

        def evaluate(chosen: np.ndarray, heights: np.ndarray = heights, seen: list[int] = seen) -> np.ndarray:
            seen.extend(chosen.tolist())
            return heights[chosen]

        values = made.values(evaluate)
        assert values.max() == pytest.approx(heights.max(), abs=2e-3)
        assert values[seen] == pytest.approx(heights[seen])
        assert np.all(values <= heights[seen].max() + 1e-12)
        assert len(seen) == len(set(seen)) < len(controls) / 2


def test_cost_models_are_those_of_the_room() -> None:
    assert {LINEAR.name, LOG_LINEAR.name} == set(COST_MODELS)
