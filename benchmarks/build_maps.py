"""Build, judge and time every network map in one call, on CPU or CUDA; how the work grows.

    python benchmarks/build_maps.py --out DIR --device cuda [--only 1d-linear-last ...] [--seconds 540]
    python benchmarks/build_maps.py --out DIR --device cuda --growth

Each map is built as by `autobct maps build` (resumable, same files) and judged against depth 2 on the paper's priors.
A summary of all is written to DIR/maps.json.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import torch

from autobct.build.forests.iteration import references_first
from autobct.build.layout import reference_controls, training_controls
from autobct.build.networks.game import Game
from autobct.build.networks.judged import game_of
from autobct.build.networks.network_builder import BuildRequest, build_map, device_name, fast_products, request_for
from autobct.build.networks.network_training import best_values, empty_network, scattered, stack_priors, train
from autobct.build.networks.network_value import as_value
from autobct.value.state import control_grid

PAPER_STATES = {1: 156_000, 2: 761_600}
"""States in the paper's clouds."""


def requests(device: str, *, quick: bool) -> list[BuildRequest]:
    return [
        request_for(dim, cost, recall, None, None, 0, device, quick=quick)
        for dim in (1, 2)
        for cost in ("linear", "log-linear")
        for recall in (False, True)
    ]


def paper_size(dim: int, device: str) -> dict[str, object]:
    """V_2 .. V_5 over as many states as the paper's cloud has, with the default settings: seconds in all."""
    states = PAPER_STATES[dim]
    request = request_for(dim, "linear", False, 4, None, 0, device, quick=False)
    settings = replace(request.training, states=states // request.settings.rounds)
    game = game_of(request.bare_spec(), training_controls(dim), device=device)
    started = time.perf_counter()
    with fast_products(device):
        train(game, stack_priors(request.beliefs(), game), settings, progress=lambda text: None)
    return {"dim": dim, "states": states, "value functions": 4, "seconds": time.perf_counter() - started}


def growth(device: str) -> list[dict[str, object]]:
    """One Bellman sweep, one thing doubled at a time."""
    small = 4_096 if device == "cuda" else 256
    rows = [sweep(1, small * k, 21, (8, 3), device) for k in (1, 2, 4, 8)]
    rows += [sweep(1, 4 * small, controls, (8, 3), device) for controls in (11, 41, 81)]
    rows += [sweep(1, 4 * small, 21, nodes, device) for nodes in ((4, 3), (16, 3), (8, 6))]
    return rows + [sweep(2, small, side, (8, 3), device) for side in (5, 9, 13)]


def sweep(dim: int, states: int, side: int, nodes: tuple[int, int], device: str) -> dict[str, object]:
    """T V at so many states, side^dim controls and outcomes: seconds, evaluations, share of the bf16 matrix rate."""
    request = request_for(dim, "linear", True, None, None, 0, device, quick=False)
    controls = references_first(reference_controls(dim), control_grid(side, dim))
    score_nodes, cost_nodes = nodes
    spec = request.bare_spec()
    game = game_of(spec, controls, device=device, score_nodes=score_nodes, cost_nodes=cost_nodes)
    value, chunk = as_value(empty_network(game, request.settings.hidden)), request.settings.chunk
    beliefs = scattered(
        stack_priors(request.beliefs(), game), states, torch.Generator(device=device).manual_seed(0), game
    )
    with fast_products(device):
        best_values(game, beliefs.rows(slice(0, chunk)), value, chunk)
        _wait(game)
        started = time.perf_counter()
        best_values(game, beliefs, value, chunk)
        _wait(game)
    seconds = time.perf_counter() - started
    evaluations = states * len(controls) * score_nodes * cost_nodes
    operations = 2.0 * evaluations * request.settings.hidden * (request.settings.hidden + 1)
    return {
        "dim": dim,
        "states": states,
        "controls": len(controls),
        "nodes": score_nodes * cost_nodes,
        "seconds": seconds,
        "evaluations": evaluations,
        "bf16_share": operations / seconds / bf16_rate(game.device) if device == "cuda" else None,
    }


@cache
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
    parser.add_argument("--growth", action="store_true", help="time sweeps and builds of the paper's size instead")
    parser.add_argument("--quick", action="store_true", help="poor maps in seconds, to try the script")
    arguments = parser.parse_args()
    began, rows = time.perf_counter(), []
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.growth:
        found = {"device": device_name(arguments.device), "growth": growth(arguments.device)}
        found["paper size"] = [paper_size(dim, arguments.device) for dim in PAPER_STATES]
        (arguments.out / "growth.json").write_text(json.dumps(found, indent=1) + "\n")
        print(json.dumps(found, indent=1))
        return
    for request in requests(arguments.device, quick=arguments.quick):
        if arguments.only and request.name not in arguments.only:
            continue
        if time.perf_counter() - began > arguments.seconds:
            print(f"no time left for {request.name}; call again with the same --out to go on")
            break
        started = time.perf_counter()
        folder = arguments.out / request.name
        path = build_map(request, folder, lambda done, total, text: print(f"  [{done}/{total}] {text}", flush=True))
        row = {
            "map": request.name,
            "device": device_name(request.device),
            "seconds": time.perf_counter() - started,
            "bytes": path.stat().st_size,
        }
        rows.append(row)
        print(json.dumps(row), flush=True)
    (arguments.out / "maps.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
