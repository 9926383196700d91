"""Breast-tissue patches (invasive ductal carcinoma): balanced sets to train and to test on, no patient in both.

Which patch goes where follows from its patient, place and class alone, not from the order of the files: a copy that
lacks patches which were not chosen gives the same sets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from experiments.paper.data.files import DataError, first_of, read_npz
from numpy.typing import NDArray

SIDE = 50
TEST_PER_CLASS = 500  # of the paper: 5000 images to train on, 1000 to test on
TRAIN_PER_TEST = 5
COPY = "idc_50x50.npz"
FOLDERS = ("IDC_regular_ps50_idx5", "breast-histopathology-images")
HOW = (
    "download https://www.kaggle.com/datasets/paultimothymooney/breast-histopathology-images and unpack it there as "
    f"{FOLDERS[1]}/PATIENT/CLASS/PATIENT_idx5_xX_yY_classCLASS.png, or put {COPY} there "
    "(arrays X (n, 50, 50, 3) of bytes, y, patient, xy)"
)
_NAME = re.compile(r"(\d+)_idx\d+_x(\d+)_y(\d+)_class([01])\.png")

Indices = NDArray[np.int64]
Pixels = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Patches:
    """Images (n, 50, 50, 3) and their classes (n,), half of them 1 (cancer), in both parts."""

    train: Pixels
    train_labels: Indices
    test: Pixels
    test_labels: Indices

    @property
    def words(self) -> str:
        """For a header."""
        return f"IDC patches, {len(self.train)} to train on and {len(self.test)} to test on, by patient, balanced"


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where the n patches are from: patient (n,), label (n,), xy (n, 2)."""

    patient: Indices
    label: Indices
    xy: Indices


def load_patches(folder: Path) -> Patches:
    """The two sets, from the original folder or from the partial copy."""
    path = first_of(folder, (COPY, *FOLDERS), HOW)
    places, images = _of_folder(path) if path.is_dir() else _of_copy(path)
    parts = split(places)
    train, test = (images(part) for part in parts)
    return Patches(train, places.label[parts[0]], test, places.label[parts[1]])


def split(places: Places) -> tuple[Indices, Indices]:
    """Which patches to train on and which to test on: as in the paper, or as many as there are in its proportion."""
    keys = _mixed(places.patient, places.xy[:, 0], places.xy[:, 1], places.label)
    in_test = np.isin(places.patient, _test_patients(places))
    pools = [np.flatnonzero((in_test == test) & (places.label == label)) for test in (0, 1) for label in (0, 1)]
    pools = [pool[np.argsort(keys[pool], kind="stable")] for pool in pools]
    size = min(TEST_PER_CLASS, *(len(pool) for pool in pools[2:]), *(len(pool) // TRAIN_PER_TEST for pool in pools[:2]))
    if size == 0:
        raise DataError(
            "the breast-cancer patches are too few for a balanced split by patient: at least 6 of each class"
        )
    train = np.concatenate([pool[: TRAIN_PER_TEST * size] for pool in pools[:2]])
    test = np.concatenate([pool[:size] for pool in pools[2:]])
    order = _mixed(keys)  # again: the classes were cut off at different keys
    return train[np.argsort(order[train], kind="stable")], test[np.argsort(order[test], kind="stable")]


def _test_patients(places: Places) -> list[int]:
    """Patients with a sixth of all positive patches between them, taken in a mixed order."""
    patients = np.unique(places.patient)
    patients = patients[np.argsort(_mixed(patients), kind="stable")]
    positive = {
        int(p): int(n) for p, n in zip(*np.unique(places.patient[places.label == 1], return_counts=True), strict=True)
    }
    wanted, slack = divmod(sum(positive.values()), TRAIN_PER_TEST + 1)
    chosen, total = [], 0
    for patient in map(int, patients):
        count = positive.get(patient, 0)
        if total < wanted and total + count <= wanted + slack:
            chosen.append(patient)
            total += count
    return chosen


def _mixed(*parts: NDArray[np.integer]) -> NDArray[np.uint64]:
    """One number per element that looks random (the finaliser of SplitMix64), for orders that no file can change."""
    state = np.zeros(parts[0].shape, dtype=np.uint64)
    for part in parts:
        state = state + part.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(31))
    return state


def _of_copy(path: Path) -> tuple[Places, Callable[[Indices], Pixels]]:
    arrays = read_npz(path, ("X", "y", "patient", "xy"))
    images, label, patient, xy = (arrays[key] for key in ("X", "y", "patient", "xy"))
    count = len(label)
    if images.dtype != np.uint8 or images.shape != (count, SIDE, SIDE, 3) or not np.isin(label, (0, 1)).all():
        raise DataError(f"{path.name} must hold X (n, {SIDE}, {SIDE}, 3) of bytes and y (n,) of 0 and 1")
    if patient.shape != (count,) or xy.shape != (count, 2):
        raise DataError(f"{path.name} must hold patient (n,) and xy (n, 2) for its n = {count} images")
    places = Places(patient.astype(np.int64), label.astype(np.int64), xy.astype(np.int64))
    return places, lambda part: images[part]


def _of_folder(path: Path) -> tuple[Places, Callable[[Indices], Pixels]]:
    files = sorted({found.name: found for found in path.rglob("*_class[01].png")}.items())
    named = [(match, file) for name, file in files if (match := _NAME.fullmatch(name))]
    if not named:
        raise DataError(f"{str(path)!r} holds no patches named PATIENT_idx5_xX_yY_classCLASS.png")
    numbers = np.array([[int(group) for group in match.groups()] for match, _ in named], dtype=np.int64)
    places = Places(numbers[:, 0], numbers[:, 3], numbers[:, 1:3])
    return places, lambda part: np.stack([_picture(named[index][1]) for index in part])


def _picture(path: Path) -> Pixels:
    """One patch; those at the edge of a slide are smaller and repeat their last pixels."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("reading the original images needs Pillow: pip install 'autobct[paper]'") from None
    try:
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB"))[:SIDE, :SIDE]
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{path.name} is not a picture: it is damaged or truncated; download it again") from error
    missing = [(0, SIDE - pixels.shape[axis]) for axis in (0, 1)]
    return np.pad(pixels, [*missing, (0, 0)], mode="edge")
