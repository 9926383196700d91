"""Small generated data of the shapes of the paper's, in which there is something to learn."""

from pathlib import Path

import numpy as np
from experiments.paper.data.fraud import COLUMNS as FRAUD_COLUMNS
from experiments.paper.data.higgs import COLUMNS as HIGGS_COLUMNS


def patches(rng: np.random.Generator, patients: int = 24, each: int = 20) -> dict[str, np.ndarray]:
    """Patches of class 1 are darker."""
    count = patients * each
    label = rng.integers(0, 2, count).astype(np.uint8)
    pixels = rng.integers(120, 256, (count, 50, 50, 3)) - 90 * label[:, None, None, None]
    patient = np.repeat(np.arange(9000, 9000 + patients), each).astype(np.int32)
    place = np.tile(np.arange(each), patients).astype(np.int32)
    return {"X": pixels.astype(np.uint8), "y": label, "patient": patient, "xy": np.stack([place, place * 50], 1)}


def scenes(rng: np.random.Generator, count: int = 60, side: int = 32) -> dict[str, np.ndarray]:
    """Each class has its own brightness."""
    label = np.arange(count) % 6
    pixels = 40 * label[:, None, None, None] + rng.integers(0, 20, (count, side, side, 3))
    return {"X": pixels.astype(np.uint8), "y": label.astype(np.uint8), "is_test": np.arange(count) % 5 == 0}


def transactions(rng: np.random.Generator, honest: int = 1000, frauds: int = 40) -> np.ndarray:
    """Honest rows depend on two hidden numbers, frauds on none: (n, 30), the class last."""
    rows = rng.normal(size=(honest, 2)) @ rng.normal(size=(2, 29)) + 0.1 * rng.normal(size=(honest, 29))
    strange = 3 * rng.normal(size=(frauds, 29))
    classes = np.repeat([0, 1], [honest, frauds])
    return np.column_stack([np.concatenate([rows, strange]), classes])[rng.permutation(honest + frauds)]


def collisions(rng: np.random.Generator, count: int = 600) -> np.ndarray:
    """The label is decided by the sum of the first features: (n, 29), the label first."""
    features = rng.normal(size=(count, 28))
    return np.column_stack([(features[:, :3].sum(1) > 0).astype(float), features])


def write_all(folder: Path, seed: int = 0) -> Path:
    """The partial copies, and HIGGS as the original."""
    rng = np.random.default_rng(seed)
    np.savez(folder / "idc_50x50.npz", **patches(rng))
    np.savez(folder / "intel_32x32.npz", **scenes(rng))
    rows = transactions(rng)
    np.savez(folder / "creditcard_subset.npz", **dict(zip(FRAUD_COLUMNS, rows.T, strict=True)))
    np.savetxt(folder / "HIGGS.csv.gz", collisions(rng), delimiter=",")
    assert len(HIGGS_COLUMNS) == 29
    return folder
