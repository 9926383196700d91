"""Parameters, controls and candidates."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autobct import Train, Tuner
from autobct.belief.arrays import kronecker
from autobct.tuning.space.space import Categorical, Column, Float, Int, Space

UNIT = st.floats(0.0, 1.0)


@st.composite
def floats(draw: st.DrawFn) -> Float:
    low = draw(st.floats(-1e6, 1e6))
    return Float(low, low + draw(st.floats(1e-3, 1e6)))


@st.composite
def log_floats(draw: st.DrawFn) -> Float:
    low = draw(st.floats(1e-12, 1e6))
    return Float(low, low * draw(st.floats(1.0001, 1e12)), log=True)


@st.composite
def stepped_floats(draw: st.DrawFn) -> Float:
    low, step = draw(st.floats(-1e3, 1e3)), draw(st.floats(1e-3, 10.0))
    return Float(low, low + step * draw(st.floats(1.0, 500.0)), step=step)


@st.composite
def ints(draw: st.DrawFn) -> Int:
    low, step = draw(st.integers(-(2**60), 2**60)), draw(st.integers(1, 1000))
    return Int(low, low + step * draw(st.integers(1, 2**39)) + draw(st.integers(0, step - 1)), step=step)


@st.composite
def log_ints(draw: st.DrawFn) -> Int:
    low = draw(st.integers(1, 2**40))
    return Int(low, draw(st.integers(low, 2**40)), log=True)


CHOICES = st.lists(st.one_of(st.integers(), st.text(max_size=3), st.none(), st.booleans()), min_size=1, max_size=5)
CATEGORICALS = CHOICES.map(lambda c: Categorical(list({(type(x), x): x for x in c}.values())))
SMALL = st.builds(lambda low, width, step: Int(low, low + width * step, step=step), *[st.integers(1, 9)] * 3)
PARAMETERS = st.one_of(floats(), log_floats(), stepped_floats(), ints(), log_ints(), CATEGORICALS, SMALL)


# ---- numbers


@given(UNIT)
def test_appendix_d_mappings(u: float) -> None:
    assert Int(1, 100).from_unit(u) == pytest.approx(math.floor(99 * u + 1 + 1e-7))
    assert Int(10, 200).from_unit(u) == pytest.approx(math.floor((200 - 10) * u + 10 + 2e-7))
    rate = math.exp((math.log(0.1) - math.log(0.00001)) * u + math.log(0.00001))
    assert Float(1e-5, 0.1, log=True).from_unit(u) == pytest.approx(rate, rel=1e-12)
    assert Float(1, 10).from_unit(u) == pytest.approx(9 * u + 1, rel=1e-14)


@given(st.floats(0.0, 1.0), log_ints())
def test_log_int_is_the_floor_of_the_paper(u: float, parameter: Int) -> None:
    low, high = parameter.low, parameter.high
    x = math.exp(math.log(low) + (math.log(high) - math.log(low)) * u)
    assume(1e-6 < x % 1 < 0.85 and x < 1e8)
    assert parameter.from_unit(u) == min(math.floor(x), high)


def test_floor_forgives_float_error() -> None:
    lost = [k for k in range(1, 200) for n in range(k, 200) if math.floor(n * (k / n)) < k]
    assert lost  # it does happen
    for n in range(1, 200):
        assert [Int(0, n).from_unit(k / n) for k in range(n + 1)] == list(range(n + 1))
    assert [Int(1, 100).from_unit(k / 99) for k in range(100)] == list(range(1, 101))


@given(ints(), st.data())
def test_int_round_trip(parameter: Int, data: st.DataObject) -> None:
    value = parameter.value(data.draw(st.integers(0, parameter.count - 1)))
    back = parameter.from_unit(parameter.to_unit(value))
    assert back == value
    assert type(back) is int


@given(log_ints(), st.data())
def test_log_int_round_trip(parameter: Int, data: st.DataObject) -> None:
    value = data.draw(st.integers(parameter.low, parameter.high))
    back = parameter.from_unit(parameter.to_unit(value))
    assert back == value
    assert type(back) is int


@pytest.mark.parametrize(("low", "high"), [(1, 1000), (7, 8), (10, 3000), (2**40 - 500, 2**40)])
def test_every_log_int_comes_back(low: int, high: int) -> None:
    parameter = Int(low, high, log=True)
    assert [parameter.from_unit(parameter.to_unit(v)) for v in range(low, high + 1)] == list(range(low, high + 1))


@given(stepped_floats())
def test_stepped_float_round_trip(parameter: Float) -> None:
    values = [parameter.value(k) for k in range(parameter.count or 0)]
    assert [parameter.from_unit(parameter.to_unit(value)) for value in values] == values
    assert parameter.low == values[0]
    assert parameter.high - parameter.step * (1 + 1e-6) < values[-1] <= parameter.high


@given(st.one_of(floats(), log_floats()), UNIT)
def test_float_round_trip(parameter: Float, u: float) -> None:
    value = parameter.from_unit(u)
    back = parameter.from_unit(parameter.to_unit(value))
    assert back == pytest.approx(value, rel=1e-12, abs=1e-15 * max(abs(parameter.low), abs(parameter.high)))
    assert type(back) is float


@given(st.one_of(floats(), log_floats()), st.integers(0, 10**12))
def test_a_control_of_twelve_digits_gives_its_value_back_to_the_bit(parameter: Float, digits: int) -> None:
    value = parameter.from_unit(digits / 10**12)
    assert parameter.from_unit(parameter.to_unit(value)) == value


@given(st.one_of(floats(), log_floats(), stepped_floats(), ints(), log_ints()), UNIT, UNIT)
def test_values_rise_and_stay_inside(parameter: Float | Int, first: float, second: float) -> None:
    first, second = sorted((first, second))
    assert parameter.low <= parameter.from_unit(first) <= parameter.from_unit(second) <= parameter.high
    assert parameter.from_unit(-1.0) == parameter.from_unit(0.0) == parameter.low
    assert parameter.from_unit(2.0) == parameter.from_unit(1.0)
    assert parameter.low <= parameter.draw(first) <= parameter.draw(second) <= parameter.high
    assert parameter.draw(1.0) == parameter.from_unit(1.0)


def test_ends_are_exact() -> None:
    assert Int(2**53 - 9, 2**53 + 1).to_unit(2**53 + 1) == 1.0  # beyond what a float holds
    assert Float(0.1, 0.7, log=True).from_unit(0.0) == 0.1
    assert Float(0.1, 0.7, log=True).from_unit(1.0) == 0.7
    assert Float(-0.1, 0.2).from_unit(1.0) == 0.2
    assert Int(3, 999, log=True).from_unit(1.0) == 999


def test_steps() -> None:
    tenths = Float(0, 1, step=0.1)
    assert [tenths.value(k) for k in range(11)] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert tenths.count == 11
    assert Float(0, 1, step=0.3).from_unit(1.0) == 0.9
    assert Float(1e9, 1e9 + 1, step=0.001).to_unit(1e9 + 0.5) == 0.5
    assert Int(1, 10, step=4).count == 3
    assert [Int(1, 10, step=4).from_unit(u) for u in (0, 0.49, 0.5, 0.99, 1)] == [1, 1, 5, 5, 9]


def test_numbers_of_other_types_are_taken() -> None:
    assert Int(np.int64(1), 10.0) == Int(1, 10)  # type: ignore[arg-type]
    assert type(Float(1, np.float32(2)).low) is float
    assert type(Int(np.int64(1), 10).from_unit(0.3)) is int
    assert Int(1, 10).to_unit(np.float64(10.0)) == 1.0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Float(2, 1), "Float: low is above high, got 2.0, 1.0"),
        (lambda: Int(2, 1), "Int: low is above high, got 2, 1"),
        (lambda: Float(0, math.inf), "Float: high must be finite, got inf"),
        (lambda: Float(math.nan, 1), "Float: low must be finite, got nan"),
        (lambda: Int(0, math.inf), "Int: high must be a whole number, got inf"),
        (lambda: Int(math.nan, 1), "Int: low must be a whole number, got nan"),
        (lambda: Int(0.5, 1), "Int: low must be a whole number, got 0.5"),
        (lambda: Float(0, 1, log=True), "Float: low must be positive with log=True, got 0.0"),
        (lambda: Int(-1, 1, log=True), "Int: low must be positive with log=True, got -1"),
        (lambda: Float(0, 1, step=0), "Float: step must be positive, got 0.0"),
        (lambda: Float(0, 1, step=math.nan), "Float: step must be finite, got nan"),
        (lambda: Int(0, 9, step=-1), "Int: step must be positive, got -1"),
        (lambda: Int(0, 9, step=1.5), "Int: step must be a whole number, got 1.5"),
        (lambda: Float(1, 2, step=0.1, log=True), "Float: step cannot be combined with log=True"),
        (lambda: Int(1, 9, step=2, log=True), "Int: step cannot be combined with log=True"),
        (lambda: Float(0, 1, step=2), "Float: step is wider than the range"),
        (lambda: Float(0, 1, step=1e-15), "Float: step is too small"),
        (lambda: Float(1e16, 1e16 + 100, step=2), "Float: step is too small"),
        (lambda: Int(0, 2**50), "Int: step is too small"),
        (lambda: Int(1, 2**41, log=True), "Int: high is too large for log=True"),
        (lambda: Int(2**40, 2**40 + 9, log=True), "Int: high is too large for log=True"),
        (lambda: Float(-1.7e308, 1.7e308), "Float: low and high are too far apart"),
        (lambda: Float(1e-300, 1e300, log=True), "Float: low and high are too far apart"),
        (lambda: Categorical([]), "Categorical: choices is empty"),
        (lambda: Categorical(["a", "b", "a"]), "Categorical: choices has 'a' twice"),
        (lambda: Categorical([math.nan, float("nan")]), "Categorical: choices has nan twice"),
    ],
)
def test_bad_parameters(build: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}.*; write "):
        build()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Float(True, 2), "Float: low must be a number, got True"),
        (lambda: Float("0", 1), "Float: low must be a number, got '0'"),
        (lambda: Int(0, True), "Int: high must be a whole number, got True"),
        (lambda: Int(None, 1), "Int: low must be a whole number, got None"),
        (lambda: Int(0, 9, step=True), "Int: step must be a whole number, got True"),
        (lambda: Int(1, 9, log=1), "Int: log must be True or False, got 1"),
        (lambda: Categorical("adam"), "Categorical: choices must be a list or tuple, got 'adam'"),
        (lambda: Categorical({"a", "b"}), "Categorical: choices must be a list or tuple"),
    ],
)
def test_parameters_of_the_wrong_type(build: Any, words: str) -> None:
    with pytest.raises(TypeError, match=f"^{words}.*; write "):
        build()


def test_choices_are_the_objects_themselves() -> None:
    layers, array = [64, 64], np.eye(2)
    parameter = Categorical([layers, None, 1, True, 1.0, array, math.nan])
    assert parameter.value(0) is layers
    assert [parameter.index(choice) for choice in parameter.choices] == list(range(7))
    assert parameter.index([64, 64]) == 0
    with pytest.raises(ValueError, match=r"(?s)^value must be one of .*; write one of these"):
        parameter.index(np.eye(2))  # arrays are known by identity: they do not compare to one truth
    assert Categorical([0, 1]).index(True) == 1
    assert [Categorical(["abc", "d"]).draw(u) for u in (0.0, 0.49, 0.5, 1.0)] == [
        "abc",
        "abc",
        "d",
        "d",
    ]


# ---- spaces

MIXED = {
    "trees": Int(1, 100),
    "loss": Categorical(["gini", "log", None]),
    "seed": Int(7, 7),
    "rate": Float(1e-5, 0.1, log=True),
}


def test_columns() -> None:
    space = Space.of(MIXED)
    assert space.names == ("trees", "loss", "seed", "rate")
    assert space.dim == 5
    assert space.columns == (
        Column("trees"),
        Column("loss", 0),
        Column("loss", 1),
        Column("loss", 2),
        Column("rate"),
    )
    assert space.numeric == (0, 4)
    assert space.groups == ((1, 2, 3),)
    assert Space.of({"a": Categorical(["x", "y"]), "b": Categorical([1, 2])}).groups == ((0, 1), (2, 3))
    assert Space.of(space) is space
    assert pickle.loads(pickle.dumps(space)) == space


def test_params_and_control() -> None:
    space = Space.of(MIXED)
    params = {"trees": 100, "loss": None, "seed": 7, "rate": 0.1}
    np.testing.assert_array_equal(space.control(params), [1, 0, 0, 1, 1])
    assert space.params(np.array([1.0, 0.2, 0.1, 0.3, 1.0])) == params
    assert list(space.params(np.zeros(5))) == list(MIXED)
    assert space.params(np.full(5, 0.5))["loss"] == "gini"  # the first of equals


@settings(deadline=None)
@given(st.lists(PARAMETERS, min_size=1, max_size=4), st.data())
def test_control_is_the_inverse_of_params(parameters: list[Any], data: st.DataObject) -> None:
    assume(any(p.count != 1 for p in parameters))
    space = Space.of({f"p{i}": p for i, p in enumerate(parameters)})
    draws = data.draw(st.lists(st.integers(0, 10**12), min_size=space.dim, max_size=space.dim))
    params = space.params(np.array(draws) / 10**12)
    assert space.params(space.control(params)) == params


@settings(deadline=None, max_examples=60)
@given(st.lists(PARAMETERS, min_size=1, max_size=4), st.sampled_from([None, 2, 8, 50]))
def test_candidates_are_canonical_and_distinct(parameters: list[Any], size: int | None) -> None:
    assume(any(p.count != 1 for p in parameters))
    space = Space.of({f"p{i}": p for i, p in enumerate(parameters)})
    candidates = space.candidates(size)
    assert candidates.dtype == float
    assert candidates.shape[1] == space.dim
    assert 2 <= len(candidates) <= (size or 128) + 3
    assert candidates.min() >= 0
    assert candidates.max() <= 1
    np.testing.assert_array_equal(candidates, [space.control(space.params(row)) for row in candidates])
    assert len({repr(space.params(row)) for row in candidates}) == len(candidates)
    np.testing.assert_array_equal(candidates, space.candidates(size))


@pytest.mark.parametrize(
    "parameter",
    [Float(0, 1), Float(-3, 0.7), Float(1000, 1001), Float(1e-5, 0.1, log=True), Float(3, 3.1, log=True)],
)
def test_one_real_number_has_the_paper_grid(parameter: Float) -> None:
    np.testing.assert_array_equal(Space.of({"x": parameter}).candidates()[:, 0], np.arange(101) / 100)


def test_one_whole_number() -> None:
    def values(parameter: Any, size: int | None = None) -> list[Any]:
        space = Space.of({"n": parameter})
        return [space.params(row)["n"] for row in space.candidates(size)]

    assert values(Int(1, 100)) == list(range(1, 101))
    assert values(Int(1, 101, log=True)) == list(range(1, 102))
    assert values(Int(0, 200)) == list(range(0, 201, 2))
    assert len(values(Int(1, 120))) == 101
    assert values(Int(1, 100), 12) == list(range(1, 101, 9))
    assert values(Float(0, 1, step=0.25)) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert 30 < len(values(Int(1, 1000, log=True))) < 101  # the low end of a log grid repeats itself


def test_two_numbers() -> None:
    space = Space.of({"x": Float(0, 1), "y": Float(1, 10, log=True)})
    grid = [[i / 10, j / 10] for i in range(11) for j in range(11)]
    np.testing.assert_array_equal(space.candidates(), grid)
    assert len(space.candidates(50)) == 49
    assert len(Space.of({"x": Float(0, 1), "n": Int(1, 3)}).candidates()) == 33
    assert len(Space.of({"m": Int(1, 40), "n": Int(1, 3)}).candidates()) == 120  # few enough to take all
    assert len(Space.of({"x": Float(0, 1), "k": Int(3, 3)}).candidates()) == 101


def test_few_values_are_all_taken() -> None:
    space = Space.of({"a": Categorical(["p", "q"]), "n": Int(1, 4), "k": Int(1, 7), "c": Float(2, 2)})
    assert len(space.candidates()) == 56
    assert {space.params(row)["c"] for row in space.candidates()} == {2.0}


def test_many_values_are_sampled_with_centre_and_corners() -> None:
    space = Space.of({"x": Float(0, 1), "a": Categorical(["p", "q", "r"]), "n": Int(1, 2), "y": Float(1, 9)})
    candidates = space.candidates()
    params = [space.params(row) for row in candidates]
    assert len(candidates) == 131
    assert params[:3] == [
        {"x": 0.5, "a": "q", "n": 2, "y": 5.0},
        {"x": 0.0, "a": "p", "n": 1, "y": 1.0},
        {"x": 1.0, "a": "r", "n": 2, "y": 9.0},
    ]
    assert sum(p["n"] == 2 for p in params) in range(60, 72)  # the floor alone would give only the corner
    assert min(sum(p["a"] == a for p in params) for a in "pqr") >= 40
    assert len(space.candidates(20)) == 23


@pytest.mark.parametrize("dim", [1, 2, 3, 6])
def testkronecker_is_evener_than_chance(dim: int) -> None:
    points = kronecker(128, dim)
    assert points.shape == (128, dim)
    assert np.all((points >= 0) & (points < 1))
    for axis in points.T:
        assert np.max(np.abs(np.sort(axis) - (np.arange(128) + 0.5) / 128)) < 0.05  # chance: 0.1
    if dim == 1:
        assert points[0, 0] == pytest.approx((0.5 + 2 / (1 + math.sqrt(5))) % 1)


@pytest.mark.parametrize(
    ("space", "kind", "words"),
    [
        ({}, ValueError, "space has no parameter; write e.g."),
        (
            {"n": Int(3, 3), "c": Categorical(["a"])},
            ValueError,
            r"space has nothing to tune: every parameter is constant \('n' is 3, 'c' is 'a'\)",
        ),
        (None, TypeError, "space must be a dict of parameters or a Table, got None"),
        ([("n", Int(1, 2))], TypeError, "space must be a dict of parameters"),
        ({3: Int(1, 2)}, TypeError, "space must have text as names, got 3"),
        ({"": Int(1, 2)}, TypeError, "space must have text as names, got ''"),
        ({"n": (1, 100)}, TypeError, r"space\['n'\]: must be an Int, .* got \(1, 100\); write e.g. Int\(1, 100\)$"),
        ({"n": (0, 0.5)}, TypeError, r"space\['n'\]: must be an Int, .*; write e.g. Float\(0, 0.5\)$"),
        ({"n": ["a", "b"]}, TypeError, r"space\['n'\]: must be an Int, .*; write e.g. Categorical\(\['a', 'b'\]\)$"),
        ({"n": Int}, TypeError, r"space\['n'\]: must be an Int"),
    ],
)
def test_bad_spaces(space: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=f"^{words}") as error:
        Space.of(space)
    assert "; write " in str(error.value)


@pytest.mark.slow
def test_a_thousand_choices_are_told_apart_and_a_hundred_thousand_refused() -> None:
    names = [f"choice {k}" for k in range(1000)]
    tuner = Tuner({"name": Categorical(names), "x": Float(0, 1)}, price=0.001, seed=0)
    for _ in range(3):
        decision = tuner.ask()
        assert isinstance(decision, Train)
        assert decision.params["name"] in names
        tuner.tell(decision, score=0.5 + 0.1 * (decision.params["name"] > "choice 5"), cost=1.0)
    with pytest.raises(
        ValueError, match="space has 100001 coordinates, 100000 of them for the choices of 'many'; at most"
    ):
        Space.of({"many": Categorical(range(100_000)), "x": Float(0, 1)})


@pytest.mark.parametrize("make", [Float, lambda low, high: Float(low, high, log=True)])
def test_numbers_beyond_floats_are_named(make: Any) -> None:
    with pytest.raises(ValueError, match=r"Float: high is too large \(beyond 1e308\); write a number below 1e308"):
        make(1, 10**400)
    with pytest.raises(ValueError, match=r"params\['x'\]: value is too large"):
        Space.of({"x": make(1, 2)}).control({"x": 10**400})


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"trees": 0}, ValueError, r"params\['trees'\]: value must be between 1 and 100, got 0"),
        ({"trees": 2.5}, ValueError, r"params\['trees'\]: value must be a whole number, got 2.5"),
        ({"trees": "2"}, TypeError, r"params\['trees'\]: value must be a whole number, got '2'"),
        (
            {"loss": "hinge"},
            ValueError,
            r"params\['loss'\]: value must be one of \['gini', 'log', None\], got 'hinge'",
        ),
        ({"seed": 8}, ValueError, r"params\['seed'\]: value must be between 7 and 7, got 8"),
        ({"rate": 0.0}, ValueError, r"params\['rate'\]: value must be between 1e-05 and 0.1, got 0.0"),
        ({"rate": math.nan}, ValueError, r"params\['rate'\]: value must be finite, got nan"),
        ({"rate": True}, TypeError, r"params\['rate'\]: value must be a number, got True"),
        ({"depth": 3}, ValueError, r"params has the unknown names \['depth'\]"),
    ],
)
def test_bad_params(change: dict[str, Any], kind: type[Exception], words: str) -> None:
    params = {"trees": 5, "loss": "log", "seed": 7, "rate": 0.01}
    with pytest.raises(kind, match=f"^{words}.*; write "):
        Space.of(MIXED).control(params | change)


def test_missing_params_off_step_values_and_bad_controls() -> None:
    space = Space.of({"x": Float(0, 1, step=0.1), "n": Int(0, 10, step=5)})
    with pytest.raises(ValueError, match=r"^params has no value for \['n'\]"):
        space.control({"x": 0.1})
    with pytest.raises(TypeError, match=r"^params must be a dict, got 3"):
        space.control(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^params\['x'\]: value must be 0.0 plus a multiple of 0.1, got 0.15"):
        space.control({"x": 0.15, "n": 5})
    with pytest.raises(ValueError, match=r"^params\['n'\]: value must be 0 plus a multiple of 5, got 4; write 5"):
        space.control({"x": 0.1, "n": 4})
    np.testing.assert_allclose(space.control({"x": 3 * 0.1, "n": 5}), [0.3, 0.5], rtol=1e-15)
    for bad in ([0.5], [0.5, math.nan], [[0.5, 0.5]]):
        with pytest.raises(ValueError, match=r"^control must be 2 finite numbers"):
            space.params(np.array(bad))
    for size in (1, 0, True, 2.5, "9"):
        with pytest.raises(ValueError, match=r"^size must be a whole number from 2 to a million"):
            space.candidates(size)  # type: ignore[arg-type]


# ---- Optuna's vocabulary


@pytest.mark.filterwarnings("ignore:The distribution is specified")
def test_optuna_distributions_are_taken_as_they_are() -> None:
    optuna = pytest.importorskip("optuna.distributions")
    space = Space.of(
        {
            "x": optuna.FloatDistribution(1e-5, 0.1, log=True),
            "y": optuna.FloatDistribution(0, 1, step=0.3),
            "n": optuna.IntDistribution(1, 100, log=True),
            "m": optuna.IntDistribution(0, 10, step=4),
            "k": optuna.IntDistribution(0, 1, step=2),
            "c": optuna.CategoricalDistribution(["a", None, True]),
        }
    )
    ours = (Float(1e-5, 0.1, log=True), Float(0, 0.9, step=0.3), Int(1, 100, log=True), Int(0, 8, step=4))
    assert space.parameters == (*ours, Int(0, 0, step=2), Categorical(["a", None, True]))
    for params in map(space.params, space.candidates()):
        assert optuna.FloatDistribution(0, 0.9, step=0.3)._contains(params["y"])
        assert optuna.IntDistribution(0, 8, step=4)._contains(params["m"])


def test_a_bad_optuna_distribution_names_the_parameter() -> None:
    optuna = pytest.importorskip("optuna.distributions")
    with pytest.raises(ValueError, match=r"^space\['x'\]: Float: high must be finite, got inf"):
        Space.of({"x": optuna.FloatDistribution(0, math.inf)})


def test_optuna_is_not_imported() -> None:
    class IntDistribution:
        low, high, log, step = 1, 9, False, 2

    assert Space.of({"n": IntDistribution()}).parameters == (Int(1, 9, step=2),)
