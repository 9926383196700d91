"""The partial copies of the paper's data, where AUTOBCT_DATA names them: the sizes that docs/paper.md tells."""

import os
from pathlib import Path

import numpy as np
import pytest
from experiments.paper.data import fraud, higgs, patches, scenes
from experiments.paper.data.files import data_folder

pytestmark = pytest.mark.heavy


def folder_with(name: str) -> Path:
    if not os.environ.get("AUTOBCT_DATA"):
        pytest.skip("AUTOBCT_DATA does not name a folder with the paper's data")
    folder = data_folder()
    if not (folder / name).exists():
        pytest.skip(f"there is no {name} in the folder that AUTOBCT_DATA names")
    return folder


def test_breast_cancer_patches() -> None:
    found = patches.load_patches(folder_with("idc_50x50.npz"))
    assert found.words == "IDC patches, 4480 to train on and 896 to test on, by patient, balanced"
    assert found.train.shape == (4480, 50, 50, 3)
    assert found.train_labels.mean() == found.test_labels.mean() == 0.5


def test_intel_scenes() -> None:
    found = scenes.load_scenes(folder_with("intel_32x32.npz"))
    assert (len(found.train), len(found.test)) == (14034, 3000)
    assert np.bincount(found.test_labels).min() > 400


def test_credit_card_transactions() -> None:
    folder = folder_with("creditcard_subset.parquet")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    found = fraud.load_transactions(folder)
    assert (len(found.train), len(found.validation), len(found.test)) == (25619, 8775, 8777)
    assert (found.validation_frauds.sum(), found.test_frauds.sum()) == (236, 237)


def test_higgs_collisions() -> None:
    folder = folder_with("higgs_subset.parquet")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    found = higgs.load_collisions(folder)
    assert (len(found.train), len(found.test)) == (20780, 5195)
    assert 0.4 < found.test_labels.mean() < 0.6
