"""The problems that maps are built and evaluated on: bases, reference controls, priors by name or from a file.

The mirror law: a belief and its image under a symmetry of the unit cube have the same value.

A file with a first belief, TOML or JSON, is checked strictly:

    basis = "cubic"              # or "additive-quartic"
    cost_model = "linear"        # or "log-linear": then the cost's numbers are about log cost
    score_noise = 0.05
    cost_noise = 0.1

    [score]
    mean = [0.4, 0.1, -0.2, 0.1]
    cov = [1.0, 1.0, 1.0, 1.0]   # the variances, or the rows of the whole matrix

    [cost]
    mean = [1.0, 1.0, 2.0, 2.0]
    cov = [0.64, 4.0, 4.0, 4.0]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array, Indices, finite_number
from autobct.belief.basis import Basis, Model, additive_quartic, cubic, probe_controls
from autobct.belief.cost import COST_MODELS, LOG_LINEAR
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.prior import PAPER_PRIORS, Expectations, Prior, default_prior, paper_prior, with_log_cost
from autobct.maps.ordinary import FileError, decoded, read_json, read_ordinary, read_toml
from autobct.maps.signatures import Key, check_signature
from autobct.value.maps.map_spec import BASES
from autobct.value.state import control_grid

PAPER_NAMES = {dim: tuple(name for name, prior in PAPER_PRIORS.items() if prior.dim == dim) for dim in (1, 2)}
"""The paper's examples of each dimension, by name."""

_BASES = {1: cubic, 2: additive_quartic}
_WITHOUT_KNOWLEDGE = {
    "default": Expectations(),
    "default-costly": Expectations(cost_level=0.0, cost_spread=1.5),
}


def basis_of(dim: int) -> Basis:
    """The paper's basis in 1-D or 2-D."""
    if dim not in _BASES:
        raise ValueError(f"dim must be 1 or 2, got {dim!r}")
    return _BASES[dim]()


def reference_controls(dim: int) -> Array:
    """Where a map looks at a belief: 11 controls in 1-D, 5 x 5 in 2-D."""
    return control_grid(11 if dim == 1 else 5, dim)


def neighbour_pairs(dim: int) -> Indices:
    """Pairs of neighbouring references, coordinate by coordinate.  (2, E)."""
    side = round(len(reference_controls(dim)) ** (1 / dim))
    grid = np.arange(side**dim).reshape((side,) * dim)
    ends = [(np.delete(grid, -1, axis).ravel(), np.delete(grid, 0, axis).ravel()) for axis in reversed(range(dim))]
    return np.stack([np.concatenate(part) for part in zip(*ends, strict=True)]).astype(np.intp)


def training_controls(dim: int) -> Array:
    """Candidates that values are learned on, and policies judged on: 21 in 1-D, 9 x 9 in 2-D."""
    return control_grid(21 if dim == 1 else 9, dim)


def default_names(dim: int, cost: str) -> tuple[str, ...]:
    """The first beliefs a map is learned around: the paper's, and under the log-linear cost what `tune` starts with."""
    basis_of(dim)
    return PAPER_NAMES[dim] + (tuple(_WITHOUT_KNOWLEDGE) if cost == LOG_LINEAR.name else ())


def priors_of(priors: Sequence[str | Prior], dim: int, cost: str) -> list[Prior]:
    """First beliefs in one basis under one cost model; the paper's names are translated to that cost model."""
    found = [_named(one, dim, cost) if isinstance(one, str) else one for one in priors]
    basis = basis_of(dim)
    for prior in found:
        names = (prior.model.score_basis.name, prior.model.cost_basis.name)
        if names != (basis.name, basis.name):
            raise ValueError(f"priors of a {dim}-D map must use the basis {basis.name!r}, got {' and '.join(names)}")
        if prior.model.cost_model.name != cost:
            raise ValueError(f"priors must have the {cost} cost of the map, got one with {prior.model.cost_model.name}")
        if callable(prior.model.score_noise) or callable(prior.model.cost_noise):
            raise ValueError("priors of a map must have constant noise, got a function of the control")
    return found


def _named(name: str, dim: int, cost: str) -> Prior:
    log_cost = cost == LOG_LINEAR.name
    if log_cost and name in _WITHOUT_KNOWLEDGE:
        return default_prior(basis_of(dim), _WITHOUT_KNOWLEDGE[name])
    if name not in default_names(dim, cost):
        raise ValueError(f"a {dim}-D {cost} prior must be one of {', '.join(default_names(dim, cost))}, got {name!r}")
    return with_log_cost(paper_prior(name)) if log_cost else paper_prior(name)


def mirror(
    belief: Belief,
    basis: Basis,
    *,
    flip: Sequence[bool] | None = None,
    order: Sequence[int] | None = None,
    cost_basis: Basis | None = None,
) -> Belief:
    """The belief about u -> H(s(u)), T(s(u)) for a symmetry s of the cube; it has the same value (mirror law).

    flip:   coordinates i with u_i -> 1 - u_i; all if None, which flips the odd coefficients
    order:  coordinates permuted, e.g. (1, 0) to swap two; as they are if None
    """
    flips = np.ones(basis.dim, dtype=bool) if flip is None else np.asarray(flip, dtype=bool)
    places = np.arange(basis.dim) if order is None else np.asarray(order, dtype=np.intp)
    return Belief(
        belief.score.at(symmetry(basis, flips, places)),
        belief.cost.at(symmetry(cost_basis or basis, flips, places)),
    )


def images(belief: Belief, basis: Basis, *, cost_basis: Basis | None = None) -> Iterator[Belief]:
    """The belief and all its mirror images: 2 in 1-D, 8 in 2-D."""
    for order in permutations(range(basis.dim)):
        for flip in product((False, True), repeat=basis.dim):
            yield mirror(belief, basis, flip=flip, order=order, cost_basis=cost_basis)


def symmetry(basis: Basis, flips: NDArray[np.bool_], places: Indices) -> Array:
    """M with phi(u)'(M alpha) = phi(s(u))'alpha: weights of the mirrored function.  (J, J)."""
    controls = probe_controls(basis.dim)
    moved = np.where(flips, 1.0 - controls, controls)[:, places]
    matrix = np.linalg.lstsq(basis(controls), basis(moved), rcond=None)[0]
    if np.abs(basis(controls) @ matrix - basis(moved)).max() > 1e-9:
        raise ValueError(f"basis {basis.name!r} does not contain its own mirror image under this symmetry")
    whole = np.round(matrix)
    return np.where(np.abs(matrix - whole) < 1e-9, whole, matrix)


_KEYS = ("basis", "cost_model", "score_noise", "cost_noise", "score", "cost")
_PARTS = ("mean", "cov")
_LARGEST = 1 << 16  # bytes
_MOST_WEIGHTS = 64
_BEYOND = 1e100


class PriorFileError(FileError):
    """What is wrong with a prior file, in one sentence."""


def read_prior(path: str | Path, *, trusted_keys: Iterable[Key] | None = None) -> Prior:
    """The prior in a .toml or .json file; PriorFileError, in one sentence, if it is not one.

    trusted_keys: public keys; the file must then be signed with one of them, see `autobct sign`
    """
    label = f"prior file '{path}'"
    told = _table(_parsed(Path(path), label, trusted_keys), _KEYS, label)
    basis = _one_of(told["basis"], BASES, f"{label}: basis")
    cost_model = _one_of(told["cost_model"], COST_MODELS, f"{label}: cost_model")
    try:
        model = Model(
            basis,
            basis,
            score_noise=_positive(told["score_noise"], "score_noise"),
            cost_noise=_positive(told["cost_noise"], "cost_noise"),
            cost_model=cost_model,
        )
        return Prior(model, Belief(_belief(told["score"], "score", label), _belief(told["cost"], "cost", label)))
    except PriorFileError:
        raise
    except (TypeError, ValueError) as wrong:
        raise PriorFileError(f"{label}: {wrong}") from None


def _parsed(path: Path, label: str, keys: Iterable[Key] | None) -> Any:
    readers: dict[str, Callable[[str], Any]] = {".toml": read_toml, ".json": read_json}
    if path.suffix not in readers:
        raise PriorFileError(f"{label} must end in .toml or .json")
    data = read_ordinary(path, _LARGEST, PriorFileError)
    if keys is not None:
        check_signature(path, data, keys)
    text = decoded(data, path, PriorFileError)
    try:
        return readers[path.suffix](text)
    except ValueError as wrong:
        raise PriorFileError(f"{label} is not valid {path.suffix[1:].upper()}: {wrong}") from None


def _table(value: Any, keys: tuple[str, ...], label: str) -> dict[str, Any]:
    """A table with exactly these keys."""
    if not isinstance(value, dict):
        raise PriorFileError(f"{label} must be a table with {', '.join(keys)}")
    missing = [key for key in keys if key not in value]
    if missing:
        raise PriorFileError(f"{label} lacks {', '.join(missing)}")
    unknown = [key for key in value if key not in keys]
    if unknown:
        raise PriorFileError(f"{label} has {unknown[0]!r:.60}, which is not known; known are {', '.join(keys)}")
    return value


def _one_of(value: Any, known: dict[str, Any], label: str) -> Any:
    if not isinstance(value, str) or value not in known:
        raise PriorFileError(f"{label} must be one of {', '.join(known)}, got {value!r:.60}")
    return known[value]


def _positive(value: Any, name: str) -> float:
    number = finite_number(value, name)
    if not 0 < number <= _BEYOND:
        raise ValueError(f"{name} must be positive, at most {_BEYOND:g}, got {number!r}; it is a standard deviation")
    return number


def _belief(value: Any, name: str, label: str) -> Gaussian:
    parts = _table(value, _PARTS, f"{label}: [{name}]")
    for part in _PARTS:
        if not isinstance(parts[part], list) or not _all_numbers(parts[part]):
            raise PriorFileError(f"{label}: {name}.{part} must be a list of numbers")
        if not _is_small(parts[part]):
            raise PriorFileError(f"{label}: {name}.{part} has too many numbers, or one beyond {_BEYOND:g}")
    return Gaussian.of(parts["mean"], parts["cov"], name=name)


def _is_small(values: list[Any]) -> bool:
    """Few enough for any basis, and such that sums and products of them are numbers."""
    return len(values) <= _MOST_WEIGHTS and all(
        _is_small(one) if isinstance(one, list) else not abs(one) > _BEYOND for one in values
    )


def _all_numbers(values: list[Any]) -> bool:
    """Numbers, or rows of numbers; true is none."""
    return all(_all_numbers(one) if isinstance(one, list) else type(one) in (int, float) for one in values)
