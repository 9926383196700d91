"""The paper's networks: counted by hand, trained for real on small generated data, as the tables are."""

import itertools
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

import torch
from experiments.paper import autoencoder, cnn, resnet, scenes
from experiments.paper.data import fraud
from experiments.paper.data.patches import Patches, load_patches
from experiments.paper.data.scenes import Scenes, load_scenes
from experiments.paper.device import batches, device_named, seeded
from experiments.paper.scores import f_beta
from tests.experiments import paper_data

pytestmark = pytest.mark.heavy

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return paper_data.write_all(tmp_path_factory.mktemp("data"))


def weights_of(model: torch.nn.Module) -> int:
    return sum(part.numel() for part in model.parameters())


def convolution(before: int, after: int) -> int:
    return 9 * before * after + after


def dense(*widths: int) -> int:
    return sum(before * after + after for before, after in itertools.pairwise(widths))


# --- devices


def test_an_unknown_device_is_refused() -> None:
    for name in ("gpu", "meta", "cuda:99"):
        with pytest.raises(ValueError, match=r"device must be 'cpu' or 'cuda'|torch finds no device"):
            device_named(name)


def test_batches_hold_every_number_once() -> None:
    with seeded(0, CPU):
        found = list(batches(10, 4, CPU))
    assert [len(part) for part in found] == [4, 4, 2]
    assert sorted(torch.cat(found).tolist()) == list(range(10))


def test_the_callers_random_numbers_are_left_alone(folder: Path) -> None:
    before = torch.get_rng_state()
    data = cnn.load(load_patches(folder), CPU)
    cnn.train({"batch": 50, "r": 0.001}, 3, data, CPU)
    assert torch.equal(torch.get_rng_state(), before)


# --- breast cancer


def test_cnn_has_the_layers_of_the_paper() -> None:
    body = convolution(3, 8) + convolution(8, 16) + convolution(16, 32)
    assert weights_of(cnn.network()) == body + dense(32 * 4 * 4, 16, 2)
    assert sum(isinstance(layer, torch.nn.Dropout) and layer.p == 0.2 for layer in cnn.network().modules()) == 3


def test_cnn_learns_from_the_patches(folder: Path) -> None:
    data = cnn.load(load_patches(folder), CPU)
    learned = cnn.train({"batch": 10, "r": 0.001}, 0, data, CPU)
    again = cnn.train({"batch": 10, "r": 0.001}, 0, data, CPU)
    still = cnn.train({"batch": 200, "r": 1e-9}, 0, data, CPU)
    assert learned.score == again.score > 0.9
    assert still.score < 0.8
    assert learned.seconds > 0


def test_cnn_is_not_shown_the_patches_it_is_tested_on(folder: Path) -> None:
    """With the labels to test on turned round, a network that learned the others is wrong everywhere."""
    found = load_patches(folder)
    turned = Patches(found.train, found.train_labels, found.test, 1 - found.test_labels)
    assert cnn.train({"batch": 10, "r": 0.001}, 0, cnn.load(turned, CPU), CPU).score < 0.1


def test_cnn_refuses_images_that_are_too_small() -> None:
    with pytest.raises(ValueError, match="at least 22 pixels"):
        cnn.network(21)
    assert cnn.network(22)(torch.zeros(1, 3, 22, 22)).shape == (1, 2)


# --- scenes


def test_plain_has_the_layers_of_the_paper() -> None:
    widths = [(3, 200), (200, 200), (200, 180), (180, 180), (180, 140), (140, 100), (100, 50)]
    body = sum(convolution(*pair) for pair in widths)
    assert weights_of(scenes.plain(150)) == body + dense(6 * 6 * 50, 180, 100, 50, 6)
    assert weights_of(scenes.plain(32)) == body + dense(2 * 2 * 50, 180, 100, 50, 6)


@pytest.mark.parametrize("side", [26, 29, 6, 3, 5])
def test_pooling_pads_as_keras_does(side: int) -> None:
    """Windows of 5 that start floor(pad / 2) before the image, by brute force."""
    image = np.random.default_rng(side).random((side, side))
    out = math.ceil(side / 5)
    before = (5 * out - side) // 2
    starts = [5 * index - before for index in range(out)]
    expected = [[image[max(i, 0) : i + 5, max(j, 0) : j + 5].max() for j in starts] for i in starts]
    pooled = scenes.SamePool(5)(torch.as_tensor(image)[None, None])
    assert np.array_equal(pooled[0, 0].numpy(), np.array(expected))


def test_resnet50_has_the_weights_of_the_original() -> None:
    assert weights_of(resnet.Body()) == 25_557_032 - dense(2048, 1000)  # the published count, less the classes
    assert resnet.Body().eval()(torch.zeros(1, 3, 150, 150)).shape == (1, 2048, 5, 5)


def few(folder: Path, train: int, test: int) -> scenes.LoadedScenes:
    found = load_scenes(folder)
    return scenes.load(
        Scenes(found.train[:train], found.train_labels[:train], found.test[:test], found.test_labels[:test]), CPU
    )


def small(count: int) -> scenes.LoadedScenes:
    """Images of 12 pixels a side, on which Plain is quick."""
    arrays = paper_data.scenes(np.random.default_rng(0), count, side=12)
    test = arrays["is_test"]
    images, labels = arrays["X"], arrays["y"].astype(np.int64)
    return scenes.load(Scenes(images[~test], labels[~test], images[test], labels[test]), CPU)


def test_a_curve_holds_what_shorter_trainings_come_to() -> None:
    data = small(30)
    curve = scenes.train_curve("plain", None, 5, data, CPU, epochs=3)
    alone = scenes.train({"network": "plain", "epochs": 2}, 5, data, CPU)
    assert len(curve) == 3
    assert alone.extra == curve[1].extra
    assert alone.score == curve[1].score
    assert 0 < curve[0].seconds < curve[1].seconds < curve[2].seconds


def test_plain_learns() -> None:
    data = small(60)
    with seeded(0, CPU):
        curve = list(scenes.curve(scenes.plain(12), scenes.Recipe(batch=6, rate=5e-4), data, CPU, epochs=12))
    assert curve[-1].extra["cross_entropy"] < 0.9 * math.log(6)
    assert curve[-1].score == pytest.approx(1 - curve[-1].extra["cross_entropy"] / math.log(6))
    assert curve[-1].extra["accuracy"] > 1.5 / 6


def test_the_score_of_scenes_runs_from_a_blind_guess_to_certainty() -> None:
    assert scenes.share_removed(math.log(6)) == 0.0
    assert scenes.share_removed(0.0) == 1.0
    assert scenes.share_removed(5.0) == 0.0


def test_a_network_that_burst_has_the_worst_score_and_no_gap(folder: Path) -> None:
    data = few(folder, 6, 6)
    with seeded(0, CPU):
        (outcome,) = scenes.curve(scenes.plain(32), scenes.Recipe(rate=1e30), data, CPU, epochs=1)
    assert outcome.score == 0.0
    assert math.isfinite(outcome.extra["cross_entropy"])


def test_resnet50_with_weights_trains_its_head_only(folder: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    body = resnet.Body()
    torch.save({**body.state_dict(), "fc.weight": torch.zeros(1000, 2048)}, tmp_path / "weights.pth")
    model = scenes.ResNet50(tmp_path / "weights.pth")
    head = [part.clone() for part in model.head.parameters()]
    list(scenes.curve(model, scenes.Recipe(batch=4), few(folder, 4, 2), CPU, epochs=1))
    for name, value in body.state_dict().items():
        assert torch.equal(model.body.state_dict()[name], value), name
    assert not all(torch.equal(a, b) for a, b in zip(model.head.parameters(), head, strict=True))


def test_resnet50_from_scratch_trains_all_of_it(folder: Path) -> None:
    data = few(folder, 4, 2)
    torch.manual_seed(0)
    model = scenes.ResNet50(None)
    first = model.body.get_submodule("conv1").weight.clone()
    list(scenes.curve(model, scenes.FROM_SCRATCH, data, CPU, epochs=1))
    assert not torch.equal(model.body.get_submodule("conv1").weight, first)


def test_weights_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    body = resnet.Body()
    with pytest.raises(FileNotFoundError, match="there is no file"):
        resnet.load_weights(body, tmp_path / "none.pth")
    (tmp_path / "text.pth").write_text("weights")
    (tmp_path / "code.pth").write_bytes(pickle.dumps(print, protocol=2))
    for name in ("text.pth", "code.pth"):
        with pytest.raises(ValueError, match="cannot be read as weights"):
            resnet.load_weights(body, tmp_path / name)
    torch.save({**body.state_dict(), "conv1.weight": torch.zeros(64, 3, 3, 3)}, tmp_path / "other.pth")
    with pytest.raises(ValueError, match=r"'conv1\.weight' is missing or has another shape"):
        resnet.load_weights(body, tmp_path / "other.pth")
    torch.save([1, 2], tmp_path / "list.pth")
    with pytest.raises(ValueError, match="does not hold the weights"):
        resnet.load_weights(body, tmp_path / "list.pth")


def test_an_unknown_network_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="'plain' or 'resnet50', got 'vgg'"):
        scenes.train_curve("vgg", None, 0, few(folder, 4, 2), CPU)


# --- fraud


@pytest.mark.parametrize(
    ("scale", "code", "sizes"),
    [
        (1.9, 1, [38, 19, 1, 19, 38]),  # the example of the paper
        (1.0, 2, [20, 2, 20]),
        (1.09, 2, [22, 12, 2, 12, 22]),
        (9 * 0.35 + 1, 3, [83, 67, 51, 35, 19, 3, 19, 35, 51, 67, 83]),  # 20 * 4.15 is a little more than 83 in binary
    ],
)
def test_sizes_of_the_autoencoder(scale: float, code: int, sizes: list[int]) -> None:
    assert autoencoder.hidden_sizes(scale, code) == sizes
    assert weights_of(autoencoder.network(29, scale, code)) == dense(29, *sizes, 29)


@pytest.mark.parametrize("seed", range(6))
def test_the_threshold_has_the_best_f_score_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frauds = rng.random(60) < 0.2
    frauds[0] = True
    errors = np.round(rng.random(60) + 0.5 * frauds, 1)  # with ties

    def score(threshold: float) -> float:
        return f_beta(*autoencoder.precision_recall(errors >= threshold, frauds), autoencoder.BETA)

    best = max(score(threshold) for threshold in np.unique(errors))
    assert score(autoencoder.best_threshold(errors, frauds)) == pytest.approx(best)


def test_precision_and_recall_by_hand() -> None:
    called, frauds = np.array([1, 1, 1, 0, 0], bool), np.array([1, 0, 0, 1, 0], bool)
    assert autoencoder.precision_recall(called, frauds) == (1 / 3, 1 / 2)
    assert autoencoder.precision_recall(called & False, frauds) == (0.0, 0.0)


def test_the_autoencoder_finds_what_is_unlike_the_honest(folder: Path) -> None:
    data = autoencoder.load(fraud.load_transactions(folder), CPU)
    found = autoencoder.train({"scale": 1.0, "code": 2}, 0, data, CPU)
    again = autoencoder.train({"scale": 1.0, "code": 2}, 0, data, CPU)
    assert found.score == again.score > 0.8
    assert found.score == pytest.approx(f_beta(found.extra["precision"], found.extra["recall"], 6.0))
    assert found.seconds > 0
