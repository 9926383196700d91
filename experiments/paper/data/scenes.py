"""Intel's natural scenes: six classes of landscapes, with the sets to train and to test on that came with them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from experiments.paper.data.files import DataError, first_of, read_npz
from numpy.typing import NDArray

SIDE = 32  # of the partial copy; the originals have 150
CLASSES = ("buildings", "forest", "glacier", "mountain", "sea", "street")
COPY = "intel_32x32.npz"
HOW = (
    "download https://www.kaggle.com/datasets/puneet6060/intel-image-classification and unpack it there as "
    f"seg_train/CLASS/*.jpg and seg_test/CLASS/*.jpg, or put {COPY} there "
    "(arrays X (n, side, side, 3) of bytes, y, is_test)"
)

Pixels = NDArray[np.uint8]
Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Scenes:
    """Images (n, side, side, 3) and their classes 0 .. 5 (n,)."""

    train: Pixels
    train_labels: Labels
    test: Pixels
    test_labels: Labels

    @property
    def words(self) -> str:
        """For a header."""
        side = self.train.shape[1]
        return f"Intel scenes, {len(self.train)} to train on and {len(self.test)} to test on, {side} x {side} pixels"


def load_scenes(folder: Path, side: int = SIDE) -> Scenes:
    """Both sets, from the original folders (resized to that many pixels a side) or from the partial copy."""
    path = first_of(folder, (COPY, "seg_train"), HOW)
    return _of_folders(folder, side) if path.is_dir() else _of_copy(path)


def _of_copy(path: Path) -> Scenes:
    arrays = read_npz(path, ("X", "y", "is_test"))
    images, labels, is_test = arrays["X"], arrays["y"], arrays["is_test"]
    count = len(labels)
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape != (count, images.shape[1], images.shape[1], 3):
        raise DataError(f"{path.name} must hold X (n, side, side, 3) of bytes for its n = {count} labels")
    if not np.isin(labels, range(len(CLASSES))).all() or is_test.dtype != np.bool_ or is_test.shape != (count,):
        raise DataError(f"{path.name} must hold y (n,) of 0 .. 5 and is_test (n,) of true and false")
    if is_test.all() or not is_test.any():
        raise DataError(f"{path.name} must hold images to train on and images to test on (is_test)")
    labels = labels.astype(np.int64)
    return Scenes(images[~is_test], labels[~is_test], images[is_test], labels[is_test])


def _of_folders(folder: Path, side: int) -> Scenes:
    return Scenes(*_pictures(folder / "seg_train", side), *_pictures(folder / "seg_test", side))


def _pictures(folder: Path, side: int) -> tuple[Pixels, Labels]:
    """Kaggle's archive holds each folder twice, one in the other: seg_train/seg_train/CLASS."""
    inner = folder / folder.name if (folder / folder.name).is_dir() else folder
    files = [(file, label) for label, name in enumerate(CLASSES) for file in sorted((inner / name).glob("*.jpg"))]
    missing = [name for label, name in enumerate(CLASSES) if all(label != found for _, found in files)]
    if missing:
        raise DataError(f"{str(inner / missing[0])!r} holds no .jpg images: {HOW}")
    return np.stack([_picture(file, side) for file, _ in files]), np.array([label for _, label in files])


def _picture(path: Path, side: int) -> Pixels:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("reading the original images needs Pillow: pip install 'autobct[paper]'") from None
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("RGB").resize((side, side), Image.Resampling.BOX))
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{path.name} is not a picture: it is damaged or truncated; download it again") from error
