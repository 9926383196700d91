"""A value map as a network, V = V_1 + scale x (what more foresight adds), and gradient descent on it, quick on a GPU.

The laws of the problem are built in:

- shift: scores enter only as differences to the best of them;
- units: everything is divided by the score scale, lambda^2 = max variance + (noise / 10)^2, so one map serves every
  price and noise;
- the addition is never negative.

The first layer is linear in parts that depend on the score outcome (A), on the cost outcome (B), or on neither; each
part is multiplied once and broadcast, here and in `autobct.value.maps.value_map`, which evaluates the same network in
NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from autobct.belief.normal import improvement
from autobct.build.networks.game import BatchedInputs, Beliefs, Game, incumbent, run_prices
from autobct.value.maps.map_inputs import reach_of

OPTIMISM = (0.6, 1.2)
"""Standard deviations added before maximising: two looks at how much better the best control may be."""


class NetworkValue(nn.Module):
    """R references, E neighbour pairs, two hidden layers of H; with recall it sees how far trained models reach."""

    def __init__(self, references: int, neighbours: int, hidden: int, *, recall: bool) -> None:
        super().__init__()
        self.reach = nn.Parameter(torch.empty(references if recall else 0, hidden))
        self.mean = nn.Parameter(torch.empty(references, hidden))
        self.price = nn.Parameter(torch.empty(references, hidden))
        self.fixed = nn.Parameter(torch.empty(2 * references + neighbours + 2, hidden))
        self.joint = nn.Parameter(torch.empty(2 + len(OPTIMISM), hidden))
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.second = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)
        for part in (self.reach, self.mean, self.price, self.fixed, self.joint):
            nn.init.normal_(part, std=(2.0 / (4 * references)) ** 0.5)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, view: BatchedInputs, *, log_cost: bool, recall: bool) -> tuple[Tensor, Tensor, Tensor]:
        """(value of one more run, lambda, addition in units of lambda), each broadcasting to (n, G, A, B)."""
        last, scale, joint = summary(view, recall=recall)
        top = view.mean.amax(-1)  # (n, G, A, 1)
        hidden = (
            (view.mean / scale[..., None]) @ self.mean
            - (top / scale)[..., None] * self.mean.sum(0)
            + torch.log(view.price / scale[..., None] + 1e-3) @ self.price
            + outcome_free(view, scale, log_cost=log_cost) @ self.fixed
            + joint @ self.joint
            + self.bias
        )
        if recall:
            hidden = hidden + (view.reach / scale[..., None]) @ self.reach
        return last, scale, self._rest(hidden)

    def dense(self, inputs: Tensor) -> Tensor:
        """The addition from whole rows of inputs (n, F), as `inputs_of` makes them: for fitting."""
        first = torch.cat([self.reach, self.mean, self.price, self.fixed, self.joint])
        return self._rest(inputs @ first + self.bias)

    def _rest(self, hidden: Tensor) -> Tensor:
        return self.out(torch.relu(self.second(torch.relu(hidden))))[..., 0]


def summary(view: BatchedInputs, *, recall: bool) -> tuple[Tensor, Tensor, Tensor]:
    """(value of one more run, lambda, inputs that depend on both outcomes (..., 4))."""
    scale = (view.sd.square().amax(-1) + (0.1 * view.score_noise) ** 2).sqrt()  # (n, G, 1, 1)
    net = view.mean - view.price  # (n, G, A, B, R)
    last = net.amax(-1)
    if recall:
        last = torch.maximum(last, _improvement(view))
    hopes = [((net + k * view.sd).amax(-1) - last) / scale for k in OPTIMISM]
    incumbent_over = ((view.stop - last) / scale).clamp(-4.0, 4.0) if recall else torch.zeros_like(last)
    spent = torch.log1p((view.mean.amax(-1) - last).clamp(min=0) / scale)
    return last, scale, torch.stack([incumbent_over, spent, *hopes], -1)


def inputs_of(view: BatchedInputs, *, log_cost: bool, recall: bool) -> tuple[Tensor, Tensor, Tensor]:
    """(value of one more run, lambda, rows of inputs (n, F)) of an outlook with one outcome."""
    last, scale, joint = summary(view, recall=recall)
    unit = scale[..., None]
    parts = [
        *([view.reach / unit] if recall else []),
        (view.mean - view.mean.amax(-1, keepdim=True)) / unit,
        torch.log(view.price / unit + 1e-3),
        outcome_free(view, scale, log_cost=log_cost),
        joint,
    ]
    return last[:, 0, 0, 0], scale[:, 0, 0, 0], torch.cat(parts, -1)[:, 0, 0, 0]


def _improvement(view: BatchedInputs) -> Tensor:
    """One more run beside the incumbent: its score, plus the best expected improvement less its price.

    The incumbent's score moves with the run; of several models the best is followed.  -inf without one.
    """
    have = view.stop.clamp(min=-1e3)[..., None]
    worth = have[..., 0] + (improvement(view.mean - have, view.reach) - view.price).amax(-1)
    return torch.where(torch.isfinite(view.stop), worth, -torch.inf)


def outcome_free(view: BatchedInputs, scale: Tensor, *, log_cost: bool) -> Tensor:
    """What does not depend on the outcome: (n, G, 1, 1, 2R + E + 2)."""
    unit = scale[..., None]
    spread = view.cost_sd if log_cost else view.unit_price[..., None] * view.cost_sd / unit
    noise = view.cost_noise if log_cost else view.unit_price * view.cost_noise / scale
    shape = (*spread.shape[:-1], 1)
    return torch.cat(
        [
            view.sd / unit,
            view.link / unit**2,
            torch.log(spread + 1e-3),
            torch.log(view.score_noise / scale).expand(shape[:-1])[..., None],
            torch.log(noise + 1e-3).expand(shape[:-1])[..., None],
        ],
        -1,
    )


def as_value(network: NetworkValue, *, caution: float = 0.0) -> object:
    """The network as a continuation for `q_values`; caution: what the addition is marked down by."""

    def value(game: Game, view: BatchedInputs) -> Tensor:
        last, scale, added = network(view, log_cost=game.log_cost, recall=game.recall)
        return last + scale * (added - caution).clamp(0.0, 4.0)

    return value


def one_more_run(game: Game, view: BatchedInputs) -> Tensor:
    """V_1 over the references, with recall what one more run is worth beside the earlier models.  (n, G, A, B)."""
    return summary(view, recall=game.recall)[0]


def root(game: Game, beliefs: Beliefs) -> BatchedInputs:
    """The beliefs themselves as an outlook of one outcome: axes (n, 1, 1, 1, ...)."""
    phi_r = game.features[game.references]
    left, right = game.neighbours
    var = ((phi_r @ beliefs.score_cov) * phi_r).sum(-1).clamp(min=0)
    link = ((phi_r[left] @ beliefs.score_cov) * phi_r[right]).sum(-1)
    cost_var = ((phi_r @ beliefs.cost_cov) * phi_r).sum(-1).clamp(min=0)
    price = run_prices(game, beliefs.cost_mean @ phi_r.T, cost_var, beliefs.cost_noise[:, None], beliefs.price[:, None])

    def wide(values: Tensor) -> Tensor:
        return values[:, None, None, None]

    return BatchedInputs(
        mean=wide(beliefs.score_mean @ phi_r.T),
        price=wide(price),
        sd=wide(var.sqrt()),
        link=wide(link),
        cost_sd=wide(cost_var.sqrt()),
        score_noise=wide(beliefs.score_noise),
        cost_noise=wide(beliefs.cost_noise),
        unit_price=wide(beliefs.price),
        stop=wide(incumbent(game, beliefs)),
        reach=wide(reach_of(var, _held(game, beliefs), beliefs.score_noise[:, None])),
    )


def _held(game: Game, beliefs: Beliefs) -> Tensor:
    """Covariance of the score of the incumbent with those at the references; zero with none.  (n, R)."""
    phi_r = game.features[game.references]
    if beliefs.kept.shape[1] == 0:
        return torch.zeros(len(beliefs), len(phi_r), device=game.device)
    believed = torch.gather(beliefs.score_mean @ game.features.T, 1, beliefs.kept.clamp(min=0))
    best = believed.masked_fill(beliefs.kept < 0, -torch.inf).argmax(1, keepdim=True)
    model = game.features[torch.gather(beliefs.kept, 1, best)[:, 0].clamp(min=0)]  # (n, J)
    held = (model[:, None] @ beliefs.score_cov @ phi_r.T)[:, 0]
    return torch.where((beliefs.kept >= 0).any(1)[:, None], held, 0.0)


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
