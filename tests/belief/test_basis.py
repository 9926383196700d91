"""Basis functions: the paper's, any user's, and what is refused."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from autobct.belief.arrays import Array, kronecker
from autobct.belief.basis import Basis, additive, additive_quartic, check_basis, cubic, largest_features, probe_controls


def test_cubic_is_the_papers_basis_in_its_order() -> None:
    u = 0.8
    np.testing.assert_allclose(cubic()(np.array([u])), [1, u - 0.5, (u - 0.5) ** 2, (u - 0.5) ** 3], rtol=1e-15)
    assert (cubic().dim, cubic().size) == (1, 4)


def test_additive_quartic_is_the_papers_basis_in_its_order() -> None:
    a, b = 0.8 - 0.5, 0.1 - 0.5
    expected = [1, a, a**2, a**3, a**4, b, b**2, b**3, b**4, a * b]  # appendix D, 2-D examples
    np.testing.assert_allclose(additive_quartic()(np.array([0.8, 0.1])), expected, rtol=1e-14)
    assert (additive_quartic().dim, additive_quartic().size) == (2, 10)


def test_additive_in_any_dimension_with_indicators() -> None:
    basis = additive(4, degree=2, indicators=[1])
    u = np.array([0.9, 1.0, 0.2, 0.6])
    a, c, d = u[[0, 2, 3]] - 0.5
    expected = [1, a, a**2, c, c**2, d, d**2, a * c, a * d, c * d, 1.0]
    np.testing.assert_allclose(basis(u), expected, rtol=1e-14)
    assert basis.size == 11
    assert basis.name == "additive-2-in-4"


@pytest.mark.parametrize("basis", [cubic(), additive_quartic(), additive(3, degree=2, indicators=[0, 2])])
def test_any_batch_shape(basis: Basis) -> None:
    controls = np.random.default_rng(1).random((2, 5, basis.dim))
    batched = basis(controls)
    assert batched.shape == (2, 5, basis.size)
    np.testing.assert_array_equal(batched[1, 3], basis(controls[1, 3]))
    assert check_basis(basis) is basis


def test_users_functions() -> None:
    basis = Basis.of([lambda u: 1.0, lambda u: np.sin(9 * u[..., 0]), lambda u: np.abs(u[..., 1] - 0.3)], dim=2)
    controls = np.array([[0.1, 0.2], [0.7, 0.3]])
    expected = np.stack([np.ones(2), np.sin([0.9, 6.3]), [0.1, 0.0]], axis=-1)
    np.testing.assert_allclose(basis(controls), expected, atol=1e-15)
    assert (basis.name, basis.dim, basis.size) == ("custom", 2, 3)


UNBOUNDED: dict[str, Callable[[Array], Array]] = {
    "1/u": lambda u: 1 / u[..., 0],
    "log u": lambda u: np.log(u[..., 0]),
    "1/(u - 0.3)": lambda u: 1 / (u[..., 0] - 0.3),
    "1/(u - 1/3)": lambda u: 1 / (u[..., 0] - 1 / 3),
    "1/(1 - u)": lambda u: 1 / (1 - u[..., 0]),
    "1/sqrt(u)": lambda u: u[..., 0] ** -0.5,
    "tan(5 u)": lambda u: np.tan(5 * u[..., 0]),
    "sqrt(u - 0.5)": lambda u: np.sqrt(u[..., 0] - 0.5),
    "1e9 u": lambda u: 1e9 * u[..., 0],
}


@pytest.mark.parametrize("name", UNBOUNDED)
@pytest.mark.parametrize("dim", [1, 2])
def test_unbounded_or_not_finite_is_refused(name: str, dim: int) -> None:
    with pytest.raises(ValueError, match=re.escape(f"basis {name!r} is not finite and bounded on the unit cube")):
        Basis.of([lambda u: np.ones(u.shape[:-1]), UNBOUNDED[name]], dim=dim, name=name)


def test_a_pole_is_found_beside_a_larger_bounded_function() -> None:
    with pytest.raises(ValueError, match=r"not finite and bounded.*see the control \[0\.33"):
        Basis.of([lambda u: 5e3 * u[..., 0], lambda u: 1 / (u[..., 0] - 1 / 3)], dim=1)


def test_a_pole_along_the_second_coordinate_is_found() -> None:
    with pytest.raises(ValueError, match="basis 'custom' is not finite"):
        Basis.of([lambda u: 1 / (u[..., 1] - 1 / 7)], dim=2)


def test_steep_but_bounded_is_accepted() -> None:
    Basis.of(
        [lambda u: 1 / (u[..., 0] + 1e-3), lambda u: np.sqrt(u[..., 0]), lambda u: np.sign(u[..., 0] - 0.3)], dim=1
    )


def test_wrong_number_of_features_is_refused() -> None:
    with pytest.raises(ValueError, match="basis 'pair' must return 3 features, got 2"):
        check_basis(Basis("pair", 1, 3, lambda u: np.concatenate([u, u], axis=-1)))


def test_a_function_with_the_wrong_shape_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"every function of basis 'custom' must return one value per control.*u\[\.\.\., 0\]"
    ):
        Basis.of([lambda u: u], dim=1)


def test_no_function_is_refused() -> None:
    for given in ([], [3], len):
        with pytest.raises(TypeError, match="functions must be a list of functions"):
            Basis.of(given, dim=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dim must be a whole number of at least 1"):
        Basis.of([lambda u: u[..., 0]], dim=0)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_probe_controls_spread_over_the_cube(dim: int) -> None:
    controls = probe_controls(dim, points=400)
    assert controls.shape == (403, dim)
    assert controls.min() == 0.0
    assert controls.max() == 1.0
    counts = np.stack([np.histogram(controls[3:, i], bins=10, range=(0, 1))[0] for i in range(dim)])
    assert counts.min() >= 32  # each tenth of each axis has its 40 of 400, nearly
    assert counts.max() <= 48
    assert len(np.unique(kronecker(400, dim), axis=0)) == 400


def test_largest_features() -> None:
    np.testing.assert_allclose(largest_features(cubic()), [1, 0.5, 0.25, 0.125])
