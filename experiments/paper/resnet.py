"""The body of ResNet50 (He et al., 2016), without its classes: (n, 3, h, w) -> (n, 2048, h / 32, w / 32).

The stride of a block is in its 3 x 3 convolution and the names of the parameters are those under which ImageNet weights
for PyTorch are commonly stored, so that such a file can be loaded.
"""

from __future__ import annotations

from pathlib import Path

from experiments.paper.device import nn, torch

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
"""(width, blocks, stride of the first block) of each stage."""

WIDENING = 4
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of ImageNet's pixels in [0, 1], by which those weights expect their images standardised."""


class Bottleneck(nn.Module):
    """Three convolutions (narrow, look around, widen) added to a shortcut."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        after = WIDENING * width
        self.conv1, self.bn1 = nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, after, 1, bias=False), nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n, before, h, w) -> (n, 4 width, h / stride, w / stride)."""
        inner = self.relu(self.bn1(self.conv1(x)))
        inner = self.relu(self.bn2(self.conv2(inner)))
        return self.relu(self.bn3(self.conv3(inner)) + self.downsample(x))


class Body(nn.Module):
    """All of ResNet50 up to its last feature map."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        before = 64
        for number, (width, blocks, stride) in enumerate(STAGES, 1):
            stage = [
                Bottleneck(before if first == 0 else WIDENING * width, width, stride if first == 0 else 1)
                for first in range(blocks)
            ]
            before = WIDENING * width
            self.add_module(f"layer{number}", nn.Sequential(*stage))
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n, 3, h, w) -> (n, 2048, h / 32, w / 32)."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for number in range(1, len(STAGES) + 1):
            x = self.get_submodule(f"layer{number}")(x)
        return x


def load_weights(body: Body, path: Path) -> Body:
    """Put the ImageNet weights of that file into the body; ValueError, in one sentence, if they do not fit."""
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {str(path)!r} with the weights of ResNet50") from None
    except Exception as error:  # torch raises many kinds for a damaged file
        raise ValueError(
            f"{str(path)!r} cannot be read as weights of torch: it is damaged or of another kind"
        ) from error
    needed = body.state_dict()
    unfit = [
        name
        for name, value in needed.items()
        if not name.endswith("num_batches_tracked")
        and (not isinstance(found, dict) or getattr(found.get(name), "shape", None) != value.shape)
    ]
    if unfit:
        raise ValueError(
            f"{str(path)!r} does not hold the weights of ResNet50: {unfit[0]!r} is missing or has another shape"
        )
    body.load_state_dict({name: found.get(name, value) for name, value in needed.items()})
    return body
