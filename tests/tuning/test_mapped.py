"""Tuning on a value map: which foresight at which run, which map for which problem, and what is said of it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, SQUARE, play, state_at
from tests.value.map_cases import lattice, random_map, random_map_state

from autobct import Affine, Assessment, Categorical, Float, Int, Stop, Train, Tuner, exact, paper_prior, relaxed
from autobct.belief.basis import cubic
from autobct.belief.prior import default_prior
from autobct.maps import container, library
from autobct.maps.library import save_map
from autobct.tuning.decide import default_policy
from autobct.tuning.decide.policy import MapPolicy, mapped
from autobct.tuning.model.default_prior import basis_for
from autobct.tuning.space.space import Space
from autobct.tuning.statement import Plan
from autobct.value.lookahead.on_the_fly import on_the_fly
from autobct.value.lookahead.one_step import one_run_values
from autobct.value.maps.foresight import foresight
from autobct.value.maps.value_map import MapMismatch, ValueMap

GAME = (1, "log-linear", True)
FIXED: dict[str, Any] = {"prior": default_prior(cubic())}  # a scale that is known beforehand
PAPER: dict[str, Any] = {"prior": paper_prior("synthetic"), "cost_range": Affine(0.0, 1.0)}
CONTROLS = lattice(31, 1)


@pytest.fixture
def maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose maps count as shipped."""

    def found() -> dict[str, Path]:
        suffix = container.SUFFIX
        return {path.name.removesuffix(suffix): path for path in sorted(tmp_path.glob(f"*{suffix}"))}

    monkeypatch.setattr(container, "shipped", found)
    monkeypatch.setattr(default_policy, "shipped", found)
    library.shipped_map.cache_clear()
    yield tmp_path
    library.shipped_map.cache_clear()


def test_foresight_shrinks_with_every_run_made() -> None:
    value_map = random_map(GAME)  # V_2, V_3, V_4
    state, terms = random_map_state(GAME, CONTROLS, np.random.default_rng(0))
    values, ahead = mapped(value_map)(CONTROLS, 0), foresight(value_map, CONTROLS)
    for runs, left in ((1, 3), (2, 2)):
        np.testing.assert_array_equal(values(state, terms, runs).value, ahead.control_values(state, terms, left))
    for runs in (3, 4, 40):
        np.testing.assert_array_equal(values(state, terms, runs).value, on_the_fly(state, terms, depth=2))


def test_the_first_run_is_chosen_by_two_lookaheads() -> None:
    value_map = random_map(GAME)
    state, terms = random_map_state(GAME, CONTROLS, np.random.default_rng(0))
    expected = foresight(value_map, CONTROLS).on_top(state, terms, 3, depth=2)
    np.testing.assert_array_equal(mapped(value_map)(CONTROLS, 0)(state, terms, 0).value, expected)


@pytest.mark.parametrize("recall", [False, True])
def test_v1_over_the_references_is_near_two_runs_of_foresight(recall: bool) -> None:
    game, rng = (1, "log-linear", recall), np.random.default_rng(7)
    ahead = foresight(random_map(game), CONTROLS)
    for _ in range(20):
        state, terms = random_map_state(game, CONTROLS, rng)
        scale = np.sqrt(np.diagonal(state.score.cov).max())
        found = ahead.control_values(state, terms, 1).max()
        assert found == pytest.approx(on_the_fly(state, terms, depth=2).max(), abs=0.05 * scale)


def test_a_shorter_horizon_starts_with_less_foresight() -> None:
    value_map = random_map(GAME)
    state, terms = random_map_state(GAME, CONTROLS, np.random.default_rng(1))
    values = mapped(value_map, horizon=3)(CONTROLS, 0)
    ahead = foresight(value_map, CONTROLS)
    np.testing.assert_array_equal(values(state, terms, 0).value, ahead.on_top(state, terms, 1, depth=2))
    np.testing.assert_array_equal(values(state, terms, 1).value, on_the_fly(state, terms, depth=2))


def test_relaxed_use_is_the_same_map_for_ever() -> None:
    value_map = random_map(GAME)
    state, terms = random_map_state(GAME, CONTROLS, np.random.default_rng(2))
    values, ahead = relaxed(1, terminal=value_map, damping=0.02)(CONTROLS, 0), foresight(value_map, CONTROLS)
    for runs in (0, 7):
        expected = ahead.control_values(state, terms, 4, damping=0.02)
        np.testing.assert_array_equal(values(state, terms, runs).value, expected)


@pytest.mark.parametrize("game", [(1, "log-linear", True), (1, "linear", False), (2, "linear", True)])
@pytest.mark.slow
def test_on_the_fly_steps_on_top_of_a_map(game: tuple[int, str, bool]) -> None:
    value_map, controls = random_map(game), lattice(7, game[0])
    state, terms = random_map_state(game, controls, np.random.default_rng(3))
    values = relaxed(2, terminal=value_map)(controls, 0)(state, terms, 0).value
    assert values.shape == (len(controls),)
    assert np.isfinite(values).all()
    expected = foresight(value_map, controls).on_top(state, terms, 4, depth=2)
    np.testing.assert_array_equal(values, expected)


def test_exact_use_looks_through_to_the_last_run() -> None:
    value_map = random_map(GAME)
    state, terms = random_map_state(GAME, CONTROLS, np.random.default_rng(4))
    values, ahead = exact(5, value_map=value_map)(CONTROLS, 0), foresight(value_map, CONTROLS)
    for runs, left in enumerate((4, 3, 2)):
        np.testing.assert_array_equal(values(state, terms, runs).value, ahead.control_values(state, terms, left))
    np.testing.assert_array_equal(values(state, terms, 3).value, on_the_fly(state, terms, depth=2))
    np.testing.assert_array_equal(values(state, terms, 4).value, one_run_values(state, terms))
    assert np.all(values(state, terms, 5).value == -np.inf)


@pytest.mark.parametrize("policy", [mapped, lambda value_map, horizon: exact(horizon, value_map=value_map)])
def test_a_horizon_beyond_the_map_is_refused(policy: Any) -> None:
    with pytest.raises(ValueError, match="at most 5 with this map, got 6"):
        policy(random_map(GAME), horizon=6)


@pytest.mark.parametrize("wrong", [random_map, None, "1d-log-recall"])
def test_what_is_no_map_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="value_map must be a ValueMap"):
        mapped(wrong)


def test_a_map_is_not_a_policy() -> None:
    with pytest.raises(TypeError, match=r"write policy=mapped\(value_map\)"):
        Tuner(LINE, price=0.01, policy=random_map(GAME))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must come from a call"):
        Tuner(LINE, price=0.01, policy=mapped)  # type: ignore[arg-type]


# Which map for which problem


def test_a_map_of_the_callers_that_fits_is_used() -> None:
    tuner = Tuner(LINE, price=0.01, policy=mapped(random_map(GAME)), prior="paper")
    assert tuner.policy_note == "A value map supplied by the caller."
    trained, _ = play(tuner)
    assert trained


@pytest.mark.parametrize(
    "policy",
    [mapped(random_map(GAME)), relaxed(1, terminal=random_map(GAME)), exact(3, value_map=random_map(GAME))],
    ids=["mapped", "relaxed", "exact"],
)
def test_a_map_of_the_callers_that_does_not_fit_is_refused_with_the_lines_that_differ(policy: MapPolicy) -> None:
    with pytest.raises(MapMismatch) as caught:
        Tuner(LINE, price=0.01, policy=policy, recall=False, **PAPER)
    lines = str(caught.value).split("\n")
    assert lines[1:] == ["map: log-linear cost", "problem: linear cost", "map: recall=True", "problem: recall=False"]


def test_a_map_for_a_line_does_not_fit_a_square() -> None:
    with pytest.raises(MapMismatch, match="map: basis cubic in 1-D\nproblem: score basis additive-quartic in 2-D"):
        Tuner(SQUARE, price=0.01, policy=mapped(random_map(GAME)), prior="paper")


def test_too_few_candidates_for_a_map() -> None:
    with pytest.raises(MapMismatch, match="3 candidates identify 3"):
        Tuner({"x": Int(1, 3)}, price=0.01, policy=mapped(random_map(GAME)), prior="paper")


def test_without_shipped_maps_it_is_depth_two(maps: Path) -> None:
    tuner = Tuner(LINE, price=0.01, **FIXED)
    assert tuner.policy_note == "Depth 2 on the fly: the package has no map for this kind of problem."
    state, terms = state_at(tuner), tuner.problem.terms
    np.testing.assert_array_equal(tuner.assess(state, terms, 0).value, on_the_fly(state, terms, depth=2))


@pytest.mark.parametrize("name", ["1d-log-recall", "1d-log-linear-recall"])
def test_a_shipped_map_that_fits_is_used(maps: Path, name: str) -> None:
    save_map(maps / f"{name}.safetensors", random_map(GAME), {})
    tuner = Tuner(LINE, price=0.01, **FIXED)
    assert tuner.policy_note == f"The value map {name} from the package."
    state, terms = state_at(tuner), tuner.problem.terms
    expected = foresight(random_map(GAME), tuner.problem.controls).on_top(state, terms, 3, depth=2)
    np.testing.assert_allclose(tuner.assess(state, terms, 0).value, expected, atol=1e-9)
    play(tuner)


@pytest.mark.parametrize(
    ("space", "told", "game"),
    [
        (LINE, {**FIXED, "recall": False}, (1, "log-linear", False)),
        (LINE, PAPER, (1, "linear", True)),
        (SQUARE, {"prior": "paper"}, (2, "log-linear", True)),
        (SQUARE, {"prior": paper_prior("fraud-2d"), "recall": False}, (2, "linear", False)),
    ],
)
def test_the_map_for_the_game_is_chosen_among_all(maps: Path, space: Any, told: Any, game: Any) -> None:
    for dim in (1, 2):
        for cost in ("linear", "log-linear"):
            for recall in (True, False):
                name = f"{dim}d-{cost.removesuffix('-linear')}-{'recall' if recall else 'last'}"
                save_map(maps / f"{name}.safetensors", random_map((dim, cost, recall)), {})
    tuner = Tuner(space, price=0.01, **told)
    assert "from the package" in tuner.policy_note
    spec = library.shipped_map(tuner.policy_note.split()[3]).spec
    assert (spec.dim, spec.cost_model, spec.recall) == game


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"overhead": 0.01}, "map 1d-log-recall is for overhead 0.002 a run, not overhead 0.01 a run"),
        ({"price": 1e9, "cost_range": (1, 2)}, "map 1d-log-recall is for price of a run 0 to 10 of the score's spread"),
        ({"candidates": np.array([[0.1], [0.2], [0.3]])}, "3 candidates identify 3"),
        ({"recall": False}, "no map for this kind of problem"),
    ],
)
def test_a_shipped_map_that_does_not_fit_is_replaced_with_a_note(maps: Path, told: dict[str, Any], said: str) -> None:
    value_map = random_map(GAME)
    fitted = ValueMap(replace(value_map.spec, prices=(0.0, 10.0)), value_map.networks)
    save_map(maps / "1d-log-recall.safetensors", fitted, {})
    tuner = Tuner(LINE, **{"price": 0.01, **FIXED, **told})
    assert tuner.policy_note.startswith("Depth 2 on the fly: ")
    assert said in tuner.policy_note
    assert "\n" not in tuner.policy_note


def test_a_damaged_shipped_map_is_replaced_with_a_note(maps: Path) -> None:
    (maps / "1d-log-recall.safetensors").write_bytes(b"nothing of the kind")
    tuner = Tuner(LINE, price=0.01, **FIXED)
    assert tuner.policy_note.startswith("Depth 2 on the fly: the map file")
    assert tuner.ask() is not None


def test_a_policy_of_the_callers_is_said_to_be_one() -> None:
    assert Tuner(LINE, price=0.01, policy=relaxed(1)).policy_note == "A policy supplied by the caller."


def test_numbers_alone_have_the_papers_bases() -> None:
    assert basis_for(Space.of({"x": Float(0, 1)})).name == "cubic"
    assert basis_for(Space.of({"x": Int(1, 9), "y": Float(0, 1)})).name == "additive-quartic"
    assert basis_for(Space.of({"x": Float(0, 1), "c": Categorical(["a", "b"])})).name not in (
        "cubic",
        "additive-quartic",
    )


def test_failed_candidates_and_few_of_them() -> None:
    """With failures the lookahead sees the nearest other candidates; the values stay numbers."""
    for count in (5, 9, 60):
        tuner = Tuner(LINE, price=0.01, candidates=count, policy=mapped(random_map(GAME)), prior="paper")
        for _ in range(4):
            decision = tuner.ask()
            if not hasattr(decision, "trial"):
                break
            tuner.tell(decision, error="diverged", cost=0.1)
            values = tuner.assess(state_at(tuner), tuner.problem.terms, 1).value
            assert np.isfinite(values).all()


def test_a_run_that_only_puts_off_the_best_one_is_not_made() -> None:
    """A sieve once missed the best last run, far from its coarse grid; the cheapest corner was trained thirty times."""
    told = [
        ((0.6, 0.2), 86.149, 1.159),
        ((0.8, 0.4), 86.793, 2.209),
        ((0.5, 0.9), 85.732, 1.132),
        ((0.0, 0.8), 84.648, 0.346),
        ((0.0, 0.2), 60.166, 0.243),
        ((0.0, 0.0), 46.779, 0.232),
        ((1.0, 0.0), 86.487, 2.668),
        ((0.8, 0.0), 86.037, 1.691),
    ]

    def as_told(controls: np.ndarray, seed: int) -> Any:
        return lambda state, terms, runs: Assessment.by_value(-np.abs(controls - told[runs][0]).max(axis=1) + 1e6)

    price = 0.0856
    tuner = Tuner(SQUARE, price=price, score_range=(80, 90), prior="paper", policy=as_told)
    for place, score, cost in told:
        decision = tuner.ask()
        assert isinstance(decision, Train)
        np.testing.assert_allclose(decision.control, place)
        tuner.tell(decision, score=score, cost=cost)
    fresh = Tuner(SQUARE, price=price, score_range=(80, 90), prior="paper")
    assert "value map 2d-log-recall" in fresh.policy_note
    tuner = Tuner.standing(Plan(), tuner.memory)
    for _ in range(4):
        decision = tuner.ask()
        if isinstance(decision, Stop):
            break
        assert not np.allclose(decision.control, 0.0)
        tuner.tell(decision, score=86.0, cost=1.0)
