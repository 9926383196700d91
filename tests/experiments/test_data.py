"""The loaders: splits checked by counting, copies against originals, and one sentence for every bad file."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from experiments.paper.data import fraud, higgs, patches, scenes
from experiments.paper.data.files import DataError, data_folder
from tests.experiments import paper_data

LOADERS = {
    "idc_50x50.npz": patches.load_patches,
    "intel_32x32.npz": scenes.load_scenes,
    "creditcard_subset.npz": fraud.load_transactions,
    "HIGGS.csv.gz": higgs.load_collisions,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return paper_data.write_all(tmp_path_factory.mktemp("data"))


def test_the_folder_is_the_argument_or_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUTOBCT_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="--data DIR or in AUTOBCT_DATA"):
        data_folder()
    monkeypatch.setenv("AUTOBCT_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    (tmp_path / "paper").mkdir()
    assert data_folder() == tmp_path / "paper"
    assert data_folder(tmp_path / "paper") == tmp_path / "paper"
    with pytest.raises(FileNotFoundError, match="does not exist"):
        data_folder(tmp_path / "elsewhere")


@pytest.mark.parametrize("name", LOADERS)
def test_without_the_file_it_says_what_to_download(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"download https://(www\.kaggle\.com|archive\.ics\.uci\.edu)/"):
        LOADERS[name](tmp_path)


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_a_truncated_file_is_refused(folder: Path, tmp_path: Path, name: str, share: float) -> None:
    whole = (folder / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(DataError, match=name):
        LOADERS[name](tmp_path)


@pytest.mark.parametrize("name", [name for name in LOADERS if name.endswith(".npz")])
def test_a_missing_array_is_named(folder: Path, tmp_path: Path, name: str) -> None:
    with np.load(folder / name) as arrays:
        missing, *kept = [key for key in arrays if key != "file_id"]
        np.savez(tmp_path / name, **{key: arrays[key] for key in kept})
    with pytest.raises(DataError, match=f"lacks the array '{missing}'"):
        LOADERS[name](tmp_path)


def test_pickled_arrays_are_not_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "idc_50x50.npz", X=np.array([print], dtype=object), y=[0], patient=[0], xy=[[0, 0]])
    with pytest.raises(DataError, match="cannot be read"):
        patches.load_patches(tmp_path)


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("X", lambda x: x[:, :40]),
        ("X", lambda x: x.astype(np.float32)),
        ("X", lambda x: x[:-1]),
        ("y", lambda y: y + 1),
        ("patient", lambda p: p[:-1]),
        ("xy", lambda xy: xy[:, :1]),
    ],
)
def test_patches_of_another_shape_are_refused(tmp_path: Path, key: str, change) -> None:
    arrays = paper_data.patches(np.random.default_rng(0), 4, 10)
    np.savez(tmp_path / "idc_50x50.npz", **{**arrays, key: change(arrays[key])})
    with pytest.raises(DataError, match="must hold"):
        patches.load_patches(tmp_path)


def places(rng: np.random.Generator, patients: int = 60) -> patches.Places:
    each = rng.integers(5, 60, patients)
    patient = np.repeat(np.arange(patients), each)
    label = (rng.random(len(patient)) < np.repeat(rng.random(patients) * 0.6, each)).astype(np.int64)
    return patches.Places(patient, label, np.stack([np.arange(len(patient)), np.zeros(len(patient), int)], 1))


@pytest.mark.parametrize("seed", range(5))
def test_patches_are_balanced_and_no_patient_is_in_both_parts(seed: int) -> None:
    found = places(np.random.default_rng(seed))
    train, test = patches.split(found)
    assert len(train) == 5 * len(test)
    for part in (train, test):
        assert len(np.unique(part)) == len(part)
        assert found.label[part].mean() == 0.5
        assert 0.3 < found.label[part][: len(part) // 2].mean() < 0.7  # mixed, not sorted by class
    assert not set(found.patient[train]) & set(found.patient[test])
    assert len(test) / 2 > 0.9 * found.label.sum() / 6  # nearly all positives are used


def test_many_patches_give_the_sizes_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    count = 40_000
    found = patches.Places(rng.integers(0, 280, count), rng.integers(0, 2, count), np.stack([np.arange(count)] * 2, 1))
    train, test = patches.split(found)
    assert (len(train), len(test)) == (5000, 1000)
    assert len(set(found.patient[test])) > 20


def test_the_split_depends_neither_on_order_nor_on_patches_that_were_not_chosen() -> None:
    rng = np.random.default_rng(3)
    found = places(rng)
    chosen = [set(found.xy[part, 0]) for part in patches.split(found)]
    kept = rng.permutation(np.flatnonzero((found.label == 1) | np.isin(found.xy[:, 0], list(chosen[0] | chosen[1]))))
    fewer = patches.Places(found.patient[kept], found.label[kept], found.xy[kept])
    assert len(kept) < len(found.label)
    assert [set(fewer.xy[part, 0]) for part in patches.split(fewer)] == chosen


def test_too_few_patches_are_refused() -> None:
    one_class = patches.Places(np.arange(50), np.zeros(50, int), np.zeros((50, 2), int))
    with pytest.raises(DataError, match="too few"):
        patches.split(one_class)


def test_original_patches_equal_the_copy(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    arrays = paper_data.patches(np.random.default_rng(1), 8, 12)
    np.savez(tmp_path / "idc_50x50.npz", **arrays)
    copy = patches.load_patches(tmp_path)
    (tmp_path / "idc_50x50.npz").unlink()
    for pixels, label, patient, (x, y) in zip(*arrays.values(), strict=True):
        place = tmp_path / "breast-histopathology-images" / str(patient) / str(label)
        place.mkdir(parents=True, exist_ok=True)
        image.fromarray(pixels).save(place / f"{patient}_idx5_x{x}_y{y}_class{label}.png")
    original = patches.load_patches(tmp_path)
    for name in ("train", "train_labels", "test", "test_labels"):
        assert np.array_equal(getattr(original, name), getattr(copy, name))
    victim = next((tmp_path / "breast-histopathology-images").rglob("*.png"))
    for path in victim.parent.parent.parent.rglob("*.png"):
        path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(DataError, match="is not a picture"):
        patches.load_patches(tmp_path)


def test_a_patch_at_the_edge_of_the_slide_is_filled_up(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pixels = np.random.default_rng(0).integers(0, 256, (50, 30, 3)).astype(np.uint8)
    image.fromarray(pixels).save(tmp_path / "p.png")
    found = patches._picture(tmp_path / "p.png")
    assert found.shape == (50, 50, 3)
    assert np.array_equal(found[:, :30], pixels)
    assert np.array_equal(found[:, 49], pixels[:, 29])


def test_original_scenes_are_read_and_resized(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for part in ("seg_train/seg_train", "seg_test"):  # with and without the doubled folder of the archive
        for label, name in enumerate(scenes.CLASSES):
            (tmp_path / part / name).mkdir(parents=True)
            image.new("RGB", (150, 150), (40 * label, 0, 0)).save(tmp_path / part / name / "1.jpg")
    found = scenes.load_scenes(tmp_path)
    assert found.train.shape == found.test.shape == (6, 32, 32, 3)
    assert found.train_labels.tolist() == found.test_labels.tolist() == list(range(6))
    assert np.abs(found.test[:, 16, 16, 0].astype(int) - 40 * np.arange(6)).max() <= 3  # JPEG is not exact
    (tmp_path / "seg_test" / "sea" / "1.jpg").unlink()
    with pytest.raises(DataError, match=r"sea.* holds no \.jpg images"):
        scenes.load_scenes(tmp_path)


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("X", lambda x: x[:, :16]),
        ("y", lambda y: y + 1),
        ("is_test", lambda t: t.astype(int)),
        ("is_test", lambda t: t & False),
        ("is_test", lambda t: t[:-1]),
    ],
)
def test_scenes_of_another_shape_are_refused(tmp_path: Path, key: str, change) -> None:
    arrays = paper_data.scenes(np.random.default_rng(0), 12)
    np.savez(tmp_path / "intel_32x32.npz", **{**arrays, key: change(arrays[key])})
    with pytest.raises(DataError, match="must hold"):
        scenes.load_scenes(tmp_path)


def test_transactions_are_split_without_frauds_to_learn_from() -> None:
    rows = paper_data.transactions(np.random.default_rng(0), 1000, 41).astype(np.float32)
    found = fraud.split(rows[:, :-1], rows[:, -1] == 1)
    assert [len(part) for part in (found.train, found.validation, found.test)] == [600, 220, 221]
    assert (found.validation_frauds.sum(), found.test_frauds.sum()) == (20, 21)
    assert found.train.mean(0) == pytest.approx(np.zeros(29), abs=1e-5)
    assert found.train.std(0) == pytest.approx(np.ones(29), abs=1e-4)
    everything = np.concatenate([found.train, found.validation, found.test])
    assert len(np.unique(everything, axis=0)) == 1041


def write_csv(path: Path, rows: np.ndarray, header: str) -> None:
    lines = [
        ",".join(map(repr, row[:-1].tolist())) + f',"{int(row[-1])}"' for row in np.column_stack([rows[:, :1], rows])
    ]
    path.write_text("\n".join([header, *lines]) + "\n")


def test_the_original_transactions_equal_the_copy(tmp_path: Path) -> None:
    rows = paper_data.transactions(np.random.default_rng(2)).astype(np.float32)
    np.savez(tmp_path / "creditcard_subset.npz", **dict(zip(fraud.COLUMNS, rows.T, strict=True)))
    copy = fraud.load_transactions(tmp_path)
    header = ",".join(f'"{name}"' for name in ("Time", *fraud.COLUMNS))
    write_csv(tmp_path / "creditcard.csv", rows, header)
    original = fraud.load_transactions(tmp_path)
    assert np.array_equal(original.test, copy.test)
    assert np.array_equal(original.train, copy.train)
    write_csv(tmp_path / "creditcard.csv", rows, header.replace("V7", "W7"))
    with pytest.raises(DataError, match="lacks the column 'V7'"):
        fraud.load_transactions(tmp_path)
    write_csv(tmp_path / "creditcard.csv", rows + 1, header)
    with pytest.raises(DataError, match=r"'Class' of creditcard\.csv must hold 0 and 1"):
        fraud.load_transactions(tmp_path)
    write_csv(tmp_path / "creditcard.csv", np.where(np.arange(30) == 5, np.nan, rows), header)
    with pytest.raises(DataError, match=r"row 1 of creditcard\.csv .* not a finite number"):
        fraud.load_transactions(tmp_path)


@pytest.mark.heavy
def test_parquet_copies_are_read(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    rows = paper_data.transactions(np.random.default_rng(2)).astype(np.float32)
    path = tmp_path / "creditcard_subset.parquet"
    columns = dict(zip(fraud.COLUMNS, rows.T, strict=True))
    parquet.write_table(arrow.table(columns), path)
    np.savez(tmp_path / "creditcard_subset.npz", **columns)
    found = fraud.load_transactions(tmp_path)
    path.rename(tmp_path / "elsewhere")
    assert np.array_equal(found.test, fraud.load_transactions(tmp_path).test)
    path.write_bytes((tmp_path / "elsewhere").read_bytes()[:-50])
    with pytest.raises(DataError, match="damaged or truncated"):
        fraud.load_transactions(tmp_path)
    parquet.write_table(arrow.table({"V1": columns["V1"]}), path)
    with pytest.raises(DataError, match="lacks the column 'V2'"):
        fraud.load_transactions(tmp_path)


def test_a_prefix_of_the_original_collisions_is_read(folder: Path, tmp_path: Path) -> None:
    assert len(higgs.load_collisions(folder).train) == 480
    part = higgs.load_collisions(folder, rows=100)
    assert (len(part.train), len(part.test)) == (80, 20)
    labels = np.concatenate([part.train_labels, part.test_labels])
    features = np.concatenate([part.train, part.test])
    assert np.array_equal(labels, features[:, :3].sum(1) > 0)  # rows keep their labels
    with gzip.open(folder / "HIGGS.csv.gz", "rt") as file:
        lines = file.read().splitlines()
    (tmp_path / "HIGGS.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines))
    with pytest.raises(DataError, match="must have 29 columns"):
        higgs.load_collisions(tmp_path)
    (tmp_path / "HIGGS.csv").write_text("\n".join(["2.0" + line[line.index(",") :] for line in lines]))
    with pytest.raises(DataError, match="labels 0 and 1"):
        higgs.load_collisions(tmp_path)
