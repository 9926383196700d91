"""Natural scenes, section 4.3 and appendix E.2: for how many epochs should a network train?  Plain and ResNet50.

One training of 35 epochs, scored after each, gives the outcomes of all controls: what a training of e epochs would have
come to, had it been stopped there.  The outcomes of one such training therefore depend on each other.  The seconds of e
epochs are those of training them plus those of one scoring.

The paper's score "corresponds to the cross-entropy loss" and lies in [0, 1], no more is said.  Here it is the share of
a blind guess's cross entropy that the network removes, 1 - cross entropy / log 6, at least 0; a network that becomes
too sure of its mistakes loses score, which is what the paper wanted of it.  Cross entropy and accuracy are kept beside
it.

Also left open, and chosen here: Adam with rate 0.0001 and batches of 64 (Plain, and ResNet50 with ImageNet's weights,
whose body is then fixed as in the paper), or 0.0003 and batches of 128 (ResNet50 from scratch, all of it trained).
Plain sees the images at the size they have; ResNet50's head needs a 5 x 5 feature map, so it enlarges them to 150 x
150.  On CUDA the networks compute in bfloat16.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from experiments.paper.data.scenes import CLASSES, Scenes
from experiments.paper.device import batches, keras_start, nn, now, seeded, torch
from experiments.paper.resnet import MEAN, SPREAD, STAGES, WIDENING, Body, load_weights

from autobct.paper.experiment import TrainingOutcome

MAX_EPOCHS = 35
RESNET_SIDE = 150
_SCORING_BATCH = 500
_WORST = 700.0  # cross entropy of a network that has burst, about -log of the smallest number


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a network is trained.  batch: images per step,  rate: of Adam."""

    batch: int = 64
    rate: float = 1e-4


FROM_SCRATCH = Recipe(batch=128, rate=3e-4)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedScenes:
    """Scenes on the device: images (n, 3, side, side) of bytes, labels (n,)."""

    images: torch.Tensor
    labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor


def load(scenes: Scenes, device: torch.device) -> LoadedScenes:
    """The scenes on the device, once for all trainings."""

    def images(pixels: Any) -> torch.Tensor:
        return torch.as_tensor(pixels).to(device).permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)

    train_labels, test_labels = (torch.as_tensor(part).to(device) for part in (scenes.train_labels, scenes.test_labels))
    return LoadedScenes(images(scenes.train), train_labels, images(scenes.test), test_labels)


class SamePool(nn.Module):
    """Keras' max pooling with padding 'same', after a ReLU (so that a zero never wins)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n, c, h, w) -> (n, c, ceil(h / size), ceil(w / size))."""
        missing = [-length % self.size for length in (x.shape[-1], x.shape[-2])]
        sides = [part for gap in missing for part in (gap // 2, gap - gap // 2)]
        return nn.functional.max_pool2d(nn.functional.pad(x, sides), self.size)


def _convolutions(before: int, filters: tuple[int, ...], padding: str) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for width in filters:
        layers += [nn.Conv2d(before, width, 3, padding=padding), nn.ReLU()]
        before = width
    return layers


def head(channels: int, side: int, first: tuple[int, ...]) -> nn.Sequential:
    """What both networks share, after a feature map (n, channels, side, side): -> (n, 6)."""
    side = math.ceil(math.ceil((side - 2 * len(first)) / 5) / 5)
    if side < 1:
        raise ValueError("the images are too small for the network of the paper")
    layers = [*_convolutions(channels, first, "valid"), SamePool(5)]
    layers += [*_convolutions(first[-1], (180, 140, 100, 50), "same"), SamePool(5), nn.Flatten()]
    widths = (50 * side**2, 180, 100, 50)
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Dropout(0.5), nn.Linear(widths[-1], len(CLASSES)))


def plain(side: int) -> nn.Module:
    """The paper's Plain network for images of that many pixels a side, untrained."""
    return keras_start(head(3, side, (200, 200, 180)))


class ResNet50(nn.Module):
    """The paper's ResNet50: the body, fixed where it has ImageNet's weights, and a head that always trains."""

    mean: torch.Tensor
    spread: torch.Tensor

    def __init__(self, weights: Path | None) -> None:
        super().__init__()
        self.fixed = weights is not None
        self.body = Body() if weights is None else load_weights(Body(), weights).requires_grad_(False)
        self.head = head(WIDENING * STAGES[-1][0], math.ceil(RESNET_SIDE / 32), (200, 180))
        keras_start(self.head)
        for name, values in (("mean", MEAN), ("spread", SPREAD)):
            self.register_buffer(name, torch.tensor(values).view(1, 3, 1, 1))

    def train(self, mode: bool = True) -> ResNet50:
        """A fixed body also keeps its averages."""
        super().train(mode)
        self.body.train(mode and not self.fixed)
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n, 3, side, side) in [0, 1] -> (n, 6)."""
        x = nn.functional.interpolate(x, size=RESNET_SIDE, mode="bilinear", antialias=False)
        classes: torch.Tensor = self.head(self.body((x - self.mean) / self.spread))
        return classes


def curve(
    model: nn.Module, recipe: Recipe, data: LoadedScenes, device: torch.device, *, epochs: int = MAX_EPOCHS
) -> Iterator[TrainingOutcome]:
    """Train for `epochs` and yield the outcome of each number of epochs from 1 on."""
    model.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # not in torch's stubs
    learning = [part for part in model.parameters() if part.requires_grad]
    optimiser = torch.optim.Adam(learning, lr=recipe.rate, eps=1e-7, fused=device.type == "cuda")
    training = 0.0
    for _ in range(epochs):
        started = now(device)
        _epoch(model.train(), optimiser, recipe.batch, data, device)
        trained = now(device)
        entropy, accuracy = _scores(model.eval(), data, device)
        scored = now(device)
        training += trained - started
        yield TrainingOutcome(
            share_removed(entropy), training + scored - trained, {"accuracy": accuracy, "cross_entropy": entropy}
        )


def train(params: dict[str, Any], seed: int, data: LoadedScenes, device: torch.device) -> TrainingOutcome:
    """One training with params {'epochs': 1 .. 35, 'network': 'plain' | 'resnet50', 'weights': file or None}."""
    return list(train_curve(params["network"], params.get("weights"), seed, data, device, epochs=params["epochs"]))[-1]


def train_curve(
    name: str, weights: Path | None, seed: int, data: LoadedScenes, device: torch.device, *, epochs: int = MAX_EPOCHS
) -> list[TrainingOutcome]:
    """The outcomes of 1 .. `epochs` epochs of one training of the network of that name."""
    with seeded(seed, device):
        if name == "plain":
            return list(curve(plain(data.images.shape[-1]), Recipe(), data, device, epochs=epochs))
        if name == "resnet50":
            recipe = FROM_SCRATCH if weights is None else Recipe()
            return list(curve(ResNet50(weights), recipe, data, device, epochs=epochs))
        raise ValueError(f"network must be 'plain' or 'resnet50', got {name!r}")


def share_removed(entropy: float) -> float:
    """1 - cross entropy / log 6, at least 0: nothing for a blind guess, 1 for certainty of the truth."""
    return max(0.0, 1.0 - entropy / math.log(len(CLASSES)))


def _floats(images: torch.Tensor) -> torch.Tensor:
    return images.float().div(255)


def _epoch(
    model: nn.Module, optimiser: torch.optim.Optimizer, batch: int, data: LoadedScenes, device: torch.device
) -> None:
    for pick in batches(len(data.labels), batch, device):
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            classes = model(_floats(data.images[pick]))
        nn.functional.cross_entropy(classes.float(), data.labels[pick]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()


@torch.inference_mode()
def _scores(model: nn.Module, data: LoadedScenes, device: torch.device) -> tuple[float, float]:
    """Cross entropy, eq. (24), and accuracy on the images to test on."""
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        classes = torch.cat([model(_floats(part)).float() for part in data.test_images.split(_SCORING_BATCH)])
    entropy = float(nn.functional.cross_entropy(classes, data.test_labels))
    return min(entropy, _WORST) if math.isfinite(entropy) else _WORST, float(
        (classes.argmax(1) == data.test_labels).float().mean()
    )
