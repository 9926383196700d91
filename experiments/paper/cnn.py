"""The breast-cancer network, section 4.2 and appendix E.1: which batch size and learning rate?

Three convolutions of 8, 16 and 32 filters, each followed by a pool and a dropout of 0.2, then 16 units and two classes;
two epochs of Adam on the cross entropy.  The score is the accuracy on the patches of other patients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from experiments.paper.data.patches import Patches
from experiments.paper.device import batches, keras_start, nn, now, seeded, torch

from autobct.paper.experiment import TrainingOutcome

EPOCHS = 2
DROPOUT = 0.2
FILTERS = (8, 16, 32)
UNITS = 16


@dataclass(frozen=True, slots=True, eq=False)
class LoadedPatches:
    """Patches on the device: images (n, 3, h, w) in [0, 1], labels (n,)."""

    images: torch.Tensor
    labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor


def load(patches: Patches, device: torch.device) -> LoadedPatches:
    """The patches as float tensors on the device, once for all trainings."""

    def images(pixels: Any) -> torch.Tensor:
        return torch.as_tensor(pixels).to(device).permute(0, 3, 1, 2).float().div(255).contiguous()

    def labels(classes: Any) -> torch.Tensor:
        return torch.as_tensor(classes, dtype=torch.long).to(device)

    return LoadedPatches(
        images(patches.train),
        labels(patches.train_labels),
        images(patches.test),
        labels(patches.test_labels),
    )


def network(side: int = 50) -> nn.Module:
    """The paper's network for square images with that many pixels a side, untrained: (n, 3, side, side) -> (n, 2)."""
    layers: list[nn.Module] = []
    for before, filters in zip((3, *FILTERS), FILTERS, strict=False):
        layers += [nn.Conv2d(before, filters, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(DROPOUT)]
        side = (side - 2) // 2
    if side < 1:
        raise ValueError("images must have at least 22 pixels a side")
    layers += [nn.Flatten(), nn.Linear(FILTERS[-1] * side**2, UNITS), nn.ReLU(), nn.Linear(UNITS, 2)]
    return keras_start(nn.Sequential(*layers))


def train(params: Mapping[str, Any], seed: int, data: LoadedPatches, device: torch.device) -> TrainingOutcome:
    """One training with params {'batch': images per step, 'r': learning rate}, and its accuracy."""
    with seeded(seed, device):
        started = now(device)
        model = network(data.images.shape[-1]).to(device)
        optimiser = torch.optim.Adam(model.parameters(), lr=params["r"], eps=1e-7, fused=device.type == "cuda")
        for _ in range(EPOCHS):
            for pick in batches(len(data.labels), params["batch"], device):
                optimiser.zero_grad(set_to_none=True)
                loss = nn.functional.cross_entropy(model(data.images[pick]), data.labels[pick])
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        accuracy = _accuracy(model.eval(), data)
        return TrainingOutcome(accuracy, now(device) - started)


@torch.inference_mode()
def _accuracy(model: nn.Module, data: LoadedPatches) -> float:
    return float((model(data.test_images).argmax(1) == data.test_labels).float().mean())
