"""How well networks predict on the families that they have never seen: negative log densities and coverage.

    python experiments/surrogate/judge.py --weights FOLDER [FOLDER ...] --tables experiments/cache/tables.npz

With several folders the networks of a fold answer together, with the mean of their probabilities.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from benchmark_tasks import FOLDS
from checkpoints import shipped
from model import Network
from tables import FAMILIES
from torch import Tensor, nn
from train import judged, real_tasks

from autobct.belief.surrogate.network_inputs import COST_BINS, SCORE_BINS


class Together(nn.Module):
    """The mean of the probabilities of several networks, as logarithms."""

    def __init__(self, networks: list[Network]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)

    def forward(self, *task: object) -> Tensor:
        """As `Network`."""
        every = torch.stack([network(*task) for network in self.networks])
        score, cost, other = every.split([SCORE_BINS, COST_BINS, every.shape[-1] - SCORE_BINS - COST_BINS], dim=-1)
        mean = [part.softmax(dim=-1).mean(dim=0).clamp_min(1e-12).log() for part in (score, cost)]
        return torch.cat([*mean, other.mean(dim=0)], dim=-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, nargs="+", required=True)
    parser.add_argument("--tables", type=Path, required=True)
    asked = parser.parse_args()
    real = real_tasks([asked.tables], torch.device("cpu"))
    print("family           score    cost   score in 50/90 %   log cost in 50/90 %")
    for fold, families in FOLDS.items():
        network = Together([shipped(folder / f"{fold}.surrogate") for folder in asked.weights])
        for family in families:
            torch.manual_seed(0)
            row = judged(network, real[real.family == FAMILIES.index(family)], batches=4)
            print(f"{family:14s} {row[0]:7.3f} {row[1]:7.3f}   {row[4]:.2f} {row[5]:.2f}   {row[6]:.2f} {row[7]:.2f}")


if __name__ == "__main__":
    main()
