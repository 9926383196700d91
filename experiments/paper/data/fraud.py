"""Credit-card transactions: the honest ones to learn from; honest and fraudulent ones to set a threshold and to test.

The paper does not say how it split them.  Here 60 % of the honest transactions are learned from, 20 % choose the
threshold and 20 % test; the frauds are halved between the last two.  Time is left out, the other 29 columns are
standardised with the mean and standard deviation of those learned from.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from experiments.paper.data.files import (
    DataError,
    check_columns,
    check_finite,
    first_of,
    read_npz,
    read_parquet,
    read_text,
)
from numpy.typing import NDArray

from autobct.belief.arrays import Array32

FEATURES = (*(f"V{number}" for number in range(1, 29)), "Amount")
COLUMNS = (*FEATURES, "Class")
NAMES = ("creditcard.csv", "creditcard_subset.parquet", "creditcard_subset.npz")
HOW = (
    "download https://www.kaggle.com/datasets/mlg-ulb/creditcardfraud and put its creditcard.csv there "
    "(columns Time, V1 .. V28, Amount, Class)"
)
SHARES = (0.6, 0.2)  # of the honest: to learn from, to choose the threshold with; the rest tests
_SPLIT_SEED = 0

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Transactions:
    """Standardised transactions (n, 29), and which are fraudulent (n,).

    train:       honest ones
    validation:  to choose the threshold with
    test:        to score with
    """

    train: Array32
    validation: Array32
    validation_frauds: Flags
    test: Array32
    test_frauds: Flags

    @property
    def words(self) -> str:
        """For a header."""
        return (
            f"credit-card transactions, {len(self.train)} honest to train on, {len(self.validation)} "
            f"({int(self.validation_frauds.sum())} frauds) to choose the threshold, {len(self.test)} "
            f"({int(self.test_frauds.sum())} frauds) to test on"
        )


def load_transactions(folder: Path) -> Transactions:
    """The three parts, from the original or from the partial copy."""
    path = first_of(folder, NAMES, HOW)
    readers = {".csv": _read_csv, ".npz": _read_arrays}
    rows = readers[path.suffix](path) if path.suffix in readers else read_parquet(path, COLUMNS)
    check_finite(path, rows)
    features, frauds = rows[:, :-1], rows[:, -1]
    if not np.isin(frauds, (0, 1)).all():
        raise DataError(f"the column 'Class' of {path.name} must hold 0 and 1 only")
    return split(features, frauds == 1)


def split(features: Array32, frauds: Flags) -> Transactions:
    """Features (n, 29) of all transactions and which are frauds (n,) -> the three parts, standardised."""
    rng = np.random.default_rng(_SPLIT_SEED)
    honest, fraudulent = rng.permutation(np.flatnonzero(~frauds)), rng.permutation(np.flatnonzero(frauds))
    if len(honest) < 10 or len(fraudulent) < 2:
        raise DataError("the transactions are too few: at least 10 honest ones and 2 frauds")
    cuts = np.round(np.cumsum(SHARES) * len(honest)).astype(int)
    learned, chosen, tested = np.split(honest, cuts)
    half = len(fraudulent) // 2
    mean, spread = features[learned].mean(0, dtype=np.float64), features[learned].std(0, dtype=np.float64)

    def part(*indices: NDArray[np.int64]) -> Array32:
        return ((features[np.concatenate(indices)] - mean) / np.maximum(spread, 1e-12)).astype(np.float32)

    def flags(honest_count: int, fraud_count: int) -> Flags:
        return np.repeat([False, True], [honest_count, fraud_count])

    return Transactions(
        part(learned),
        part(chosen, fraudulent[:half]),
        flags(len(chosen), half),
        part(tested, fraudulent[half:]),
        flags(len(tested), len(fraudulent) - half),
    )


def _read_csv(path: Path) -> Array32:
    try:
        with open(path, encoding="utf-8") as file:
            names = [name.strip().strip('"') for name in file.readline().split(",")]
            check_columns(path, names, COLUMNS)
            used = [names.index(name) for name in COLUMNS]
            return read_text(file, quotechar='"', usecols=used)
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"{path.name} cannot be read after its first line: {error}") from error


def _read_arrays(path: Path) -> Array32:
    columns = read_npz(path, COLUMNS)
    if len({column.shape for column in columns.values()}) > 1 or columns["Class"].ndim != 1:
        raise DataError(f"the columns of {path.name} must be arrays of one length")
    return np.column_stack([columns[name].astype(np.float32) for name in COLUMNS])
