"""Parameters that exist only under values of others."""

import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autobct
from autobct.belief.arrays import distinct
from autobct.run.ask_tell import stored
from autobct.tuning.decide.search import around
from autobct.tuning.model.posterior import learned
from autobct.tuning.problem import problem_of
from autobct.tuning.space.candidates import spread
from autobct.tuning.space.space import Categorical, Float, Int, Parameter, Space

BOOSTED: dict[str, Parameter] = {
    "rate_drop": Float(0.0, 1.0, when={"booster": "dart"}),  # before what it depends on
    "booster": Categorical(["gblinear", "gbtree", "dart"]),
    "depth": Int(1, 10, when={"booster": ["gbtree", "dart"]}),
    "normalize": Categorical(["tree", "forest"], when={"booster": "dart"}),
    "weight": Float(0.5, 2.0, when={"normalize": "forest", "depth": range(3, 6)}),
    "learning_rate": Float(1e-3, 1.0, log=True),
}


def exists(space: Mapping[str, Parameter], name: str, values: Mapping[str, Any]) -> bool:
    """Told by the values of everything, whether it exists or not: all above exist and have values that were named."""
    when = space[name].when or {}
    return all(exists(space, above, values) and values[above] in allowed for above, allowed in when.items())


@st.composite
def spaces(draw: st.DrawFn) -> dict[str, Parameter]:
    """Trees and nets of conditions over every kind of parameter, in any order."""
    made: dict[str, Parameter] = {}
    for k in range(draw(st.integers(2, 7))):
        above = [name for name, parameter in made.items() if parameter.count is not None]
        when: dict[str, Any] | None = None
        if above and draw(st.booleans()):
            name = draw(st.sampled_from(above))
            values = [made[name].value(i) for i in range(made[name].count or 0)]
            when = {name: draw(st.lists(st.sampled_from(values), min_size=1, unique=True))}
        kinds: list[Parameter] = [
            Float(0.0, 1.0, when=when),
            Float(0.0, 1.0, step=0.25, when=when),
            Int(1, 4, when=when),
            Int(1, 9, log=True, when=when),
            Categorical(["a", "b", None], when=when),
            Categorical(["only"], when=when),
        ]
        made[f"p{k}"] = draw(st.sampled_from(kinds))
    made["free"] = Float(0.0, 1.0)
    names = draw(st.permutations(list(made)))
    return {name: made[name] for name in names}


def values_at(space: Mapping[str, Parameter], uniforms: list[float]) -> dict[str, Any]:
    return {name: parameter.draw(u) for (name, parameter), u in zip(space.items(), uniforms, strict=False)}


@settings(max_examples=150, deadline=None)
@given(spaces(), st.lists(st.floats(0.0, 1.0), min_size=8, max_size=8))
def test_what_exists_goes_to_controls_and_back(told: dict[str, Parameter], uniforms: list[float]) -> None:
    space, values = Space.of(told), values_at(told, uniforms)
    params = {name: value for name, value in values.items() if exists(told, name, values)}
    control = space.control(params)
    assert list(space.params(control)) == [name for name in told if name in params]
    assert space.params(control) == pytest.approx(params)
    assert np.all((control >= 0.0) & (control <= 1.0))
    np.testing.assert_allclose(space.control(space.params(control)), control, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(spaces(), st.integers(0, 2**32 - 1))
def test_what_does_not_exist_makes_no_two_controls_of_one(told: dict[str, Parameter], seed: int) -> None:
    space, rng = Space.of(told), np.random.default_rng(seed)
    controls = space.canonical(rng.random((20, space.dim)))
    np.testing.assert_array_equal(space.canonical(controls), controls)
    moved = controls.copy()
    for name, there in zip(space.names, space.existing(controls).T, strict=True):
        own = [i for i, column in enumerate(space.columns) if column.name == name]
        moved[np.ix_(~there, own)] = rng.random((int((~there).sum()), len(own)))
    np.testing.assert_array_equal(space.canonical(moved), controls)


@settings(max_examples=60, deadline=None)
@given(spaces(), st.integers(0, 2**32 - 1))
@pytest.mark.slow
def test_candidates_are_params_that_exist_no_two_alike(told: dict[str, Parameter], seed: int) -> None:
    space = Space.of(told)
    even = spread(space, size=60)
    near = around(space, even[:5], rng=np.random.default_rng(seed), size=30)
    for controls in (space.candidates(), space.candidates(7), even, distinct(near)):
        for control in controls:
            np.testing.assert_allclose(space.control(space.params(control)), control, atol=1e-9)
        params = [repr(space.params(control)) for control in controls]
        assert len(set(params)) == len(params)


def test_the_neutral_places() -> None:
    space = Space.of(BOOSTED)
    control = space.control({"booster": "gblinear", "learning_rate": 1.0})
    neither = 1 / np.sqrt(2)
    np.testing.assert_allclose(control, [0.5, 1, 0, 0, 0.5, neither, neither, 0.5, 1])
    assert space.params(control) == {"booster": "gblinear", "learning_rate": 1.0}


def test_a_chain_ends_where_its_first_link_does() -> None:
    chain = {
        "c": Int(1, 2, when={"b": 1}),
        "a": Categorical([False, True]),
        "b": Float(0, 1, step=0.5, when={"a": True}),
        "free": Float(0, 1),
    }
    space = Space.of(chain)
    assert list(space.params(space.control({"a": True, "b": 1.0, "c": 2, "free": 0}))) == ["c", "a", "b", "free"]
    assert list(space.params(space.control({"a": True, "b": 0.5, "free": 0}))) == ["a", "b", "free"]
    assert list(space.params(space.control({"a": False, "free": 0}))) == ["a", "free"]
    with pytest.raises(ValueError, match=r"params has no value for \['c'\]"):
        space.control({"a": True, "b": 1.0, "free": 0})
    with pytest.raises(ValueError, match=r"params has 'c', which exists only when b is 1; leave it out"):
        space.control({"a": False, "c": 1, "free": 0})
    with pytest.raises(ValueError, match=r"params\['b'\]: value must be 0.0 plus a multiple of 0.5"):
        space.control({"a": True, "b": 0.3, "c": 1, "free": 0})


def train(params: Mapping[str, Any]) -> tuple[float, float]:
    score = 0.6 + 0.1 * (params["booster"] == "dart") - 0.1 * (params.get("rate_drop", 0.5) - 0.2) ** 2
    return score - 0.02 * abs(np.log10(params["learning_rate"]) + 1), 1.0 + params.get("depth", 0)


def test_training_is_given_what_exists_and_nothing_else() -> None:
    given_: list[dict[str, Any]] = []

    def watched(params: dict[str, Any]) -> tuple[float, float]:
        given_.append(params)
        return train(params)

    result = autobct.tune(watched, BOOSTED, price=1e-4, seed=0, max_runs=12)
    told = [{name: params[name] for name in BOOSTED if name in params} for params in given_]
    assert len({params["booster"] for params in told}) > 1
    for params in told:
        values = {name: params.get(name) for name in BOOSTED}
        assert list(params) == [name for name in BOOSTED if exists(BOOSTED, name, values)]
    assert result.params in given_
    again = autobct.tune(train, BOOSTED, price=1e-4, seed=0, max_runs=12)
    assert [run.params for run in again.history] == given_


@pytest.mark.parametrize("hints", [{}, {"guess": {"rate_drop": 0.1}, "increases_cost": ["depth"]}])
def test_the_belief_is_not_moved_by_what_does_not_exist(hints: dict[str, Any]) -> None:
    """What a run teaches is a function of its params alone, whatever was in the coordinates of what it has not."""
    tuner, rng = autobct.Tuner(BOOSTED, price=1e-4, max_runs=14, **hints), np.random.default_rng(3)
    space, basis = tuner.problem.space, tuner.problem.prior.model.score_basis
    while isinstance(decision := tuner.ask(), autobct.Train):
        np.testing.assert_array_equal(decision.control, space.control(decision.params))
        tuner.tell(decision, score=0.3 if decision.params["booster"] == "dart" else 0.8, cost=1.0)
    without = [run for run in tuner.history if "rate_drop" not in run.params]
    assert 0 < len(without) < len(tuner.history)
    controls = np.stack([run.control for run in without])
    assert len(np.unique(controls[:, 0])) == 1
    shaken = controls.copy()
    shaken[:, 0] = rng.random(len(without))
    assert not np.array_equal(basis(shaken), basis(controls))  # the coordinate would matter
    replayed = [replace(run, control=space.canonical(shaken)[k]) for k, run in enumerate(without)]
    np.testing.assert_array_equal(
        learned(tuner.problem, replayed).belief.score.mean, learned(tuner.problem, without).belief.score.mean
    )


def test_gone_on_with_after_a_crash(tmp_path: Path) -> None:
    def tuner() -> autobct.Tuner:
        return autobct.Tuner(BOOSTED, price=1e-4, seed=5, max_runs=9)

    whole = tuner()
    while isinstance(decision := whole.ask(), autobct.Train):
        whole.tell(decision, *train(decision.params))
    with stored(tuner(), tmp_path) as first:
        for _ in range(4):
            asked = first.ask()
            assert isinstance(asked, autobct.Train)
            first.tell(asked, *train(asked.params))
    with stored(tuner(), tmp_path) as second:
        while isinstance(decision := second.ask(), autobct.Train):
            second.tell(decision, *train(decision.params))
        assert [run.params for run in second.tuner.history] == [run.params for run in whole.history]
    other = {**BOOSTED, "depth": Int(1, 10, when={"booster": "dart"})}
    with (
        pytest.raises(Exception, match="space changed"),
        stored(autobct.Tuner(other, price=1e-4, seed=5, max_runs=9), tmp_path),
    ):
        pass


def test_candidates_of_the_users_are_made_the_same() -> None:
    space = Space.of({"a": Categorical(["x", "y"]), "b": Float(0, 1, when={"a": "y"})})
    rows = np.array([[1, 0, 0.1], [1, 0, 0.9], [0, 1, 0.1], [0, 1, 0.9]])
    problem = problem_of(space, 0.01, candidates=rows)
    np.testing.assert_array_equal(problem.controls, [[1, 0, 0.5], [0, 1, 0.1], [0, 1, 0.9]])


def test_a_parameter_shows_its_condition_and_none_where_there_is_none() -> None:
    assert repr(Float(0, 1)) == "Float(low=0.0, high=1.0, log=False, step=None)"
    assert repr(Categorical(["a"], when={"b": {2, 1}})) == "Categorical(choices=('a',), when={'b': [1, 2]})"
    for parameter in BOOSTED.values():
        assert eval(repr(parameter)) == parameter == pickle.loads(pickle.dumps(parameter))
    assert Float(0, 1) != Float(0, 1, when={"a": 1})
    assert len({Int(1, 3, when={"a": 1}), Int(1, 3, when={"a": 1})}) == 1
    settings_ = autobct.Tuner(BOOSTED, price=0.01).settings["space"]
    assert settings_["weight"]["when"] == {"normalize": ["forest"], "depth": [3, 4, 5]}
    assert "when" not in settings_["booster"]


ON = Categorical(["x", "y"])


@pytest.mark.parametrize(
    ("space", "sentence"),
    [
        ({"a": ON, "b": Int(1, 2, when={"c": 1})}, r"space\['b'\]: when refers to 'c', which is not in the space"),
        ({"a": ON, "b": Int(1, 2, when={"b": 1})}, r"space\['b'\]: when refers to 'b' itself"),
        (
            {"a": Int(1, 2, when={"b": 1}), "b": Int(1, 2, when={"c": 1}), "c": Int(1, 2, when={"a": 1})},
            r"space\['a'\]: the conditions in when form a cycle, a -> b -> c -> a",
        ),
        ({"a": ON, "b": Int(1, 2, when={"a": "z"})}, r"space\['b'\]: when\['a'\]: value must be one of \['x', 'y'\]"),
        ({"a": ON, "b": Int(1, 2, when={"a": ("x", "y")})}, r"write several values as a list, \['x', 'y'\]"),
        ({"a": Int(1, 4), "b": Int(1, 2, when={"a": 5})}, r"when\['a'\]: value must be between 1 and 4, got 5"),
        ({"a": Int(1, 4), "b": Int(1, 2, when={"a": "1"})}, r"when\['a'\]: value must be a whole number, got '1'"),
        ({"a": Float(0, 1), "b": Int(1, 2, when={"a": 0.5})}, r"refers to 'a', which is continuous; use a Cat"),
        (
            {"a": ON, "b": Int(1, 2, when={"a": "x"}), "c": Int(1, 2, when={"a": "y", "b": 1})},
            r"space\['c'\]: exists when a is 'y' and b is 1, which no value of 'a' allows, so it never exists",
        ),
    ],
)
def test_conditions_that_cannot_be_meant(space: dict[str, Parameter], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        Space.of(space)


@pytest.mark.parametrize(
    ("when", "sentence"),
    [
        ("dart", "Int: when must be a dict of names and values, got 'dart'"),
        ({}, "Int: when must be a dict of names and values"),
        ({3: 1}, "Int: when must name another parameter, got 3"),
        ({"a": []}, "Int: when has no value for 'a'"),
        ({"a": range(10**9)}, "Int: when has 1000000000 values for 'a'; write at most 10000"),
    ],
)
def test_what_is_no_condition(when: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        Int(1, 2, when=when)
