"""The network in torch, for training.  `autobct.belief.surrogate.network` evaluates the same weights in NumPy.

Runs and a context row see each other; a candidate sees them and no other candidate.  How much a row looks at a run
depends on what both are and, through two numbers for every head, on how far apart they are in the unit cube.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from autobct.belief.surrogate.network import COST_EDGES, FARTHEST, INPUTS, NEAREST, SCORE_EDGES, SLOT, SLOTS

SCORE_BINS, COST_BINS, BEFORE = len(SCORE_EDGES) - 1, len(COST_EDGES) - 1, 4
OUTPUTS = SCORE_BINS + COST_BINS + 1 + BEFORE


class Block(nn.Module):
    """Attention to the runs, then a small network, each added to what was there."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key_value = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.near = nn.Parameter(torch.stack([torch.linspace(-4.0, 3.0, heads), torch.linspace(-3.0, 0.5, heads)]))

    def forward(self, rows: Tensor, split: int, mask: Tensor, square: Tensor, log: Tensor) -> Tensor:
        """rows: (B, T, W), the first `split` of them runs.  mask, square, log: (B, 1, T, N), see `distances`."""
        normed = self.norm1(rows)
        query = self._headed(self.query(normed))
        key, value = (self._headed(part) for part in self.key_value(normed[:, :split]).chunk(2, dim=-1))
        scale = F.softplus(self.near).view(2, 1, self.heads, 1, 1)
        bias = (mask - scale[0] * square - scale[1] * log).to(query.dtype)
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        rows = rows + self.out(seen.transpose(1, 2).flatten(2))
        return rows + self.down(F.gelu(self.up(self.norm2(rows)), approximate="tanh"))

    def _headed(self, rows: Tensor) -> Tensor:
        return rows.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def distances(rows: Tensor, split: int, special: int) -> tuple[Tensor, Tensor]:
    """Squared distances in the unit cube from every row to every run, and their logarithms.  (B, 1, T, N) each.

    The first `special` runs are no runs and have no place: nothing is near to them or far.
    """
    place = rows[..., : SLOTS * SLOT].unflatten(-1, (SLOTS, SLOT))[..., 0] / 2.0
    away = torch.cdist(place, place[:, :split], compute_mode="donot_use_mm_for_euclid_dist").square()
    placed = torch.ones_like(away)
    placed[:, :, :special] = 0.0
    placed[:, :special] = 0.0
    return (away.clamp_max(FARTHEST) * placed)[:, None], (torch.log(away + NEAREST) * placed)[:, None]


class Network(nn.Module):
    """Rows of runs and of candidates -> logits of what candidates score and cost."""

    def __init__(self, width: int = 128, layers: int = 4, heads: int = 4, hidden: int = 256) -> None:
        super().__init__()
        self.embed = nn.Linear(INPUTS, width)
        self.embed2 = nn.Linear(width, width)
        self.blocks = nn.ModuleList([Block(width, heads, hidden) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, OUTPUTS)

    def forward(self, runs: Tensor, candidates: Tensor, mask: Tensor, special: int = 1) -> Tensor:
        """runs: (B, N, INPUTS) the context first,  candidates: (B, C, INPUTS),  mask: (B, N) -> (B, C, OUTPUTS).

        special: how many of the first runs are context and guess, which have no place
        """
        rows, split = torch.cat([runs, candidates], dim=1), runs.shape[1]
        square, log = distances(rows, split, special)
        hidden = torch.where(mask, 0.0, -1e4)[:, None, None, :]
        rows = self.embed2(F.gelu(self.embed(rows), approximate="tanh"))
        for block in self.blocks:
            rows = block(rows, split, hidden, square, log)
        return self.head(self.norm(rows[:, split:]))
