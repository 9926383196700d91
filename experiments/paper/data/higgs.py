"""The HIGGS set: collisions with and without a Higgs boson, 28 numbers each; a fixed fifth of them is tested on."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from experiments.paper.data.files import DataError, check_finite, first_of, read_parquet, read_text
from numpy.typing import NDArray

from autobct.belief.arrays import Array32

ROWS = 200_000  # of the original's 11 million, from its beginning
JETS = tuple(f"jet_{jet}_{what}" for jet in range(1, 5) for what in ("pt", "eta", "phi", "btag"))
MASSES = ("m_jj", "m_jjj", "m_lv", "m_jlv", "m_bb", "m_wbb", "m_wwbb")
FEATURES = (
    *("lepton_pT", "lepton_eta", "lepton_phi", "missing_energy_magnitude", "missing_energy_phi"),
    *JETS,
    *MASSES,
)
COLUMNS = ("label", *FEATURES)
NAMES = ("HIGGS.csv.gz", "HIGGS.csv", "higgs_subset.parquet")
HOW = (
    "download https://archive.ics.uci.edu/dataset/280/higgs and put its HIGGS.csv.gz there "
    "(no header; the label, then 28 features)"
)
TEST_SHARE = 0.2
_SPLIT_SEED = 0

Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Collisions:
    """Features (n, 28) and labels 0 / 1 (n,), in an order that was drawn once."""

    train: Array32
    train_labels: Labels
    test: Array32
    test_labels: Labels

    @property
    def words(self) -> str:
        """For a header."""
        return f"HIGGS, {len(self.train)} rows to sample from and {len(self.test)} to test on"


def load_collisions(folder: Path, rows: int = ROWS) -> Collisions:
    """Both parts, from the first `rows` rows of the original or from the partial copy."""
    path = first_of(folder, NAMES, HOW)
    numbers = read_parquet(path, COLUMNS) if path.suffix == ".parquet" else _read_csv(path, rows)
    check_finite(path, numbers)
    return split(path.name, numbers[:, 1:], numbers[:, 0])


def split(name: str, features: Array32, labels: Array32) -> Collisions:
    """Features (n, 28) and labels (n,) -> a part to sample from and a part to test on."""
    if len(labels) < 10 or set(np.unique(labels).tolist()) != {0.0, 1.0}:
        raise DataError(f"{name} must hold at least 10 rows, with labels 0 and 1 and both of them")
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(labels))
    test, train = np.split(order, [round(TEST_SHARE * len(labels))])
    classes = labels.astype(np.int64)
    return Collisions(features[train], classes[train], features[test], classes[test])


def _read_csv(path: Path, rows: int) -> Array32:
    try:
        numbers = read_text(path, max_rows=rows)
    except (ValueError, EOFError, OSError, zlib.error) as error:
        raise DataError(f"{path.name} cannot be read, it is damaged, truncated or not HIGGS: {error}") from error
    check_finite(path, numbers)
    if numbers.shape[1] != len(COLUMNS):
        raise DataError(f"{path.name} must have {len(COLUMNS)} columns (label and 28 features), not {numbers.shape[1]}")
    return numbers
