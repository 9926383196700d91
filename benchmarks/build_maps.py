"""Build, judge and time every network map in one call, on CPU or CUDA; the sweep's share of the card's bf16 rate.

    python benchmarks/build_maps.py --out DIR --device cuda [--only 1d-linear-last ...] [--seconds 540]

Each map is built as by `autobct maps build` (resumable, same files) and judged against depth 2 on the paper's priors.
A summary of all is written to DIR/maps.json.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch

from autobct.build.builder import BuildRequest, build_map, device_name, request_for
from autobct.build.game import Game
from autobct.build.judged import game_of, values_of
from autobct.build.layout import training_controls
from autobct.build.train import best_values, stack_priors
from autobct.maps.library import load_map


def requests(device: str, *, quick: bool) -> list[BuildRequest]:
    return [
        request_for(dim, cost, recall, None, None, 0, device, quick=quick)
        for dim in (1, 2)
        for cost in ("linear", "log-linear")
        for recall in (False, True)
    ]


def sweep(path: Path, request: BuildRequest, states: int) -> dict[str, float]:
    """One Bellman sweep over this many states: seconds, evaluations, and share of the measured bf16 matrix rate."""
    value_map, settings = load_map(path), request.settings
    game = game_of(value_map.spec, training_controls(request.dim), device=request.device)
    value = values_of(value_map, request.device)[-1]
    anchors = stack_priors(request.beliefs(), game)
    beliefs = anchors.rows(torch.arange(states, device=game.device) % len(anchors))
    best_values(game, beliefs.rows(slice(0, settings.chunk)), value, settings.chunk)
    _wait(game)
    started = time.perf_counter()
    best_values(game, beliefs, value, settings.chunk)
    _wait(game)
    seconds = time.perf_counter() - started
    nodes = len(game.score_rule[0]) * len(game.cost_rule[0])
    evaluations = states * len(game.features) * nodes
    operations = 2.0 * evaluations * settings.hidden * (settings.hidden + 1)
    return {
        "states": states,
        "seconds": seconds,
        "evaluations": evaluations,
        "bf16_share": operations / seconds / bf16_rate(game.device) if game.device.type == "cuda" else float("nan"),
    }


def bf16_rate(device: torch.device) -> float:
    """Operations per second of a large bf16 matrix product, measured here and now."""
    left = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    for _ in range(3):
        left @ left
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(10):
        left @ left
    torch.cuda.synchronize()
    return 10 * 2.0 * 8192**3 / (time.perf_counter() - started)


def _wait(game: Game) -> None:
    if game.device.type == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--only", nargs="*", help="names such as 1d-linear-last")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no further map after this time")
    parser.add_argument("--quick", action="store_true", help="poor maps in seconds, to try the script")
    arguments = parser.parse_args()
    began, rows = time.perf_counter(), []
    for request in requests(arguments.device, quick=arguments.quick):
        if arguments.only and request.name not in arguments.only:
            continue
        if time.perf_counter() - began > arguments.seconds:
            print(f"no time left for {request.name}; call again with the same --out to go on")
            break
        started = time.perf_counter()
        folder = arguments.out / request.name
        path = build_map(request, folder, lambda done, total, text: print(f"  [{done}/{total}] {text}", flush=True))
        paper_size = 156_000 if request.dim == 1 else 761_600
        row = {
            "map": request.name,
            "device": device_name(request.device),
            "seconds": time.perf_counter() - started,
            "bytes": path.stat().st_size,
            "sweep": sweep(path, request, 2_000 if arguments.device == "cpu" else paper_size),
        }
        rows.append(row)
        print(json.dumps(row), flush=True)
    (arguments.out / "maps.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
