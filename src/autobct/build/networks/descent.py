"""Gradient descent on a small network, quick on a GPU: one step is recorded once and replayed as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from autobct.build.networks.network_value import NetworkValue

_WARM_UP = 0.1  # share of the steps in which the rate rises
_MEASURED = 50  # last steps whose error is told


def rate_at(step: int, steps: int, peak: float) -> float:
    """One cycle: a cosine up from peak / 25 over the first tenth of the steps, then a cosine down to nothing."""
    rise = max(round(_WARM_UP * steps), 1)
    if step < rise:
        return peak * (0.04 + 0.96 * 0.5 * (1 - math.cos(math.pi * step / rise)))
    return peak * 0.5 * (1 + math.cos(math.pi * (step - rise) / max(steps - rise, 1)))


def descend(
    network: NetworkValue,
    inputs: Tensor,
    target: Tensor,
    weight: Tensor,
    *,
    steps: int,
    batch: int,
    rate: float,
    rng: torch.Generator,
) -> float:
    """Fit network.dense(inputs (n, F)) to target (n,) by weighted squares; the final root mean squared error."""
    device = inputs.device
    pick = torch.zeros(batch, dtype=torch.long, device=device)
    pace = torch.tensor(rate, device=device)
    on_gpu = device.type == "cuda"
    optimiser = torch.optim.Adam(network.parameters(), lr=pace, fused=on_gpu, capturable=on_gpu)

    def step() -> Tensor:
        optimiser.zero_grad(set_to_none=True)
        error = network.dense(inputs[pick]) - target[pick]
        loss = (weight[pick] * error.square()).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        return loss.detach()

    run = _recorded(step, network, optimiser) if on_gpu else step
    total = torch.zeros((), device=device)
    for index in range(steps):
        pick.copy_(torch.randint(len(inputs), (batch,), generator=rng, device=device))
        pace.fill_(rate_at(index, steps, rate))
        loss = run()
        if index >= steps - _MEASURED:
            total += loss
    return float((total / min(steps, _MEASURED)).sqrt())


def _recorded(
    step: Callable[[], Tensor], network: NetworkValue, optimiser: torch.optim.Optimizer
) -> Callable[[], Tensor]:
    """The step as a CUDA graph: launching its thirty kernels one by one takes longer than what they compute.

    Recording needs a few real steps first; what they change is undone.
    """
    before = {name: value.clone() for name, value in network.state_dict().items()}
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    with torch.no_grad():
        network.load_state_dict(before)
        for state in optimiser.state.values():
            for value in state.values():
                value.zero_()

    def replay() -> Tensor:
        graph.replay()
        return loss

    return replay
