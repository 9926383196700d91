"""Response surfaces: orthonormal, complete up to their degree, and priors that sum to one."""

import numpy as np
import pytest

from autobct.belief.basis import check_basis, legendre
from autobct.belief.surrogate.surface import surface

GAUSS = np.polynomial.legendre.leggauss(40)


def test_polynomials_are_orthonormal_on_the_unit_interval() -> None:
    points, weights = (GAUSS[0] + 1) / 2, GAUSS[1] / 2
    values = legendre(points, 10)
    np.testing.assert_allclose((values.T * weights) @ values, np.eye(11), atol=1e-12)


def test_functions_are_orthonormal_over_the_cube_and_its_choices() -> None:
    built = surface([0, 3, 0])
    points, weights = (GAUSS[0] + 1) / 2, GAUSS[1] / 2
    grid = [(u, k, v) for u in range(0, 40) for k in range(3) for v in range(0, 40)]
    controls = np.array([[points[u], *np.eye(3)[k], points[v]] for u, k, v in grid])
    mass = np.array([weights[u] * weights[v] / 3 for u, _, v in grid])
    features = built.basis(controls)
    numeric = [i for i, term in enumerate(built.terms) if all(which != 1 for which, _ in term)]
    gram = (features[:, numeric].T * mass) @ features[:, numeric]
    np.testing.assert_allclose(gram, np.eye(len(numeric)), atol=1e-10)
    np.testing.assert_allclose(mass @ features**2, 1.0, atol=1e-10)  # every function has mean square one


def test_variances_sum_to_one_and_are_what_they_say() -> None:
    built = surface([0, 0, 4])
    variances = built.variances(np.array([0.7, 0.2, 0.1]), decay=0.25, interaction=0.3)
    product = np.array([len(term) > 1 for term in built.terms])
    assert variances[0] == 0.0
    assert variances[product].sum() == pytest.approx(0.3)
    assert variances.sum() == pytest.approx(1.0)
    place = {term: i for i, term in enumerate(built.terms)}
    assert variances[place[((0, 2),)]] / variances[place[((0, 1),)]] == pytest.approx(0.25)
    assert variances[place[((0, 1),)]] / variances[place[((1, 1),)]] == pytest.approx(3.5)


def test_without_products_main_effects_have_all_of_the_variance() -> None:
    assert surface([0]).variances(np.ones(1), decay=0.5, interaction=0.3).sum() == pytest.approx(1.0)


def test_a_surface_is_a_basis_like_any_other() -> None:
    built = surface([0, 2, 0, 0])
    check_basis(built.basis)
    one, many = np.full(5, 0.3), np.full((2, 3, 5), 0.3)
    np.testing.assert_array_equal(built.basis(many)[1, 2], built.basis(one))


@pytest.mark.parametrize(
    ("parameters", "size"), [([0] * 7, 220), ([0] * 10 + [3], 220), ([0] * 50, 251), ([1000], 1001)]
)
def test_size_is_bounded_but_every_parameter_has_its_main_effects(parameters: list[int], size: int) -> None:
    built = surface(parameters)
    assert built.basis.size == size
    assert {term[0][0] for term in built.terms if len(term) == 1} == set(range(len(parameters)))


def test_a_hill_is_a_parabola_with_its_top_where_it_should_be() -> None:
    built = surface([0, 3, 0])
    weights = built.hill({0: (0.3, 0.5), 1: (2, 0.4)})
    line = np.linspace(0, 1, 101)
    controls = np.stack([line, *np.tile([0.0, 1.0, 0.0], (101, 1)).T, np.full(101, 0.9)], axis=-1)
    heights = built.basis(controls) @ weights
    np.testing.assert_allclose(heights - heights.max(), -0.5 * 6 * np.sqrt(5) * (line - 0.3) ** 2, atol=1e-9)
    other = built.basis(np.array([[0.3, 0, 0, 1, 0.2]])) @ weights
    assert other[0] - heights.max() == pytest.approx(0.4)


def test_products_keep_to_the_degree_of_the_main_effects() -> None:
    built = surface([0, 0, 2], degree=2, size=40)
    assert max(degree for term in built.terms if len(term) > 1 for which, degree in term if which < 2) == 2
    assert built.basis(np.full((3, 4), 0.5)).shape == (3, built.basis.size)


def test_one_number_alone_has_a_cubic() -> None:
    assert surface([0]).basis.degrees == (0, 1, 2, 3)
    assert max(surface([0, 3]).basis.degrees) == 10
