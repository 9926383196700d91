"""Pieces of real tasks as a pool, and how often each is learned from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from live_models import BROAD, TWINS
from pool import SLOTS, Pool, trends
from tables import FAMILIES
from torch import Tensor


def real_tasks(files: list[Path], device: torch.device) -> Pool:
    """The pieces of real tasks."""
    parts = []
    for file in files:
        with np.load(file, allow_pickle=False) as stored:
            part = {key: torch.from_numpy(stored[key]) for key in stored.files}
        none = torch.zeros(len(part["score"]))
        parts.append({"guess": none[:, None].half().repeat(1, SLOTS), "guessed": none, **part})
    array = {key: torch.cat([part[key] for part in parts]) for key in parts[0]}
    fails = torch.zeros(array["score"].shape, dtype=torch.half)
    place = array["place"].float()
    log_cost = array["log_cost"]
    straight = (place - place.mean(dim=1, keepdim=True)) * (log_cost - log_cost.mean(dim=1, keepdim=True))[:, :, None]
    grows = straight.mean(dim=1) / place.var(dim=1).clamp_min(1e-3) * 2.0
    names = ("place", "facts", "score", "seen", "log_cost", "scale", "c50", "low", "high", "family", "order", "rounds",
             "guess", "guessed")  # fmt: skip
    rises, matters = (found.half() for found in trends(array["place"], array["facts"], array["score"]))
    return Pool(
        **{name: array[name] for name in names}, grows=grows.half(), rises=rises, matters=matters, fails=fails
    ).to(device)


def chances(real: Pool, held: tuple[str, ...]) -> Tensor:
    """Probabilities of real tasks: the families that are not held out weigh alike."""
    counts = torch.bincount(real.family).float()
    weights = 1.0 / counts[real.family]
    for name in held:
        weights[real.family == FAMILIES.index(name)] = 0.0
        for twin in (kind for kind, twins in TWINS.items() if name in twins):
            weights[real.family == len(FAMILIES) + list(BROAD).index(twin)] = 0.0
    return weights / weights.sum()
