"""Torch for the paper's networks: the device, its clock and its random numbers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import torch
    from torch import nn
except ImportError:
    raise ImportError("the paper's networks need torch: pip install 'autobct[paper]'") from None

__all__ = ["batches", "device_named", "device_words", "keras_start", "nn", "now", "seeded", "torch"]


def device_named(name: str) -> torch.device:
    """'cpu', 'cuda' or 'cuda:1'; ValueError if this machine or this torch has no such device."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"device must be 'cpu' or 'cuda', got {name!r}") from None
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"device must be 'cpu' or 'cuda', got {name!r}")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"torch finds no device {name!r} here; write 'cpu'")
    return device


def device_words(device: torch.device) -> str:
    """What to call the device in a header."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


def now(device: torch.device) -> float:
    """Seconds, once everything that the device was asked to do is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Torch draws from this seed inside, and goes on as if nothing had been drawn outside."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def keras_start(network: nn.Module) -> nn.Module:
    """Keras' initial weights, with which the paper trained: Glorot's uniform kernels, no biases."""
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return network


def batches(count: int, size: int, device: torch.device) -> Iterator[torch.Tensor]:
    """The numbers 0 .. count - 1 in a new order, `size` at a time; the last batch may be smaller."""
    yield from torch.randperm(count, device=device).split(size)
