"""The fraud detector, section 4.3: how large should an autoencoder of honest transactions be?

It learns to reproduce honest transactions through a narrow layer; what it reproduces badly is called a fraud.  The
score is the F-score with beta = 6 on transactions it has not seen.

The paper leaves open, and this file chooses: tanh between the layers, batches of 256, three epochs of Adam with rate
0.001 (some 300 steps on the partial copy), and the threshold on the reconstruction error that would have had the best
F-score on the validation part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from experiments.paper.data.fraud import Flags, Transactions
from experiments.paper.device import batches, keras_start, nn, now, seeded, torch
from experiments.paper.scores import f_beta

from autobct.belief.arrays import Array
from autobct.paper.experiment import TrainingOutcome

BETA = 6.0
BATCH = 256
EPOCHS = 3
RATE = 1e-3
_SLIP = 1e-9  # 20 * 4.15 is 83.00000000000001 in binary


@dataclass(frozen=True, slots=True, eq=False)
class LoadedTransactions:
    """Transactions on the device, (n, features) each; which are frauds stays with NumPy."""

    train: torch.Tensor
    validation: torch.Tensor
    validation_frauds: Flags
    test: torch.Tensor
    test_frauds: Flags


def load(data: Transactions, device: torch.device) -> LoadedTransactions:
    """The transactions on the device, once for all trainings."""
    train, validation, test = (torch.as_tensor(part).to(device) for part in (data.train, data.validation, data.test))
    return LoadedTransactions(train, validation, data.validation_frauds, test, data.test_frauds)


def hidden_sizes(scale: float, code: int) -> list[int]:
    """Widths of the hidden layers; scale 1.9 and code 1 give the paper's 38, 19, 1, 19, 38.

    ceil(scale) layers lead from ceil(20 scale) down to the code, evenly, rounded down.
    """
    largest, layers = math.ceil(20 * scale - _SLIP), math.ceil(scale - _SLIP)
    encoder = [math.floor(width + _SLIP) for width in np.linspace(largest, code, layers + 1)]
    return encoder + encoder[-2::-1]


def network(features: int, scale: float, code: int) -> nn.Module:
    """An untrained autoencoder: (n, features) -> (n, features)."""
    widths = [features, *hidden_sizes(scale, code), features]
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.Tanh()]
    return keras_start(nn.Sequential(*layers[:-1]))


def train(params: Mapping[str, Any], seed: int, data: LoadedTransactions, device: torch.device) -> TrainingOutcome:
    """One training with params {'scale': 1 .. 10, 'code': 1 .. 10}, and its F-score; extra: precision and recall."""
    with seeded(seed, device):
        started = now(device)
        model = network(data.train.shape[1], params["scale"], params["code"]).to(device)
        optimiser = torch.optim.Adam(model.parameters(), lr=RATE, eps=1e-7, fused=device.type == "cuda")
        for _ in range(EPOCHS):
            for pick in batches(len(data.train), BATCH, device):
                honest = data.train[pick]
                optimiser.zero_grad(set_to_none=True)
                nn.functional.mse_loss(model(honest), honest).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        threshold = best_threshold(_errors(model, data.validation), data.validation_frauds)
        precision, recall = precision_recall(_errors(model, data.test) >= threshold, data.test_frauds)
        score = f_beta(precision, recall, BETA)
        return TrainingOutcome(score, now(device) - started, {"precision": precision, "recall": recall})


@torch.inference_mode()
def _errors(model: nn.Module, rows: torch.Tensor) -> Array:
    """Mean squared difference between each row and its reproduction; infinite where the network has burst."""
    errors = (model(rows) - rows).square().mean(1)
    return np.asarray(torch.nan_to_num(errors, nan=math.inf).cpu().numpy(), dtype=np.float64)


def best_threshold(errors: Array, frauds: Flags, beta: float = BETA) -> float:
    """The error from which on calling a row a fraud has the best F-score.  errors, frauds: (n,)."""
    order = np.argsort(-errors, kind="stable")
    caught = np.cumsum(frauds[order])  # when the k largest errors are called frauds
    called = np.arange(1, len(order) + 1)
    score = (1 + beta**2) * caught / (beta**2 * frauds.sum() + called)  # eq. (25) in counts
    last_of_equals = np.append(np.diff(errors[order]) != 0, True)
    return float(errors[order][np.argmax(np.where(last_of_equals, score, -1.0))])


def precision_recall(called: Flags, frauds: Flags) -> tuple[float, float]:
    """Share of those called frauds that are frauds, share of the frauds that are called so; 0 where nothing is."""
    caught = float((called & frauds).sum())
    return caught / max(float(called.sum()), 1.0), caught / max(float(frauds.sum()), 1.0)
