"""How well a network predicts on families of real tasks: negative log densities and coverage.

    python experiments/surrogate/judge.py --tables experiments/cache/tables.npz [--weights FILE]

Without --weights it is the shipped one, which has learned from none of them.
"""

from __future__ import annotations

import argparse
from importlib import resources
from pathlib import Path

import torch
from checkpoints import shipped
from real_pool import real_tasks
from tables import FAMILIES
from train import judged

from autobct.maps.library import NAME


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=Path, nargs="+", required=True)
    parser.add_argument("--weights", type=Path, default=Path(str(resources.files("autobct.maps") / "files" / NAME)))
    asked = parser.parse_args()
    real, network = real_tasks(asked.tables, torch.device("cpu")), shipped(asked.weights)
    print("family           score    cost   score in 50/90 %   log cost in 50/90 %")
    for number, family in enumerate(FAMILIES):
        if not (real.family == number).any():
            continue
        torch.manual_seed(0)
        row = judged(network, real[real.family == number], batches=4)
        print(f"{family:14s} {row[0]:7.3f} {row[1]:7.3f}   {row[4]:.2f} {row[5]:.2f}   {row[6]:.2f} {row[7]:.2f}")


if __name__ == "__main__":
    main()
